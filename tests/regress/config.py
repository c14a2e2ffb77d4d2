# SPDX-License-Identifier: MIT
"""Configuration: each setting by file, environment and flag, in this order; bad ones end with status 2 and a place to look at."""
import json
import os
import signal

from clients import Coop, Rpc
from harness import Daemon, Home, check, equal, read_text, write_text


def _file(home, text, path=None):
    path = path or os.path.join(home.config, "muster", "muster.toml")
    write_text(path, text)
    return path


def _dialects(d):
    return {e["dialect"] for e in d.info()["endpoints"]}


def test_only_by_file():
    with Home() as home:
        for text in ('[daemon]\nonly = ["cccc", "native"]\n', '[daemon]\nonly = "cccc,native"\n'):
            _file(home, text)
            with Daemon(home=home, project=False) as d:
                equal(_dialects(d), {"cccc", "native"}, "endpoints by " + text)


def test_only_by_environment():
    with Daemon(project=False, env={"MUSTER_ONLY": "coop,native"}) as d:
        equal(_dialects(d), {"coop", "native"})


def test_environment_wins_over_the_file_and_flags_over_both():
    with Home() as home:
        _file(home, '[daemon]\nonly = ["cccc", "native"]\n')
        with Daemon(home=home, project=False, env={"MUSTER_ONLY": "coop,native"}) as d:
            equal(_dialects(d), {"coop", "native"})
        with Daemon(home=home, project=False, only="native", env={"MUSTER_ONLY": "coop,native"}) as d:
            equal(_dialects(d), {"native"})


def test_coop_socket_by_file():
    with Home() as home:
        path = os.path.join(home.base, "by-file")
        _file(home, '[coop]\nsocket = "%s"\n' % path)
        with Daemon(home=home, only="coop"), Coop(path) as c:
            c.good({"cmd": "ls"})


def test_coop_socket_by_environment():
    with Home() as home:
        path = os.path.join(home.base, "by-env")
        with Daemon(home=home, only="coop", env={"MUSTER_COOP_SOCKET": path}), Coop(path) as c:
            c.good({"cmd": "ls"})


def test_aiwg_project_by_file():
    with Home() as home:
        other = os.path.join(home.base, "p2")
        os.mkdir(other)
        _file(home, '[aiwg]\nprojects = ["%s", "%s"]\n' % (home.project, other))
        with Daemon(home=home, only="aiwg", project=False) as d:
            with d.aiwg() as a, Rpc(os.path.join(other, ".aiwg/daemon/daemon.sock")) as b:
                a.result("ping")
                b.result("ping")


def test_aiwg_project_by_environment():
    with Home() as home:
        other = os.path.join(home.base, "p2")
        os.mkdir(other)
        with Daemon(home=home, only="aiwg", project=False, env={"MUSTER_AIWG_PROJECT": home.project + ":" + other}) as d, d.aiwg() as a:
            a.result("ping")
            with Rpc(os.path.join(other, ".aiwg/daemon/daemon.sock")) as b:
                b.result("ping")


def test_muster_home_by_environment():
    with Home() as home:
        path = os.path.join(home.base, "by-env")
        with Daemon(home=home, env={"MUSTER_HOME": path}) as d:
            equal(d.info()["home"], path)


def test_state_home_by_xdg_and_its_default():
    with Home() as home:
        with Daemon(home=home, env={"XDG_STATE_HOME": None}) as d:
            equal(d.info()["home"], os.path.join(home.user, ".local", "state", "muster"))


def test_config_file_by_flag_and_environment():
    with Home() as home:
        path = _file(home, '[daemon]\nonly = ["native"]\n', os.path.join(home.base, "my.toml"))
        with Daemon(home=home, project=False, args=["--config", path]) as d:
            equal(_dialects(d), {"native"})
        with Daemon(home=home, project=False, env={"MUSTER_CONFIG": path}) as d:
            equal(_dialects(d), {"native"})


def test_config_file_in_the_default_folder():
    with Home() as home:
        _file(home, '[daemon]\nonly = ["native"]\n', os.path.join(home.user, ".config", "muster", "muster.toml"))
        with Daemon(home=home, project=False, env={"XDG_CONFIG_HOME": None}) as d:
            equal(_dialects(d), {"native"})


def test_log_level_by_flag_file_and_environment():
    with Home() as home:
        def said(**kw):
            with Daemon(home=home, **kw) as d:
                d.info()
                d.stop()
                return d.log().replace("pid %d" % d.pid, "pid N")
        quiet, loud = said(args=["--log-level", "err"]), said(args=["--log-level", "debug"])
        check(len(quiet) < len(loud), lambda: "err says as much as debug: %s" % quiet)
        equal(said(env={"MUSTER_LOG_LEVEL": "err"}), quiet, "by environment")
        _file(home, '[daemon]\nlog_level = "err"\n')
        equal(said(), quiet, "by file")


def test_cccc_version_by_environment():
    with Daemon(only="cccc", env={"MUSTER_CCCC_VERSION": "9.9.9"}) as d:
        equal(d.cccc("ping")["result"]["version"], "9.9.9")


