# SPDX-License-Identifier: MIT
"""The command line: up, down, status, call, schema; --json; exit statuses 0 fine, 1 refused by the daemon, 2 usage, 3 no daemon."""
import json
import os
import signal
import socket
import subprocess

from harness import DEADLINE, MUSTER, Daemon, Home, check, equal, eventually, muster_ok, read_text, start_time


def test_up_status_down():
    with Home() as home:
        muster_ok(home, "up")
        doc = json.loads(muster_ok(home, "status", "--json"))
        check(os.path.exists("/proc/%d" % doc["pid"]), "no such process: %r" % doc)
        muster_ok(home, "down")
        eventually(lambda: not os.path.lexists(home.native_sock), what="the end")
        equal(home.muster("status")[0], 3, "status without a daemon")


def test_up_twice_is_fine():
    with Home() as home:
        muster_ok(home, "up")
        first = json.loads(muster_ok(home, "status", "--json"))["pid"]
        muster_ok(home, "up")
        equal(json.loads(muster_ok(home, "status", "--json"))["pid"], first, "pid")
        muster_ok(home, "down")


def test_down_waits_for_the_end():
    with Home() as home:
        muster_ok(home, "up")
        pid = json.loads(muster_ok(home, "status", "--json"))["pid"]
        muster_ok(home, "down")
        check(not os.path.lexists(home.native_sock) and not os.path.lexists(home.cccc_sock), "sockets are still there")
        eventually(lambda: not start_time(pid), what="the end of the process")


def test_down_and_the_agents():
    """They run on and are adopted, unless they are to be stopped: a session that restarts its agent and an actor alike."""
    with Home() as home:
        muster_ok(home, "up")
        os.makedirs(home.project, exist_ok=True)
        muster_ok(home, "new", "-d", "--sandbox", "none", "--name", "one", home.project, "--", "sh", "-c", "trap '' TERM; while :; do sleep 1; done")
        muster_ok(home, "call", "cccc.attach", "path=" + home.project)
        group = json.loads(muster_ok(home, "call", "cccc.groups", "--json"))["groups"][0]["group_id"]
        muster_ok(home, "actor", "-g", group, "add", "two", "runtime=custom", "--", "cat")
        muster_ok(home, "actor", "-g", group, "start", "two")
        pids = [p["pid"] for p in json.loads(muster_ok(home, "ps", "--json"))["processes"]]
        equal(len(pids), 2)
        muster_ok(home, "down")
        check(all(start_time(p) for p in pids), "an agent did not outlive the daemon")
        muster_ok(home, "up")
        equal(sorted(p["pid"] for p in json.loads(muster_ok(home, "ps", "--json"))["processes"]), sorted(pids))
        muster_ok(home, "down", "--stop-agents")
        check(not any(start_time(p) for p in pids), "an agent is left")
        muster_ok(home, "up")
        equal([p["object"] for p in json.loads(muster_ok(home, "ps", "--json"))["processes"] if p["owner"] == "sessions"], [])
        muster_ok(home, "down", "--stop-agents")


def test_no_daemon():
    with Home() as home:
        for args in (["status"], ["call", "native.daemon.info"], ["call", "cccc.ping"], ["status", "--json"], ["call", "cccc.ping", "--json"]):
            status, out, err = home.muster(*args)
            equal(status, 3, "muster %s; %s%s" % (" ".join(args), out, err))
            check(err.strip(), "no message for %r" % args)
        check(not os.path.lexists(home.native_sock), "a daemon was started")


def test_down_without_a_daemon_is_done_already():
    with Home() as home:
        muster_ok(home, "down")
        check(not os.path.lexists(home.native_sock), "a daemon was started")


def test_status_for_people():
    with Daemon() as d:
        out = muster_ok(d.home, "status")
        for word in (str(d.pid), "cccc", "coop", "aiwg"):
            check(word in out, "%s is not in:\n%s" % (word, out))


def test_call_of_every_dialect():
    with Daemon() as d:
        equal(json.loads(muster_ok(d.home, "call", "native.daemon.info", "--json"))["pid"], d.pid)
        equal(json.loads(muster_ok(d.home, "call", "cccc.ping", "--json"))["pid"], d.pid)
        equal(json.loads(muster_ok(d.home, "call", "aiwg.ping", "--json"))["pong"], True)
        equal(json.loads(muster_ok(d.home, "call", "aiwg.daemon.status", "--json"))["pid"], int(read_text(os.path.join(d.home.project, ".aiwg", "daemon.pid"))))
        equal(json.loads(muster_ok(d.home, "call", "coop.ls", "--json"))["sessions"], [])


