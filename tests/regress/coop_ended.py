# SPDX-License-Identifier: MIT
"""An agent that has ended is listed, and its number is not shown as if it lived: it may be somebody else's by now. Once `ls` showed it."""
from coop_stream import Sessions
from harness import Daemon, check, equal, eventually


def _row(s, name):
    with s.d.coop() as c:
        return next(r for r in c.good({"cmd": "ls"})["sessions"] if r["name"] == name)


def _line(out, name):
    return next(line.split() for line in out.splitlines() if {name, "session:" + name} & set(line.split()))


def test_ls_and_ps_show_no_pid_of_one_that_ended():
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        name = s.create(["sh", "-c", "read x; exit 3"], restart=False)
        row = _row(s, name)
        check(row["pid"] > 1 and row["ptys"][0]["pid"] == row["pid"], lambda: "it has no pid while it runs: %r" % row)
        check(str(row["pid"]) in _line(s.d.home.muster("ps")[1], name), "not in ps")
        with s.attach(name) as c:
            c.key(b"\n")
        eventually(lambda: _row(s, name)["pid"] == 0, what="no pid")
        equal([p["pid"] for p in _row(s, name)["ptys"]], [0])
        check("ended" in _line(s.d.home.muster("ls")[1], name), "ls does not say that it ended")
        line = _line(s.d.home.muster("ps")[1], name)
        check("-" in line and str(row["pid"]) not in line, lambda: "ps shows its number: %r" % line)
