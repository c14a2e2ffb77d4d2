# SPDX-License-Identifier: MIT
"""Tokens as the transcripts of agents tell them. Who adds up the lines of a transcript counts a response of Claude Code two to four times, and who adds up the
totals of Codex counts a thread with every event of it; files are cut, forked, resumed and not always what a hook says they are (docs/usage.md)."""
import json
import os
import random

from checks import check, equal, eventually
from fake_agents import Fake, native
from harness import Daemon, Home, muster_ok, shared
from transcripts import File, Sums, claude_line, claude_user, codex_count, codex_meta, codex_model, gemini_message, gemini_tokens

EVER = "2000-01-01T00:00:00Z"


def _daemon(**more):
    return Daemon(args=["--sandbox", "none"], **more)


def report(d, **more):
    return native(d, "usage.report", **{"since": EVER, **more})


def row(d, key, by="name"):
    return next((r for r in report(d, by=by)["rows"] if r["key"] == key), None)


def _comes(d, name, sums):
    """All of it, and then nothing else: the sums are those, exactly."""
    def seen():
        r = row(d, "session:" + name)
        return r if r and r["responses"] >= sums.responses and r["out"] >= sums.by["out"] else None
    try:
        found = eventually(seen, what="usage of " + name)
    except AssertionError:
        found = row(d, "session:" + name)
        check(found, "nothing was counted for " + name)
    sums.check(found)