def test_record_holds_every_call():
    with Home() as home:
        path = os.path.join(home.base, "record.jsonl")
        with Daemon(home=home, env={"MUSTER_RECORD": path}) as d:
            d.cccc("ping")
            d.cccc("observability_update", {"by": "x", "patch": {}})
            with d.aiwg() as a, d.coop() as c:
                a.result("daemon.status")
                c.good({"cmd": "ls"})
            d.info()
            d.stop()
        rows = [json.loads(x) for x in read_text(path).splitlines()]
        equal([(r["dialect"], r["op"], r["ok"]) for r in rows],
              [("cccc", "ping", True), ("cccc", "observability_update", False), ("aiwg", "daemon.status", True), ("coop", "ls", True), ("native", "daemon.info", True)])
        check(all("result" in r or "error" in r for r in rows), "neither result nor error")


def test_file_that_is_named_but_missing():
    with Home() as home:
        path = os.path.join(home.base, "missing.toml")
        status, _, err = home.musterd("--config", path)
        equal(status, 2, "exit status; " + err)
        check(path in err, "the file is not named: " + err)


def _bad(text, line, key):
    def test():
        with Home() as home:
            path = _file(home, text)
            status, _, err = home.musterd()
            equal(status, 2, "exit status; " + err)
            check(path in err, "the file is not named: " + err)
            if line:
                check(":%d" % line in err or "line %d" % line in err, "line %d is not named: %s" % (line, err))
            if key:
                check(key in err, "%s is not named: %s" % (key, err))
    return test


test_bad_syntax = _bad('[daemon]\nonly = "cccc"\nlog_level = \n', 3, "")
test_bad_syntax_in_the_first_line = _bad("= 5\n", 1, "")
test_unknown_key = _bad("# a comment\n\n[daemon]\nnonsense = 5\n", 4, "daemon.nonsense")
test_unknown_table = _bad("\n[nonsense]\nx = 5\n", 3, "nonsense")
test_key_without_a_table = _bad("\nonly = 5\n", 2, "only")
test_key_of_another_table = _bad('[daemon]\nonly = "cccc"\n[coop]\nonly = "cccc"\n', 4, "coop.only")
test_unknown_key_that_begins_like_a_known_one = _bad('[daemon]\nonly = "native"\nonly_x = "a"\n', 3, "daemon.only_x")
test_known_key_behind_one_that_begins_like_it = _bad('[cccc]\nhome = "/x"\n# only this\n[daemon]\nonly = 5\n', 5, "daemon.only")
test_unknown_endpoint = _bad('[daemon]\nlog_level = "info"\nonly = ["cccc", "nonsense"]\n', 3, "daemon.only")
test_wrong_type = _bad("[daemon]\n\nonly = {a = 1}\n", 3, "daemon.only")
test_wrong_type_of_a_list = _bad("[aiwg]\nprojects = [[1]]\n", 2, "aiwg.projects")
test_wrong_type_of_a_number = _bad('[limits]\nhandshake_ms = "soon"\n', 2, "limits.handshake_ms")
test_negative_number = _bad("[limits]\nhandshake_ms = -5\n", 2, "limits.handshake_ms")
test_unknown_log_level = _bad('[daemon]\n\nlog_level = "loud"\n', 3, "daemon.log_level")
test_duplicate_key = _bad('[daemon]\nonly = "cccc"\nonly = "coop"\n', 3, "")
test_nul_byte = _bad('[daemon]\nonly = "\x00"\n', 2, "")


def test_handshake_limit_by_file():
    with Home() as home:
        _file(home, "[limits]\nhandshake_ms = 200\n")
        with Daemon(home=home, only="coop") as d, d.coop(hello=False) as silent:
            equal(silent.next(), None, "the silent client")


def test_cccc_settings_by_file():
    with Home() as home:
        path = os.path.join(home.base, "ch")
        _file(home, '[cccc]\nhome = "%s"\nversion = "7.7"\ntransport = "tcp"\n' % path)
        with Daemon(home=home, only="cccc", env={"CCCC_HOME": None}):
            addr = json.loads(read_text(os.path.join(path, "daemon", "ccccd.addr.json")))
            equal((addr["transport"], addr["version"]), ("tcp", "7.7"))


def test_bad_environment():
    with Home() as home:
        for name, value in (("MUSTER_ONLY", "nonsense"), ("MUSTER_LOG_LEVEL", "loud"), ("MUSTER_HANDSHAKE_MS", "soon")):
            status, _, err = home.musterd(env={name: value})
            equal(status, 2, "exit status with %s; %s" % (name, err))
            check(name in err, "%s is not named: %s" % (name, err))


def test_bad_flag_value_names_the_flag():
    with Home() as home:
        status, _, err = home.musterd("--only", "nonsense")
        equal(status, 2, "exit status; " + err)
        check("--only" in err and "nonsense" in err, err)


def test_empty_file_is_fine():
    with Home() as home:
        _file(home, "\n# nothing\n")
        with Daemon(home=home) as d:
            check(d.cccc("ping")["ok"], "not served")


def test_bad_configuration_at_reload_keeps_the_old_one():
    with Home() as home:
        path = _file(home, '[daemon]\nlog_level = "info"\n')
        with Daemon(home=home) as d, d.aiwg() as a:
            write_text(path, "nonsense = = 5\n")
            d.signal(signal.SIGHUP)
            a.result("ping")
            check(d.cccc("ping")["ok"], "not served")
