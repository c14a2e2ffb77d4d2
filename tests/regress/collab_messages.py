# SPDX-License-Identifier: MIT
"""CCCC: send, reply, send_cross_group: who gets it, what is stored, and every refusal in its order (cccc.md 4, 7, 9.1, 19)."""
import hashlib
import json
import os
import resource
import threading

from collab_chat import GROUP, OTHER, chat_daemon, ledger, ok, refused, send, write_group
from harness import Daemon, Home, check, equal, eventually, write_text

NOBODY = "g_ffffffffffff"
EVENT = "0" * 32
FIELDS = ["text", "format", "priority", "to", "reply_to", "quote_text", "src_group_id", "src_event_id", "dst_group_id", "dst_to", "refs", "attachments",
          "thread", "client_id"]


# ------------------------------------------------------------------------------------------------------------ what is stored
def test_event_is_complete_and_in_the_ledger():
    with chat_daemon() as d:
        event = send(d, "hello", by="lead", to=["dev"])
        equal(list(event), ["v", "id", "ts", "kind", "group_id", "scope_key", "by", "data"])
        equal(list(event["data"]), FIELDS)
        equal([event["v"], event["kind"], event["group_id"], event["scope_key"], event["by"]], [1, "chat.message", GROUP, "", "lead"])
        equal(ledger(d.home), [event])
        check(len(event["id"]) == 32 and int(event["id"], 16) >= 0, event["id"])


def test_text_is_kept_as_it_is():
    with chat_daemon() as d:
        for text in ("", "  blanks  ", "\n\nlines\n", "\u0000nul", "ünï \U0001f600", "\\\"quotes\\\""):
            equal(send(d, text)["data"]["text"], text)
        equal(send(d, 5)["data"]["text"], "5")
        equal(ok(d, "send", text=None)["event"]["data"]["text"], "")


def test_time_stamps_only_grow():
    with chat_daemon() as d:
        stamps = [send(d)["ts"] for _ in range(50)]
        equal(stamps, sorted(set(stamps)))


def test_long_text_goes_to_a_file():
    with chat_daemon() as d:
        for text in ("x" * 32001, "ü" * 16001 + "\n\n\n", "y" * 256_000, "z" * 1_900_000):
            event = send(d, text, to=["dev"])
            path = "state/ledger/blobs/chat.%s.txt" % event["id"]
            equal(event["data"]["text"], "[cccc] (chat text stored at %s)" % path)
            data = text.encode()
            equal(event["data"]["attachments"], [{"kind": "text", "path": path, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}])
            with open(os.path.join(d.home.cccc_home, "groups", GROUP, path), encoding="utf-8") as f:
                equal(f.read(), text.rstrip("\n") + "\n")
        equal(len(ledger(d.home)), 4)


def test_text_of_32000_bytes_stays_in_the_line():
    with chat_daemon() as d:
        equal(send(d, "x" * 32000)["data"]["text"], "x" * 32000)


def test_lines_over_the_limit_of_a_request_are_refused():
    with chat_daemon() as d:
        for n in (2_000_001, 3_000_000):
            equal(d.cccc("send", {"group_id": GROUP, "text": "x" * n})["error"]["code"], "invalid_request")
        equal(ledger(d.home), [])
        send(d)


def test_event_over_256000_bytes_is_refused():
    with chat_daemon() as d:
        refused(d, "system_notify", "invalid_request", message="x" * 300_000)
        equal(ledger(d.home), [])
        ok(d, "system_notify", message="x" * 200_000)


# ------------------------------------------------------------------------------------------------------------ recipients
def test_recipients():
    with chat_daemon(titles={"qa": "Quality", "dev": "The Dev"}) as d:
        for to, want in ((None, ["@foreman"]), ([], ["@foreman"]), ("dev", ["@foreman"]), ([1, None, " ", "@"], ["@foreman"]), (["dev"], ["dev"]), (["@dev", "dev"], ["dev"]),
                         (["@all"], ["@all"]), (["@peers", "@foreman"], ["@peers", "@foreman"]), (["user"], ["user"]), (["@user", "user"], ["user"]),
                         (["qUALITY"], ["qa"]), (["@the dev", "qa"], ["dev", "qa"]), ([" dev "], ["dev"])):
            equal(send(d, to=to)["data"]["to"], want, repr(to))


