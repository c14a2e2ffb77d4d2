# SPDX-License-Identifier: MIT
"""The CCCC endpoint for other machines. Once whoever reached the port could do everything, as the contract has it: now a token can be
asked for, which is the first line of a connection. Nothing is answered before it. The other machine is a network namespace."""
import json
import os
import signal
import socket

from clients import cccc_request, parse_cccc_reply
from harness import DEADLINE, Daemon, Home, check, equal, eventually, mode_of, read_text, write_text
from sandbox_caller import Caged
from two_machines import TwoMachines, all_of

PING = cccc_request("ping")


def _port(d):
    return json.loads(read_text(d.home.cccc_file("ccccd.addr.json")))["port"]


def _file(d):
    return os.path.join(d.home.muster_home, "cccc.token")


def _muster(d, *args, status=0):
    got, out, err = d.home.muster(*args)
    equal(got, status, out + err)
    return out


def _new(d):
    _muster(d, "token", "new")
    return _muster(d, "token", "show").strip()


def _line(token):
    return json.dumps({"token": token}).encode() + b"\n"


def _say(s, data):
    try:
        s.sendall(data)
    except (ConnectionResetError, BrokenPipeError):
        pass
    return all_of(s)


def _endpoint(d):
    return [e for e in json.loads(_muster(d, "status", "--json"))["endpoints"] if e["name"] == "cccc"][0]


def test_the_token_comes_first():
    with TwoMachines() as m, m.daemon() as d:
        port, token = _port(d), _new(d)
        equal(len(token), 64)
        equal(mode_of(_file(d)), 0o600)
        reply = parse_cccc_reply(_say(m.connect(port), _line(token) + PING))
        equal(reply["result"]["pid"], d.pid)
        check("refused" not in _endpoint(d), _endpoint(d))
        with m.connect(port) as s:  # each line by itself
            s.sendall(_line(token))
            s.sendall(PING)
            check(parse_cccc_reply(all_of(s))["ok"], "not served")


def test_nothing_is_answered_without_it():
    with TwoMachines() as m, m.daemon() as d:
        port, token = _port(d), _new(d)
        lines = [PING, _line(token[:-1]) + PING, _line(token + "0") + PING, _line("") + PING, b"\n" + PING, b"{}\n" + PING,
                 b'{"token":null}\n' + PING, b'{"token":["%s"]}\n' % token.encode() + PING, b'{"token":"%s","op":"ping"}\n' % token.encode() + PING,
                 b"GET / HTTP/1.1\r\n\r\n", b"\xff\xfe\n", b"x" * 100_000, b'["token"]\n', token.encode() + b"\n" + PING]
        for line in lines:
            equal(_say(m.connect(port), line), b"", line[:100])
        with m.connect(port) as s:  # the end of its side is no line
            s.sendall(_line(token)[:-1])
            s.shutdown(socket.SHUT_WR)
            equal(all_of(s), b"")
        eventually(lambda: _endpoint(d).get("refused") == len(lines) + 1, what="each is counted")
        check("address=192.0.2.2" in d.log(), d.log())
        for text in (d.log(), _muster(d, "status"), _muster(d, "status", "--json"), _muster(d, "doctor"), _muster(d, "up"), _muster(d, "token"), json.dumps(d.native().result("daemon.info"))):
            check(token not in text, "the token is shown: " + text)
        check("%d connections of other machines" % (len(lines) + 1) in _muster(d, "status"), _muster(d, "status"))
        equal(parse_cccc_reply(_say(m.connect(port), _line(token) + PING))["ok"], True)


def test_who_says_nothing_is_closed():
    with TwoMachines() as m, m.daemon(args=["--handshake-ms", "300"]) as d:
        token = _new(d)
        with m.connect(_port(d)) as silent, m.connect(_port(d)) as slow:
            slow.sendall(_line(token)[:20])
            equal(all_of(silent), b"")
            equal(all_of(slow), b"")
        with m.connect(_port(d)) as s:  # it has said who it is, and has as long again for what it wants
            s.sendall(_line(token))
            equal(all_of(s), b"")
        eventually(lambda: _endpoint(d)["refused"] == 2, what="both are counted, the third had said it")