def test_call_with_typed_values():
    with Daemon() as d:
        muster_ok(d.home, "call", "cccc.observability_update", 'patch={"log_level":"debug","terminal_ui":{"scrollback_lines":1234}}')
        doc = json.loads(muster_ok(d.home, "call", "cccc.observability_get", "--json"))["observability"]
        equal((doc["log_level"], doc["terminal_ui"]["scrollback_lines"]), ("DEBUG", 1234))
        status, _, err = d.home.muster("call", "cccc.events_stream", "group_id=12345")
        equal(status, 1, "a number is a string where the schema says so; " + err)
        check("group_not_found" in err, "code is not shown: " + err)


def test_call_refused_by_the_daemon():
    with Daemon() as d:
        status, out, err = d.home.muster("call", "cccc.observability_update", "by=agent", 'patch={"log_level":"x"}')
        equal(status, 1, out + err)
        check("permission_denied" in err, "code is not shown: " + err)
        status, out, err = d.home.muster("call", "cccc.observability_update", "by=agent", "patch={}", "--json")
        equal((status, out), (1, ""), err)
        check("permission_denied" in json.dumps(json.loads(err)), "no JSON error: %r" % err)


def test_call_with_values_from_files_and_raw_json():
    with Daemon() as d:
        path = os.path.join(d.home.base, "patch.json")
        with open(path, "w") as f:
            f.write('{"log_level":"error"}')
        muster_ok(d.home, "call", "cccc.observability_update", "patch=@" + path)
        level = lambda: json.loads(muster_ok(d.home, "call", "cccc.observability_get"))["observability"]["log_level"]  # noqa: E731
        equal(level(), "ERROR")
        muster_ok(d.home, "call", "cccc.observability_update", "patch=@-", stdin=b'{"log_level":"debug"}')
        equal(level(), "DEBUG")
        muster_ok(d.home, "call", "cccc.observability_update", 'patch:={"log_level":"info"}', "by:=null")
        equal(level(), "INFO")
        status, _, err = d.home.muster("call", "aiwg.daemon.stop", 'force:="perhaps"')
        equal(status, 1, "sent as it is and refused by the daemon; " + err)
        check("force must be true or false" in err and "-32602" not in err, "numbers are for programs: " + err)
        check("-32602" in d.home.muster("call", "--json", "aiwg.daemon.stop", 'force:="perhaps"')[2], "the code for programs")


def test_call_of_a_chosen_project():
    with Home() as home:
        other = os.path.join(home.base, "p2")
        os.mkdir(other)
        with Daemon(home=home, args=["--aiwg-project", other]) as d:
            for project in (home.project, other):
                equal(json.loads(muster_ok(home, "call", "aiwg.ping", "--project", project))["pong"], True)
            status, _, err = home.muster("call", "aiwg.ping", "--project", home.cwd)
            check(status in (1, 3), "a project that is not served: status %s; %s" % (status, err))
            check(d.is_running(), "gone")


def test_call_takes_too_long():
    """Somebody listens and never answers."""
    with Home() as home:
        os.mkdir(os.path.dirname(home.native_sock), 0o700)
        with socket.socket(socket.AF_UNIX) as s:
            s.bind(home.native_sock)
            s.listen(8)
            status, _, err = home.muster("call", "native.daemon.info", "--timeout", "0.2")
            equal(status, 4, err)


def test_socket_by_environment():
    with Daemon() as d, Home() as other:
        status, out, err = other.muster("status", "--json", env={"MUSTER_SOCKET": d.home.native_sock})
        equal(status, 0, err)
        equal(json.loads(out)["pid"], d.pid)


