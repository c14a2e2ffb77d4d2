# SPDX-License-Identifier: MIT
"""Requests that two servers could cut in different ways, sent through nginx: what nginx takes for a part of one request must never be another request here. Each of them hides the
end of a session, with the right token, and nginx lets no such request through: if the session is gone, nginx has taken it for something else. nginx talks to the daemon on connections that it uses again, for
everybody; so after each of them others are asked for, and have to get their own answers."""
import contextlib
import os
import shutil
import socket
import subprocess

from checks import Skip, eventually
from clients import Closed
from coop_stream import Sessions
from harness import Daemon, check, equal, write_text
from web import Web

CONFIG = """
worker_processes 1;
pid nginx.pid;
error_log error.log;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  upstream daemon { server 127.0.0.1:%(daemon)d; keepalive 1; }
  server {
    listen 127.0.0.1:%(port)d;
    ignore_invalid_headers off;
    location / {
      limit_except GET POST { deny all; }
      proxy_pass http://daemon;
      proxy_http_version 1.1;
      proxy_set_header Host %(host)s;
      proxy_set_header Connection "";
      proxy_request_buffering %(buffering)s;
    }
  }
}
"""


def _free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def _proxied(d, web, buffering):
    """nginx before this server; a Web that goes through it."""
    nginx = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if not nginx:
        raise Skip("no nginx (scripts/deps --browser)")
    folder, port = os.path.join(d.home.base, "nginx-" + buffering), _free_port()
    os.mkdir(folder)
    write_text(os.path.join(folder, "nginx.conf"), CONFIG % {"daemon": web.port, "port": port, "host": web.host, "buffering": buffering})
    with open(os.path.join(folder, "output"), "wb") as log:
        process = subprocess.Popen([nginx, "-p", folder, "-c", os.path.join(folder, "nginx.conf"), "-g", "daemon off; user root;" if os.geteuid() == 0 else "daemon off;"],
                                   stdout=log, stderr=log)
    try:
        through = Web(port, web.token)

        def answers():
            check(process.poll() is None, lambda: open(log.name, encoding="utf-8").read())
            with contextlib.suppress(OSError):
                return through.get("/")[0] == 200
        eventually(answers, what="nginx")
        yield through
    finally:
        process.terminate()
        process.wait()


def _pairs(host, token, inner):
    """Heads and bodies that are one request to some and two to others; inner: the one that is hidden. What hides it shows the token, too, so that its body is read."""
    post = b"POST /api/sessions HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n" % (host, token)
    get = b"GET / HTTP/1.1\r\nHost: %s\r\n" % host
    n, chunk = len(inner), b"%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner)
    codings = [b"Transfer-Encoding: chunked", b"Transfer-Encoding : chunked", b"Transfer-Encoding: xchunked", b"Transfer-Encoding:\tchunked", b"transfer-encoding: CHUNKED",
               b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding: identity, chunked", b"Transfer-Encoding: \"chunked\"", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: x",
               b"X: y\r\n Transfer-Encoding: chunked", b"Transfer-Encoding\r\n: chunked", b"Transfer_Encoding: chunked", b"Transfer-Encoding:\x0bchunked", b"Transfer-Encoding: chunked\x00"]
    for coding in codings:
        yield post + coding + b"\r\nContent-Length: %d\r\n\r\n" % (n + 5) + b"0\r\n\r\n" + inner
        yield post + coding + b"\r\nContent-Length: 4\r\n\r\n" + chunk
        yield post + coding + b"\r\n\r\n" + b"0\r\n\r\n" + inner
    for lengths in (b"Content-Length: 0\r\nContent-Length: %d", b"Content-Length: %d\r\nContent-Length: 0", b"Content-Length: 0, %d", b"Content-Length: +%d", b"Content-Length : %d",
                    b"Content-Length: 0\r\n Content-Length: %d", b"Content_Length: %d", b"Content-Length: 00%d", b"Content-Length:\x0b%d"):
        yield post + lengths % n + b"\r\n\r\n" + inner
        yield get + lengths % n + b"\r\n\r\n" + inner
    for ending in (b"\n\n", b"\r\n\n", b"\n\r\n", b"\r\r\n\r\n"):
        yield get + b"X: y" + ending + inner
    for extension in (b";x\n", b";\r\r\n", b"\n", b" \r\n", b";x=\"\r\n"):
        yield post + b"Transfer-Encoding: chunked\r\n\r\n%x" % n + extension + inner + b"\r\n0\r\n\r\n"
    yield post + b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % n + inner
    yield get + b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n" + inner
    yield get + b"Connection: Content-Length\r\nContent-Length: %d\r\n\r\n" % n + inner
    yield b"GET /%20HTTP/1.1%0d%0aHost:x%0d%0a%0d%0a HTTP/1.1\r\nHost: " + host + b"\r\nContent-Length: %d\r\n\r\n" % n + inner


def _send(through, data):
    """Sends them, and reads whatever nginx has to say until it falls silent or ends."""
    with through.connect(deadline=10) as c:
        with contextlib.suppress(OSError):
            c.send(data)
            c.s.shutdown(socket.SHUT_WR)
        with contextlib.suppress(OSError, Closed, TimeoutError):
            while c.fill():
                pass
        return bytes(c.buf)


def _try_all(buffering):
    with Daemon(only="coop,native", args=["--sandbox", "none"]) as d, Sessions(d) as s:
        name, web = s.create(), Web.serve(d.coop())
        inner = b"DELETE /api/sessions/%s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\n\r\n" % (name.encode(), web.host.encode(), web.token.encode())
        with _proxied(d, web, buffering) as through:
            equal(through.request("DELETE", "/api/sessions/" + name, web.token)[0], 403, "nginx lets none through")
            for data in _pairs(web.host.encode(), web.token.encode(), inner):
                said = _send(through, data)
                for target, status in (("/", 200), ("/nothing-here", 404), ("/api/sessions", 200)):
                    equal(through.get(target, token=web.token)[0], status, "%s after %r, which got %r" % (target, data[:160], said[:160]))
                check([x["name"] for x in web.json("GET", "/api/sessions")] == [name], lambda: "%r was read as two, answered %r" % (data, said))
            equal(web.request("DELETE", "/api/sessions/" + name, web.token)[0], 200, "what is hidden is right")


def test_pairs_that_are_buffered():
    _try_all("on")


def test_pairs_that_are_passed_on():
    _try_all("off")
