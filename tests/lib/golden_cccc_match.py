# SPDX-License-Identifier: MIT
"""Compares a live CCCC document with a golden one.

Every field of the golden must be there with an equal value; more fields are fine. Placeholders such as <ts> stand for any
value of a kind, numbered ones (<event:3>) for one value throughout the scenario. See tests/conformance/goldens/README.md.
"""
import re

TS_RE = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z"
KINDS = {  # placeholder kind -> what a live value must look like
    "event": r"[0-9A-Za-z_.:-]{8,64}",
    "group": r"g_[0-9a-f]{12}",
    "scope": r"s_[0-9a-f]{12}",
    "ctxver": r"[0-9a-f]{12}",
    "ts": TS_RE,
    "stamp": r"\d{8}T\d{6}Z",
    "date": r"\d{4}-\d\d-\d\d",
    "pid": r"\d+",
    "version": r"[^\s]+",
    "any": r"(?s:.*)",
}
PH_RE = re.compile(r"<(event|group|scope|ctxver|ts|stamp|date|pid|version|any)(?::(\d+))?>")


class Transport(Exception):
    pass


class Mismatch(Exception):
    pass


# --------------------------------------------------------------------------- values
def get_path(doc, path):
    cur = doc
    for part in path.split("."):
        if isinstance(cur, list):
            cur = cur[int(part)]
        elif isinstance(cur, dict):
            if part not in cur:
                raise KeyError(path)
            cur = cur[part]
        else:
            raise KeyError(path)
    return cur


def _safe(doc, path):
    try:
        return get_path(doc, path)
    except (KeyError, IndexError, ValueError):
        return None


VAR_RE = re.compile(r"\$\{([A-Za-z0-9_]+)\}")


def subst(obj, env):
    if isinstance(obj, str):
        m = VAR_RE.fullmatch(obj)
        if m:
            if m.group(1) not in env:
                raise Mismatch("variable ${%s} was never captured" % m.group(1))
            return env[m.group(1)]
        return VAR_RE.sub(lambda k: str(env[k.group(1)]) if k.group(1) in env else k.group(0), obj)
    if isinstance(obj, list):
        return [subst(x, env) for x in obj]
    if isinstance(obj, dict):
        return {k: subst(v, env) for k, v in obj.items()}
    return obj


def expand(obj):
    """{"$repeat": ["x", 1000]} -> a long string (keeps scenario files small)."""
    if isinstance(obj, dict):
        if set(obj) == {"$repeat"}:
            return str(obj["$repeat"][0]) * int(obj["$repeat"][1])
        return {k: expand(v) for k, v in obj.items()}
    if isinstance(obj, list):
        return [expand(x) for x in obj]
    return obj