def test_stream_ends_with_the_daemon():
    with Daemon() as d:
        group = os.path.join(d.home.cccc_home, "groups", "g_0123456789ab")
        os.makedirs(group)
        with open(os.path.join(group, "group.yaml"), "w") as f:
            f.write("v: 1\ngroup_id: g_0123456789ab\n")
        p = subprocess.Popen([MUSTER, "call", "cccc.events_stream", "group_id=g_0123456789ab"], env=d.home.env(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            equal(json.loads(p.stdout.readline())["group_id"], "g_0123456789ab")
            d.stop()
            check(p.wait(DEADLINE) in (0, 1, 3), "status %s" % p.returncode)
        finally:
            p.kill()
            p.communicate()


def test_usage_errors():
    with Daemon() as d:
        for args in (["nonsense"], ["--nonsense"], ["call"], ["call", "nonsense"], ["call", "cccc.nonsense"], ["call", "nonsense.ping"], ["call", "cccc.ping", "novalue"],
                     ["call", "cccc.observability_update", "patch={not json"], ["call", "aiwg.daemon.stop", "force=perhaps"], ["schema", "nonsense"], ["schema", "cccc.nonsense"]):
            status, out, err = d.home.muster(*args)
            equal(status, 2, "muster %s; %s%s" % (" ".join(args), out, err))
            check(err.strip(), "no message for %r" % args)
        check(d.is_running() and d.cccc("ping")["ok"], "something was executed")


def test_call_stops_a_daemon():
    with Daemon() as d:
        check(json.loads(muster_ok(d.home, "call", "native.daemon.shutdown", "--json"))["stopping"], "the answer")
        d.expect_exit(0)


def test_down_stops_a_daemon_in_the_foreground():
    with Daemon() as d:
        muster_ok(d.home, "down")
        d.expect_exit(0)


def test_schema_needs_no_daemon():
    with Home() as home:
        out = muster_ok(home, "schema")
        for word in ("cccc.ping", "coop.ls", "aiwg.daemon.status", "native.rpc.discover"):
            check(word in out, word + " is not in:\n" + out)
        check("observability_get" in muster_ok(home, "schema", "cccc") and "aiwg" not in muster_ok(home, "schema", "cccc"), "schema of one dialect")
        one = json.loads(muster_ok(home, "schema", "cccc.ping", "--json"))
        check("ipc_v" in json.dumps(one), "no result schema: %r" % one)


def test_help():
    with Home() as home:
        for args in (["--help"], ["up", "--help"], ["call", "--help"], ["help"]):
            status, out, _ = home.muster(*args)
            if args == ["help"] and status == 2:
                continue
            equal(status, 0, "muster " + " ".join(args))
            check("muster" in out, "no usage in %r" % out)
        for word in ("up", "down", "status", "call", "schema", "stdio"):
            check(word in muster_ok(home, "--help"), word + " is not in the help")
        check(muster_ok(home, "--version").strip(), "no version")


def test_output_to_a_closed_pipe_ends_the_program():
    with Home() as home:
        script = '"$0" schema --json | head -c 1 >/dev/null; exit ${PIPESTATUS[0]}'
        p = subprocess.Popen(["/bin/bash", "-c", script, MUSTER], env=home.env())
        check(p.wait(DEADLINE) in (0, 1, 128 + signal.SIGPIPE), "status %d" % p.returncode)


def test_stdio_passes_lines_and_ends_with_its_input():
    with Daemon() as d:
        status, out, err = d.home.muster("stdio", stdin=b'{"jsonrpc":"2.0","id":1,"method":"no.such"}\nnot json\n')
        equal(status, 0, err)
        equal([json.loads(x)["error"]["code"] for x in out.splitlines()], [-32601, -32700])


def test_stdio_with_a_large_line():
    with Daemon() as d:
        line = b'{"jsonrpc":"2.0","id":"%s","method":"no.such","params":{"x":"%s"}}\n' % (b"x" * 60_000, b"y" * 3_000_000)
        status, out, err = d.home.muster("stdio", stdin=line)
        equal(status, 0, err)
        reply = json.loads(out)
        equal((len(reply["id"]), reply["error"]["code"]), (60_000, -32601))


def test_stdio_into_what_is_no_plain_pipe():
    """A file and a pipe that does not wait get the same bytes; one that nobody reads ends it with a sentence."""
    line = b'{"jsonrpc":"2.0","id":"%s","method":"no.such"}\n' % (b"x" * 60_000)
    with Daemon() as d:
        path = os.path.join(d.home.base, "replies")
        with open(path, "wb") as file:
            equal(subprocess.run([MUSTER, "stdio"], env=d.home.env(), input=line * 20, stdout=file, check=False, timeout=DEADLINE).returncode, 0)
        with open(path, "rb") as file:
            replies = file.read().splitlines()
        equal([json.loads(x)["error"]["code"] for x in replies], [-32601] * 20)
        ends = os.pipe()
        os.set_blocking(ends[1], False)
        with subprocess.Popen([MUSTER, "stdio"], env=d.home.env(), stdin=subprocess.PIPE, stdout=ends[1], stderr=subprocess.PIPE) as p:
            os.close(ends[1])
            p.stdin.write(line * 20)
            p.stdin.flush()
            with os.fdopen(ends[0], "rb") as reader:
                equal([reader.readline().rstrip(b"\n") for _ in replies], replies)
            p.stdin.write(line)
            p.stdin.close()
            check(b"cannot write to stdout" in p.stderr.read(), "it says nothing")
            equal(p.wait(DEADLINE), 1)


def test_an_id_that_is_too_long_is_no_id():
    """It would have to be written back: a bound keeps one line from costing two. The answer names none, as for a line that is no request."""
    with Daemon() as d:
        line = b'{"jsonrpc":"2.0","id":"' + b"x" * 100_000 + b'","method":"no.such"}\n'
        status, out, err = d.home.muster("stdio", stdin=line)
        equal(status, 0, err)
        reply = json.loads(out)
        equal((reply["id"], reply["error"]["code"]), (None, -32600))


def test_stdio_ends_when_the_daemon_goes():
    with Daemon() as d:
        p = subprocess.Popen([MUSTER, "stdio"], env=d.home.env(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            p.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"x"}\n')
            p.stdin.flush()
            check(p.stdout.readline(), "no answer")
            d.signal(signal.SIGTERM)
            d.expect_exit(0)
            check(p.wait(DEADLINE) in (0, 1, 3), "status %s" % p.returncode)
        finally:
            p.kill()
            p.communicate()