def test_claude_lines_are_repeated():
    d = shared()
    rng = random.Random(4)
    with Fake(d, "claude", name="repeated") as fake:
        file, sums = File(fake), Sums()
        for i in range(300):
            final = rng.randrange(50, 5000)
            numbers = {"fresh": rng.randrange(50), "cached": rng.randrange(90000), "written": rng.randrange(3000)}
            file.write(claude_user())
            for out in (1, final // 2, final, final):
                file.write(claude_line("msg_%d" % i, out, **numbers))
            sums.add(numbers["fresh"], numbers["cached"], numbers["written"], final, 0)
        file.hook()
        _comes(d, "repeated", sums)
        file.write(claude_line("msg_1", 2))  # an old one once more, with less
        file.write(claude_line("msg_new", 7))
        sums.add(10, 20, 30, 7, 0)
        file.hook()
        _comes(d, "repeated", sums)


def _compact(line, **changes):
    """As the program writes it: without blanks."""
    return json.dumps({**json.loads(line), **changes}, separators=(",", ":")) + "\n"


def test_what_a_response_says_of_usage_is_not_its_usage():
    d = shared()
    wrong = {"input_tokens": 5000, "output_tokens": 9000}
    tool = {"type": "tool_use", "id": "t", "name": "Edit", "input": {"a": 1, "usage": wrong}}
    said = [{"type": "text", "text": 'a,"usage":{"output_tokens":7} \\' + "\n" * 200}, tool]
    with Fake(d, "claude", name="says") as fake:
        file, sums = File(fake), Sums()
        for i in range(50):
            file.write(_compact(claude_line("said_%d" % i, 100 + i, content=said)))
            sums.add(10, 20, 30, 100 + i, 0)
        line = json.loads(claude_line("msg_first", 70, content=said))
        message = {name: line["message"].pop(name) for name in ("id", "role", "usage", "content")}  # what it says stands last
        file.write(_compact(json.dumps(line), message=message))
        sums.add(10, 20, 30, 70, 0)
        file.write(_compact(claude_line("msg_beside", 80, content=said), toolUseResult={"a": [{"b": 1, "usage": wrong}]}))
        sums.add(10, 20, 30, 80, 0)
        late = json.loads(claude_line("msg_type", 90, content=said))
        late.pop("type")
        file.write(_compact(json.dumps(late), type="assistant") + _compact(json.dumps(late), type="user", message={**late["message"], "id": "msg_no"}))
        sums.add(10, 20, 30, 90, 0)
        file.write(_compact(claude_line("msg_half", 60, content=said))[:-30] + "\n" + _compact(claude_line("msg_end", 65)))
        sums.add(10, 20, 30, 60, 0)
        sums.add(10, 20, 30, 65, 0)
        file.hook()
        _comes(d, "says", sums)


def test_a_response_grows_between_two_looks():
    d = shared()
    with Fake(d, "claude", name="grows") as fake:
        file, sums = File(fake), Sums()
        file.write(claude_line("msg_g", 1))
        file.hook()
        eventually(lambda: row(d, "session:grows"))
        file.write(claude_line("msg_g", 100)[:-9])  # half a line
        file.hook()
        file.write(claude_line("msg_g", 100)[-9:])
        sums.add(10, 20, 30, 100, 0)
        file.hook("Stop", stop_hook_active=False)
        _comes(d, "grows", sums)


def test_codex_totals_are_differences():
    d = shared()
    rng = random.Random(5)
    with Fake(d, "codex", name="totals") as fake:
        file, fork, sums = File(fake), File(fake, "fork.jsonl"), Sums()
        text = codex_meta("th-1") + codex_model("gpt-5-codex") + codex_count(None, None, limits={"primary": {"used_percent": 3}})
        total = [0, 0, 0, 0]

        def step():
            fresh = rng.randrange(100, 9000)
            last = [fresh, rng.randrange(fresh), rng.randrange(10, 500), 5]
            for i, n in enumerate(last):
                total[i] += n
            sums.add(last[0] - last[1], last[1], 0, last[2], last[3])
            return codex_count(total, last)
        for _ in range(50):
            line = step()
            text += line + line  # told again with every change of the limits
        file.write(text)
        file.hook()
        _comes(d, "totals", sums)
        fork.write(codex_meta("th-2", forked_from_id="th-1") + text + step())  # a fork begins with all that its parent said
        fork.hook()
        _comes(d, "totals", sums)
        equal([r["key"] for r in report(d, by="model", name="session:totals")["rows"]], ["gpt-5-codex"])


def test_gemini_lines_and_documents():
    d = shared()
    with Fake(d, "gemini", name="lines") as fake, Fake(d, "gemini", name="document") as other:
        sums, messages = Sums(), []
        for i in range(20):
            messages.append(gemini_message("m%d" % i, gemini_tokens(1000 + i, 50, 400, 30, 7)))
            sums.add(1000 + i - 400 + 7, 400, 0, 80, 30)
        file = File(fake)
        file.write(json.dumps({"sessionId": "g1", "projectHash": "x", "startTime": "2026-07-11T10:00:00.000Z"}) + "\n")
        for message in messages + messages[:3]:
            file.write(json.dumps(message) + "\n")
        file.hook()
        _comes(d, "lines", sums)
        document = File(other, "session-1.json")
        for n in (5, 20):  # written anew as a whole
            document.write(json.dumps({"sessionId": "g2", "messages": [{"type": "user", "id": "u", "content": "x"}] + [{**m, "id": "d" + m["id"]} for m in messages[:n]]}, indent=2), "w")
            document.hook()
        _comes(d, "document", sums)


def test_cut_rotated_and_written_anew():
    d = shared()
    with Fake(d, "claude", name="cut") as fake:
        file, sums = File(fake), Sums()
        for i in range(10):
            file.write(claude_line("msg_c%d" % i, 5))
            sums.add(10, 20, 30, 5, 0)
        file.hook()
        _comes(d, "cut", sums)
        file.write(claude_line("msg_c0", 5) + claude_line("msg_cut", 6), "w")  # cut, and shorter
        sums.add(10, 20, 30, 6, 0)
        file.hook()
        _comes(d, "cut", sums)
        os.rename(file.path, file.path + ".1")  # another file in its place, longer than the old one
        file.write("".join(claude_line("msg_c%d" % i, 5) for i in range(30)))
        for _ in range(20):
            sums.add(10, 20, 30, 5, 0)
        file.hook()
        _comes(d, "cut", sums)


def test_cut_in_the_midst_of_a_line():
    """At many bytes of two lines, and around the ends of both: nothing is counted of what is not whole, and all of it once it is."""
    with _daemon() as d, Fake(d, "claude", name="bytes") as fake:
        first, sums = len(claude_line("msg_00_1", 5)), Sums()
        for i, at in enumerate([*range(1, 2 * first, 97), first - 1, first, first + 1, 2 * first - 1]):
            file = File(fake, "t%d.jsonl" % i)
            text = claude_line("msg_%02d_1" % i, 5) + claude_line("msg_%02d_2" % i, 7)
            file.write(text[:at])
            file.hook()
            if at >= first:  # so that it is known to be read before the rest is there
                sums.add(10, 20, 30, 5, 0)
                _comes(d, "bytes", sums)
            file.write(text[at:])
            file.hook()
            if at < first:
                sums.add(10, 20, 30, 5, 0)
            sums.add(10, 20, 30, 7, 0)
            _comes(d, "bytes", sums)
        equal(report(d)["files"]["wrong_lines"], 0)


def test_long_and_wrong_lines_are_counted():
    with _daemon() as d, Fake(d, "claude", name="long") as fake:
        file, sums = File(fake), Sums()
        file.write(claude_line("msg_a", 5) + claude_user("x" * (17 << 20)) + claude_line("msg_b", 6))
        file.write('{"type":"assistant","message":{"id":"msg_w","usage":{"input_tokens":oops}}}\n' + "no json at all\n" + claude_line("msg_c", 7))
        for out in (5, 6, 7):
            sums.add(10, 20, 30, out, 0)
        file.hook()
        _comes(d, "long", sums)
        equal({k: v for k, v in report(d)["files"].items() if k.endswith("lines")}, {"skipped_lines": 1, "wrong_lines": 1})


def test_a_sparse_file_of_2_gb():
    with _daemon() as d, Fake(d, "claude", name="sparse") as fake:
        file, sums = File(fake), Sums()
        file.write(claude_line("msg_a", 5))
        with open(file.path, "r+b") as out:
            out.truncate(2 << 30)
        file.write("\n" + claude_line("msg_b", 6))
        sums.add(10, 20, 30, 5, 0)
        sums.add(10, 20, 30, 6, 0)
        file.hook()
        _comes(d, "sparse", sums)
        equal(report(d)["files"]["skipped_lines"], 1)


def test_what_is_not_ours_is_not_read():
    with _daemon() as d, Fake(d, "claude", name="theirs") as fake:
        real = File(fake, "real.jsonl")
        real.write(claude_line("msg_link", 5))
        os.symlink(real.path, os.path.join(fake.folder, "link.jsonl"))
        os.mkfifo(os.path.join(fake.folder, "fifo.jsonl"))
        os.mkdir(os.path.join(fake.folder, "folder.jsonl"))
        for name in ("link.jsonl", "fifo.jsonl", "folder.jsonl", "notes.txt", "missing.jsonl", "../theirs/real.jsonl"):
            File(fake, name).hook()
        for path in ("relative.jsonl", "/dev/zero", ""):
            fake.do("hook Notification %s" % json.dumps({"hook_event_name": "Notification", "transcript_path": path}))
        if not os.geteuid():  # only then a file can be made somebody else's
            File(fake, "others.jsonl").write(claude_line("msg_others", 5))
            os.chown(os.path.join(fake.folder, "others.jsonl"), 65534, 65534)
            File(fake, "others.jsonl").hook()
        good = File(fake, "good.jsonl")
        good.write(claude_line("msg_good", 5))
        good.hook()
        sums = Sums()
        sums.add(10, 20, 30, 5, 0)
        _comes(d, "theirs", sums)
        eventually(lambda: report(d)["files"]["refused"] >= 6, what="the refusals")


def test_nobody_counts_for_somebody_else():
    with _daemon() as d, Fake(d, "claude", name="one") as one, Fake(d, "claude", name="two") as two:
        file, sums = File(one), Sums()
        file.write(claude_line("msg_1", 5))
        sums.add(10, 20, 30, 5, 0)
        file.hook()
        _comes(d, "one", sums)
        two.do("hook Notification %s" % json.dumps({"hook_event_name": "Notification", "transcript_path": file.path}))  # the file of another that lives
        forged = File(two)
        forged.write(claude_line("msg_1", 100000) + claude_line("msg_2", 9))  # and what that one has said, with more
        forged.hook()
        others = Sums()
        others.add(10, 20, 30, 9, 0)
        _comes(d, "two", others)
        sums.check(row(d, "session:one"))
        one.send("die 0")
        eventually(lambda: not any(p.get("name") == "session:one" and p["state"] == "running" for p in d.ps()), what="its end")
        file.write(claude_line("msg_3", 11))
        two.do("hook Notification %s" % json.dumps({"hook_event_name": "Notification", "transcript_path": file.path}))  # taken over
        others.add(10, 20, 30, 11, 0)
        _comes(d, "two", others)
        sums.check(row(d, "session:one"))


def test_a_restart_counts_nothing_twice():
    with Home() as home:
        ledger = os.path.join(home.muster_home, "usage", "ledger.jsonl")
        with _daemon(home=home) as d:
            fake, codex = Fake(d, "claude", name="kept"), Fake(d, "codex", name="thread")
            file, sums, thread, totals = File(fake), Sums(), File(codex), Sums()
            for i in range(5):
                file.write(claude_line("msg_%d" % i, 10 + i))
                sums.add(10, 20, 30, 10 + i, 0)
            thread.write(codex_meta("th") + codex_model("gpt-5") + codex_count((100, 50, 10, 1), (100, 50, 10, 1)))
            totals.add(50, 50, 0, 10, 1)
            file.hook()
            thread.hook()
            _comes(d, "kept", sums)
            _comes(d, "thread", totals)
            eventually(lambda: len(open(ledger, encoding="utf-8").readlines()) == 6, what="the lines")
            d.kill()
        with _daemon(home=home) as d:
            sums.check(row(d, "session:kept"))
            thread.write(codex_count((300, 150, 30, 3), (200, 100, 20, 2)))
            totals.add(100, 100, 0, 20, 2)
            file.write(claude_line("msg_5", 50))
            sums.add(10, 20, 30, 50, 0)
            file.hook()
            thread.hook()
            _comes(d, "kept", sums)
            _comes(d, "thread", totals)
            eventually(lambda: len(open(ledger, encoding="utf-8").readlines()) == 8, what="the lines")
            lines = [json.loads(line) for line in open(ledger, encoding="utf-8")]
            fake.close()
            codex.close()
            equal(sorted(lines[0]), sorted(["v", "ts", "name", "account", "runtime", "model", "session", "process", "key", "in", "cached", "cache_write", "out", "reasoning", "cost",
                                            "basis", "source"]))
            equal(len({line["key"] for line in lines}), len(lines))


def test_money_says_how_it_knows():
    with _daemon() as d, Fake(d, "claude", name="money", env={"CLAUDE_CONFIG_DIR": "/accounts/a"}) as fake:
        file = File(fake)
        file.write(claude_line("msg_p", 1000000, fresh=1000000, cached=0, written=0))  # 3 and 15 for a million
        file.write(claude_line("msg_r", 5, costUSD=0.25, model="claude-sonnet-4-5"))
        file.write(claude_line("msg_u", 40, model="somebody-elses-model"))
        file.hook()
        eventually(lambda: (row(d, "session:money") or {}).get("responses") == 3)
        seen = row(d, "session:money")
        equal((seen["reported_usd"], seen["priced_usd"], seen["unpriced"]), (0.25, 18, 100))
        equal([r["key"] for r in report(d, by="account")["rows"]], ["claude:/accounts/a"])
        equal([(r["key"], r["responses"]) for r in report(d, by="day")["rows"]], [("2026-07-11T00:00:00Z", 3)])
        equal([r["key"] for r in report(d, by="hour")["rows"]], ["2026-07-11T10:00:00Z"])
        equal(native(d, "usage.report")["rows"], [])  # not today
        equal(sorted(r["key"] for r in report(d, by="model")["rows"]), ["claude-sonnet-4-5", "somebody-elses-model"])
        equal(json.loads(muster_ok(d.home, "usage", "--since", EVER, "--json"))["total"]["responses"], 3)
        text = muster_ok(d.home, "usage", "model", "--since", EVER)
        check("$0.2500" in text and "$18.0000" in text and "somebody-elses-model" in text, text)


def test_wrong_questions():
    with shared().native() as n:
        for params in ({"by": "weather"}, {"since": "yesterday"}, {"until": "soon"}):
            equal(n.call("usage.report", params)["error"]["code"], -32602)


def test_series_have_tokens():
    d = shared()
    with Fake(d, "claude", name="series") as fake:
        file = File(fake)
        file.write(claude_line("msg_s1", 40, at="") + claude_line("msg_s2", 60, at=""))  # without a time: now
        file.hook()
        eventually(lambda: row(d, "session:series"))
        pid = next(p["id"] for p in d.ps() if p.get("name") == "session:series")

        def tokens():
            found = [s for s in native(d, "usage.series", ids=[pid])["series"] if s["metric"] == "tokens"]
            return found and sum(p[1] for p in found[0]["points"])
        eventually(lambda: tokens() == 220, what="its tokens")


def test_the_users_prices_count_first():
    with Home() as home:
        folder = os.path.join(home.config, "muster")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "prices.toml"), "w", encoding="utf-8") as file:
            file.write('[[price]]\nmodel = "claude-*"\ninput = 100\noutput = 0\ncached = 0\ncache_write = 0\n'
                       '[[price]]\nmodel = "claude-new*"\nfrom = "2026-08-01"\ninput = 1\noutput = 0\ncached = 0\ncache_write = 0\n'
                       '[[price]]\nmodel = "broken"\n')
        with _daemon(home=home) as d, Fake(d, "claude", name="prices") as fake:
            file = File(fake)
            file.write(claude_line("msg_1", 1, fresh=10000))  # ours is longer, and does not count
            file.write(claude_line("msg_2", 1, fresh=10000, model="claude-new", at="2026-07-31T23:59:59Z"))
            file.write(claude_line("msg_3", 1, fresh=10000, model="claude-new", at="2026-08-01T00:00:00Z"))
            file.hook()
            eventually(lambda: (row(d, "session:prices") or {}).get("responses") == 3)
            equal([round(r["priced_usd"], 6) for r in report(d, by="day")["rows"]], [1, 1, 0.01])
            check("a row needs model" in d.log(), d.log())


def test_subagents_have_their_own_file():
    d = shared()
    with Fake(d, "claude", name="subs") as fake:
        file, sub, sums = File(fake), File(fake, "agent-1.jsonl"), Sums()
        file.write(claude_line("msg_main", 5))
        sub.write(claude_line("msg_sub", 6, isSidechain=True))
        sums.add(10, 20, 30, 5, 0)
        sums.add(10, 20, 30, 6, 0)
        file.hook("SubagentStop", agent_id="a", agent_transcript_path=sub.path, stop_hook_active=False)
        _comes(d, "subs", sums)
