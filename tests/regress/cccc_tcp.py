# SPDX-License-Identifier: MIT
"""CCCC over TCP: every environment variable of the contract, 3.3 (details: cccc.md 1)."""
import json
import socket
import stat
import subprocess
import os

from clients import cccc_exchange, cccc_request, parse_cccc_reply
from harness import Daemon, Home, Skip, check, equal, read_text


def _addr(d):
    return json.loads(read_text(d.home.cccc_file("ccccd.addr.json")))


def _tcp(**env):
    return Daemon(only="cccc", env={"CCCC_DAEMON_TRANSPORT": "tcp", **{"CCCC_DAEMON_" + k.upper(): v for k, v in env.items()}})


def _ping(address):
    return parse_cccc_reply(cccc_exchange(address, cccc_request("ping")))


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def _check_loopback(d):
    addr = _addr(d)
    equal((addr["v"], addr["transport"], addr["path"], addr["host"]), (1, "tcp", "", "127.0.0.1"))
    check(0 < addr["port"] < 65536, "port %r" % addr["port"])
    equal(addr["pid"], d.pid)
    equal(_ping((addr["host"], addr["port"]))["result"]["pid"], d.pid)
    return addr


def test_transport_tcp():
    with _tcp() as d:
        addr = _check_loopback(d)
        check(addr["port"] != 8848, "8848 belongs to the web page")
        check(not os.path.lexists(d.home.cccc_sock), "a Unix socket was made as well")


def test_words_with_white_space_around_them():
    port = _free_port()
    with Daemon(only="cccc", env={"CCCC_DAEMON_TRANSPORT": " TCP ", "CCCC_DAEMON_PORT": " %d " % port, "CCCC_DAEMON_HOST": " 127.0.0.1\n", "CCCC_DAEMON_ALLOW_REMOTE": " "}) as d:
        equal(_check_loopback(d)["port"], port)


def test_transport_unix_is_the_default():
    with Daemon(only="cccc") as d:
        addr = _addr(d)
        equal((addr["transport"], addr["path"], addr["host"], addr["port"]), ("unix", d.home.cccc_sock, "", 0))
        check(stat.S_ISSOCK(os.lstat(addr["path"]).st_mode), "no socket")


def test_transport_unknown_means_unix():
    with Daemon(only="cccc", env={"CCCC_DAEMON_TRANSPORT": "carrier-pigeon"}) as d:
        equal(_addr(d)["transport"], "unix")
        check(d.cccc("ping")["ok"], "not served")


def test_port_given():
    port = _free_port()
    with _tcp(port=str(port)) as d:
        equal(_check_loopback(d)["port"], port)


def test_port_zero_chooses_one():
    with _tcp(port="0") as d:
        _check_loopback(d)


def _bad_port(text):
    def test():
        with _tcp(port=text) as d:
            _check_loopback(d)
    return test


for _name, _text in (("negative", "-5"), ("too_large", "70000"), ("word", "http"), ("empty", "")):
    globals()["test_port_%s_chooses_one" % _name] = _bad_port(_text)


def _loopback_host(text):
    def test():
        with _tcp(host=text) as d:
            _check_loopback(d)
    return test


for _name, _text in (("empty", ""), ("localhost", "localhost"), ("given", "127.0.0.1"), ("ipv6", "::1"), ("any_is_refused", "0.0.0.0"), ("remote_is_refused", "192.0.2.1")):
    globals()["test_host_" + _name] = _loopback_host(_text)


def test_other_loopback_address():
    with _tcp(host="127.0.0.2") as d:
        addr = _addr(d)
        check(addr["host"].startswith("127."), "left the loopback: %r" % addr)
        check(_ping((addr["host"], addr["port"]))["ok"], "not served")


def _allowed(text):
    def test():
        with _tcp(host="0.0.0.0", allow_remote=text) as d:
            addr = _addr(d)
            equal(addr["host"], "0.0.0.0", "bound host")
            check(_ping(("127.0.0.1", addr["port"]))["ok"], "not served")
            check("0.0.0.0" in d.log(), "a dangerous address must be mentioned in the log: " + d.log())
    return test


