# SPDX-License-Identifier: MIT
"""scripts/gen-ops.py: what it says about wrong declarations, and what it makes of good ones."""

import contextlib
import copy
import importlib.util
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
SCRIPT = os.path.join(ROOT, "scripts", "gen-ops.py")

sys.path.insert(0, os.path.join(HERE, "..", "lib"))
import check_record
import jsonschema

spec = importlib.util.spec_from_file_location("gen_ops", SCRIPT)
gen_ops = importlib.util.module_from_spec(spec)
sys.modules["gen_ops"] = gen_ops  # dataclasses look their module up there
spec.loader.exec_module(gen_ops)

GENERIC = ["PARSE", "INVALID_REQUEST", "TOO_LARGE", "UNKNOWN_OP", "INVALID_PARAMS", "PERMISSION_DENIED", "FORBIDDEN", "IDENTITY_MISMATCH", "INTERNAL"]


def dialect(name, convention, envelope):
    return {"name": name, "title": f"Dialect {name}", "convention": convention, "envelope": envelope, "transport": "t"}


def op(name, params=None, **more):
    return {"name": name, "summary": "Does it.", "params": params or {}, "result": {"type": "object"},
            "errors": [], "right": "read", "flags": [], **more}


def base():
    """A small schema that is right: path -> content."""
    generic = [{"name": name, "summary": name.lower(), "soft": f"w_{name.lower()}", "rpc": -32700 - i, "other": -9 - i}
               for i, name in enumerate(GENERIC)]
    return {
        "errors.json": {"about": "x", "conditions": generic + [{"name": "FULL", "summary": "full", "soft": "full"}]},
        "soft/_dialect.json": dialect("soft", "lenient", "{op}"),
        "rpc/_dialect.json": dialect("rpc", "strict", "JSON-RPC 2.0"),
        "other/_dialect.json": dialect("other", "strict", "JSON-RPC 2.0"),
        "soft/send.json": op("send", {
            "text": {"type": "string", "trim": False, "required": True, "summary": "what | to say"},
            "by": {"type": "string", "default": "us\"er"},
            "kind": {"type": "string", "enum": ["a", "b"], "default": "b"},
            "to": {"type": "strings", "default": ["all"]},
            "limit": {"type": "int", "min": 1, "max": 9},
            "default": {"type": "bool"},
            "a-b": {"type": "number", "default": 0.5},
        }, errors=["full"], flags=["writes", "slow"]),
        "rpc/daemon.stop_now.json": op("daemon.stop_now", {
            "force": {"type": "bool", "default": False},
            "data": {"type": "object", "nullable": True},
            "mode": {"type": "string", "enum": ["x"], "nullable": True, "non_empty": True},
        }, errors=[-32704]),
    }


def write_tree(root, files):
    for path, content in files.items():
        path = os.path.join(root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content if isinstance(content, str) else json.dumps(content))


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


@contextlib.contextmanager
def generated(files, *options):
    """Yields the folder with schema/, gen/ and docs/ after a successful run."""
    with tempfile.TemporaryDirectory() as root:
        write_tree(os.path.join(root, "schema"), files)
        run(root, *options)
        yield root


def run(root, *options):
    argv = ["--schema", os.path.join(root, "schema"), "--out", os.path.join(root, "gen"),
            "--docs", os.path.join(root, "docs"), *options]
    with contextlib.redirect_stderr(io.StringIO()) as text:
        status = gen_ops.main(argv)
    assert status == 0, text.getvalue()


def faults(files):
    """What the generator says, without the folder; it must refuse and write nothing."""
    with tempfile.TemporaryDirectory() as root:
        write_tree(os.path.join(root, "schema"), files)
        out = os.path.join(root, "gen")
        with contextlib.redirect_stderr(io.StringIO()) as text:
            status = gen_ops.main(["--schema", os.path.join(root, "schema"), "--out", out])
        assert status == 1, "accepted"
        assert not os.path.exists(out)
        lines = text.getvalue().replace(os.path.join(root, "schema") + os.sep, "").splitlines()
        assert lines[-1].startswith(f"gen-ops: {len(lines) - 1} problem(s)")
        return lines[:-1]


