# SPDX-License-Identifier: MIT
"""The loader of tunnels at /connect is one file that any server can hold: it needs nothing else of its server, its policy allows the script in it and no other, and its
SHA-256, by which people compare what a server gives them, is its entity tag."""
import base64
import hashlib
import re

from harness import Daemon, Skip, check, equal, muster_ok
from web import Web


def test_one_file_for_any_server():
    with Daemon() as d, d.coop() as c:
        status, headers, body = Web.serve(c).get("/connect")
        equal(status, 200)
        if b'id="loader"' not in body:
            raise Skip("the console was not built here")
        policy = re.search(rb'http-equiv="Content-Security-Policy" content="([^"]+)"', body)[1].decode()
        script = re.search(rb"<script>(.*?)</script>", body, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(script).digest()).decode()
        check("script-src 'sha256-%s' blob:;" % digest in policy, policy)
        check(policy.startswith("default-src 'none'; ") and "unsafe-eval" not in policy, policy)
        check(not re.search(rb'(src|href)="', body.replace(script, b"")), "it asks for other files")
        equal(headers["etag"], '"%s"' % hashlib.sha256(body).hexdigest())
        equal(headers["content-security-policy"], "frame-ancestors 'none'")


def test_its_hash_is_told():
    with Daemon() as d, d.coop() as c:
        body = Web.serve(c).get("/connect")[2]
        if b'id="loader"' not in body:
            raise Skip("the console was not built here")
        digest = hashlib.sha256(body).hexdigest()
        with d.native() as n:
            equal(n.result("tunnel.page")["sha256"], digest)
        equal(muster_ok(d.home, "tunnel", "--page-hash").split()[0], digest)