def test_unknown_and_ambiguous_recipients():
    with chat_daemon(titles={"qa": "Same", "dev": "same"}) as d:
        for to in (["nobody"], ["dev", "nobody"], ["same"], ["@SAME"], ["all"], ["peers"], ["DEV"], ["@"  + "x" * 5000], ["../dev"]):
            refused(d, "send", "invalid_recipient", text="x", to=to)
        equal(ledger(d.home), [])


def test_mentions():
    with chat_daemon(actors=("lead", "dev", "dev-2", "Grün")) as d:
        for text, want in (("please @dev look, cc @lead", ["dev", "lead"]), ("@dev-2: yes", ["dev-2"]), ("mail me@dev.org", ["dev"]), ("@all", ["@all"]),
                           ("(@peers)", ["@peers"]), ("@foreman!", ["@foreman"]), ("@developer", ["@foreman"]), ("@dev_", ["@foreman"]), ("@@dev", ["dev"]),
                           ("@dev @dev", ["dev"]), ("@-dev", ["@foreman"]), ("@dev，好", ["dev"]), ("@dev好", ["@foreman"]), ("@Grün.", ["Grün"]), ("@user", ["@foreman"]), ("@", ["@foreman"])):
            equal(send(d, text)["data"]["to"], want, text)
        equal(send(d, "@dev", to=["lead"])["data"]["to"], ["lead"], "named recipients win")


def test_policy_broadcast():
    with chat_daemon(more="messaging:\n  default_send_to: broadcast\n") as d:
        equal(send(d)["data"]["to"], [])
        equal(ok(d, "inbox_list", actor_id="qa")["messages"][0]["data"]["text"], "hello")


def test_nobody_would_read_it():
    with chat_daemon(disabled=("qa",)) as d:
        for by, to, shown in (("lead", None, ["@foreman"]), ("lead", ["lead"], ["lead"]), ("user", ["qa"], ["qa"]), ("dev", ["@peers"], ["@peers"]), ("lead", ["user", "lead"], ["user", "lead"])):
            error = refused(d, "send", "no_enabled_recipients", text="x", by=by, to=to)
            equal(error["details"], {"to": shown})
        send(d, to=["qa", "dev"])
        send(d, to=["user"], by="lead")
    with chat_daemon(actors=()) as d:
        refused(d, "send", "no_enabled_recipients", text="x")
        refused(d, "send", "no_enabled_recipients", text="x", to=["@all"])
        send(d, to=["user"])


# ------------------------------------------------------------------------------------------------------------ refusals in order
def test_send_refusals_in_order():
    with chat_daemon() as d:
        wrong = {"priority": "urgent", "group_id": "", "to": ["nobody"], "attachments": "nope", "path": d.home.base}
        refused(d, "send", "invalid_priority", **wrong)
        wrong["priority"] = "normal"
        refused(d, "send", "missing_group_id", **wrong)
        wrong["group_id"] = NOBODY
        refused(d, "send", "group_not_found", **wrong)
        wrong["group_id"] = GROUP
        refused(d, "send", "invalid_recipient", **wrong)
        wrong["to"] = ["lead"]
        refused(d, "send", "no_enabled_recipients", by="lead", **wrong)
        error = refused(d, "send", "scope_not_attached", **wrong)
        check("hint" in error["details"], error)
        del wrong["path"]
        refused(d, "send", "invalid_attachments", **wrong)
        equal(ledger(d.home), [])