def expect(expected, change):
    files = copy.deepcopy(base())
    change(files)
    found = faults(files)
    assert any(expected in line for line in found), f"{expected!r} not in {found}"
    return found


def expect_param(expected, item, path="soft/send.json"):
    """One parameter x more, which must be refused."""
    found = expect(f"{path}: params.x{expected}", lambda files: files[path]["params"].update(x=item))
    assert len(found) == 1, found


def expect_op(expected, **members):
    expect("soft/send.json: " + expected, lambda files: files["soft/send.json"].update(members))


# ---- wrong declarations ---------------------------------------------------------------------------------------------


def test_parameter_keys_and_types():
    expect_param(".size: unknown key; known: type, summary,", {"type": "string", "size": 1})
    expect_param(".type: is missing", {})
    expect_param(".type: unknown type \"text\"; known: string, bool,", {"type": "text"})
    expect_param(".type: unknown type []", {"type": []})
    expect_param(": must be an object", "string")
    expect_param(".required: must be true or false", {"type": "int", "required": 1})
    expect_param(".summary: must be a string that is not blank", {"type": "int", "summary": " "})


def test_parameter_keys_that_mean_nothing():
    expect_param(".min: means nothing for type string", {"type": "string", "min": 1})
    expect_param(".max: means nothing for type bool", {"type": "bool", "max": 1})
    expect_param(".enum: means nothing for type int", {"type": "int", "enum": ["1"]})
    expect_param(".trim: means nothing for type strings", {"type": "strings", "trim": True})
    expect_param(".non_empty: means nothing for type int", {"type": "int", "non_empty": True})
    expect_param(".non_empty: a lenient dialect takes an empty string as not given; use required",
                 {"type": "string", "non_empty": True})


def test_contradictions():
    expect_param(".default: contradicts required", {"type": "int", "required": True, "default": 1})
    expect_param(".nullable: contradicts required", {"type": "int", "required": True, "nullable": True})
    expect_param(".min: is greater than max", {"type": "int", "min": 2, "max": 1})
    expect_param(".min: must be an integer of 64 bits", {"type": "int", "min": 0.5})
    expect_param(".max: must be an integer of 64 bits", {"type": "int", "max": 2**63})


def test_enum():
    expect_param(".enum: must be a list with at least one string", {"type": "string", "enum": []})
    expect_param(".enum: must hold strings only", {"type": "string", "enum": ["a", 1]})
    expect_param(".enum: holds a string twice", {"type": "string", "enum": ["a", "a"]})
    expect_param(".enum: holds a string with white space around it", {"type": "string", "enum": [" a"]})
    expect_param(".enum: holds an empty string", {"type": "string", "enum": [""]})


def test_default_must_fit_its_type():
    for kind, value in (("string", 1), ("bool", 0), ("int", True), ("int", 1.0), ("int", "1"), ("int", 2**63),
                        ("number", "1"), ("strings", "a"), ("strings", [1]), ("object", []), ("array", {})):
        expect_param(f".default: does not fit type {kind}", {"type": kind, "default": value})
    expect_param(".default: must not be null", {"type": "any", "default": None})


def test_default_must_fit_its_bounds():
    expect_param(".default: \"c\" is not in the enum", {"type": "string", "enum": ["a"], "default": "c"})
    expect_param(".default: 0 is below min 1", {"type": "int", "min": 1, "default": 0})
    expect_param(".default: 1.5 is above max 1", {"type": "number", "max": 1, "default": 1.5})
    expect_param(".default: has white space around it", {"type": "string", "default": "a "})
    expect_param(".default: must not contain U+0000", {"type": "string", "default": "a\0b"})
    empty = ".default: is empty, but the parameter is non_empty"
    expect_param(empty, {"type": "string", "non_empty": True, "default": ""}, "rpc/daemon.stop_now.json")
    expect_param(empty, {"type": "strings", "non_empty": True, "default": []})


def test_members_that_meet_in_c():
    def meet(**params):
        return lambda files: files["soft/send.json"].update(params=params)
    expect("soft/send.json: params.a.b: becomes a_b in C, as params.a_b does",
           meet(a_b={"type": "int"}, **{"a.b": {"type": "int"}}))
    expect("soft/send.json: params.has_x: becomes has_x in C, as params.x does",
           meet(x={"type": "int"}, has_x={"type": "bool", "required": True}))


