# SPDX-License-Identifier: MIT
"""What can be declared in schema/, and what was: dialects, operations, parameters, error conditions."""

import json
import re
from dataclasses import dataclass, field

INT64_MIN, INT64_MAX = -(2**63), 2**63 - 1

# Parameter type -> (OpType, C type, word for people, JSON Schema)
TYPES = {
    "string": ("OP_STRING", "Str ", "text", {"type": "string"}),
    "bool": ("OP_BOOL", "bool ", "true or false", {"type": "boolean"}),
    "int": ("OP_INT", "int64_t ", "an integer", {"type": "integer"}),
    "number": ("OP_NUMBER", "double ", "a number", {"type": "number"}),
    "strings": ("OP_STRINGS", "StrList ", "a list of strings", {"type": "array", "items": {"type": "string"}}),
    "object": ("OP_OBJECT", "const Json *", "an object", {"type": "object"}),
    "array": ("OP_ARRAY", "const Json *", "a list", {"type": "array"}),
    "any": ("OP_ANY", "const Json *", "any value", {}),
}

# Parameter key -> the types it means something for
PARAM_KEYS = {
    "type": TYPES,
    "summary": TYPES,
    "required": TYPES,
    "nullable": TYPES,
    "default": TYPES,
    "enum": ("string",),
    "trim": ("string",),
    "min": ("int", "number"),
    "max": ("int", "number"),
    "non_empty": ("string", "strings", "object", "array"),
    "filled": ("strings",),
    "shape": ("object", "array"),
}

OP_KEYS = ("name", "summary", "params", "result", "errors", "right", "flags")
OP_EXTRA_KEYS = ("refused", "target", "role", "scope", "object")
TARGET_KEYS = ("kind", "by", "access", "read_if", "needs", "first", "lost")
ROLE_KEYS = ("is", "about", "as", "else")
REFUSED_KEYS = ("why", "except")
DIALECT_KEYS = ("name", "title", "convention", "envelope", "transport")
DIALECT_EXTRA_KEYS = ("issues",)
CONVENTIONS = {"strict": "OP_STRICT", "lenient": "OP_LENIENT"}
# What a caller must have, in the order of core/right.h: who has which is said there.
RIGHTS = {
    "read": "reads what is kept and listed",
    "look": "looks at terminals and what was printed in them",
    "message": "sends messages and marks them",
    "ask": "asks for a decision",
    "task": "submits and cancels tasks, plans",
    "report": "says how it is itself doing",
    "type": "types into terminals",
    "start": "starts programs",
    "stop": "ends programs",
    "write": "changes groups, projects and their documents",
    "approve": "decides what waits for a person",
    "admin": "acts on the daemon, or shows its secrets",
}
# What a token of the web must have, in the order of core/principal/web-scope.h, which says what each is for.
SCOPES = {
    "view": "looks and reads",
    "control": "acts on agents",
    "admin": "acts on the daemon",
}
SCOPE_OF_RIGHT = {"read": "view", "look": "view", "admin": "admin"}  # all others: control
# Kind of target -> its C type, the header that finds one, the function that does, and what it calls the kinds of access.
TARGETS = {
    "group": ("Group", "collab/group/group.h", "collab_target", {"call": "GROUP_CALL", "read": "GROUP_READ", "edit": "GROUP_EDIT"}),
    "project": ("Project", "tasks/project.h", "project_target", {"store": None}),
    "workspace": ("Workspace", "company/workspace.h", "workspace_target", {"folder": "WORKSPACE_FOLDER"}),
}
SERVED = ("project",)  # kinds of which a socket serves one: no parameter names it
ACCESS = {"call": "its documents", "read": "its ledger, with what others wrote", "edit": "changes, one at a time",
          "store": "its tasks, once they are read", "folder": "its files"}