for _text in ("1", "true", "yes", "y", "on", "TRUE"):
    globals()["test_remote_allowed_by_" + _text + ("_upper" if _text.isupper() else "")] = _allowed(_text)


def _not_allowed(text):
    def test():
        with _tcp(host="0.0.0.0", allow_remote=text) as d:
            _check_loopback(d)
    return test


for _name, _text in (("zero", "0"), ("false", "false"), ("empty", ""), ("word", "maybe")):
    globals()["test_remote_not_allowed_by_" + _name] = _not_allowed(_text)


def test_remote_address_of_this_machine_is_not_reachable_by_default():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        try:
            s.connect(("192.0.2.1", 9))
            own = s.getsockname()[0]
        except OSError as e:
            raise Skip("no network interface beside the loopback") from e
    if own.startswith("127."):
        raise Skip("no network interface beside the loopback")
    with _tcp(host=own) as d:
        port = _check_loopback(d)["port"]
        with socket.socket() as s:
            s.settimeout(5)
            check(s.connect_ex((own, port)) != 0, "reachable from outside")


def test_port_in_use_cannot_be_bound():
    with Home() as home, socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        status, _, err = home.musterd("--only", "cccc", env={"CCCC_DAEMON_TRANSPORT": "tcp", "CCCC_DAEMON_PORT": str(s.getsockname()[1])})
        equal(status, 4, "exit status; " + err)
        check(not os.path.exists(home.cccc_file("ccccd.addr.json")), "an address was published")


def test_files_are_removed_at_stop():
    with _tcp() as d:
        d.stop()
        for name in ("ccccd.addr.json", "ccccd.pid", "ccccd.sock"):
            check(not os.path.lexists(d.home.cccc_file(name)), name + " was left behind")


def test_oversize_over_tcp_is_answered_while_sending():
    with _tcp() as d:
        addr = _addr(d)
        reply = parse_cccc_reply(cccc_exchange((addr["host"], addr["port"]), b"x" * 10_000_000))
        equal(reply["error"]["code"], "invalid_request")


def test_restart_on_the_same_port_at_once():
    port = _free_port()
    for _ in range(3):
        with _tcp(port=str(port)) as d:
            equal(_check_loopback(d)["port"], port)


def test_another_user_is_refused():
    """A port of the loopback is open to every user of the machine: one of them ran commands as the owner of the daemon."""
    if os.geteuid() != 0:
        raise Skip("needs root, to be another user")
    _refused_as_another_user("127.0.0.1")


def _own_address():
    """One of this machine that is not of the loopback; nothing is sent for it."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            s.connect(("198.51.100.1", 9))
            return s.getsockname()[0]
    except OSError:
        raise Skip("this machine has no address but the loopback's") from None


def test_another_user_is_refused_from_another_address_of_this_machine():
    """He may bind his end to any of them, and then the connection did not look like one of this machine."""
    if os.geteuid() != 0:
        raise Skip("needs root, to be another user")
    _refused_as_another_user(_own_address())


def _refused_as_another_user(source):
    script = ("import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1])), source_address=('%s', 0))\n"
              "s.sendall(b'{\"v\":1,\"op\":\"ping\",\"args\":{}}\\n'); print(s.recv(100))") % source
    with _tcp() as d:
        port = _addr(d)["port"]
        done = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "/usr/bin/python3", "-c", script, str(port)],
                              capture_output=True, text=True, cwd="/", timeout=60)
        check("ok" not in done.stdout, done.stdout)
        check("b''" in done.stdout or "ConnectionResetError" in done.stderr, done)
        check("connection of another user refused" in d.log(), d.log())
        equal(_ping(("127.0.0.1", port))["ok"], True)


def test_http_is_refused():
    """A web page can make a browser send a form to a port of this machine: the first line ends it."""
    with _tcp() as d:
        body = b'POST / HTTP/1.1\r\nHost: x\r\n\r\n' + cccc_request("ping")
        reply = parse_cccc_reply(cccc_exchange(("127.0.0.1", _addr(d)["port"]), body))
        equal(reply["ok"], False)