def test_operation():
    expect_op("name: is \"sent\", but the file is named \"send.json\"", name="sent")
    expect_op("name: must be a string that is not blank", name=None)
    expect_op("since: unknown key; known: name, summary,", since="1")
    expect_op("summary: must be a string that is not blank", summary="")
    expect_op("params: must be an object", params=[])
    expect_op("errors[0]: \"ful\" is no error code of soft in errors.json", errors=["ful"])
    expect_op("errors[1]: \"full\" is there twice", errors=["full", "full"])
    expect_op("flags[0]: unknown flag \"write\"; known: writes, streams, tells, slow", flags=["write"])
    expect_op("flags: must be a list", flags="writes")
    expect_op("right: must be one of \"read\", \"look\",", right="view")
    expect_op("right: must be one of", right={"role": "foreman"})
    expect_op("scope: must be one of \"view\", \"control\", \"admin\"", scope="all")
    expect_op("scope: must be one of", scope=None)
    expect_op("scope: is \"view\" by its right already", scope="view", flags=[])
    expect_op("scope: view is for what changes nothing", right="message", scope="view", flags=[])
    expect_op("scope: view is for what changes nothing", scope="view", flags=["writes"])
    expect_op("object: must be null, or name a parameter that is a string", object="nobody")
    expect_op("object: must be null, or name a parameter that is a string", object=7)
    expect("soft/send.json: right: is missing", lambda files: files["soft/send.json"].pop("right"))
    expect("soft/send.json: result: is missing", lambda files: files["soft/send.json"].pop("result"))
    expect("rpc/daemon.stop_now.json: errors[0]: \"full\" is no error code of rpc",
           lambda files: files["rpc/daemon.stop_now.json"].update(errors=["full"]))
    expect("rpc/daemon.stop_now.json: errors[0]: -32704.0 is no error code of rpc",
           lambda files: files["rpc/daemon.stop_now.json"].update(errors=[-32704.0]))
    expect("soft/9.json: name: \"9\" cannot name an operation", lambda files: files.update({"soft/9.json": op("9")}))
    expect("soft/a_b.json: name: \"a_b\" and \"a.b\" are both ",
           lambda files: files.update({"soft/a.b.json": op("a.b"), "soft/a_b.json": op("a_b")}))


def test_refused_arguments():
    expect_op("refused: must be an object", refused=[])
    expect_op("refused.mode.why: is missing", refused={"mode": {}})
    expect_op("refused.mode.because: unknown key", refused={"mode": {"why": "is not served", "because": 1}})
    expect_op("refused.mode.except: must be a list of strings", refused={"mode": {"why": "is not served", "except": "send"}})
    expect_op("refused.text: is a parameter, too", refused={"text": {"why": "is not served"}})
    files = base()
    files["soft/send.json"]["refused"] = {"mode": {"why": "is not \"served\"", "except": ["now"]}, "gate": {"why": "is not served"}}
    with generated(files) as root:
        text = open(os.path.join(root, "gen", "soft-ops.c"), encoding="utf-8").read()
        assert ".refusals = refusals_send, .n_refusals = 2" in re.sub(r"\s+", " ", text), text
        assert "spared_send__mode[] = {\"now\", NULL}" in text, text
        page = open(os.path.join(root, "docs", "soft.md"), encoding="utf-8").read()
        assert "| `mode` | `now` | is not \"served\" |" in page, page


def test_result_schema():
    expect_op("result: must be a JSON Schema object", result=[])
    expect_op("result.properties.a.typ: unknown schema keyword", result={"properties": {"a": {"typ": "x"}}})
    expect_op("result.items.type: does not fit the keyword: \"int\"", result={"items": {"type": "int"}})
    expect_op("result.anyOf[1].maxItems: unknown schema keyword", result={"anyOf": [{}, {"maxItems": 1}]})
    expect_op("result.format: does not fit the keyword", result={"format": "uri"})
    expect_op("result.pattern: does not fit the keyword", result={"pattern": "("})
    expect_op("result.oneOf: does not fit the keyword", result={"oneOf": []})
    expect_op("result.additionalProperties: must be a JSON Schema object", result={"additionalProperties": 1})


