# SPDX-License-Identifier: MIT
"""Programs that behave badly, and daemons that are killed: no byte of a session's output, no event and no verdict is lost or told twice (company_kills has them at any
time). MUSTER_SOAK=N: 1 GB of output, and as many sessions as may run."""
import os
import signal

from checks import check, equal
from company_sessions import Sessions
from harness import Daemon, Home, eventually, memory_bound

SOAK = int(os.environ.get("MUSTER_SOAK") or 0)
FLOOD = 1 << 30 if SOAK else 64 << 20
TIMEOUT = 86400 if SOAK else 900

COUNT = "i=0; while [ $i -lt %d ]; do echo line $i; i=$((i+1)); done"


def counted(n):
    return "".join("line %d\n" % i for i in range(n)).encode()


# ---------------------------------------------------------------------------------------------------- programs
def test_a_flood_without_newlines():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("head -c %d /dev/zero | tr '\\0' x" % FLOOD)
        eventually(lambda: c.poll(run)["status"] != "running", deadline=TIMEOUT, what="the end of the flood")
        equal(c.collect(run)["status"], "ended")
        equal(os.path.getsize(c.path(run, "outputs/stdout.txt")), FLOOD)
        if not SOAK:
            c.check_whole(run, "ended")
        check(d.memory() < memory_bound(64 << 20), lambda: "%d bytes are held" % d.memory())


def test_bytes_that_are_no_text():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell(r"printf 'a\303'; sleep 0.1; printf '\251b\377\000c\342\202'")
        equal(c.collect(run)["status"], "ended")
        equal(c.bytes(run), b"a\xc3\xa9b\xff\x00c\xe2\x82")
        equal(c.told(run), "aéb\ufffd\x00c\ufffd")
        c.check_whole(run, "ended")


def test_every_byte_there_is():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.launch(["python3", "-c", "import os\nfor i in range(300): os.write(1, bytes(range(256)) * 7)"])
        equal(c.collect(run)["status"], "ended")
        equal(c.bytes(run), bytes(range(256)) * 2100)
        c.check_whole(run, "ended")


def test_a_character_on_the_edge_of_a_chunk():
    """Several events of one change: none of them ends within a character, or is longer than the contract's."""
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.launch(["python3", "-c", "import os; text = ('x' + '€' * 300_000).encode()\nwhile text: text = text[os.write(1, text):]"])
        equal(c.collect(run)["status"], "ended")
        equal(c.told(run), "x" + "€" * 300_000)
        longest = max(len(e["payload"]["chunk"].encode()) for e in c.events(run) if e["type"] == "provider.raw")
        check(60_000 < longest <= 65_536, lambda: "%d bytes in one event" % longest)
        c.check_whole(run, "ended")


def test_it_closes_its_output_and_lives_on():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("echo last; exec >&- 2>&-; sleep 600")
        eventually(lambda: c.bytes(run) == b"last\n", what="its output")
        equal(c.poll(run)["status"], "running")
        c.stop(run)
        equal(c.collect(run)["status"], "stopped")
        c.check_whole(run, "stopped")


def test_it_ignores_being_told_to_end():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("trap '' TERM HUP INT; echo ready; while :; do sleep 0.1; done")
        eventually(lambda: c.bytes(run) == b"ready\n", what="its trap")
        c.stop(run)
        end = c.collect(run)
        equal((end["status"], end["signal"]), ("stopped", "SIGKILL"))
        c.check_whole(run, "stopped")


def test_what_it_left_behind_is_stopped_with_it():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("setsid sh -c 'echo $$; exec sleep 600' & wait")
        eventually(lambda: c.bytes(run).endswith(b"\n"), what="its child")
        child = int(c.bytes(run))
        c.stop(run)
        equal(c.collect(run)["status"], "stopped")
        eventually(lambda: not os.path.exists("/proc/%d" % child), what="the end of its child")


def test_what_cannot_be_started():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        text = os.path.join(c.top, "text")
        with open(text, "w", encoding="utf-8") as file:
            file.write("no program\n")
        for argv, word in ((["/no/such/thing"], "ENOENT"), (["no-such-thing"], "ENOENT"), ([text], "EACCES"), ([c.top], "EACCES"), (["a\0b"], "NUL"),
                           (["true", "x" * (1 << 20)], "E2BIG")):
            run = c.launch(argv)
            end = c.collect(run)
            equal(end["status"], "failed")
            check(word in end["error"], end)
            equal(c.document(run)["status"], "running", "the run keeps its status")
            equal([t for t in c.types(run) if t.startswith("run.")][-1] in ("run.started", "run.executing"), True)