def test_a_stream_may_be_silent():
    with TwoMachines() as m, m.daemon(args=["--handshake-ms", "300"]) as d:
        token = _new(d)
        with m.connect(_port(d)) as s:
            s.sendall(_line(token) + cccc_request("group_create", {"title": "t"}))
            group = parse_cccc_reply(all_of(s))["result"]["group_id"]
        with m.connect(_port(d)) as s, m.connect(_port(d)) as other:
            s.sendall(_line(token) + cccc_request("events_stream", {"group_id": group, "by": "user"}))
            check(json.loads(s.makefile("rb").readline())["ok"], "no stream")
            equal(all_of(other), b"", "so long has passed")
            m2 = m.connect(_port(d))
            check(parse_cccc_reply(_say(m2, _line(token) + cccc_request("send", {"group_id": group, "text": "later", "by": "user", "to": ["user"]})))["ok"], "not sent")
            s.settimeout(DEADLINE)
            got = b""
            while b"later" not in got:
                part = s.recv(65536)
                check(part, "the stream was closed: %r" % got)
                got += part


def test_a_new_token_ends_what_the_old_one_let_in():
    with TwoMachines() as m, m.daemon() as d:
        port, old = _port(d), _new(d)
        group = parse_cccc_reply(_say(m.connect(port), _line(old) + cccc_request("group_create", {"title": "t"})))["result"]["group_id"]
        stream = _line(old) + cccc_request("events_stream", {"group_id": group, "by": "user"})
        with m.connect(port) as s, m.connect_locally(port) as local, m.connect_locally(port) as plain:
            for each, data in ((s, stream), (local, stream), (plain, stream.partition(b"\n")[2])):
                each.sendall(data)
                check(b"true" in each.recv(65536), "no stream")
            new = _new(d)
            check(new != old, "the same token")
            all_of(s)
            all_of(local)
            equal(_say(m.connect(port), _line(old) + PING), b"")
            equal(parse_cccc_reply(_say(m.connect(port), _line(new) + PING))["ok"], True)
            check(parse_cccc_reply(_say(m.connect(port), _line(new) + cccc_request("send", {"group_id": group, "text": "on", "by": "user", "to": ["user"]})))["ok"], "not sent")
            while b'"on"' not in plain.recv(65536):  # whoever was known by his user is still there
                pass


def test_without_a_token_people_are_warned():
    """Other machines come in, since the contract says so; but the daemon says what that means, wherever somebody looks."""
    with TwoMachines() as m, m.daemon() as d:
        equal(parse_cccc_reply(_say(m.connect(_port(d)), PING))["result"]["pid"], d.pid)
        check("without a token" in d.log(), d.log())
        check("without a token" in _endpoint(d)["warning"], _endpoint(d))
        text = _muster(d, "status")
        check("WARNING" in text and "muster token new" in " ".join(text.split()), text)
        check(max(map(len, text.split("\n\n", maxsplit=1)[0].splitlines())) <= 80, text)
        found = [json.loads(line) for line in d.home.muster("doctor", "--json")[1].splitlines()]
        check([f for f in found if f["level"] == "warning" and "without a token" in f.get("message", json.dumps(f))], found)
        _new(d)
        check("warning" not in _endpoint(d), _endpoint(d))
        _muster(d, "token", "rm")
        check("warning" in _endpoint(d), _endpoint(d))
        check(not os.path.exists(_file(d)), "it is still there")
        equal(d.home.muster("token", "show")[0], 1)


def test_one_that_others_can_read_lets_nobody_in():
    with TwoMachines() as m, m.daemon() as d:
        port, token = _port(d), _new(d)
        def make(text, mode):
            write_text(_file(d), text)
            os.chmod(_file(d), mode)
        for why, spoil in (("by others", lambda: make(token, 0o640)), ("16 to 1024", lambda: make("short", 0o600)), ("one word", lambda: make(token + " " + token, 0o600)),
                           ("link", lambda: os.symlink("/dev/zero", _file(d))), ("not a file", lambda: os.mkfifo(_file(d), 0o600))):
            os.unlink(_file(d))
            spoil()
            d.signal(signal.SIGHUP)
            eventually(lambda: why in _endpoint(d).get("warning", ""), what=why)  # pylint: disable=cell-var-from-loop
            equal(_say(m.connect(port), _line(token) + PING), b"")
            equal(parse_cccc_reply(_say(m.connect_locally(port), PING))["ok"], True)
        token = _new(d)
        equal(parse_cccc_reply(_say(m.connect(port), _line(token) + PING))["ok"], True)


