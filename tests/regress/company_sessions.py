# SPDX-License-Identifier: MIT
"""AgentCompany, facts §6: sessions that run programs. Whose environment counts, what is waited for, who may stop what, what stays of a run, and
what other clients and `muster` see of it."""
import datetime
import json
import os
import subprocess
import threading

from bridge import Bridge
from checks import check, equal
from company import write
from company_sessions import Sessions
from harness import MUSTER, Daemon, eventually
from yaml_text import yaml_read


def test_a_program_from_launch_to_its_end():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("echo out; echo err >&2; exit 3")
        end = c.collect(run)
        equal((end["status"], end["exit_code"], end["signal"]), ("failed", 3, None))
        equal((c.bytes(run), c.bytes(run, "stderr.txt")), (b"out\n", b"err\n"))
        c.check_whole(run, "failed")
        equal(c.types(run)[:3], ["run.started", "policy.decision", "run.executing"])
        equal(c.types(run)[-2:], ["usage.estimated", "run.failed"])
        eventually(lambda: d.ps() == [], what="a table without it")


def test_lines_that_come_one_by_one_are_few_events():
    """Each was an event and a sync of its own. What a program prints within 20 ms is one now, so there cannot be more of them than the time has room
    for, however slow the machine is."""
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("for i in $(seq 200); do echo $i; sleep 0.001; done")
        equal(c.collect(run)["status"], "ended")
        c.check_whole(run, "ended")
        times = [datetime.datetime.fromisoformat(e["ts_wallclock"].replace("Z", "+00:00")) for e in c.events(run) if e["type"] == "provider.raw"]
        room = (times[-1] - times[0]).total_seconds() / 0.015
        check(len(times) <= room + 3, "%d events where there is room for %d" % (len(times), room))
        equal(c.told(run), "".join("%d\n" % (i + 1) for i in range(200)))


def test_input_is_a_text_and_who_does_not_read_it_does_no_harm():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        text = "é" * 200000
        run = c.shell("wc -c", stdin_text=text)
        equal(c.collect(run)["status"], "ended")
        equal(int(c.bytes(run)), 400000)
        equal(c.bytes(run, "stdin.txt").decode(), text)
        equal(c.document(run)["usage"]["input_tokens"], 50000)
        run = c.launch(["true"], stdin_text=text)
        equal(c.collect(run)["status"], "ended")


def test_environment_and_folder_are_the_clients():
    with Daemon(only="native", env={"WHO": "daemon"}) as d, Sessions(d) as c:
        c.make()
        run = c.create()
        with Bridge(d.home, [MUSTER, "stdio"], env={"WHO": "client", "SECRET_TOKEN": "x"}, cwd=c.top) as b:
            for method, params in (("session.launch", {"workspace_dir": "ws", "project_id": "proj_a", "run_id": run, "argv": ["sh", "-c", "echo $WHO $MORE; pwd"],
                                                       "env": {"MORE": "more", "API_KEY": "sesame"}}),
                                   ("session.collect", {"session_ref": "local_" + run})):
                b.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n")
                check("result" in json.loads(b.line()), method)
        equal(c.bytes(run).decode().split("\n")[:2], ["client more", os.path.realpath(c.ws)])
        with open(c.path(run, "run.yaml"), encoding="utf-8") as file:
            text = file.read()
        check("sesame" not in text and "[REDACTED]" in text and "more" in text, text)
        check("SECRET_TOKEN" not in text, text)


def test_secrets_of_a_launch_are_written_nowhere():
    """Those that a name gives away, and those that look like one, or have one in them (the patterns of share packs). Neither a file of the workspace nor one of the daemon has them."""
    secrets = {"API_KEY": "sesame-open", "URL": "https://h/?password=hunter22xx", "HEADER": "Authorization: Bearer abcdefgh12", "LIST": "a AKIAABCDEFGHIJKLMNOP z",
               "FIRST": "sk-abc"}
    words = [b"sesame-open", b"hunter22xx", b"abcdefgh12", b"AKIAABCDEFGHIJKLMNOP", b"sk-abc"]
    with Daemon(only="native", record=False) as d, Sessions(d).make() as c:
        run = c.shell("[ ${#LIST} = 24 ] && [ $PLAIN = fine ] && echo ready; exec sleep 600", env={**secrets, "PLAIN": "fine"})
        eventually(lambda: c.bytes(run) == b"ready\n", what="its output")
        env = c.document(run)["spec"]["env"]
        equal(env, {**dict.fromkeys(secrets, "[REDACTED]"), "PLAIN": "fine"})
        for folder, _, names in os.walk(d.home.base):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as file:
                        text = file.read()
                    check(not any(word in text for word in words), path)
        c.stop(run)
        equal(c.collect(run)["status"], "stopped")


