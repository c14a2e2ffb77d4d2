# SPDX-License-Identifier: MIT
"""kill -9 and failing writes: what was acknowledged is there, files are whole, the next start is not blocked."""
import os
import resource
import socket

from clients import Conn, cccc_request, parse_cccc_reply
from harness import Daemon, Home, check, equal, read_text


def _lines(d):
    return d.cccc("observability_get")["result"]["observability"]["terminal_ui"]["scrollback_lines"]


def _set(value):
    return cccc_request("observability_update", {"patch": {"terminal_ui": {"scrollback_lines": value}}})


def test_acknowledged_settings_survive_kill_9():
    """Each round: some acknowledged changes, one under way, then the kill; the last acknowledged one or the one under way is there."""
    with Home() as home:
        value = 2000
        for round_ in range(10):
            with Daemon(only="cccc", home=home) as d:
                for _ in range(round_ % 3 + 1):
                    value += 1
                    with Conn(home.cccc_sock) as c:
                        c.send(_set(value))
                        check(parse_cccc_reply(c.rest())["ok"], "refused")
                with Conn(home.cccc_sock) as c:
                    c.send(_set(value + 1))
                    d.kill()
            with Daemon(only="cccc", home=home) as d:
                got = _lines(d)
                check(got in (value, value + 1), "%d after %d was acknowledged" % (got, value))
                value = got


def test_no_temporary_files_pile_up():
    with Home() as home:
        for i in range(5):
            with Daemon(only="cccc", home=home) as d:
                with Conn(home.cccc_sock) as c:
                    c.send(_set(3000 + i))
                    d.kill()
        with Daemon(only="cccc", home=home) as d:
            d.cccc("observability_update", {"patch": {"terminal_ui": {"scrollback_lines": 5000}}})
        names = sorted(os.listdir(home.cccc_home))
        check(len(names) <= 8, "files pile up: %r" % names)


def test_file_that_may_not_grow():
    """A write that fails in the middle leaves the old settings whole; the daemon does not die by SIGXFSZ."""
    with Daemon(only="cccc", limits=[(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))], record=False) as d:
        check(d.cccc("observability_update", {"patch": {"log_level": "error"}})["ok"], "refused")
        before = read_text(os.path.join(d.home.cccc_home, "settings.yaml"))
        reply = d.cccc("observability_update", {"patch": {"components": ["c%06d" % i for i in range(100000)]}})
        check(not reply["ok"] and reply["error"]["code"] == "observability_update_failed", repr(reply)[:300])
        equal(read_text(os.path.join(d.home.cccc_home, "settings.yaml")), before, "file")
        equal(d.cccc("observability_get")["result"]["observability"]["log_level"], "ERROR")
        check(d.cccc("observability_update", {"patch": {"log_level": "debug"}})["ok"], "later ones are refused")


def test_folders_taken_from_under_the_daemon():
    """Somebody takes the folders away: the daemon stays up and still stops cleanly."""
    with Daemon() as d, d.aiwg() as a:
        for folder in (d.home.cccc_home, os.path.join(d.home.project, ".aiwg"), os.path.join(d.home.user, ".coop"), os.path.dirname(d.home.native_sock)):
            os.rename(folder, os.path.join(d.home.base, "away-" + os.path.basename(folder)))
        a.result("ping")
        d.stop()


def test_replaced_socket_of_another_daemon_is_not_removed_at_stop():
    """Our socket file was taken away and another daemon's is there now: it is not ours to remove."""
    with Daemon(only="coop") as d:
        os.unlink(d.home.coop_sock)
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(d.home.coop_sock)
            d.stop()
            check(os.path.lexists(d.home.coop_sock), "another program's socket was removed")