def test_it_holds_from_the_start_on():
    with TwoMachines() as m, Home() as home:
        status, _, err = home.muster("token", "new")
        equal(status, 0, err)
        with m.daemon(home=home, only="cccc") as d:  # a daemon for CCCC alone has the same
            port = _port(d)
            equal(_say(m.connect(port), PING), b"")
            equal(parse_cccc_reply(_say(m.connect(port), _line(read_text(_file(d)).strip()) + PING))["ok"], True)
            check("without a token" not in d.log(), d.log())


def test_clients_of_this_machine_need_none():
    with TwoMachines() as m, m.daemon() as d:
        port, token = _port(d), _new(d)
        equal(parse_cccc_reply(_say(m.connect_locally(port), PING))["ok"], True)
        own = m.on_here(lambda: socket.create_connection((m.here, port), timeout=DEADLINE))
        equal(parse_cccc_reply(_say(own, PING))["ok"], True)
        equal(parse_cccc_reply(_say(m.connect_locally(port), _line(token) + PING))["ok"], True, "they may say it")
        equal(_say(m.connect_locally(port), _line(token[1:]) + PING), b"", "but not a wrong one")
        _muster(d, "token", "rm")
        equal(parse_cccc_reply(_say(m.connect_locally(port), _line(token) + PING))["error"]["code"], "invalid_request", "as the contract has it")


def test_many_that_wait_hold_nobody_else():
    """They have no name yet, so there is a bound for all of them together."""
    with TwoMachines() as m, m.daemon() as d:
        port, token = _port(d), _new(d)
        waiting = [m.connect(port) for _ in range(64)]
        equal(_say(m.connect(port), _line(token) + PING), b"", "one more")
        equal(parse_cccc_reply(_say(m.connect_locally(port), PING))["ok"], True)
        waiting.pop().close()
        eventually(lambda: _say(m.connect(port), _line(token) + PING) != b"", what="there is room again")
        for s in waiting:
            s.close()


def test_other_contracts_take_no_other_machine():
    """The service manager may pass a socket of any kind: one for TCP made everything but CCCC open to the network."""
    with TwoMachines() as m, Home() as home:
        def listening():
            s = socket.socket()
            s.bind((m.here, 0))
            s.listen()
            return s
        sockets = [m.on_here(listening) for _ in range(3)]
        for i, s in enumerate(sockets):
            os.dup2(s.fileno(), 200 + i, inheritable=True)
        moves = " ".join("%d<&%d %d<&-" % (3 + i, 200 + i, 200 + i) for i in range(3))
        prefix = [*m.prefix(), "/bin/bash", "-c", 'export LISTEN_PID=$$; exec "$0" "$@" ' + moves]
        with Daemon(home=home, prefix=prefix, pass_fds=range(200, 203), env={"LISTEN_FDS": "3", "LISTEN_FDNAMES": "native:coop:cccc"}) as d:
            hello = {0: b'{"jsonrpc":"2.0","method":"daemon.info","id":1}\n', 1: b'\x00\x00\x00\x0d{"version":1}', 2: PING}
            for i, s in enumerate(sockets):
                equal(_say(m.connect(s.getsockname()[1]), hello[i]), b"", d.log())
            check(d.log().count("connection of another machine refused") == 3, d.log())
        for i in range(3):
            os.close(200 + i)
            sockets[i].close()


def test_who_has_said_it_is_no_agent_in_a_sandbox():
    """While there is a sandbox everybody over TCP may only look, since nobody can tell which process it is. The token tells."""
    with Caged(env={"CCCC_DAEMON_TRANSPORT": "tcp"}) as c:
        port = json.loads(read_text(c.home.cccc_file("ccccd.addr.json")))["port"]
        c.start()
        token = _new(c.d)
        create = cccc_request("group_create", {"title": "t"})

        def ask(data):
            return parse_cccc_reply(_say(socket.create_connection(("127.0.0.1", port), timeout=DEADLINE), data))
        equal(ask(create)["error"]["code"], "permission_denied")
        equal(ask(_line(token) + create)["ok"], True)
        check("failed" in c.call("ls", c.home.muster_home, "", {}) or "cccc.token" not in c.call("ls", c.home.muster_home, "", {}), "the sandbox shows the token")