def test_reply_refusals_in_order():
    with chat_daemon() as d:
        wrong = {"priority": "urgent", "group_id": "", "to": ["nobody"], "attachments": "nope"}
        refused(d, "reply", "invalid_priority", **wrong)
        wrong["priority"] = "attention"
        refused(d, "reply", "missing_group_id", **wrong)
        wrong["group_id"] = NOBODY
        refused(d, "reply", "missing_reply_to", **wrong)
        wrong["reply_to"] = EVENT
        refused(d, "reply", "group_not_found", **wrong)
        wrong["group_id"] = GROUP
        refused(d, "reply", "event_not_found", **wrong)
        wrong["reply_to"] = send(d)["id"]
        refused(d, "reply", "invalid_recipient", **wrong)
        wrong["to"] = ["lead"]
        refused(d, "reply", "no_enabled_recipients", by="lead", **wrong)
        refused(d, "reply", "invalid_attachments", **wrong)
        equal(len(ledger(d.home)), 1)


def test_cross_group_refusals_in_order():
    with chat_daemon() as d:
        write_group(d.home, OTHER, actors=("boss",))
        wrong = {"attachments": [{"path": "state/blobs/x"}], "priority": "loud", "group_id": ""}
        refused(d, "send_cross_group", "attachments_not_supported", **wrong)
        wrong["attachments"] = []
        refused(d, "send_cross_group", "invalid_priority", **wrong)
        wrong["priority"] = "normal"
        refused(d, "send_cross_group", "missing_group_id", **wrong)
        wrong["group_id"] = NOBODY
        refused(d, "send_cross_group", "missing_dst_group_id", **wrong)
        wrong["dst_group_id"] = NOBODY
        refused(d, "send_cross_group", "invalid_dst_group_id", **wrong)
        wrong["dst_group_id"] = OTHER
        refused(d, "send_cross_group", "group_not_found", **wrong)
        wrong["group_id"], wrong["dst_group_id"] = GROUP, NOBODY
        refused(d, "send_cross_group", "group_not_found", **wrong)
        wrong["dst_group_id"] = OTHER
        refused(d, "send_cross_group", "invalid_recipient", to=["lead"], **wrong)
        refused(d, "send_cross_group", "no_enabled_recipients", to=["boss"], by="boss", **wrong)
        equal(ledger(d.home) + ledger(d.home, OTHER), [], "nothing of a refused message is recorded")


def test_ids_never_become_paths():
    with chat_daemon() as d:
        for group in ("../" + GROUP, GROUP + "/../" + GROUP, "..", "/etc", "g_" + "a" * 5000, GROUP + "\x00", "g_/../.."):
            for op in ("send", "reply", "chat_ack", "inbox_list", "inbox_mark_read", "inbox_mark_all_read", "system_notify", "notify_ack"):
                refused(d, op, "group_not_found", group_id=group, text="x", to=["dev"], reply_to=EVENT if op == "reply" else None, actor_id="user", event_id=EVENT, notify_event_id=EVENT,
                        by="user" if op != "notify_ack" else None)
            refused(d, "send_cross_group", "group_not_found", dst_group_id=group, text="x")


# ------------------------------------------------------------------------------------------------------------ replies
def test_reply_goes_back():
    with chat_daemon() as d:
        first = send(d, "hello", by="user")
        reply = ok(d, "reply", reply_to=first["id"], text="hi", by="lead")["event"]["data"]
        equal([reply["to"], reply["reply_to"], reply["quote_text"]], [["user"], first["id"], "hello"])
        own = ok(d, "reply", reply_to=first["id"], text="more", by="user")["event"]["data"]
        equal(own["to"], ["@foreman"], "one's own message keeps its audience")
        from_dev = send(d, by="dev", to=["user"])
        equal(ok(d, "reply", reply_to=from_dev["id"], text="x", by="user")["event"]["data"]["to"], ["dev"])
        equal(ok(d, "reply", reply_to=from_dev["id"], text="x @qa", by="lead", to=["qa", "lead"])["event"]["data"]["to"], ["qa", "lead"])


