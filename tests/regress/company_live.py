# SPDX-License-Identifier: MIT
"""AgentCompany contract, sections 1.3 and 10.9: events of runs are told to who has subscribed, by project, run and type; a backfill tells the
oldest first and behind the answer; a connection that does not read falls behind and is told the rest from the files, each event once."""
import json

from checks import check, equal
from company import Office
from harness import Daemon


def told(office, n):
    """The next n notifications: (subscription, event)."""
    out = []
    while len(out) < n:
        message = json.loads(office.rpc.line())
        equal(message["method"], "events.notification")
        out.append((message["params"]["subscription_id"], message["params"]["project_id"], message["params"]["event"]))
    return out


def new_run(office, agent="agent_w"):
    return office.result("run.create", workspace_dir=office.ws, project_id="proj_a", agent_id=agent, provider="cmd")["run_id"]


def comment(office, run, body):
    return office.result("comment.add", workspace_dir=office.ws, project_id="proj_a", target_run_id=run, body=body, author_id="human", author_role="human")


def test_filters_and_backfill():
    with Daemon() as d, Office(d) as c, Office(d, c.top) as other:
        c.make()
        first, second = new_run(c), new_run(c)
        equal(c.result("events.subscribe", subscription_id="s_back", workspace_dir=c.ws, backfill_limit=10), {"subscription_id": "s_back"})
        seen = told(c, 2)
        equal([(name, project, event["type"]) for name, project, event in seen], [("s_back", "proj_a", "run.started")] * 2)
        equal(sorted(event["run_id"] for _, _, event in seen), sorted([first, second]))
        check(all(event["event_hash"] for _, _, event in seen), "no hash")
        equal(c.result("events.subscribe", subscription_id="s_one", run_id=first, event_types=["run.started"], workspace_dir=c.ws, backfill_limit=50), {"subscription_id": "s_one"})
        equal([event["run_id"] for _, _, event in told(c, 1)], [first])
        equal(c.result("events.subscribe", subscription_id="s_none", project_id="proj_other"), {"subscription_id": "s_none"})
        check(c.result("events.subscribe")["subscription_id"].startswith("sub_"), "no name")
        equal(c.result("events.unsubscribe", subscription_id="s_back"), {"removed": True})
        equal(c.result("events.unsubscribe", subscription_id="s_back"), {"removed": False})
        equal(c.result("events.ack", subscription_id="s_one", last_ack_ts_monotonic_ms=5), {"ok": True})
        equal(c.error("events.ack", subscription_id="ghost")["code"], -32000)
        equal(c.error("events.ack", subscription_id="s_one", last_ack_ts_monotonic_ms=-1)["code"], -32602)
        equal(c.error("events.subscribe", backfill_limit=5001)["code"], -32602)
        equal(c.error("events.subscribe", event_types="run.ended")["code"], -32602)
        equal(c.call("events.unsubscribe")["error"]["code"], -32602)
        other.result("index.sync", workspace_dir=c.ws)  # another connection, which names the same workspace
        third = new_run(other)
        equal([event["run_id"] for _, _, event in told(c, 1)], [third])  # the unnamed one; nothing for s_one and s_none


def test_a_thousand_subscriptions():
    with Daemon() as d, Office(d) as c:
        c.make()
        c.result("index.sync", workspace_dir=c.ws)
        for i in range(1000):
            c.result("events.subscribe", subscription_id="s%d" % i)
        equal(c.error("events.subscribe", subscription_id="one more")["code"], -32000)
        equal(c.result("events.subscribe", subscription_id="s7", project_id="proj_a"), {"subscription_id": "s7"})
        with Office(d, c.top) as other:
            run = new_run(other)
        seen = told(c, 1000)
        equal([name for name, _, _ in seen], ["s%d" % i for i in range(1000)])
        equal({event["run_id"] for _, _, event in seen}, {run})


def test_who_does_not_read_is_told_the_rest_later():
    with Daemon() as d, Office(d) as c, Office(d, c.top) as writer:
        c.make()
        run = new_run(c)
        for i in range(20):
            c.result("events.subscribe", subscription_id="s%d" % i, run_id=run, event_types=["comment.added"])
        n, body = 60, "x" * 60000
        for i in range(n):  # 20 copies of each: 70 MB, of which 8 may wait
            comment(writer, run, "%d %s" % (i, body))
        seen = told(c, 20 * n)
        for i in range(20):
            equal([int(event["payload"]["body"].split()[0]) for name, _, event in seen if name == "s%d" % i], list(range(n)))
        comment(writer, run, "live again")
        equal([event["payload"]["body"] for _, _, event in told(c, 20)], ["live again"] * 20)
