# SPDX-License-Identifier: MIT
"""The one table of hosted processes, over the native socket: true states, their age, and whose they are. Once `ps` showed the holder of a sandbox where
the program in it was meant."""
import os

from checks import check, equal, eventually
from coop_stream import Sessions
from harness import Daemon, Home, Skip, write_text


def test_nothing_is_hosted():
    with Daemon() as d:
        equal(d.ps(), [], "processes")


def test_an_agent_and_its_end():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        reply = s.created("printf 'ready\\n'; read l; exit 9", name="one")
        with s.attach("one") as c:
            c.until("ready")
            (one,) = d.ps()
            equal((one["owner"], one["object"], one["state"], one["kind"], one["sandbox"]), ("sessions", "one", "running", "pty", "none"))
            equal((one["pid"], one["viewers"], one["adopted"]), (reply["pid"], 1, False))
            check(one["bytes"] >= len("ready\r\n") and one["rss_kb"] > 0 and one["age_seconds"] >= 0, repr(one))
            c.key(b"\n")
            equal(c.event("pty_exited")["code"], 9)
        (one,) = eventually(lambda: [p for p in d.ps() if p["state"] == "ended"], what="the end")
        equal(one["exit_code"], 9)
        s.kill("one")
        eventually(lambda: not d.ps(), what="an empty table")


def test_adopted_ones_say_so():
    with Home() as home:
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d, Sessions(d) as s:
            pid = s.created(name="kept")["pid"]
            d.kill()
        with Daemon(only="coop,native", home=home, args=["--sandbox", "none"]) as d, Sessions(d) as s:
            (one,) = d.ps()
            equal((one["pid"], one["state"], one["adopted"]), (pid, "running", True))


def test_in_a_sandbox_it_is_the_program_itself():
    """Not what holds it: its pid, its memory and its time are what people ask for."""
    with Daemon(only="coop,native", args=["--sandbox", "bwrap"]) as d, Sessions(d) as s:
        request = s.request(["python3", "-c", "x = bytearray(60 << 20); print('ready', flush=True); input()"], name="held")
        reply = s.client().ask(request)
        if reply.get("error") == "NAMESPACE_ERROR":
            raise Skip(reply["message"])
        with s.attach("held") as c:
            c.until("ready")
        (one,) = d.ps()
        with open("/proc/%d/comm" % one["pid"], encoding="ascii") as f:
            equal(f.read(), "python3\n")
        equal((one["pid"], one["sandbox"]), (reply["pid"], "bwrap"))
        (listed,) = s.good({"cmd": "ls"})["sessions"]
        equal((listed["pid"], listed["ptys"][0]["pid"]), (reply["pid"], reply["pid"]))
        with open("/proc/%d/comm" % one["sandbox_pid"], encoding="ascii") as f:
            equal(f.read(), "bwrap\n")
        check(one["rss_kb"] > 60000, "rss %d" % one["rss_kb"])
        s.kill("held")


def test_in_a_sandbox_one_that_ends_at_once():
    """create and shell are answered all the same, and name the program if it was seen."""
    with Daemon(only="coop,native", args=["--sandbox", "bwrap"]) as d, Sessions(d) as s:
        reply = s.client().ask(s.request(["sleep", "1000"], name="stays"))
        if reply.get("error") == "NAMESPACE_ERROR":
            raise Skip(reply["message"])
        for i in range(5):
            check(s.client().good(s.request(["true"], name="quick%d" % i))["pid"] > 1, "no pid")
        c = s.shell("stays", command="/bin/true", force_new=True)
        equal(c.event("pty_exited"), {"event": "pty_exited", "code": 0})
        c.ended()
        pid = s.good({"cmd": "restart", "session": "stays", "pty": 0})["pid"]
        with open("/proc/%d/comm" % pid, encoding="ascii") as f:
            equal(f.read(), "sleep\n")
        s.good({"cmd": "kill", "all": True, "force": True})


# ---------------------------------------------------------------------------------------------------- who says which sandbox
def _mode(d, s, everybody=None, project=None, create=None):
    """The sandbox that a session gets when the coopfiles of these layers say so."""
    workspace = s.workspace()
    for path, mode in ((os.path.join(d.home.config, "coop", "default.toml"), everybody), (os.path.join(workspace, "coop.toml"), project)):
        write_text(path, "[sandbox]\nmode = '%s'\n" % mode if mode else "")
    request = s.request(workspace=workspace, more="[sandbox]\nmode = '%s'\n" % create if create else "")
    reply = s.client().ask(request)
    if reply.get("error") == "NAMESPACE_ERROR":
        raise Skip(reply["message"])
    check(reply["ok"], reply)
    (one,) = [p for p in d.ps() if p["object"] == reply["session"]]
    s.kill(reply["session"], force=True)
    return one["sandbox"]


def test_sandbox_unless_told_otherwise():
    """The more special word counts; but the project's own file, which the agent can write, takes no sandbox away."""
    with Daemon(only="coop,native") as d, Sessions(d) as s:
        equal(_mode(d, s), "bwrap")
        equal(_mode(d, s, project="none"), "bwrap")
        equal(_mode(d, s, everybody="none"), "none")
        equal(_mode(d, s, everybody="none", project="bwrap"), "bwrap")
        equal(_mode(d, s, everybody="none", project="none"), "none")
        equal(_mode(d, s, project="bwrap", create="none"), "none")
        equal(_mode(d, s, everybody="none", project="none", create="bwrap"), "bwrap")


def test_sandbox_that_the_daemon_was_told():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        equal(_mode(d, s), "none")
        equal(_mode(d, s, project="bwrap"), "bwrap")
        equal(_mode(d, s, create="bwrap"), "bwrap")
        equal(_mode(d, s, everybody="bwrap", project="none"), "bwrap")
    with Daemon(only="coop,native", env={"MUSTER_SANDBOX": "none"}) as d, Sessions(d) as s:
        equal(_mode(d, s), "none")
    with Home() as home:
        write_text(os.path.join(home.config, "muster", "muster.toml"), "[sandbox]\nmode = 'none'\n")
        with Daemon(only="coop,native", home=home) as d, Sessions(d) as s:
            equal(_mode(d, s), "none")
        with Daemon(only="coop,native", home=home, args=["--sandbox", "bwrap"]) as d, Sessions(d) as s:
            equal(_mode(d, s), "bwrap")