def test_reply_to_somebody_who_is_no_actor():
    with chat_daemon() as d:
        first = send(d, by="svc:ci")
        refused(d, "reply", "invalid_recipient", reply_to=first["id"], text="x", by="lead")
        ok(d, "reply", reply_to=first["id"], text="x", by="lead", to=["user"])


def test_quotes():
    with chat_daemon() as d:
        for text, want in (("x" * 100, "x" * 100), ("x" * 101, "x" * 100 + "..."), ("ü" * 200, "ü" * 100 + "..."), ("", ""), ("\U0001f600" * 101, "\U0001f600" * 100 + "...")):
            first = send(d, text, to=["dev"])
            equal(ok(d, "reply", reply_to=first["id"], text="r", by="dev")["event"]["data"]["quote_text"], want, text[:5])


def test_any_kind_can_be_answered():
    with chat_daemon() as d:
        notice = ok(d, "system_notify", message="x", by="dev")["event"]
        reply = ok(d, "reply", reply_to=notice["id"], text="ok", by="user")["event"]["data"]
        equal([reply["to"], reply["quote_text"]], [["dev"], None])


# ------------------------------------------------------------------------------------------------------------ other groups
def test_cross_group():
    with chat_daemon() as d:
        write_group(d.home, OTHER, actors=("boss",), titles={"boss": "The Boss"})
        result = ok(d, "send_cross_group", dst_group_id=OTHER, text="over there", by="lead", to=["the boss"], priority="attention")
        source, there = result["src_event"], result["dst_event"]
        equal([source["data"]["to"], source["data"]["dst_group_id"], source["data"]["dst_to"]], [["user"], OTHER, ["boss"]])
        equal([there["data"]["to"], there["data"]["src_group_id"], there["data"]["src_event_id"]], [["boss"], GROUP, source["id"]])
        equal([ledger(d.home), ledger(d.home, OTHER)], [[source], [there]])
        plain = ok(d, "send_cross_group", dst_group_id=OTHER, text="no recipients")
        equal([plain["src_event"]["data"]["dst_to"], plain["dst_event"]["data"]["to"]], [[], ["@foreman"]])
        long = ok(d, "send_cross_group", dst_group_id=OTHER, text="x" * 40000)
        for event in (long["src_event"], long["dst_event"]):
            check(os.path.exists(os.path.join(d.home.cccc_home, "groups", event["group_id"], event["data"]["attachments"][0]["path"])), "no file")


def test_provenance_needs_both():
    with chat_daemon() as d:
        half = send(d, src_group_id=OTHER)["data"]
        equal([half["src_group_id"], half["src_event_id"]], [None, None])
        both = send(d, src_group_id=OTHER, src_event_id=EVENT)["data"]
        equal([both["src_group_id"], both["src_event_id"]], [OTHER, EVENT])
        equal(send(d, dst_to=["x"])["data"]["dst_to"], None)
        equal(send(d, dst_group_id=OTHER, dst_to=["x", "", " y ", 5])["data"]["dst_to"], ["x", "y"])
        for nobody in (None, [], "x"):
            equal(send(d, dst_group_id=OTHER, dst_to=nobody)["data"]["dst_to"], [], "dst_to %r" % nobody)


# ------------------------------------------------------------------------------------------------------------ attachments
def test_attachments():
    with chat_daemon() as d:
        folder = os.path.join(d.home.cccc_home, "groups", GROUP, "state", "blobs")
        write_text(os.path.join(folder, "abc_note.txt"), "12345")
        os.symlink("/etc/passwd", os.path.join(folder, "link"))
        good = {"path": "state/blobs/abc_note.txt", "title": "note.txt", "mime_type": "text/plain", "bytes": 999, "sha256": "abc"}
        event = send(d, attachments=[good])
        equal(event["data"]["attachments"], [{"kind": "file", "path": good["path"], "title": "note.txt", "mime_type": "text/plain", "bytes": 5, "sha256": "abc"}])
        for path in ("../secret", "/etc/passwd", "state/blobs/../../group.yaml", "state/blobs/", "state/blobs", "state/blobs/nothing", "group.yaml", "", None, 5,
                     "state/blobs/.", "state/blobs/..", "state/blobs/link", "state/blobs/abc_note.txt\x00", "state/blobs/" + "x" * 5000):
            refused(d, "send", "invalid_attachments", text="x", attachments=[good, {"path": path}])
        for wrong in ("nope", 5, True, {"path": "x"}, ["nope"], [None], [[]], False, "", 0, {}):
            refused(d, "send", "invalid_attachments", text="x", attachments=wrong)
        for nothing in (None, []):
            equal(send(d, attachments=nothing)["data"]["attachments"], [], repr(nothing))


