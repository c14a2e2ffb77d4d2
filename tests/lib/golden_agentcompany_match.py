# SPDX-License-Identifier: MIT
"""Compares a live AgentCompany outcome with a golden one: subset of members, numbered placeholders, paths that are judged otherwise.

See tests/conformance/goldens/README.md.
"""
import functools
import json
import re

NUMBERED = {prefix: prefix + "_[0-9A-Za-z]+" for prefix in
            "cmp team agent proj conv msg task ms run job art ctx share rev help cmt evt".split()}
NUMBERED.update(sha256="[0-9a-f]{64}", sha1="[0-9a-f]{40}")
LOOSE = {"ts": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "hbtick": "hbtick_[0-9A-Za-z_]+", "sub": "sub_[0-9A-Za-z_]+",
         "diag": "agentcompany-diagnostics-[0-9A-Za-z-]+"}
PLACEHOLDER = re.compile("<(%s)(?::([0-9]+))?>" % "|".join([*NUMBERED, *LOOSE]))
EPOCH_MS = 10 ** 12  # a number from here on can be milliseconds of a clock
ABSENT = object()


class Fail(Exception):
    pass


def brief(value):
    text = "nothing" if value is ABSENT else json.dumps(value, ensure_ascii=False)
    return text if len(text) < 240 else text[:237] + "..."


def dig(value, path):
    """What stands at a dotted path, or one with indexes in brackets; ABSENT when nothing does."""
    for part in re.sub(r"\[(\d+)\]", r".\1", path).strip(".").replace("..", ".").split("."):
        if isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        elif isinstance(value, dict) and part in value:
            value = value[part]
        else:
            return ABSENT
    return value


class Names:
    """Which value each numbered placeholder stands for: a name has one value throughout a scenario, and a value one name."""

    def __init__(self, tmp, values=None):
        self.tmp, self.values = tmp, dict(values or {})

    def copy(self):
        return Names(self.tmp, self.values)

    def adopt(self, other):
        self.values = other.values

    def fits(self, golden, text):
        """Whether a text has the form of a golden one; placeholders that are new get their values from it."""
        golden = golden.replace("<TMP>", self.tmp)
        form, at, new = "", 0, {}
        for found in PLACEHOLDER.finditer(golden):
            form += re.escape(golden[at:found.start()])
            at, name, kind = found.end(), found.group(0), found.group(1)
            if kind in LOOSE:
                form += LOOSE[kind]
            elif name in self.values:
                form += re.escape(self.values[name])
            elif name in new:
                form += "(?P=%s)" % new[name]
            else:
                new[name] = "n%d" % len(new)
                form += "(?P<%s>%s)" % (new[name], NUMBERED[kind])
        seen = re.fullmatch(form + re.escape(golden[at:]), text, re.S)
        if not seen:
            return False
        values = {name: seen.group(group) for name, group in new.items()}
        taken = set(self.values.values())
        if len(set(values.values())) < len(values) or taken & set(values.values()):
            return False
        self.values.update(values)
        return True

    def member(self, obj, name):
        """The name of an object's member that has the form of a golden one."""
        if name in obj or not PLACEHOLDER.search(name) and "<TMP>" not in name:
            return name
        return next((one for one in obj if self.fits(name, one)), name)


@functools.lru_cache(maxsize=None)
def _path_form(pattern):
    parts = {"**": ".*", "*": "[^.]+"}
    return re.compile("".join(parts.get(p) or re.escape(p) for p in re.split(r"(\*\*?)", pattern)))


class Judge:
    """One step's rules: paths that are ignored, only have to be text, or are arrays in another order or with more elements."""

    def __init__(self, step):
        self.rules = {kind: [_path_form(p) for p in step.get(kind, [])] for kind in ("ignore", "text", "contains", "unordered", "json")}

    def says(self, kind, path):
        return any(form.fullmatch(path) for form in self.rules[kind])

    def open_json(self, value, path=""):
        """The same value with texts that hold JSON opened where the step says so."""
        if isinstance(value, str) and self.says("json", path):
            try:
                return {"json": json.loads(value)}
            except ValueError:
                return value
        below = path + "." if path else ""
        if isinstance(value, list):
            return [self.open_json(one, below + str(i)) for i, one in enumerate(value)]
        if isinstance(value, dict):
            return {name: self.open_json(one, below + name) for name, one in value.items()}
        return value

    def match(self, want, got, names, path=""):
        if self.says("ignore", path):
            return
        if self.says("text", path):
            if not isinstance(got, str) or not got:
                raise Fail("%s: expected some text, got %s" % (path, brief(got)))
        elif isinstance(want, dict) and isinstance(got, dict):
            self._match_object(want, got, names, path + "." if path else "")
        elif isinstance(want, list) and isinstance(got, list):
            self._match_array(want, got, names, path)
        elif not self._scalar_fits(want, got, names):
            raise Fail("%s: expected %s, got %s" % (path, brief(want), brief(got)))

    def _match_object(self, want, got, names, below):
        for name, value in want.items():
            self.match(value, got.get(names.member(got, name), ABSENT), names, below + name)

    def _match_array(self, want, got, names, path):
        has_more = self.says("contains", path)
        if not has_more and len(want) != len(got):
            raise Fail("%s: expected %d elements, got %d: %s" % (path, len(want), len(got), brief(got)))
        if not has_more and not self.says("unordered", path):
            for i, (w, g) in enumerate(zip(want, got)):
                self.match(w, g, names, "%s.%d" % (path, i) if path else str(i))
            return
        left = list(got)
        for i, w in enumerate(want):
            left.remove(self._find(w, left, names, "%s.%d" % (path, i)))

    def _find(self, want, among, names, path):
        for one in among:
            attempt = names.copy()
            try:
                self.match(want, one, attempt, path)
            except Fail:
                continue
            names.adopt(attempt)
            return one
        raise Fail("%s: no element like %s" % (path, brief(want)))

    @staticmethod
    def _scalar_fits(want, got, names):
        is_number = isinstance(got, (int, float)) and not isinstance(got, bool)
        if want in ("<pid>", "<num>"):
            return is_number
        if want == "<epoch_ms>":
            return is_number and got >= EPOCH_MS
        if isinstance(want, str):
            return isinstance(got, str) and names.fits(want, got)
        if isinstance(want, bool) or want is None or not is_number:
            return want is got
        return abs(want - got) <= 1e-9 * max(1, abs(want))