def test_its_folder_is_removed_under_it():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        run = c.shell("echo one; while [ -e go ]; do sleep 0.05; done; echo two")
        eventually(lambda: os.path.exists(c.path(run, "outputs/stdout.txt")), what="its files")
        with open(c.ws + "/go", "w", encoding="utf-8"):
            pass
        run = c.shell("echo one; while [ -e go ]; do sleep 0.05; done; echo two")
        eventually(lambda: c.bytes(run) == b"one\n", what="its output")
        os.rename(os.path.dirname(c.path(run, "run.yaml")), c.top + "/away")
        os.unlink(c.ws + "/go")
        equal(c.collect(run)["status"], "ended")
        check(not os.path.exists(c.path(run, "run.yaml")), "nothing is made anew")


def test_a_link_stands_where_its_folder_was():
    """That a run cannot be looked at does not say that it was removed: what its program prints waits for it."""
    with Daemon(only="native") as d, Sessions(d).make() as c:
        go = c.top + "/go"
        run = c.shell("echo one; while ! [ -e %s ]; do sleep 0.05; done; echo two; sleep 600" % go)
        eventually(lambda: c.bytes(run) == b"one\n", what="its output")
        folder = os.path.dirname(c.path(run, "run.yaml"))
        os.rename(folder, c.top + "/away")
        os.symlink(c.top + "/away", folder)
        with open(go, "w", encoding="utf-8"):
            pass
        eventually(lambda: "its output cannot be kept, it waits" in d.log(), what="a word in the log")
        os.unlink(folder)
        os.rename(c.top + "/away", folder)
        eventually(lambda: c.bytes(run) == b"one\ntwo\n", what="the rest of its output")
        c.stop(run)
        equal(c.collect(run)["status"], "stopped")
        c.check_whole(run, "stopped")


# ---------------------------------------------------------------------------------------------------- clients
def test_a_client_that_goes_while_it_collects():
    with Daemon(only="native") as d, Sessions(d).make() as c:
        with Sessions(d, c.top) as other:
            run = other.shell("sleep 0.3; echo done")
            other.rpc.send(b'{"jsonrpc":"2.0","id":9,"method":"session.collect","params":{"session_ref":"local_%s"}}\n' % run.encode())
        equal(c.ended(run)["status"], "ended")
        c.check_whole(run, "ended")


def test_many_sessions_at_once():
    """As many as may run, and one more is refused."""
    with Daemon(only="native") as d, Sessions(d).make() as c:
        n = 256 if SOAK else 64
        runs = [c.shell("echo hi; exec sleep 600") for _ in range(n)]
        if SOAK:
            more = c.create()
            check("Too many" in c.error("session.launch", workspace_dir=c.ws, project_id="proj_a", run_id=more, argv=["true"])["message"], "one too many")
        for run in runs:
            c.stop(run)
        for run in runs:
            equal(c.collect(run)["status"], "stopped")
            c.check_whole(run, "stopped")


# ---------------------------------------------------------------------------------------------------- the daemon is killed
def test_killed_while_programs_print():
    """What ends while no daemon runs has its true exit status; what prints goes on where the files end."""
    with Home() as home:
        with Daemon(only="native", home=home) as d, Sessions(d).make() as c:
            top, n = c.top, 3000
            runs = {c.shell(COUNT % n + "; exit %d" % code): code for code in range(4)}
            sleeper = c.launch(["sleep", "600"])
            d.kill()
        with Daemon(only="native", home=home) as d, Sessions(d, top) as c:
            equal(c.poll(sleeper)["status"], "running")
            for run, code in runs.items():
                end = c.ended(run)
                equal((end["status"], end["exit_code"]), ("failed" if code else "ended", code))
                check(c.bytes(run) == counted(n), lambda: "%d bytes of %d" % (len(c.bytes(run)), len(counted(n))))
                c.check_whole(run)
            c.stop(sleeper)
            equal(c.ended(sleeper)["status"], "stopped")
            c.check_whole(sleeper, "stopped")
            eventually(lambda: not d.ps(), what="the end of all programs")


def test_killed_while_it_stops_one():
    with Home() as home:
        with Daemon(only="native", home=home) as d, Sessions(d).make() as c:
            top, run = c.top, c.shell("trap '' TERM; echo ready; while :; do sleep 0.05; done")
            eventually(lambda: c.bytes(run) == b"ready\n", what="its trap")
            c.stop(run)
            d.kill()
        with Daemon(only="native", home=home) as d, Sessions(d, top) as c:
            end = c.ended(run)
            equal(end["status"], "stopped")
            c.check_whole(run, "stopped")


def test_stopped_by_muster_down_and_found_again():
    """A daemon that is stopped lets programs run; the next one has them."""
    with Home() as home:
        with Daemon(only="native", home=home) as d, Sessions(d).make() as c:
            top, run = c.top, c.shell("echo one; sleep 0.5; echo two")
            eventually(lambda: c.bytes(run) == b"one\n", what="its output")
            d.stop(signal.SIGTERM)
        with Daemon(only="native", home=home) as d, Sessions(d, top) as c:
            equal(c.ended(run)["exit_code"], 0)
            equal(c.bytes(run), b"one\ntwo\n")
            c.check_whole(run, "ended")