def a_tool(**more):
    return {"name": "say", "title": "Say", "summary": "Says it.", "tier": "fleet", "flags": ["idempotent"],
            "params": {"words": {"type": "string", "required": True, "summary": "what | to say"}, "kind": {"type": "string", "enum": ["a", "b"], "summary": "which"}},
            "op": "soft.send", "bind": {"text": ["words", {"const": "nothing"}], "by": "$self?"}, **more}


def test_tools():
    files = base()
    files["mcp/say.json"] = a_tool(show=["id"])
    with generated(files) as root:
        text = re.sub(r"\s+", " ", open(os.path.join(root, "gen", "mcp-tools.c"), encoding="utf-8").read())
        assert '{"by", "$self\\?"}, {"kind", "kind"}, {"text", "words|=\\"nothing\\""},' in text, text
        assert '.show = "[\\"id\\"]"' in text and "TOOL_IDEMPOTENT" in text, text
        words = open(os.path.join(root, "gen", "errors.c"), encoding="utf-8").read()
        assert '[CALL_E_FULL] = "full"' in words.split("mcp_codes")[1], words
        page = open(os.path.join(root, "docs", "mcp.md"), encoding="utf-8").read()
        assert "### say" in page and "`words` | string | required | what \\| to say" in page, page


def test_wrong_tools():
    def expect_tool(problem, **more):
        expect("mcp/say.json: " + problem, lambda files: files.update({"mcp/say.json": a_tool(**more)}))
    expect_tool("name: is \"shout\", but the file is named", name="shout")
    expect_tool("tier: must be one of", tier="odd")
    expect_tool("flags: must be a list of", flags=["odd"])
    expect_tool("op: there is no operation \"soft.nosuch\"", op="soft.nosuch")
    expect_tool("step 0: bind.nosuch: soft.send has no such parameter", bind={"nosuch": "words"})
    expect_tool("step 0: bind.by: \"who\" is no parameter of the tool", bind={"by": "who"})
    expect_tool("step 0: bind.by: must be a parameter", bind={"by": 7})
    expect_tool("params.words: has no summary", params={"words": {"type": "string"}})
    expect_tool("step 0: ops.text: \"$who\" is no parameter of the tool", ops=[{"text": "$who"}])
    expect_tool("port: unknown key", port=1)


def test_method_of_two_jsonrpc_dialects():
    """They may share a name; a native method's is nobody else's."""
    def share(files, *names):
        files.update({f"{name}/ping.json": op("ping") for name in names})

    def with_native(files):
        files["native/_dialect.json"] = {**files["rpc/_dialect.json"], "name": "native"}
        for condition in files["errors.json"]["conditions"]:
            if "rpc" in condition:
                condition["native"] = condition["rpc"]
        share(files, "native", "rpc", "soft")
    files = base()
    share(files, "soft", "rpc", "other")
    with generated(files):
        pass
    found = expect("rpc/ping.json: name: method \"ping\" is declared by native too", with_native)
    assert len(found) == 1, found  # soft is not JSON-RPC


def test_dialect():
    def change(**members):
        return lambda files: files["soft/_dialect.json"].update(members)
    expect("soft/_dialect.json: name: is \"sof\", but the folder is named \"soft\"", change(name="sof"))
    expect("soft/_dialect.json: convention: must be one of \"strict\", \"lenient\"", change(convention="loose"))
    expect("soft/_dialect.json: port: unknown key", change(port=1))
    expect("soft/_dialect.json: title: is missing", lambda files: files["soft/_dialect.json"].pop("title"))
    expect("soft/_dialect.json: No such file", lambda files: files.pop("soft/_dialect.json"))


def test_errors_file():
    def change(i, **members):
        return lambda files: files["errors.json"]["conditions"][i].update(members)
    expect("errors.json: conditions[0].nosuch: unknown key", change(0, nosuch="x"))
    expect("errors.json: conditions[9].name: \"full\" cannot name a condition", change(9, name="full"))
    expect("errors.json: conditions[9].name: \"MAX\" cannot name a condition", change(9, name="MAX"))
    expect("errors.json: conditions[9].name: PARSE is there twice", change(9, name="PARSE"))
    expect("errors.json: conditions[9].rpc: must be a string or a number other than 0", change(9, rpc=0))
    expect("errors.json: conditions: dialect rpc mixes strings and numbers", change(9, rpc="full"))
    expect("errors.json: INTERNAL: needs a word in dialect rpc",
           lambda files: files["errors.json"]["conditions"][8].pop("rpc"))
    expect("errors.json: conditions: INTERNAL is missing", lambda files: files["errors.json"]["conditions"].pop(8))
    expect("errors.json: No such file", lambda files: files.pop("errors.json"))


