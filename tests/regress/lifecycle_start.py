# SPDX-License-Identifier: MIT
"""Odd surroundings at the start: closed standard streams, missing folders, long paths, odd limits. Once the greeting named commands that reach another
daemon."""
import os
import signal

from clients import Rpc
from harness import MUSTERD, Daemon, Home, check, equal, eventually, mode_of, write_text
from person import Person


def test_closed_standard_streams():
    """Descriptors 0 to 2 must not become sockets: what is logged would be sent to clients."""
    for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        with Daemon(prefix=["/bin/sh", "-c", 'exec "$0" "$@" ' + closed], args=["--log-level", "debug"]) as d:
            for _ in range(3):
                d.check_served()
            for fd in (0, 1, 2):
                target = os.readlink("/proc/%d/fd/%d" % (d.pid, fd))
                check("socket:" not in target and "anon_inode" not in target, "descriptor %d is %s (%s)" % (fd, target, closed))


def test_standard_error_to_a_full_pipe():
    """Whoever reads the log has stopped: the daemon goes on without it."""
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    try:
        while True:
            os.write(write_end, b"x" * 65536)
    except BlockingIOError:
        pass
    os.set_blocking(write_end, True)
    os.set_inheritable(write_end, True)
    try:
        with Daemon(prefix=["/bin/bash", "-c", 'exec "$0" "$@" 2>&%d %d>&-' % (write_end, write_end)], args=["--log-level", "debug"], pass_fds=[write_end]) as d:
            for _ in range(5):
                d.check_served()
            d.stop()
    finally:
        os.close(read_end)
        os.close(write_end)


def test_standard_error_to_a_closed_pipe():
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    with Daemon(prefix=["/bin/bash", "-c", 'exec "$0" "$@" 2>&%d %d>&-' % (write_end, write_end)], args=["--log-level", "debug"], pass_fds=[write_end]) as d:
        os.close(write_end)
        os.close(read_end)
        d.check_served()


def test_runtime_folder_that_is_missing():
    with Home() as home:
        os.rmdir(home.runtime)
        with Daemon(home=home, project=False):
            found = [p for p in (home.native_sock, os.path.join(home.muster_home, "run", "muster.sock")) if os.path.exists(p)]
            equal(len(found), 1, "native sockets in %r" % found)
            with Rpc(found[0]) as n:
                n.result("daemon.info")


def test_open_runtime_folder_is_closed_to_others():
    with Home() as home:
        os.mkdir(os.path.dirname(home.native_sock), 0o777)
        os.chmod(os.path.dirname(home.native_sock), 0o777)
        with Daemon(home=home) as d:
            equal(d.info()["pid"], d.pid)
            equal(mode_of(os.path.dirname(home.native_sock)), 0o700)


def test_home_too_long_for_a_socket_is_named():
    with Home() as home:
        long = os.path.join(home.base, "x" * 120)
        for args, env in ((["--only", "cccc"], {"CCCC_HOME": long}), (["--only", "aiwg", "--aiwg-project", long], {})):
            os.makedirs(long, exist_ok=True)
            status, _, err = home.musterd(*args, env=env)
            equal(status, 4, "%r; %s" % (args, err))
            check(args[1] in err, "the endpoint is not named: " + err)


def test_blocked_and_ignored_signals_are_inherited_harmlessly():
    """Some starters leave signals ignored; a stop must still work."""
    with Daemon(prefix=["/bin/sh", "-c", 'trap "" TERM INT HUP PIPE CHLD; exec "$0" "$@"']) as d:
        d.check_served()
        d.stop(signal.SIGTERM)


def test_reload_reads_the_log_level_again():
    with Home() as home:
        path = os.path.join(home.config, "muster", "muster.toml")
        write_text(path, '[daemon]\nlog_level = "err"\n')
        with Daemon(home=home) as d:
            write_text(path, '[daemon]\nlog_level = "debug"\n')
            d.signal(signal.SIGHUP)
            eventually(lambda: d.cccc("ping") and " debug " in d.log(), what="debug lines in the log")


def test_greeting_names_only_what_works():
    """`musterd --only aiwg` told people to try `muster status` and `muster down`, which cannot reach a daemon without the native socket."""
    with Daemon() as d:
        check("muster status" in d.log() and "muster down" in d.log(), d.log())
    with Daemon(only="cccc") as d:
        check("Stop with Ctrl+C" in d.log() and "muster status" not in d.log() and "muster down" not in d.log(), d.log())


def test_the_greeting_comes_first():
    """At a terminal three lines of the log stood before it, which said the same."""
    with Home() as home:
        for args, begins in (((), "musterd "), (("--log-level", "notice"), "2")):
            with Person(home, *args, program=MUSTERD) as p:
                seen = p.until("Stop with Ctrl+C").decode()
                check(seen.startswith(begins), seen)
                p.type("\x03")
                text = p.ended(0)
                check("stopped" in text, "the log does not go on: " + text)
