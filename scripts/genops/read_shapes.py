# SPDX-License-Identifier: MIT
"""Reads and checks schema/shapes/: what objects from outside may look like."""

import os
import re

from genops.check import is_int, quoted
from genops.model import INT64_MAX, INT64_MIN, MEMBER_KEYS, SHAPE_TYPES, Member, Shape

SHAPE_KEYS = ("name", "summary", "strict", "members", "tag", "variants")


class ShapeReader:
    """Works for a Reader, which loads the files and collects what is wrong."""

    def __init__(self, reader):
        self.reader = reader
        self.found = {}  # name -> (path, Shape)
        self.uses = {}  # name -> names of the shapes it is made of

    def fault(self, path, member, text):
        self.reader.fault(path, member, text)

    def read(self, directory):
        """{name: Shape}, each behind those it is made of; {} when there is no such folder."""
        if not os.path.isdir(directory):
            return {}
        self.reader.inputs.append(directory)
        for entry in sorted(os.listdir(directory)):
            if entry.endswith(".json") and not entry.startswith("."):
                self.read_file(os.path.join(directory, entry), entry.removesuffix(".json"))
        ordered = {}
        for name in self.found:
            self.visit(name, ordered, [])
        return ordered

    def visit(self, name, ordered, above):
        path, shape = self.found[name]
        if name in above:
            self.fault(path, "", f"contains itself: {' > '.join([*above, name])}")
            return
        for used in self.uses[name]:
            if used not in self.found:
                self.fault(path, "", f"there is no shape {quoted([used])}")
            elif used not in ordered:
                self.visit(used, ordered, [*above, name])
        ordered.setdefault(name, shape)

    def read_file(self, path, stem):
        value = self.reader.load(path)
        if value is None or not self.reader.check_keys(path, "", value, SHAPE_KEYS, ("name", "summary")):
            return
        if not self.reader.check_texts(path, "", value, ("name", "summary")):
            return
        if value["name"] != stem or not re.fullmatch(r"[a-z][a-z0-9_]*", stem):
            self.fault(path, "name", "must be the name of the file, in lower case")
            return
        if ("tag" in value) != ("variants" in value) or ("tag" in value) == ("members" in value):
            self.fault(path, "", "must have either members, or tag and variants")
            return
        if "tag" in value:
            self.read_variants(path, value)
        else:
            self.read_members(path, stem, "", value)

    def read_variants(self, path, value):
        variants = value["variants"]
        if not isinstance(value["tag"], str) or not isinstance(variants, dict) or not variants or \
                not all(isinstance(one, str) for one in variants.values()):
            self.fault(path, "variants", "must name a shape for each word, tag the member")
            return
        self.add(path, Shape(value["name"], False, [], value["tag"], variants), list(variants.values()))

    def add(self, path, shape, uses):
        self.found[shape.name] = (path, shape)
        self.uses[shape.name] = uses

    def read_members(self, path, name, at, value):
        """The shape of an object that stands in the file itself or inline in one of its members."""
        members = value.get("members")
        if not isinstance(members, dict) or not isinstance(value.get("strict", False), bool):
            self.fault(path, at or "members", "must be an object, and strict true or false")
            return
        read = [self.read_member(path, f"{at}.{key}" if at else key, f"{name}__{key}", key, item) for key, item in members.items()]
        if all(read):
            self.add(path, Shape(name, value.get("strict", False), read), [use for one in read for use in member_uses(one)])

    def read_member(self, path, at, c_name, name, item):
        if not isinstance(item, dict) or not self.reader.check_keys(path, at, item, MEMBER_KEYS, ("type",)):
            return None
        kind, n_before = item["type"], len(self.reader.problems)
        if kind not in SHAPE_TYPES:
            self.fault(path, f"{at}.type", f"must be one of {quoted(SHAPE_TYPES)}")
            return None
        for key in item:
            if kind not in MEMBER_KEYS[key]:
                self.fault(path, f"{at}.{key}", f"means nothing for type {kind}")
        for key in ("optional", "nullable", "non_empty"):
            if not isinstance(item.get(key, False), bool):
                self.fault(path, f"{at}.{key}", "must be true or false")
        for key in ("min", "max"):
            if key in item and not (is_int(item[key]) and INT64_MIN <= item[key] <= INT64_MAX):
                self.fault(path, f"{at}.{key}", "must be an integer of 64 bits")
        words = item.get("enum")
        if words is not None and not (isinstance(words, list) and words and all(isinstance(one, str) for one in words)):
            self.fault(path, f"{at}.enum", "must be a list of strings")
        shape = item.get("shape")
        if kind == "object" and ("shape" in item) == ("members" in item):
            self.fault(path, at, "an object has either a shape or members")
        if "members" in item:
            shape = c_name
            self.read_members(path, c_name, at, item)
        items = None
        if kind in ("array", "map"):
            items = self.read_member(path, f"{at}.items", f"{c_name}__items", "", item.get("items"))
        if len(self.reader.problems) > n_before:
            return None
        return Member(name, kind, item.get("optional", False), item.get("nullable", False), item.get("non_empty", False), words,
                      item.get("min"), item.get("max"), shape, items)


def member_uses(member):
    if member is None:
        return []
    return ([member.shape] if member.shape else []) + member_uses(member.items)
