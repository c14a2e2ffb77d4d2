# SPDX-License-Identifier: MIT
"""Tokens as agents without a terminal tell them in their structured output. Runs of AgentCompany and tasks of AIWG have no hooks of ours, so nothing of what they used was known; and
who adds up their numbers counts a session once for each turn, and subagents not at all (docs/usage.md)."""
import glob
import os

from checks import check, equal, eventually
from company_sessions import Sessions
from fake_agents import Fake, native
from harness import Daemon, Home
from spoken import claude_init, claude_response, claude_result, codex_server, codex_turn, gemini_document, gemini_run, lines, opencode_step
from transcripts import File, claude_line, codex_count, codex_meta

EVER = "2000-01-01T00:00:00Z"
COUNTS = ("in", "cached", "cache_write", "out")


def _rows(d, by="session"):
    return {row["key"]: row for row in native(d, "usage.report", since=EVER, by=by)["rows"]}


def _counts(row):
    return tuple(row[name] for name in COUNTS)


class Prints:
    """A run of AgentCompany that prints what it is given, and ends when told to."""

    def __init__(self, c, folder, name="prints"):
        self.c = c
        fifo = os.path.join(folder, name)
        os.mkfifo(fifo)
        self.run = c.launch(["cat", fifo])
        self.file = open(fifo, "w", encoding="utf-8")  # pylint: disable=consider-using-with

    def say(self, text):
        self.file.write(text)
        self.file.flush()

    def end(self):
        self.file.close()
        equal(self.c.ended(self.run)["status"], "ended")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()


def _is(d, key, counts, by="session"):
    """It comes to that; more would be seen, since the end of the run is waited for by then."""
    eventually(lambda: key in _rows(d, by) and _counts(_rows(d, by)[key]) == counts, what=lambda: "%s: %r, not %r" % (key, _rows(d, by), counts))


def _said(text, session, counts, by="session"):
    """All of it from one run: while it runs, at its end and of the next daemon, which reads the output once more."""
    with Home() as home:
        with Daemon(home=home) as d:
            c = Sessions(d)
            c.make()
            run = Prints(c, home.base)
            run.say(text)
            _is(d, session, counts, by)
            d.kill()
        with Daemon(home=home) as d:
            run.say("one line more\n")
            _is(d, session, counts, by)
            names = sorted(_rows(d, "name"))
            d.kill()
        os.unlink(next(iter(glob.glob(home.base + "/**/usage/ledger.jsonl", recursive=True))))  # as if it had been killed before that was written
        with run, Daemon(home=home) as d, Sessions(d, top=c.top) as run.c:
            _is(d, session, counts, by)
            equal(sorted(_rows(d, "name")), names)
            run.say("one line more\n")
            _is(d, session, counts, by)
            run.end()
            _is(d, session, counts, by)
            row = _rows(d, by)[session]
            equal(row["tokens"], sum(counts))
            return row, _rows(d, "model")


def test_claude_tells_partial_responses_and_exact_results():
    sonnet, haiku = "claude-sonnet-4-5", "claude-haiku-4-5"
    first, second = {sonnet: (30, 400, 50, 900), haiku: (5, 0, 0, 70)}, {sonnet: (10, 600, 0, 100)}
    both = {sonnet: (40, 1000, 50, 1000), haiku: (5, 0, 0, 70)}
    text = lines(claude_init("s"), claude_response("s", "m1", (10, 100, 50, 1)), claude_response("s", "m1", (10, 100, 50, 7)), claude_response("s", "m2", (20, 300, 0, 1)),
                 claude_response("s", "sub", (5, 0, 0, 1), model=haiku, parent="toolu_1"), claude_result("s", 1, first, first), claude_init("s"),
                 claude_response("s", "m3", (10, 600, 0, 2)), claude_result("s", 2, both, second))
    _, models = _said(text, "s", (45, 1000, 50, 1070))
    equal({name: _counts(row)[:3] for name, row in models.items() if name}, {sonnet: (40, 1000, 50), haiku: (5, 0, 0)})
    check(models[sonnet]["priced_usd"] > 0, "its model has a price")