def test_one_connection_launches_and_another_stops():
    with Daemon(only="native") as d, Sessions(d).make() as c, Sessions(d, c.top) as other:
        run = c.launch(["sleep", "600"])
        state = other.poll(run)
        equal(state["status"], "running")
        check("another connection" in state["error"], state)
        check("error" not in c.poll(run), "its own")
        equal(other.collect(run)["status"], "running", "a session of others is not waited for")
        check("session_ref" in other.error("session.poll", session_ref="local_" + run)["message"], "unknown without its workspace")
        waiting = threading.Thread(target=lambda: seen.append(c.result("session.collect", session_ref="local_" + run)))
        seen = []
        waiting.start()
        eventually(d.ps, what="its program, which a signal can end")
        equal(other.stop(run)["status"], "running")
        waiting.join()
        equal((seen[0]["status"], seen[0]["signal"]), ("stopped", "SIGTERM"))
        c.check_whole(run, "stopped")


def test_a_session_has_one_program_at_a_time():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.launch(["sleep", "600"])
        check("already running" in c.error("session.launch", workspace_dir=c.ws, project_id="proj_a", run_id=run, argv=["true"])["message"], "twice")
        equal(c.types(run).count("policy.decision"), 2)
        c.stop(run)
        equal(c.collect(run)["status"], "stopped")
        run = c.launch(["true"], run=c.create(), session_ref="mine")
        equal(c.result("session.collect", session_ref="mine")["status"], "ended")
        run = c.launch(["true"], session_ref="mine")
        equal(c.result("session.collect", session_ref="mine")["run_id"], run)
        equal([s["session_ref"] for s in c.result("session.list", status="ended")], ["mine"])


def test_muster_shows_and_ends_it():
    with Daemon() as d, Sessions(d).make() as c:
        run = c.shell("echo hello; exec sleep 600")
        eventually(lambda: c.bytes(run) == b"hello\n", what="its output")
        process, = d.ps()
        equal((process["owner"], process["object"], process["kind"]), ("company", "proj_a/" + run, "pipes"))
        subprocess.run([MUSTER, "kill", "proj_a/" + run], env=d.home.env(), capture_output=True, check=True, timeout=60)
        equal(c.collect(run)["status"], "stopped")
        c.check_whole(run, "stopped")


def test_launches_wait_for_their_turn_and_the_more_urgent_goes_first():
    """All of a lane end, whatever their order; limits are of launching, not of running."""
    with Daemon(only="native") as d, Sessions(d).make() as c:
        others = [Sessions(d, c.top) for _ in range(8)]
        runs = [c.create() for _ in others]
        threads = [threading.Thread(target=o.launch, args=(["sleep", "600"], r), kwargs={"lane_priority": p})
                   for o, r, p in zip(others, runs, ["low", "normal", "high", "low"] * 2)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        eventually(lambda: len(d.ps()) == 8, what="they run at the same time")
        for r in runs:
            c.stop(r)
        for o, r in zip(others, runs):
            equal(o.collect(r)["status"], "stopped")
            o.rpc.close()


def test_records_of_other_programs():
    """A record whose pid is alive, gone, or was given to another process since (facts §6.6)."""
    with Daemon(only="native") as d, Sessions(d).make() as c:
        with subprocess.Popen(["sleep", "600"]) as alive, subprocess.Popen(["true"]) as gone:
            gone.wait()
            now_ms = int(os.stat("/proc/%d" % alive.pid).st_mtime * 1000)

            def record(pid, claimed_ms):
                run = c.create()
                write(c.ws + "/.local/sessions/local_%s.yaml" % run,
                      "schema_version: 1\ntype: session_record\nsession_ref: local_%s\nworkspace_dir: %s\nproject_id: proj_a\nrun_id: %s\nstatus: running\n"
                      "exit_code: null\nsignal: null\nstarted_at_ms: %d\nmode: command\npid: %d\npid_claimed_at_ms: %d\n" %
                      (run, c.ws, run, claimed_ms, pid, claimed_ms))
                return run
            dead, other, old, living = record(gone.pid, now_ms), record(alive.pid, now_ms - 86400000), record(alive.pid, now_ms), record(alive.pid, now_ms)
            equal(c.poll(dead)["status"], "failed")
            equal(c.events(dead)[-1]["payload"]["orphaned"], True)
            equal(c.poll(other)["status"], "failed", "a process that began later is another")
            check("detached" in c.poll(living)["error"], "alive")
            equal(c.collect(living)["status"], "running")
            path = c.ws + "/.local/sessions/local_%s.yaml" % old
            with open(path, encoding="utf-8") as file:
                text = file.read()
            check(yaml_read(text)["pid"] == alive.pid, text)
            equal(c.stop(living)["status"], "running")
            alive.wait(60)
            equal(c.poll(living)["status"], "stopped")
            equal(c.events(living)[-1]["type"], "run.stopped")


def test_a_stop_of_the_daemon_does_not_wait_for_who_collects():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.launch(["sleep", "600"])
        with Sessions(d, c.top) as other:
            other.result("session.list", workspace_dir=c.ws)
            c.rpc.send(b'{"jsonrpc":"2.0","id":9,"method":"session.collect","params":{"session_ref":"local_%s"}}\n' % run.encode())
            equal(other.poll(run)["status"], "running")
        pid, = eventually(lambda: [p["pid"] for p in d.ps()], what="its program")
        d.stop()
        os.kill(pid, 15)
