# SPDX-License-Identifier: MIT
"""Plays a golden scenario of the CCCC contract against a running daemon. Format: tests/conformance/goldens/README.md."""
import glob
import hashlib
import json
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import time

from checks import DEADLINE, remove_tree
from golden_cccc_match import Matcher, Mismatch, Transport, check_envelope, compare, expand, get_path, subst, _safe


# --------------------------------------------------------------------------- endpoint
def endpoint(home):
    doc = {}
    try:
        with open(os.path.join(home, "daemon", "ccccd.addr.json"), encoding="utf-8") as f:
            doc = json.load(f)
    except Exception:
        doc = {}
    if doc.get("transport") == "tcp" and int(doc.get("port") or 0) > 0:
        return ("tcp", doc.get("host") or "127.0.0.1", int(doc["port"]))
    if doc.get("transport") == "unix" and doc.get("path"):
        return ("unix", doc["path"])
    return ("unix", os.path.join(home, "daemon", "ccccd.sock"))


def connect(ep, timeout=DEADLINE):
    if ep[0] == "tcp":
        s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        s.settimeout(timeout)
        s.connect((ep[1], ep[2]))
    else:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        s.settimeout(timeout)
        s.connect(ep[1])
    return s


def read_line(s, buf=b"", limit=8_000_000):
    while b"\n" not in buf:
        c = s.recv(65536)
        if not c:
            break
        buf += c
        if len(buf) > limit:
            raise Transport("response line too long")
    line, _, rest = buf.partition(b"\n")
    return line, rest


def call_bytes(ep, payload, timeout=DEADLINE, shut=False):
    s = connect(ep, timeout)
    try:
        s.sendall(payload)
        if shut:
            s.shutdown(socket.SHUT_WR)
        line, _ = read_line(s)
    finally:
        s.close()
    if not line:
        raise Transport("connection closed without a response line")
    return json.loads(line.decode("utf-8"))


def call(ep, op, args, timeout=DEADLINE):
    req = {"v": 1, "op": op, "args": args}
    return call_bytes(ep, (json.dumps(req, ensure_ascii=False) + "\n").encode("utf-8"), timeout)