def test_files_that_are_not_json():
    expect("soft/send.json: Expecting", lambda files: files.update({"soft/send.json": "{"}))
    expect("soft/send.json: must be a JSON object", lambda files: files.update({"soft/send.json": "[]"}))
    expect("soft/send.json: member \"a\" stands twice in one object",
           lambda files: files.update({"soft/send.json": '{"a":1,"a":2}'}))
    expect("soft/send.json: NaN is not JSON", lambda files: files.update({"soft/send.json": '{"a":NaN}'}))


def test_targets_and_roles():
    target, role = {"kind": "group", "by": "by", "access": "read"}, {"is": "foreman", "as": "x", "else": "FULL"}
    expect_op("target.kind: must be one of", target={**target, "kind": "x"})
    expect_op("target.access: must be one of", target={**target, "access": "x"})
    expect_op("target.by: is missing", target={"kind": "group", "access": "read"})
    expect_op("target.by: is not said of this kind", target={"kind": "project", "by": "by", "access": "store"})
    expect_op("target: there is no condition MISSING_BY", target={**target, "needs": ["by"]})
    expect_op("target.read_if: \"limit\" is no string or bool", target={**target, "access": "call", "read_if": "limit"})
    expect_op("target: \"limit\" is no string", target={**target, "needs": ["limit"]})
    expect_op("target.needs: must be a list", target={**target, "needs": "by"})
    expect_op("target.first: must be true or false", target={**target, "first": 1})
    expect_op("target.lost: must be true or false", target={**target, "lost": 1})
    expect_op("role: needs a target", role=role)
    expect_op("role.is: must be one of", target=target, role={**role, "is": "x"})
    expect_op("role.else: there is no condition", target=target, role={**role, "else": "x"})
    expect_op("role: \"limit\" is no string", target=target, role={**role, "about": "limit"})


def test_every_problem_is_told():
    def change(files):
        files["soft/send.json"]["flags"] = ["x", "y"]
        files["rpc/daemon.stop_now.json"]["errors"] = ["z"]
    assert len(expect("flags[1]", change)) == 3


# ---- good declarations ----------------------------------------------------------------------------------------------


def test_argument_struct():
    with generated(base()) as root:
        text = read(root, "gen", "soft-ops.h")
        assert ("typedef struct SoftSendArgs {\n        Carry carry;\n        Str text;\n        Str by;\n        Str kind;\n"
                "        StrList to;\n        int64_t limit;\n        bool default_;\n        double a_b;\n"
                "        bool has_limit;\n        bool has_default_;\n} SoftSendArgs;\n"
                "int op_soft_send(Call *call, const SoftSendArgs *args);\n") in text, text
        assert "extern const OpTable soft_ops;" in text
        text = read(root, "gen", "rpc-ops.h")
        assert "int op_rpc_daemon_stop_now(Call *call, const RpcDaemonStopNowArgs *args);" in text


def scope_of(**members):
    files = base()
    files["soft/send.json"].update(members)
    with generated(files) as root:
        send = next(method for method in json.loads(read(root, "gen", "openrpc.json"))["methods"] if method["x-op"] == "send")
        assert f".scope = WEB_SCOPE_{send['x-scope'].upper()}" in read(root, "gen", "soft-ops.c")
        return send["x-scope"]


def test_scopes_follow_from_rights():
    rights = {right: scope_of(right=right, flags=[]) for right in ("read", "look", "message", "stop", "approve", "admin")}
    assert rights == {"read": "view", "look": "view", "message": "control", "stop": "control", "approve": "control",
                      "admin": "admin"}, rights
    assert scope_of(right="read", flags=["writes"]) == "control"
    assert scope_of(right="look", flags=[], scope="control") == "control"
    assert scope_of(right="admin", flags=[], scope="control") == "control"