# --------------------------------------------------------------------------- matching
class Matcher:
    """Compares a live document with a golden one.

    Every field of the golden must exist with an equal value; extra live fields are fine.
    Placeholders bind on first sight (<event:3> must then stay the same value everywhere and
    two different placeholders of one kind must not share a value).
    """

    def __init__(self, roots):
        self.bind = {}
        self.roots = roots  # {"<tmp>": path, "<home>": path}

    def _str(self, g, a, path):
        if not isinstance(a, str):
            if isinstance(a, int) and not isinstance(a, bool) and re.fullmatch(r"<(pid|any)>", g):
                return
            if g == "<any>":
                return
            raise Mismatch("%s: expected string %r, got %r" % (path, g, a))
        for ph, root in self.roots.items():
            g = g.replace(ph, root)
        if not PH_RE.search(g):
            if g != a:
                raise Mismatch("%s: expected %r, got %r" % (path, g, a))
            return
        rx, names, pos = "", [], 0
        for m in PH_RE.finditer(g):
            rx += re.escape(g[pos:m.start()])
            kind, num = m.group(1), m.group(2)
            if num is None:
                rx += KINDS[kind]
            else:
                key = (kind, num)
                if key in self.bind:
                    rx += re.escape(self.bind[key])
                elif key in names:
                    rx += "(?P=n%d)" % names.index(key)
                else:
                    names.append(key)
                    rx += "(?P<n%d>%s)" % (len(names) - 1, KINDS[kind])
            pos = m.end()
        rx += re.escape(g[pos:])
        m = re.fullmatch(rx, a)
        if not m:
            raise Mismatch("%s: expected %r, got %r" % (path, g, a))
        for i, key in enumerate(names):
            val = m.group("n%d" % i)
            if val in [v for k, v in self.bind.items() if k[0] == key[0]]:
                raise Mismatch("%s: %r repeats a value already used for another id" % (path, val))
            self.bind[key] = val

    def match(self, g, a, path, ignore, keyed):
        if any(_glob(i, path) for i in ignore):
            return
        if isinstance(g, dict):
            if not isinstance(a, dict):
                raise Mismatch("%s: expected object, got %r" % (path, a))
            for k, v in g.items():
                p = path + "." + k if path else k
                if any(_glob(i, p) for i in ignore):
                    continue
                if k not in a:
                    if v is None and p == "error":
                        continue
                    raise Mismatch("%s: missing field" % p)
                self.match(v, a[k], p, ignore, keyed)
            return
        if isinstance(g, list):
            if not isinstance(a, list):
                raise Mismatch("%s: expected array, got %r" % (path, a))
            if path in keyed:  # subset match by key
                key = keyed[path]
                for i, item in enumerate(g):
                    err = None
                    for cand in a:
                        saved = dict(self.bind)
                        try:
                            self.match(item.get(key), cand.get(key), "%s.%d.%s" % (path, i, key), [], {})
                        except Mismatch as e:
                            self.bind = saved
                            err = err or e
                            continue
                        self.match(item, cand, "%s.%d" % (path, i), ignore, keyed)
                        err = None
                        break
                    else:
                        raise err or Mismatch("%s.%d: no matching item" % (path, i))
                return
            if len(g) != len(a):
                raise Mismatch("%s: expected %d items, got %d" % (path, len(g), len(a)))
            for i, (x, y) in enumerate(zip(g, a)):
                self.match(x, y, "%s.%d" % (path, i), ignore, keyed)
            return
        if isinstance(g, str):
            return self._str(g, a, path)
        if isinstance(g, bool) or g is None:
            if g is not a:
                raise Mismatch("%s: expected %r, got %r" % (path, g, a))
            return
        if isinstance(a, bool) or not isinstance(a, (int, float)) or float(a) != float(g):
            raise Mismatch("%s: expected %r, got %r" % (path, g, a))


def _glob(pat, path):
    pp, qq = pat.split("."), path.split(".")
    if len(pp) != len(qq):
        return False
    return all(x == "*" or x == y for x, y in zip(pp, qq))


def check_envelope(resp):
    if not isinstance(resp, dict):
        raise Mismatch("response is not a JSON object")
    if resp.get("v", 1) != 1:
        raise Mismatch("v must be 1")
    if not isinstance(resp.get("ok"), bool):
        raise Mismatch("ok must be a boolean")
    if resp["ok"]:
        if resp.get("error") is not None:
            raise Mismatch("ok=true but error is set")
        if not isinstance(resp.get("result", {}), dict):
            raise Mismatch("result must be an object")
    else:
        e = resp.get("error")
        if not isinstance(e, dict) or not isinstance(e.get("code"), str) or not e.get("code"):
            raise Mismatch("ok=false needs error.code")
        if not isinstance(e.get("message"), str):
            raise Mismatch("error.message must be a string")
        if not isinstance(e.get("details", {}), dict):
            raise Mismatch("error.details must be an object")


def compare(step, resp, matcher):
    exp = step.get("expect")
    if exp is None:
        return
    ignore = ["error.message"] + list(step.get("ignore") or [])
    if not step.get("compare_details"):
        ignore.append("error.details")
    matcher.match(exp, resp, "", ignore, step.get("keyed") or {})