def test_claude_that_is_killed_has_told_its_responses():
    _said(lines(claude_init("k"), claude_response("k", "m1", (10, 100, 50, 1)), claude_response("k", "m2", (20, 300, 0, 3))), "k", (30, 400, 50, 4))


def test_claude_calls_its_model_otherwise_than_who_answers():
    total = {"sonnet[1m]": (30, 400, 50, 900)}
    _said(lines(claude_init("n"), claude_response("n", "m1", (30, 400, 50, 1), model="claude-sonnet-4-5-20250929"), claude_result("n", 1, total, total)), "n", (30, 400, 50, 900))


def test_claude_as_one_object():
    """`--output-format json`, resumed: its numbers are those of the session, and `usage` leaves subagents out."""
    model = "claude-sonnet-4-5"
    with Home() as home, Daemon(home=home) as d, Sessions(d).make() as c:
        for number, total in enumerate(((30, 400, 50, 900), (50, 700, 50, 1000))):
            with Prints(c, home.base, "json%d" % number) as run:
                run.say(lines(claude_result("j", number, {model: total})))
                run.end()
                _is(d, "j", total)
        row = _rows(d)["j"]
        equal(row["reported_usd"], 0.25)  # the first has said what it cost; of the second only all together is known
        check(row["priced_usd"] > 0, row)


def test_claude_that_was_begun_elsewhere():
    """Only what is new of a session is known to be ours."""
    _said(lines(claude_init("e"), claude_response("e", "m9", (10, 100, 0, 1)), claude_result("e", 1, {"claude-sonnet-4-5": (5010, 9100, 70, 4050)}, {"claude-sonnet-4-5": (10, 100, 0, 50)})),
          "e", (10, 100, 0, 50))


def test_codex_tells_totals_of_its_thread():
    _said(lines(*codex_turn("t", (2400, 400, 100, 30)), *codex_turn("t", (3600, 600, 150, 40))), "t", (3000, 600, 0, 150))


def test_codex_resumed_by_another_run():
    with Home() as home, Daemon(home=home) as d, Sessions(d).make() as c:
        for number, total in enumerate(((2400, 400, 100, 30), (3600, 600, 150, 40))):
            with Prints(c, home.base, "codex%d" % number) as run:
                run.say(lines(*codex_turn("r", total)))
                run.end()
        _is(d, "r", (3000, 600, 0, 150))
        equal(sorted(_counts(row) for row in _rows(d, "name").values()), [(1000, 200, 0, 50), (2000, 400, 0, 100)])


def test_app_server():
    _said(lines(codex_server("a", (1000, 100, 50, 10), (1000, 100, 50, 10)), codex_server("a", (2500, 1100, 90, 30), (1500, 1000, 40, 20))), "a", (1400, 1100, 0, 90))


def test_gemini():
    """The numbers are of the process: resumed, it begins anew."""
    first = gemini_run("g", "2026-11-19T03:39:18.016Z", {"gemini-2.5-pro": (2400, 400, 100, 60), "gemini-2.5-flash": (50, 0, 5, 0)})
    again = gemini_run("g", "2026-11-19T03:39:23.273Z", {"gemini-2.5-pro": (1200, 200, 50, 0)})
    _, models = _said(lines(*first, *again), "g", (3050, 600, 0, 215))
    equal(_counts(models["gemini-2.5-flash"]), (50, 0, 0, 5))


def test_gemini_as_one_document():
    """It has no line for itself, and no newline at its end."""
    with Home() as home, Daemon(home=home) as d, Sessions(d).make() as c, Prints(c, home.base) as run:
        run.say(gemini_document("d", {"gemini-2.5-pro": (1200, 200, 50, 8)}))
        run.end()
        _is(d, "d", (1000, 200, 0, 58))