ROLES = {"foreman": "ROLE_FOREMAN", "foreman or self": "ROLE_FOREMAN_OR_SELF", "self": "ROLE_SELF", "user": "ROLE_USER"}
FLAGS = {
    "writes": ("OP_WRITES", "changes kept state; the reply follows its commit"),
    "streams": ("OP_STREAMS", "a good reply turns the connection into a stream"),
    "tells": ("OP_TELLS", "that stream is messages of the dialect, such as notifications"),
    "slow": ("OP_SLOW", "may be answered in a later turn"),
    "planned": ("OP_PLANNED", "answers that it is not built yet"),
    "closed": ("OP_CLOSED", "a parameter that it does not have is refused"),
    "params": ("OP_PARAMS", "its parameters must be given, even if there are none"),
    "reveals": ("OP_REVEALS", "shows what a sandbox hides, so not for callers in one"),
}

# Tools of schema/mcp/: their tiers, and their flags with what they say.
TOOL_TIERS = ("cccc", "fleet", "admin", "debug")
TOOL_FLAGS = {
    "reads": ("TOOL_READS", "it changes nothing, so it may be repeated"),
    "destroys": ("TOOL_DESTROYS", "what it takes away does not come back"),
    "idempotent": ("TOOL_IDEMPOTENT", "twice is the same as once"),
    "waits": ("TOOL_WAITS", "it may be answered much later"),
}

# Conditions that any call of any dialect can end with.
GENERIC = ("PARSE", "INVALID_REQUEST", "TOO_LARGE", "UNKNOWN_OP", "INVALID_PARAMS", "PERMISSION_DENIED", "FORBIDDEN", "IDENTITY_MISMATCH", "INTERNAL")
RESERVED_CONDITIONS = ("NONE", "MAX")

# The part of JSON Schema that results are declared in; tests/lib/jsonschema.py implements exactly this.
SCHEMA_KEYWORDS = (
    "type", "properties", "required", "additionalProperties", "items", "enum", "const", "pattern", "minLength",
    "minItems", "minimum", "maximum", "format", "oneOf", "anyOf", "description",
)
SCHEMA_TYPES = ("null", "boolean", "integer", "number", "string", "array", "object")
SCHEMA_FORMATS = ("date-time",)

# Words that cannot name a struct member: the keywords of C11 and GNU C, macros that common headers define, and the first member of every argument struct.
C_TAKEN = frozenset("""
    auto break case char const continue default do double else enum extern float for goto if inline int long register
    restrict return short signed sizeof static struct switch typedef union unsigned void volatile while
    asm typeof bool true false errno stdin stdout stderr unix linux NULL EOF MIN MAX STR STR_NULL carry
""".split())

NOTE = "generated by scripts/gen-ops.py from schema/: do not edit"


@dataclass
class Condition:
    name: str
    summary: str
    words: dict  # dialect name -> its code


@dataclass
class Param:
    name: str
    type: str
    summary: str
    required: bool
    nullable: bool
    non_empty: bool
    trim: bool
    enum: list | None
    min: int | None
    max: int | None
    default: object = None  # None: there is none
    filled: bool = False
    shape: str | None = None  # of an object, or of each element of an array

    @property
    def c_name(self):
        return c_member(self.name)

    @property
    def has_name(self):
        """The member that tells whether the caller gave it, where the value cannot tell."""
        is_plain = self.type in ("bool", "int", "number")
        return f"has_{self.c_name}" if is_plain and not self.required and self.default is None else None


@dataclass
class Refusal:
    """An argument that newer clients send, and that cannot be ignored without doing something else than they meant."""
    name: str
    why: str
    spared: list  # values that change nothing

    @property
    def c_name(self):
        return c_member(self.name)


@dataclass
class Target:
    """What an operation works on: found before its handler runs, which gets it as a typed object."""
    kind: str
    by: str | None  # the parameter that names it; None: the socket does
    access: str
    read_if: Param | None  # given, access is "read"
    needs: list  # parameters that must not be empty, in the order in which they are missed
    has_first: bool  # op_<dialect>_<op>_first() refuses what the arguments alone can tell, before anything is looked for
    has_lost: bool  # op_<dialect>_<op>_lost() runs instead of the handler when it is not there

    @property
    def c_type(self):
        return TARGETS[self.kind][0]

    @property
    def header(self):
        return TARGETS[self.kind][1]

    @property
    def finder(self):
        return TARGETS[self.kind][2]

    @property
    def c_access(self):
        words = TARGETS[self.kind][3]
        if not self.read_if:
            return words[self.access]
        given = f"args->{self.read_if.c_name}" + (".n" if self.read_if.type == "string" else "")
        return f"{given} ? {words['read']} : {words[self.access]}"


