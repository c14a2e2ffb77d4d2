# SPDX-License-Identifier: MIT
"""One daemon per home; exit statuses; what a crash leaves does not block the next start."""
import os

from harness import Daemon, Home, check, equal, eventually, mode_of


def test_second_daemon_with_the_same_home_is_refused():
    with Daemon() as d:
        status, _, err = d.home.musterd()
        equal(status, 3, "exit status; " + err)
        check(d.cccc("ping")["result"]["pid"] == d.pid, "the first one is disturbed")


def test_lock_is_in_the_home():
    with Daemon() as d:
        check(os.path.exists(os.path.join(d.home.muster_home, "musterd.lock")), "no lock file")
        equal(mode_of(d.home.muster_home) & 0o077, 0, "the home is open to others")


def test_lock_does_not_survive_kill_9():
    with Home() as home:
        for _ in range(3):
            with Daemon(home=home) as d:
                d.kill()
        with Daemon(home=home) as d:
            check(d.cccc("ping")["ok"], "not served")
            with d.coop() as c, d.aiwg() as a:
                c.good({"cmd": "ls"})
                a.result("ping")
            equal(d.info()["pid"], d.pid)


def test_other_home_beside_it():
    with Daemon() as d, Home() as other:
        with Daemon(home=other) as e:
            equal((d.info()["pid"], e.info()["pid"]), (d.pid, e.pid))


def test_muster_home_flag():
    with Home() as home:
        path = os.path.join(home.base, "elsewhere")
        with Daemon(home=home, args=["--muster-home", path]) as d:
            equal(d.info()["home"], path)
            check(os.path.exists(os.path.join(path, "musterd.lock")), "no lock there")


def test_only_one_endpoint_each_side_by_side():
    with Home() as home:
        with Daemon(only="cccc", home=home) as a, Daemon(only="coop", home=home) as b, Daemon(only="aiwg", home=home) as c, Daemon(only="native", home=home) as d:
            check(a.cccc("ping")["ok"], "cccc")
            with b.coop() as x, c.aiwg() as y:
                x.good({"cmd": "ls"})
                y.result("ping")
            equal(d.info()["pid"], d.pid)


def test_only_native_when_served_elsewhere():
    with Daemon(only="native") as d:
        status, _, err = d.home.musterd("--only", "native")
        equal(status, 3, "exit status; " + err)
        equal(d.info()["pid"], d.pid)


def test_nothing_could_be_opened():
    with Home() as home:
        with Daemon(home=home, only="cccc,coop"):
            status, _, err = home.musterd("--only", "cccc,coop")
            check(status in (3, 4), "exit status %s; %s" % (status, err))
            check("coop" in err and "cccc" in err, "not named: " + err)


def test_several_with_one_served_elsewhere_goes_on():
    with Home() as home:
        with Daemon(only="coop", home=home), Daemon(only="cccc,coop", home=home) as d:
            check(d.cccc("ping")["ok"], "cccc is not served")
            check("coop" in d.log(), "not reported: " + d.log())


def test_usage_errors():
    with Home() as home:
        for args in (["--nonsense"], ["--only"], ["--only", "nonsense"], ["--only", "cccc,nonsense"], ["--log-level", "loud"], ["extra"], ["--coop-socket"]):
            status, _, err = home.musterd(*args)
            equal(status, 2, "exit status of %r; %s" % (args, err))
            check(err.strip(), "no message for %r" % args)


def test_help_and_version():
    with Home() as home:
        for flag in ("--help", "--version"):
            status, out, err = home.musterd(flag)
            equal(status, 0, flag + err)
            check(out.strip(), flag + " says nothing")
        out = home.musterd("--help")[1]
        for flag in ("--only", "--coop-socket", "--aiwg-project", "--muster-home", "--config", "--log-level"):
            check(flag in out, flag + " is not in the help")


def test_only_opens_what_was_asked_for():
    with Daemon(only="cccc") as d:
        check(d.cccc("ping")["ok"], "not served")
        for path in (d.home.coop_sock, d.home.aiwg_sock, d.home.native_sock):
            check(not os.path.lexists(path), path + " was opened as well")


def test_aiwg_is_not_opened_without_a_project():
    with Daemon(project=False) as d:
        equal({e["dialect"] for e in d.info()["endpoints"]}, {"cccc", "coop", "native"})
        check(not os.path.lexists(os.path.join(d.home.cwd, ".aiwg")), "an .aiwg folder was made in a stranger's directory")


def test_aiwg_is_opened_in_a_working_directory_with_dot_aiwg():
    with Home() as home:
        os.mkdir(os.path.join(home.cwd, ".aiwg"))
        with Daemon(project=False, home=home):
            check(os.path.exists(os.path.join(home.cwd, ".aiwg/daemon/daemon.sock")), "not served")


def test_home_that_cannot_be_made():
    with Home() as home:
        status, _, err = home.musterd("--muster-home", "/proc/nowhere/x")
        check(status not in (0, None), "started")
        check("/proc/nowhere" in err, "the path is not named: " + err)


def test_no_descriptor_leaks_over_many_connections():
    with Daemon() as d:
        d.cccc("ping")
        d.info()
        before = d.n_fds()
        for _ in range(200):
            d.cccc("ping")
            with d.aiwg() as a, d.coop() as c:
                a.result("ping")
                c.good({"cmd": "ls"})
        eventually(lambda: d.n_fds() <= before + 20, what="all descriptors came back")