def test_a_target_is_found_before_the_handler_runs():
    files = base()
    files["errors.json"]["conditions"] += [{"name": "MISSING_" + name, "summary": "missing", "soft": "m_" + name} for name in ("BY", "TEXT")]
    files["soft/send.json"].update(target={"kind": "group", "by": "by", "access": "edit", "needs": ["text"], "first": True},
                                   role={"is": "self", "about": "kind", "as": "x.y", "else": "FULL"})
    with generated(files) as root:
        text = read(root, "gen", "soft-ops.h")
        assert "typedef struct Group Group;" in text and "int op_soft_send(Call *call, Group *group, const SoftSendArgs *args);" in text
        assert "int op_soft_send_first(Call *call, const SoftSendArgs *args);" in text
        text = read(root, "gen", "soft-ops.c")
        steps = ['group_require(call, group->doc, args->by, ROLE_SELF, args->kind,', '"x.y", CALL_E_FULL);', "return op_soft_send(call, group, args);",
                 'call_fail(call, CALL_E_MISSING_TEXT, "missing text");', "r = op_soft_send_first(call, args);",
                 "return collab_target(call, args->by, GROUP_EDIT, at_send, NULL,"]
        places = [text.index(step) for step in steps]
        assert places == sorted(places), places


def test_a_target_can_be_read_on_demand_and_be_lost():
    files = base()
    files["soft/send.json"].update(target={"kind": "group", "by": "by", "access": "call", "read_if": "text", "lost": True})
    with generated(files) as root:
        assert "int op_soft_send_lost(Call *call, const SoftSendArgs *args);" in read(root, "gen", "soft-ops.h")
        text = read(root, "gen", "soft-ops.c")
        assert "return op_soft_send_lost(call, container_of(carry, SoftSendArgs, carry));" in text
        assert "return collab_target(call, args->by, args->text.n ? GROUP_READ : GROUP_CALL, at_send, lost_send," in text


def test_a_target_can_be_what_the_socket_serves():
    files = base()
    files["soft/send.json"].update(target={"kind": "project", "access": "store"})
    with generated(files) as root:
        assert "int op_soft_send(Call *call, Project *project, const SoftSendArgs *args);" in read(root, "gen", "soft-ops.h")
        assert "return project_target(call, at_send, &args->carry);" in read(root, "gen", "soft-ops.c")


def test_tables():
    with generated(base()) as root:
        text = read(root, "gen", "soft-ops.c")
        assert '.default_text = "us\\"er"' in text
        assert '.default_text = "[\\"all\\"]"' in text
        assert ".flags = OP_FIELD_REQUIRED," in text  # trim: false
        assert ".min = INT64_C(1),\n         .max = INT64_C(9)" in text
        assert ".flags = OP_WRITES | OP_SLOW" in text
        assert ".convention = OP_LENIENT" in text
        text = read(root, "gen", "other-ops.c")
        assert ".ops = NULL" in text and ".n_ops = 0" in text
        assert read(root, "gen", "completion-words.txt") == "rpc.daemon.stop_now\nsoft.send\n"


def test_openrpc():
    with generated(base(), "--version", "1.2.3") as root:
        document = json.loads(read(root, "gen", "openrpc.json"))
        assert document["openrpc"] == "1.2.6" and document["info"]["version"] == "1.2.3"
        stop, send = document["methods"]
        assert (stop["name"], stop["x-dialect"], stop["x-op"]) == ("rpc.daemon.stop_now", "rpc", "daemon.stop_now")
        assert stop["errors"] == [{"code": -32704, "message": "invalid_params"}] and "tags" not in stop
        assert send["errors"] == [{"code": -32000, "message": "full", "data": {"code": "full"}}]
        assert send["tags"] == [{"name": "writes"}, {"name": "slow"}]
        params = {param["name"]: param for param in send["params"]}
        text = {"name": "text", "summary": "what | to say", "required": True, "schema": {"type": "string"}}
        assert params["text"] == text
        assert params["limit"]["schema"] == {"type": "integer", "minimum": 1, "maximum": 9}
        assert params["kind"]["schema"] == {"type": "string", "enum": ["a", "b"], "default": "b"}
        mode = {param["name"]: param for param in stop["params"]}["mode"]["schema"]
        assert mode == {"type": ["string", "null"], "enum": ["x", None], "minLength": 1}


