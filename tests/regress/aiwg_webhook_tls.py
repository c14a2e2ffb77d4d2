# SPDX-License-Identifier: MIT
"""AIWG: webhooks to https addresses. Whose certificate is not from somebody we trust, or not for that name, gets nothing."""
import socket
import tempfile

from aiwg_rules import Project, Receiver, config, rule
from harness import check, equal, eventually
from tls_receiver import Authority, TlsReceiver


def _project(url, ca=None, **kw):
    webhook = {"ca_file": ca} if ca else {}
    return Project(config([rule("hook", {"type": "file.create"}, {"type": "webhook", "url": url}), rule("n", {"type": "file.create"})], ["src"], webhook=webhook), **kw)


def _refused(receiver, p, word):
    """Nothing is sent; why is in the status."""
    p.ready().write("src/a")
    why = p.client.wait_error("hook")
    check(word in why, why)
    equal(receiver.requests, [])


def test_sent_to_whom_we_trust():
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(folder)
        for names, host in (("IP:127.0.0.1", "127.0.0.1"), ("DNS:localhost", "localhost"), ("DNS:other,DNS:localhost,IP:127.0.0.1", "LOCALHOST")):
            with TlsReceiver(authority.context(names)) as receiver, _project("https://%s:%d/hook?x=1" % (host, receiver.port), authority.path) as p:
                p.ready().write("src/a")
                p.client.wait_webhook("hook")
                path, headers, body = receiver.requests[0]
                equal((path, headers["Host"], body["ruleId"], body["event"]["payload"]["path"]), ("/hook?x=1", "%s:%d" % (host, receiver.port), "hook", "src/a"))


def test_the_file_may_be_in_the_project():
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(folder)
        with TlsReceiver(authority.context("IP:127.0.0.1"), statuses=[500, 204]) as receiver, _project(receiver.url, "src/ca.pem") as p:
            p.ready()
            with open(authority.path, encoding="ascii") as f:
                p.write("src/ca.pem", f.read())
            equal(p.client.wait_error("hook"), "answered 500", "an answer that is no success is one of TLS, too")
            p.client.wait_webhook("hook")


def test_the_store_of_the_system_is_used():
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(folder)
        with TlsReceiver(authority.context("IP:127.0.0.1")) as receiver:
            with _project(receiver.url, env={"SSL_CERT_FILE": authority.path, "SSL_CERT_DIR": folder}) as p:
                p.ready().write("src/a")
                p.client.wait_webhook("hook")
            receiver.requests.clear()
            with _project(receiver.url) as p:
                _refused(receiver, p, "certificate: ")


def test_certificates_that_are_refused():
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        authority, stranger = Authority(folder), Authority(other)
        wrong = [(authority.context("DNS:example.com"), "mismatch"), (authority.context("IP:127.0.0.2,DNS:localhost"), "mismatch"),
                 (authority.context("DNS:127.0.0.1"), "mismatch"), (stranger.context("IP:127.0.0.1"), "certificate: "),
                 (authority.context("IP:127.0.0.1", days=-1), "expired")]
        for context, word in wrong:
            with TlsReceiver(context) as receiver, _project(receiver.url, authority.path) as p:
                _refused(receiver, p, word)


def test_a_name_of_this_machine_is_checked():
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(folder)
        with TlsReceiver(authority.context("DNS:*.localhost,DNS:local*,IP:127.0.0.1")) as receiver:
            with _project("https://localhost:%d/" % receiver.port, authority.path) as p:
                _refused(receiver, p, "mismatch")


def test_an_authority_that_cannot_be_read():
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(folder)
        with TlsReceiver(authority.context("IP:127.0.0.1")) as receiver:
            for path in ("nowhere.pem", "/dev/null", "src"):
                with _project(receiver.url, path) as p:
                    _refused(receiver, p, "webhook.ca_file")


def test_a_wrong_setting_is_told():
    with Project(config([rule("r", {"type": "file.create"})], ["src"])) as p:
        p.configure(config([], webhook={"ca_file": 7}))
        eventually(lambda: "webhook.ca_file" in (p.client.status().get("configError") or ""), what="why it is not in use")


def test_who_speaks_no_tls():
    with Receiver() as receiver, _project("https://127.0.0.1:%d/" % receiver.port) as p:
        p.ready().write("src/a")
        check("TLS" in p.client.wait_error("hook"), p.client.executions("hook"))
    with tempfile.TemporaryDirectory() as folder:
        with TlsReceiver(Authority(folder).context("IP:127.0.0.1")) as receiver, _project("http://127.0.0.1:%d/" % receiver.port) as p:
            p.ready().write("src/a")
            p.client.wait_error("hook")


def test_a_peer_that_says_nothing_holds_nobody():
    """It takes the connection and not a word; others are served, and the stop does not wait."""
    with socket.create_server(("127.0.0.1", 0)) as silent, _project("https://127.0.0.1:%d/" % silent.getsockname()[1], has_clock=True) as p:
        p.ready().write("src/a")
        eventually(lambda: p.advance(0.05) and p.client.executions("n"), what="the rule behind it")
        peer, _ = silent.accept()
        with peer:
            check(peer.recv(1) == b"\x16", "no handshake")
            p.advance(10)
            equal(p.client.wait_error("hook"), "it took too long")
