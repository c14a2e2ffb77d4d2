# SPDX-License-Identifier: MIT
"""muster serve, open and token: a web server as long as the command runs, a browser that gets a code, tokens by name."""
import json
import os
import re
import signal
import stat

from checks import write_text
from coop_stream import Sessions
from harness import Daemon, check, equal, eventually, muster_ok
from person import Person
from qr import check_qr
from web import Web

ONLY = "coop,native"
CODE = re.compile(r"#code=([A-Za-z0-9_-]{43})")


def _servers(d):
    with d.native() as n:
        return n.result("web.ls")["servers"]


def _sessions(port, token):
    return Web(port, token).get("/api/sessions", token=token)[0]


def test_it_serves_until_it_is_interrupted():
    with Daemon(only=ONLY) as d, Person(d.home, "serve", "-p", "0") as p:
        local = re.search(r"Local: +http://127\.0\.0\.1:(\d+)/\?token=([A-Za-z0-9_-]{22})\s", p.until("Ctrl+C").decode())
        check(local, "where it is")
        equal(_sessions(int(local[1]), local[2]), 200)
        p.type(b"\x03")
        text = p.ended(-signal.SIGINT)
        equal(_servers(d), [])
        check("\u2588" not in text, "no QR code for an address that no phone can reach")


def test_a_qr_code_for_other_devices():
    with Daemon(only=ONLY) as d:
        for width, more in ((100, ()), (100, ("--ascii",)), (20, ()), (100, ("--no-qr",))):
            with Person(d.home, "serve", "-p", "0", "-H", "0.0.0.0", *more, cols=width) as p:
                screen = p.until("stops it").decode()
                text = re.sub(r"\s+", "", screen)
                if "Network:" not in text:
                    return "no address that others can reach"
                port = int(re.search(r"Network:http://[\d.]+:(\d+)/", text)[1])
                code = CODE.search(text)[1]
                equal("\u2588" in text, width == 100 and not more, repr(more))
                equal("####" in text, "--ascii" in more, repr(more))
                if width == 100 and "--no-qr" not in more:
                    check_qr(screen, re.search(r"Network: (\S+)", screen)[1], ascii_only="--ascii" in more)
                status, _, body = Web(port, "").request("POST", "/api/login", body={"code": code})
                equal((status, json.loads(body)["scope"]), (200, "control"))
                p.signal(signal.SIGTERM)
                p.ended(-signal.SIGTERM)
    return None


def test_detached_and_stopped():
    with Daemon(only=ONLY) as d:
        said = json.loads(muster_ok(d.home, "serve", "-p", "0", "--detach", "--view", "--json"))
        equal((said["host"], said["network"]), ("127.0.0.1", None))
        equal(said["local"], "http://127.0.0.1:%d/?token=%s" % (said["port"], said["token"]))
        server, = _servers(d)
        equal((server["port"], server["scope"]), (said["port"], "view"))
        status, _, err = d.home.muster("serve", "-p", str(said["port"]))
        check(status == 1 and "already" in err, err)
        equal(muster_ok(d.home, "serve", "--stop", "-p", str(said["port"])), "stopped\n")
        equal(muster_ok(d.home, "serve", "--stop"), "nothing was served\n")
        equal(_servers(d), [])


def test_a_token_of_ones_own():
    with Daemon(only=ONLY) as d:
        path = os.path.join(d.home.base, "token")
        write_text(path, "my own secret\n".replace(" ", "-"))
        said = json.loads(muster_ok(d.home, "serve", "-p", "0", "-d", "--token-file", path, "--json"))
        equal(said["token"], "my-own-secret")
        equal(_sessions(said["port"], "my-own-secret"), 200)
        status, _, err = d.home.muster("serve", "-p", "0", "-d", "-H", "0.0.0.0", "--token-file", path)
        check(status == 1 and "at least 22" in err, err)
        status, _, err = d.home.muster("serve", "-p", "0", "-d", "--token", "x", "--json")
        check(status == 0 and "--token-file" in err, err)
        for args, want in ((("--token-file", path + ".none"), 1), (("--token", "x", "--token-file", path), 2), (("-p", "70000"), 2), (("-H", "nowhere"), 1)):
            equal(d.home.muster("serve", "-d", *args)[0], want, repr(args))
        muster_ok(d.home, "serve", "--stop")