def test_opencode():
    row, _ = _said(lines(opencode_step("o", "prt_1", (1000, 200, 10, 50, 5)), opencode_step("o", "prt_2", (100, 1200, 0, 20, 0), 0.5)), "o", (1100, 1400, 10, 75))
    equal((row["reported_usd"], row["unpriced"]), (0.5, 1265))


def test_hooks_say_more_than_output():
    """Of a run with hooks its transcript counts, once."""
    with Home() as home, Daemon(home=home, env={"MUSTER_TOOLS": "on"}) as d, Sessions(d).make() as c:
        with Fake(d, "claude", name="run", start=lambda fake: c.launch([fake.program, "-p", "x"], env={**fake.env, "MUSTER_TOOLS": "on"})) as fake:
            fake.until_named("company")
            file = File(fake)
            file.write(claude_line("m1", 900, session="h"))
            file.hook()
            _is(d, "h", (10, 20, 30, 900))
            fake.do("print " + lines(claude_init("h"), claude_response("h", "m1", (10, 20, 30, 1)), claude_result("h", 1, {"claude-sonnet-4-5": (10, 20, 30, 900)})).replace("\n", "\\n"))
            file.write(claude_line("m2", 5, session="h"))
            file.hook()
            _is(d, "h", (20, 40, 60, 905))


def test_a_terminal_goes_on_with_what_ran_without_one():
    """Its transcript repeats what the output has told."""
    with Home() as home, Daemon(home=home, args=["--sandbox", "none"]) as d, Sessions(d).make() as c:
        with Prints(c, home.base) as run:
            run.say(lines(claude_result("s1", 1, {"claude-sonnet-4-5": (20, 40, 60, 907)}), *codex_turn("t1", (2400, 400, 100, 30))))
            run.end()
            _is(d, "t1", (2000, 400, 0, 100))
        with Fake(d, "claude") as fake:
            file = File(fake)
            file.write(claude_line("m1", 900) + claude_line("m2", 7) + claude_line("m3", 50, at="2200-01-01T00:00:00.000Z"))
            file.hook()
            _is(d, "s1", (30, 60, 90, 957))
        with Fake(d, "codex") as fake:
            file = File(fake)
            file.write(codex_meta("t1") + codex_count((1200, 200, 50, 15), (1200, 200, 50, 15)) + codex_count((2400, 400, 100, 30), (1200, 200, 50, 15)) +
                       codex_count((3600, 600, 150, 45), (1200, 200, 50, 15), at="2200-01-01T00:00:00.000Z"))
            file.hook()
            _is(d, "t1", (3000, 600, 0, 150))


def test_what_only_looks_like_it():
    """Wrong numbers, no names, arrays, sums that go down: nothing is counted that is not there, and what is right behind it is."""
    wrong = ['{"type":"result","subtype":"success","modelUsage":7}', '{"type":"result","subtype":"x","modelUsage":{"a b":{"inputTokens":-5}}}',
             '{"type":"assistant","message":{"id":"i","usage":{"input_tokens":"7"}}}', '{"type":"assistant","message":{"usage":{"input_tokens":7}}}',
             '{"type":"turn.completed","usage":[1]}', '{"type":"turn.completed"}', '{"method":"thread/tokenUsage/updated","params":{"tokenUsage":{}}}',
             '{"type":"step_finish","sessionID":"x","part":{"tokens":{"input":5}}}', '{"type":"step_finish","sessionID":"x","part":{"id":"p","tokens":{"input":1e300}}}',
             '{"type":"result","timestamp":"now","stats":{"models":{"m":{"input_tokens":-1}}}}']
    _said("\n".join(wrong) + "\n" + lines(opencode_step("w", "prt_1", (1, 2, 3, 4, 5))), "w", (1, 2, 3, 9))
