# SPDX-License-Identifier: MIT
"""coop: the socket, its pid file and what a start does with what is already there (coop.md 1, 2.2, 6)."""
import os
import socket

from clients import Coop
from harness import Daemon, Home, Skip, check, equal, mode_of, read_text, stale_socket, write_text


def test_pid_file_beside_the_socket():
    with Daemon(only="coop") as d:
        equal(read_text(os.path.join(d.home.user, ".coop", "daemon.pid")).strip(), str(d.pid))


def test_all_is_removed_at_a_clean_stop():
    with Daemon(only="coop") as d:
        d.stop()
        for name in ("sock", "daemon.pid"):
            check(not os.path.lexists(os.path.join(d.home.user, ".coop", name)), name + " was left behind")


def test_the_log_is_where_coop_logs_looks_for_it():
    """It begins anew with each daemon, as the original's."""
    with Home() as home:
        path = os.path.join(home.user, ".coop", "logs", "daemon.log")
        for only in ("coop", None):
            with Daemon(only=only, home=home) as d:
                text = read_text(path)
                equal([mode_of(path), mode_of(os.path.dirname(path))], [0o600, 0o700])
                check("[coop]" in text and "listening" in text, "what happens is not in it: " + text)
                equal(text.count("closed → listening where=" + home.coop_sock), 1, "daemons in " + text)
                d.stop()
            check("stopping" in read_text(path), "the stop is not in it")


def test_a_log_that_cannot_be_written_is_no_reason_not_to_start():
    with Home() as home:
        write_text(os.path.join(home.user, ".coop", "logs"), "no folder")
        with Daemon(only="coop", home=home) as d, d.coop() as c:
            c.good({"cmd": "ls"})


def test_mode_does_not_depend_on_the_umask():
    with Daemon(only="coop", prefix=["/bin/sh", "-c", 'umask 000; exec "$0" "$@"']) as d:
        equal(mode_of(d.home.coop_sock), 0o600)


def test_socket_elsewhere():
    with Home() as home:
        path = os.path.join(home.base, "deep", "er", "s")
        with Daemon(only="coop", home=home, args=["--coop-socket", path]):
            with Coop(path) as c:
                c.good({"cmd": "ls"})
            equal(mode_of(path), 0o600)
            check(not os.path.lexists(home.coop_sock), "the default socket was made as well")
        check(not os.path.lexists(path), "the socket was left behind")


def test_stale_socket_is_replaced():
    with Home() as home:
        stale_socket(home.coop_sock)
        with Daemon(only="coop", home=home) as d, d.coop() as c:
            c.good({"cmd": "ls"})


def test_socket_of_a_killed_daemon_is_replaced():
    with Home() as home:
        with Daemon(only="coop", home=home) as d:
            d.kill()
        with Daemon(only="coop", home=home) as d, d.coop() as c:
            c.good({"cmd": "ls"})


def test_second_daemon_is_refused_and_disturbs_nothing():
    with Daemon(only="coop") as d, d.coop() as before:
        status, _, err = d.home.musterd("--only", "coop")
        equal(status, 3, "exit status; " + err)
        check("coop" in err, "the endpoint is not named: " + err)
        before.good({"cmd": "ls"})
        with d.coop() as c:
            c.good({"cmd": "ls"})


def test_live_socket_of_another_program_is_left_alone():
    with Home() as home:
        os.mkdir(os.path.dirname(home.coop_sock))
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(home.coop_sock)
            s.listen(16)
            status, _, err = home.musterd("--only", "coop")
            equal(status, 3, "exit status; " + err)
            with socket.socket(socket.AF_UNIX) as c:
                c.connect(home.coop_sock)


def test_not_a_socket_in_the_way():
    with Home() as home:
        write_text(home.coop_sock, "precious")
        status, _, err = home.musterd("--only", "coop")
        equal(status, 4, "exit status; " + err)
        equal(read_text(home.coop_sock), "precious")


def test_dangling_symlink_is_refused():
    with Home() as home:
        os.mkdir(os.path.dirname(home.coop_sock))
        os.symlink(os.path.join(home.base, "nowhere"), home.coop_sock)
        status, _, err = home.musterd("--only", "coop")
        equal(status, 4, "exit status; " + err)
        check(os.path.islink(home.coop_sock) and not os.path.lexists(os.path.join(home.base, "nowhere")), "followed")


def test_symlink_to_a_stale_socket_is_refused():
    with Home() as home:
        real = os.path.join(home.base, "real")
        stale_socket(real)
        os.mkdir(os.path.dirname(home.coop_sock))
        os.symlink(real, home.coop_sock)
        equal(home.musterd("--only", "coop")[0], 4, "exit status")
        check(os.path.lexists(real), "the target was removed")


def test_socket_of_another_user_is_left_alone():
    if os.geteuid() != 0:
        raise Skip("needs root")
    with Home() as home:
        stale_socket(home.coop_sock)
        os.chown(home.coop_sock, 65534, 65534)
        status, _, err = home.musterd("--only", "coop")
        equal(status, 4, "exit status; " + err)
        equal(os.lstat(home.coop_sock).st_uid, 65534)


def test_path_that_is_too_long():
    with Home() as home:
        status, _, err = home.musterd("--only", "coop", "--coop-socket", os.path.join(home.base, "x" * 200))
        check(status in (2, 4), "exit status %s; %s" % (status, err))
        check("coop" in err, "the endpoint is not named: " + err)


def test_folder_cannot_be_made():
    with Home() as home:
        write_text(os.path.join(home.user, ".coop"), "a file")
        status, _, err = home.musterd("--only", "coop")
        equal(status, 4, "exit status; " + err)