def test_reference_pages():
    with generated(base()) as root:
        page = read(root, "docs", "soft.md")
        assert "| `text` | string | required | what \\| to say; white space around it is kept |" in page
        assert "Errors: `full` (full)." in page and "| `w_parse` | parse | *any* |" in page
        assert "None yet." in read(root, "docs", "other.md")
        assert "[Dialect soft](soft.md)" in read(root, "docs", "README.md")


def test_unchanged_files_are_left_alone():
    with generated(base()) as root:
        folders = [os.path.join(root, "gen"), os.path.join(root, "docs")]
        paths = [os.path.join(folder, name) for folder in folders for name in os.listdir(folder)]
        for path in paths:
            os.utime(path, (1, 1))
        run(root)
        assert all(os.stat(path).st_mtime == 1 for path in paths)
        os.remove(os.path.join(root, "schema", "soft", "send.json"))
        run(root)
        changed = {os.path.basename(path) for path in paths if os.stat(path).st_mtime != 1}
        assert "soft-ops.c" in changed and "rpc-ops.c" not in changed, changed


def test_depfile():
    with tempfile.TemporaryDirectory() as root:
        write_tree(os.path.join(root, "schema"), base())
        path = os.path.join(root, "ops.d")
        run(root, "--depfile", path)
        target, inputs = read(path).replace("\\\n", " ").split(": ")
        assert target == os.path.join(root, "gen", "errors.h")
        inputs = inputs.split()
        for part in ("", "/errors.json", "/soft", "/soft/send.json", "/rpc/_dialect.json"):
            assert os.path.join(root, "schema" + part) in inputs, part
        assert SCRIPT in inputs


def compile_all(gen_dir):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return
    sources = sorted(os.path.join(gen_dir, name) for name in os.listdir(gen_dir) if name.endswith(".c"))
    command = [compiler, "-std=gnu11", "-Wall", "-Wextra", "-Wshadow", "-Wvla", "-Werror", "-fsyntax-only",
               "-I", os.path.join(ROOT, "src"), "-I", os.path.dirname(gen_dir), *sources]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_output_compiles():
    files = base()
    files["soft/hard.json"] = op("hard", {name: {"type": "any"} for name in ("int", "errno", "9x", "unix", "x*/y")},
                                 summary="A */ in \"it\" ??/ \\ é\u2028")
    with generated(files) as root:
        compile_all(os.path.join(root, "gen"))


def test_openrpc_literal_is_the_document():
    """The bytes that C sees are those of openrpc.json, also for awkward characters."""
    files = base()
    files["soft/send.json"]["summary"] = 'tab\t quote" back\\slash ??= é ' + "\x01" + "7"
    with generated(files) as root:
        text = read(root, "gen", "openrpc.c")
        literals = text.split("openrpc_json[] =", 1)[1].split(";\nconst size_t", 1)[0]
        pieces = [line.strip()[1:-1] for line in literals.strip().split("\n")]
        text = "".join(re.sub(r"\\([0-7]{3}|.)", unescape, piece) for piece in pieces)
        assert text == read(root, "gen", "openrpc.json").rstrip("\n")


def unescape(match):
    """One escape of a C string literal."""
    word = match.group(1)
    return chr(int(word, 8)) if word.isdigit() else {"n": "\n", "t": "\t"}.get(word, word)


# ---- the project's own declarations ---------------------------------------------------------------------------------


def test_own_schema():
    with tempfile.TemporaryDirectory() as root:
        os.symlink(os.path.join(ROOT, "schema"), os.path.join(root, "schema"))
        run(root)
        compile_all(os.path.join(root, "gen"))


def test_lists_that_must_agree():
    assert set(gen_ops.SCHEMA_KEYWORDS) == set(jsonschema.KEYWORDS)
    assert set(gen_ops.SCHEMA_TYPES) == set(jsonschema.TYPES)
    assert set(gen_ops.SCHEMA_FORMATS) == set(jsonschema.FORMATS)
    assert gen_ops.GENERIC == check_record.GENERIC