# --------------------------------------------------------------------------- player
class Player:
    def __init__(self, home, scenario):
        self.home = os.path.realpath(home)
        self.sc = scenario
        self.tmp = os.path.realpath(tempfile.mkdtemp(prefix="cccc-golden-"))
        self.env = {"home": self.home, "tmp": self.tmp}
        self.m = Matcher({"<tmp>": self.tmp, "<home>": self.home})
        self.streams = {}
        self.ep = endpoint(self.home)

    def close(self):
        for s, _ in self.streams.values():
            try:
                s.close()
            except Exception:
                pass
        shutil.rmtree(self.tmp, ignore_errors=True)

    def _finish(self, step, resp, envelope=True):
        if envelope:
            check_envelope(resp)
        compare(step, resp, self.m)
        for var, path in (step.get("save") or {}).items():
            try:
                self.env[var] = get_path(resp, path)
            except (KeyError, IndexError, ValueError):
                raise Mismatch("cannot capture ${%s} from %s" % (var, path))

    def run_step(self, step):
        do = step.get("do", "call")
        env = self.env
        args = expand(subst(step.get("args", {}), env))
        if do == "call":
            return self._finish(step, call(self.ep, step["op"], args))
        if do == "poll":
            end = time.time() + DEADLINE
            while True:
                resp = call(self.ep, step["op"], args)
                if self._until(step, resp):
                    return self._finish(step, resp)
                if time.time() > end:
                    raise Mismatch("poll timed out; last response: %s" % json.dumps(resp)[:400])
                time.sleep(0.2)
        if do == "raw":
            text = expand(subst(step["send"], env))
            data = text.encode("utf-8") if isinstance(text, str) else text
            return self._finish(step, call_bytes(self.ep, data, shut=bool(step.get("shutdown"))))
        if do == "mkdir":
            os.makedirs(subst(step["path"], env), exist_ok=True)
            return
        if do == "rmdir":
            path = subst(step["path"], env)
            if os.path.isdir(path):
                remove_tree(path)
            return
        if do == "write":
            p = subst(step["path"], env)
            os.makedirs(os.path.dirname(p), exist_ok=True)
            with open(p, step.get("mode", "w"), encoding="utf-8") as f:
                f.write(expand(subst(step["text"], env)))
            return
        if do == "git_init":
            p = subst(step["path"], env)
            os.makedirs(p, exist_ok=True)
            subprocess.run(["git", "init", "-q", p], check=True)
            if step.get("remote"):
                subprocess.run(["git", "-C", p, "remote", "add", "origin", step["remote"]], check=True)
            return
        if do == "check_hash":
            want = step["prefix"] + hashlib.sha256(subst(step["text"], env).encode("utf-8")).hexdigest()[:12]
            got = subst(step["equals"], env)
            if want != got:
                raise Mismatch("derived id: expected %s, got %s" % (want, got))
            return
        if do == "check_equal":
            a, b = subst(step["a"], env), subst(step["b"], env)
            if (a == b) != bool(step.get("equal", True)):
                raise Mismatch("values %r and %r: equal should be %s" % (a, b, step.get("equal", True)))
            return
        if do == "file":
            return self._file(step)
        if do == "stream_open":
            s = connect(self.ep)
            s.sendall((json.dumps({"v": 1, "op": step.get("op", "events_stream"), "args": args}) + "\n").encode())
            line, rest = read_line(s)
            self.streams[step["id"]] = (s, rest)
            return self._finish(step, json.loads(line.decode("utf-8")))
        if do == "stream_read":  # reads exactly `count` non-heartbeat items
            s, buf = self.streams[step["id"]]
            items, s_end = [], time.time() + DEADLINE
            while len(items) < int(step["count"]):
                s.settimeout(max(0.05, s_end - time.time()))
                try:
                    line, buf = read_line(s, buf)
                except socket.timeout:
                    raise Mismatch("stream gave %d of %d items" % (len(items), step["count"]))
                if not line:
                    raise Mismatch("stream closed after %d of %d items" % (len(items), step["count"]))
                it = json.loads(line.decode("utf-8"))
                if it.get("t") == "event":
                    items.append(it)
            self.streams[step["id"]] = (s, buf)
            return self._finish(step, {"items": items}, envelope=False)
        if do == "stream_silent":  # nothing but heartbeats may arrive
            s, buf = self.streams[step["id"]]
            end = time.time() + float(step.get("seconds", 0.7))
            while time.time() < end:
                if b"\n" in buf:
                    line, _, buf = buf.partition(b"\n")
                    if json.loads(line.decode("utf-8")).get("t") == "event":
                        raise Mismatch("unexpected stream item: %s" % line[:300])
                    continue
                s.settimeout(max(0.05, end - time.time()))
                try:
                    c = s.recv(65536)
                except socket.timeout:
                    break
                if not c:
                    raise Mismatch("stream closed")
                buf += c
            self.streams[step["id"]] = (s, buf)
            return
        if do == "stream_write":
            s, _ = self.streams[step["id"]]
            s.sendall(expand(subst(step["text"], env)).encode("utf-8"))
            return
        if do == "bytes_until":  # raw PTY stream: wait until `contains` was received
            s, buf = self.streams[step["id"]]
            want = subst(step["contains"], env).encode("utf-8")
            end = time.time() + DEADLINE
            while want not in buf:
                s.settimeout(max(0.05, end - time.time()))
                try:
                    c = s.recv(65536)
                except socket.timeout:
                    raise Mismatch("PTY stream never contained %r; got %r" % (want, buf[-300:]))
                if not c:
                    raise Mismatch("PTY stream closed before %r; got %r" % (want, buf[-300:]))
                buf += c
            self.streams[step["id"]] = (s, b"" if step.get("drain") else buf)
            return
        if do == "bytes_without":  # the given text must NOT appear within `seconds`
            s, buf = self.streams[step["id"]]
            want = subst(step["contains"], env).encode("utf-8")
            end = time.time() + float(step.get("seconds", 1.0))
            while time.time() < end:
                s.settimeout(max(0.05, end - time.time()))
                try:
                    c = s.recv(65536)
                except socket.timeout:
                    break
                if not c:
                    break
                buf += c
            self.streams[step["id"]] = (s, buf)
            if want in buf:
                raise Mismatch("PTY stream contained %r" % want)
            return
        if do == "stream_eof":
            s, buf = self.streams.pop(step["id"])
            s.settimeout(DEADLINE)
            try:
                while True:
                    if not s.recv(65536):
                        break
            except socket.timeout:
                raise Mismatch("stream was not closed by the daemon")
            except OSError:
                pass
            s.close()
            return
        if do == "stream_close":
            s, _ = self.streams.pop(step["id"])
            s.close()
            return
        raise Mismatch("unknown step kind %r" % do)

    def _until(self, step, resp):
        u = step.get("until")
        if not u:
            return bool(resp.get("ok"))
        try:
            v = get_path(resp, u["path"])
        except (KeyError, IndexError, ValueError):
            return False
        if "contains" in u:
            return isinstance(v, str) and subst(u["contains"], self.env) in v
        if "min_len" in u:
            return len(v) >= u["min_len"]
        return v == subst(u["equals"], self.env)

    def _file(self, step):
        p = subst(step["path"], self.env)
        end = time.time() + (DEADLINE if step.get("timeout") else 0)
        while True:
            try:
                return self._file_once(step, p)
            except (Mismatch, OSError, ValueError) as e:
                if time.time() >= end:
                    raise Mismatch("%s: %s" % (step["path"], e))
                time.sleep(0.2)

    def _file_once(self, step, p):
        if step.get("glob"):
            hits = sorted(glob.glob(p))
            if len(hits) < int(step["glob"]):
                raise Mismatch("expected at least %d matches, got %d" % (step["glob"], len(hits)))
            if "parse" not in step:
                return
            p = hits[-1]
        if step.get("absent"):
            if os.path.exists(p):
                raise Mismatch("should not exist")
            return
        if not os.path.exists(p):
            raise Mismatch("does not exist")
        mode = step.get("parse")
        if mode is None:
            if step.get("is") == "dir" and not os.path.isdir(p):
                raise Mismatch("is not a directory")
            if step.get("is") == "socket":
                if not stat.S_ISSOCK(os.stat(p).st_mode):
                    raise Mismatch("is not a socket")
            return
        with open(p, encoding="utf-8", errors="replace", newline="") as f:
            text = f.read()
        if mode == "json":
            doc = json.loads(text)
        elif mode == "jsonl":
            rows = [json.loads(x) for x in text.split("\n") if x.strip()]
            if step.get("has"):
                for want in subst(step["has"], self.env):
                    if not any(all(_safe(r, k) == v for k, v in want.items()) for r in rows):
                        raise Mismatch("no line matches %s" % json.dumps(want))
                return
            if step.get("kinds_only"):
                doc = {"kinds": [r.get("kind") for r in rows]}
            else:
                doc = {"rows": rows[-int(step.get("last", 1)):]}
        else:  # text
            for want in step.get("contains") or []:
                if subst(want, self.env) not in text:
                    raise Mismatch("text %r not found" % want)
            for bad in step.get("lacks") or []:
                if subst(bad, self.env) in text:
                    raise Mismatch("text %r must not appear" % bad)
            return
        self._finish(step, doc, envelope=False)


def play(path, home):
    """Plays every step of a file; a list of what did not fit."""
    with open(path, encoding="utf-8") as f:
        scenario = json.load(f)
    player, problems = Player(home, scenario), []
    try:
        for i, step in enumerate(scenario["steps"]):
            try:
                player.run_step(step)
            except (Mismatch, Transport, OSError, ValueError, KeyError) as e:
                problems.append("step %d %s %s: %s" % (i, step.get("op") or step.get("do"), step.get("note", ""), e))
                if step.get("fatal"):
                    break
    finally:
        player.close()
    return problems