@dataclass
class Role:
    """Who may do it, by the contract's own roles; asked before the handler runs."""
    name: str
    about: str | None  # the parameter that names whom it is about
    action: str  # as the refusal calls it
    condition: str  # what the refusal is answered as


@dataclass
class Op:
    dialect: str
    name: str
    summary: str
    params: list
    result: dict
    errors: list
    right: str
    flags: list
    refused: list = field(default_factory=list)
    target: Target | None = None
    role: Role | None = None
    scope: str = "control"
    object: str | None = None  # the parameter that names the hosted thing it is about; "": it is about none; None: about several

    @property
    def c_name(self):
        return re.sub(r"[^A-Za-z0-9_]", "_", self.name)

    @property
    def args_type(self):
        return camel(self.dialect) + camel(self.name) + "Args"


@dataclass
class Dialect:
    name: str
    title: str
    convention: str
    envelope: str
    transport: str
    issues: bool = False  # every argument that does not fit is named, with its place
    ops: list = field(default_factory=list)

    @property
    def is_jsonrpc(self):
        return self.envelope.startswith("JSON-RPC")


# Member type -> ShapeType
SHAPE_TYPES = {"any": "SHAPE_ANY", "string": "SHAPE_STRING", "time": "SHAPE_TIME", "bool": "SHAPE_BOOL", "int": "SHAPE_INT",
               "number": "SHAPE_NUMBER", "object": "SHAPE_OBJECT", "array": "SHAPE_ARRAY", "map": "SHAPE_MAP"}
# Member key -> the types it means something for
MEMBER_KEYS = {
    "type": SHAPE_TYPES,
    "optional": SHAPE_TYPES,
    "nullable": SHAPE_TYPES,
    "non_empty": ("string", "array", "map"),
    "enum": ("string",),
    "min": ("int", "number"),
    "max": ("int", "number"),
    "shape": ("object",),
    "members": ("object",),
    "strict": ("object",),
    "items": ("array", "map"),
}


@dataclass
class Member:
    """What may stand in one place of an object."""
    name: str  # "": an element
    type: str
    optional: bool = False
    nullable: bool = False
    non_empty: bool = False
    enum: list | None = None
    min: int | None = None
    max: int | None = None
    shape: str | None = None  # by name
    items: object = None  # Member


@dataclass
class Shape:
    """What an object may look like."""
    name: str
    strict: bool
    members: list
    tag: str | None = None
    variants: dict = field(default_factory=dict)  # word -> name of a shape


@dataclass
class ToolStep:
    """One operation that a tool calls."""
    dialect: str
    op: str
    name: str | None  # member of the result; None: it is the result
    when: str | None
    is_name: bool  # when that parameter is the name of something hosted
    bind: dict  # argument of the operation -> expression
    ops: list | None
    show: object
    view: str | None

    @property
    def op_name(self):
        return f"{self.dialect}.{self.op}"


@dataclass
class Tool:
    """What agents call through MCP."""
    name: str
    title: str | None
    summary: str
    tier: str
    flags: list
    params: list
    steps: list
    is_choice: bool
    view: str | None
    result: dict | None


@dataclass
class Schema:
    conditions: list
    dialects: list  # sorted by name
    shapes: dict = field(default_factory=dict)  # name -> Shape, each behind those it is made of
    tools: list = field(default_factory=list)  # sorted by name

    def is_numeric(self, dialect):
        return isinstance(self.words(dialect)[0][0], int)

    def words(self, dialect):
        """The codes of a dialect in the order of errors.json: (code, [conditions answered with it])."""
        found = {}
        for condition in self.conditions:
            if dialect in condition.words:
                found.setdefault(condition.words[dialect], []).append(condition)
        return list(found.items())


def c_member(name):
    text = re.sub(r"[^A-Za-z0-9_]", "_", name)
    if text[0].isdigit():
        text = "_" + text
    return text + "_" if text in C_TAKEN else text


def camel(name):
    return "".join(word[0].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name) if word)


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def meaning(conditions):
    """What one error code says, of all conditions that are answered with it."""
    return "; ".join(dict.fromkeys(one.summary for one in conditions))
