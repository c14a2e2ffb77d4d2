# SPDX-License-Identifier: MIT
"""Reads the YAML that workspace files are written in: block maps and lists, scalars of every style, flow [] and {} on one line.

It is not a YAML parser: no anchors, no tags, no second document. Times stay text."""
import json
import re

_KEY = re.compile(r"""(?P<key>"(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#"'\[\]{},&*!|>%@`-][^#]*?|-[^\s#][^#]*?)\s*:(?:\s+(?P<rest>.*))?$""")
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}


def _plain(text):
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def _unquote(text):
    return json.loads(text) if text[0] == '"' else text[1:-1].replace("''", "'")


def _join(lines):
    """The lines of a folded scalar: an empty one is a line break, others are joined by a blank."""
    text, is_joined = "", False
    for line in lines:
        text += "\n" if not line else (" " if is_joined else "") + line
        is_joined = bool(line)
    return text


class _Flow:
    """A flow collection or one scalar inside it."""

    def __init__(self, text):
        self.text, self.at = text, 0

    def skip(self, characters):
        while self.at < len(self.text) and self.text[self.at] in characters:
            self.at += 1

    def take(self, form):
        found = re.compile(form).match(self.text, self.at)
        self.at = found.end()
        return found.group(0)

    def value(self):
        self.skip(" ")
        first = self.text[self.at]
        if first in "[{":
            return self._collection("]" if first == "[" else "}")
        if first in "\"'":
            return _unquote(self.take(r'"(?:[^"\\]|\\.)*"' if first == '"' else r"'(?:[^']|'')*'"))
        return _plain(self.take(r"(?:[^,\[\]{}:]|:(?! |$))+").strip())

    def _collection(self, end):
        self.at += 1
        items, pairs = [], {}
        while True:
            self.skip(" ,")
            if self.text[self.at] == end:
                self.at += 1
                return items if end == "]" else pairs
            one = self.value()
            if end == "}":
                self.skip(" :")
                pairs[one] = self.value()
            else:
                items.append(one)


class _Block:
    def __init__(self, text):
        self.lines = text.replace("\r\n", "\n").split("\n")
        self.at = 0

    @staticmethod
    def _indent(line):
        return len(line) - len(line.lstrip(" "))

    def _peek(self):
        """The next line that says something; None at the end."""
        while self.at < len(self.lines):
            text = self.lines[self.at].strip()
            if text and not text.startswith("#") and text not in ("---", "..."):
                return self.lines[self.at]
            self.at += 1
        return None

    @staticmethod
    def _is_item(line):
        return line.lstrip().startswith("- ") or line.strip() == "-"

    def value(self, above):
        """What stands deeper than a column; a list may stand at the column of its key."""
        line = self._peek()
        if line is None or self._indent(line) < above:
            return None
        if self._is_item(line):
            return self._list(self._indent(line))
        if self._indent(line) == above and above >= 0 and not _KEY.match(line.strip()):
            return None
        if _KEY.match(line.strip()):
            return self._map(self._indent(line))
        self.at += 1
        return self._scalar(line.strip(), above - 1)

    def _list(self, column):
        items = []
        while (line := self._peek()) is not None and self._indent(line) == column and self._is_item(line):
            rest = line.strip()[1:].strip()
            if self._is_item(rest) or _KEY.match(rest) and rest[0] not in "[{":
                self.lines[self.at] = " " * (column + 2) + rest
                items.append(self.value(column + 2))
                continue
            self.at += 1
            items.append(self._scalar(rest, column) if rest else self.value(column + 1))
        return items

    def _map(self, column):
        pairs = {}
        while (line := self._peek()) is not None and self._indent(line) == column and (found := _KEY.match(line.strip())):
            key, rest = found.group("key"), (found.group("rest") or "").strip()
            self.at += 1
            if rest and not rest.startswith("#"):
                pairs[_unquote(key) if key[0] in "\"'" else key] = self._scalar(rest, column)
                continue
            below = self._peek()
            is_below = below is not None and (self._indent(below) > column or self._indent(below) == column and self._is_item(below))
            pairs[_unquote(key) if key[0] in "\"'" else key] = self.value(column) if is_below else None
        return pairs

    def _deeper(self, column):
        """The lines that belong to a scalar which began on the line before."""
        taken = []
        while self.at < len(self.lines) and (not self.lines[self.at].strip() or self._indent(self.lines[self.at]) > column):
            taken.append(self.lines[self.at])
            self.at += 1
        return taken

    def _literal(self, head, column):
        lines = self._deeper(column)
        indent = min((self._indent(x) for x in lines if x.strip()), default=0)
        lines = [x[indent:] for x in lines]
        n_tail = 0
        while lines and not lines[-1].strip():
            lines.pop()
            n_tail += 1
        text = "\n".join(lines) if head[0] == "|" else _join(lines)
        return text + ("" if "-" in head else "\n" * (n_tail + 1) if "+" in head else "\n" if lines else "")

    def _quoted(self, text, column):
        whole = r'"(?:[^"\\]|\\.)*"\s*(#.*)?' if text[0] == '"' else r"'(?:[^']|'')*'\s*(#.*)?"
        while not re.fullmatch(whole, text, re.S):
            more = self.lines[self.at].strip()
            self.at += 1
            if text[0] == '"' and text.endswith("\\"):
                text = text[:-1] + more
            else:
                text += "\n" if not more else more if text.endswith("\n") else " " + more
        return _unquote(re.match(whole.split(r"\s*(")[0], text, re.S).group(0).replace("\n", "\\n" if text[0] == '"' else "\n"))

    def _scalar(self, text, column):
        if text[0] in "|>":
            return self._literal(text, column)
        if text[0] in "\"'":
            return self._quoted(text, column)
        if text[0] in "[{":
            while sum(text.count(x) for x in "[{") > sum(text.count(x) for x in "]}"):
                text += " " + self.lines[self.at].strip()
                self.at += 1
            return _Flow(text).value()
        lines = [text, *(x.strip() for x in self._deeper(column))]
        while len(lines) > 1 and not lines[-1]:
            lines.pop()
        return _plain(re.split(r"\s#", _join(lines))[0].rstrip())


def yaml_read(text):
    return _Block(text).value(0)


def front_matter(text):
    """(front matter, body) of a document that begins with it."""
    lines = text.replace("\r\n", "\n").split("\n")
    end = lines.index("---", 1) if lines[0] == "---" else None
    if end is None:
        raise ValueError("no front matter")
    return yaml_read("\n".join(lines[1:end])), "\n".join(lines[end + 1:])