def test_scope_of_a_path():
    with chat_daemon() as d:
        folder = os.path.join(d.home.base, "proj")
        os.makedirs(os.path.join(folder, "sub"))
        key = ok(d, "attach", path=folder)["scope_key"]
        equal(send(d)["scope_key"], key, "the active scope")
        equal(send(d, path=folder)["scope_key"], key)
        refused(d, "send", "scope_not_attached", text="x", path=os.path.join(folder, "sub"))


# ------------------------------------------------------------------------------------------------------------ once only
def test_same_key_is_one_message():
    with chat_daemon() as d:
        first = send(d, "one", client_id="k1")
        equal(first["data"]["client_id"], "k1")
        equal(send(d, "one again", client_id="k1"), first)
        equal(ok(d, "reply", reply_to=first["id"], text="x", client_id="k1", to=["user"])["event"], first)
        other = send(d, "two", client_id="k2")
        equal([e["id"] for e in ledger(d.home)], [first["id"], other["id"]])


def test_same_key_of_two_senders():
    """A key is the group's, not the sender's: the second gets the first one's message."""
    with chat_daemon() as d:
        write_group(d.home, OTHER)
        first = send(d, "one", client_id="k", to=["dev"])
        equal(send(d, "by somebody else", client_id="k", by="dev", to=["lead"]), first)
        equal(ok(d, "reply", reply_to=first["id"], text="x", client_id="k", by="dev", to=["user"])["event"], first)
        equal([e["id"] for e in ledger(d.home)], [first["id"]])
        equal(send(d, "elsewhere", client_id="k", group_id=OTHER)["data"]["text"], "elsewhere")
        odd = send(d, "odd", client_id="user:k")
        equal(odd["data"]["text"], "odd")


def test_same_key_in_an_old_ledger():
    """Lines that were there before, with an index that another version made."""
    home = Home()
    try:
        path = os.path.join(write_group(home), "ledger.jsonl")
        with Daemon(only="cccc", home=home) as d:
            first = send(d, "one", client_id="k", to=["dev"])
        with open(path, "a", encoding="utf-8") as f:  # so many that an index is kept
            for i in range(5000):
                f.write(json.dumps({**first, "id": "%032x" % i, "data": {"text": "x", "to": []}}) + "\n")
        with Daemon(only="cccc", home=home) as d:
            ok(d, "inbox_list", actor_id="dev")
        index = os.path.join(home.cccc_home, "groups", GROUP, "state", "ledger", "index")
        with open(index, "r+b") as f:
            check(int.from_bytes(f.read(16)[8:12], "little") > 2, "the index is not of a version later than that with the old keys")
            f.seek(8)
            f.write((2).to_bytes(4, "little"))
        with Daemon(only="cccc", home=home) as d:
            equal(send(d, "one", client_id="k", by="dev", to=["lead"]), first)
    finally:
        home.remove()


def test_same_key_after_a_restart():
    home = Home()
    try:
        write_group(home)
        with Daemon(only="cccc", home=home) as d:
            first = send(d, "one", client_id="k")
        with Daemon(only="cccc", home=home) as d:
            equal(send(d, "one", client_id="k"), first)
    finally:
        home.remove()