def test_open_gives_the_browser_a_code():
    with Daemon(only=ONLY) as d, Sessions(d) as sessions:
        folder = sessions.workspace()
        name = sessions.create(workspace=folder)
        took, browser = os.path.join(d.home.base, "took"), os.path.join(d.home.base, "browser")
        write_text(browser, "#!/bin/sh\nprintf %%s \"$1\" > %s\n" % took)
        os.chmod(browser, stat.S_IRWXU)
        d.home.extra_env["BROWSER"] = "none-such:" + browser
        equal(muster_ok(d.home, "open", name), "")
        with open(took, encoding="utf-8") as file:
            address = file.read()
        server, = _servers(d)
        with d.native() as n:
            agent = n.result("fleet.find", {"name": name})["id"]
        check(address.startswith(server["address"] + "/#code=") and address.endswith("&to=" + agent), address)
        reply = Web(server["port"], "").request("POST", "/api/login", body={"code": CODE.search(address)[1]})
        equal((reply[0], json.loads(reply[2])["scope"]), (200, "admin"))
        d.home.extra_env["BROWSER"] = ""
        d.home.extra_env["DISPLAY"] = d.home.extra_env["WAYLAND_DISPLAY"] = None
        check(muster_ok(d.home, "open").startswith(server["address"] + "/#code="), "printed instead")
        equal(len(_servers(d)), 1, "the same one again")
        equal(d.home.muster("open", "nobody")[0], 1)
        check(muster_ok(d.home, "open", ".", cwd=folder).endswith("&to=%s\n" % agent), "the session of this folder")


def test_tokens_by_name():
    with Daemon(only=ONLY) as d:
        equal(muster_ok(d.home, "token", "ls"), "Nobody can come in over the web.\n")
        status, out, err = d.home.muster("token", "create", "my \x1b[31mphone", "--scope", "control", "--ttl", "2")
        equal((status, len(out)), (0, 44))
        listed = muster_ok(d.home, "token", "ls")
        check("my ?[31mphone" in listed and "control" in listed and out.strip() not in listed, listed)
        number = json.loads(muster_ok(d.home, "token", "ls", "--json"))["tokens"][0]["id"]
        check(number in err and number in listed, err)
        equal(muster_ok(d.home, "token", "revoke", number), "revoked\n")
        equal(d.home.muster("token", "revoke", number)[0], 1)
        for args in (("revoke",), ("create", "x", "--ttl", "0"), ("create", "x", "--ttl", "100000"), ("nonsense",)):
            equal(d.home.muster("token", *args)[0], 2, repr(args))
        equal(d.home.muster("token", "create", "x", "--scope", "root")[0], 1)
        equal(d.home.muster("token", "create", "x", "--object", "nobody")[0], 1)
        check("good once" in d.home.muster("token", "create", "--code")[2], "a code")


def test_a_server_outlives_an_upgrade():
    with Daemon(only=ONLY) as d:
        said = json.loads(muster_ok(d.home, "serve", "-p", "0", "-d", "--json"))
        with d.native() as n:
            n.result("daemon.shutdown", {"keep_web": True})
        d.expect_exit()
        with Daemon(only=ONLY, home=d.home) as e:
            equal([s["port"] for s in _servers(e)], [said["port"]])
            equal(_sessions(said["port"], said["token"]), 200)
            with e.native() as n:
                n.result("daemon.shutdown")
            e.expect_exit()
        with Daemon(only=ONLY, home=d.home) as e:
            eventually(lambda: _servers(e) == [], what="a stop in order forgets it")