def test_same_key_at_the_same_time():
    with chat_daemon() as d:
        for round_ in range(5):
            got, threads = [], []
            for _ in range(12):
                threads.append(threading.Thread(target=lambda key: got.append(send(d, "x", client_id=key)["id"]), args=("k%d" % round_,)))
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            equal([len(got), len(set(got))], [12, 1])
        equal(len(ledger(d.home)), 5)


# ------------------------------------------------------------------------------------------------------------ what else happens
def test_registry_learns_of_messages():
    with Daemon(only="cccc") as d:
        group = ok(d, "group_create", title="A")["group_id"]
        event = ok(d, "send", group_id=group, text="x", to=["user"])["event"]
        equal([g["updated_at"] for g in d.cccc("groups")["result"]["groups"]], [event["ts"]])

        def written():
            with open(os.path.join(d.home.cccc_home, "registry.json"), encoding="utf-8") as f:
                return json.load(f)["groups"][group]["updated_at"] == event["ts"]
        eventually(written, what="registry.json has the time of the message")


def test_outsiders_wake_an_idle_group():
    for by, wakes in (("user", True), ("svc:ci", True), ("system", False), ("lead", False)):
        with chat_daemon(state="idle") as d:
            send(d, by=by, to=["dev"])
            equal(ok(d, "group_show")["group"]["state"], "active" if wakes else "idle", by)
            equal([e["kind"] for e in ledger(d.home)], ["chat.message"], "no event for the wake-up")
    with chat_daemon(state="paused") as d:
        send(d)
        equal(ok(d, "group_show")["group"]["state"], "paused")


def test_wake_up_by_reply_and_from_another_group():
    with chat_daemon(state="idle") as d:
        write_group(d.home, OTHER, actors=("boss",), state="idle")
        ok(d, "send_cross_group", dst_group_id=OTHER, text="x", by="lead", to=["boss"])
        equal([ok(d, "group_show", group_id=g)["group"]["state"] for g in (GROUP, OTHER)], ["idle", "active"])
        first = send(d, by="lead", to=["user"])
        ok(d, "reply", reply_to=first["id"], text="x", by="user")
        equal(ok(d, "group_show")["group"]["state"], "active")


def test_lines_of_another_program():
    with chat_daemon() as d:
        first = send(d)
        foreign = dict(first, id="f" * 32, by="dev", data=dict(first["data"], text="by hand", to=["user"]))
        with open(os.path.join(d.home.cccc_home, "groups", GROUP, "ledger.jsonl"), "a", encoding="utf-8") as f:
            f.write(json.dumps(foreign) + "\n")
        equal(ok(d, "reply", reply_to="f" * 32, text="x", by="user")["event"]["data"]["to"], ["dev"])
        equal(len(ledger(d.home)), 3)


def test_disk_full():
    """A message that cannot be kept is refused as a whole, and service goes on when there is room."""
    with Daemon(only="cccc", record=False) as d:
        folder = write_group(d.home)
        send(d, "before")
        unlimited = resource.prlimit(d.pid, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
        kept = [send(d, "small", to=["dev"])]
        for args in ({"text": "x" * 20000}, {"text": "x" * 40000}, {"text": "x" * 20000, "client_id": "k"}):
            refused(d, "send", "internal_error", to=["dev"], **args)
        refused(d, "send_cross_group", "group_not_found", dst_group_id=NOBODY, text="x")
        equal([e["data"]["text"] for e in ok(d, "inbox_list", actor_id="dev")["messages"]], ["small"])
        equal(len(ledger(d.home)), 2)
        resource.prlimit(d.pid, resource.RLIMIT_FSIZE, unlimited)
        kept.append(send(d, "x" * 40000, to=["dev"], client_id="k"))
        equal([e["id"] for e in ok(d, "inbox_list", actor_id="dev")["messages"]], [e["id"] for e in kept])
        equal(len(os.listdir(os.path.join(folder, "state", "ledger", "blobs"))), 1, "no file without its event")
