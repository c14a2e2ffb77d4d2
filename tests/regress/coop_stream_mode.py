# SPDX-License-Identifier: MIT
"""coop: stream mode frame by frame (coop.md 2.1, 5): what is carried over, what is ignored, what ends it."""
import hashlib
import json
import os

from clients import COOP_MAX
from coop_stream import CONTROL, DATA, ECHO, SIZE, hosting, packed, shared_sessions
from harness import check, equal, eventually


def _json(message):
    return packed(json.dumps(message).encode())


def _echoes(c, word):
    """The stream works: a line comes back."""
    c.key(word.encode() + b"\n")
    c.until(word + "\r\n")


# ---------------------------------------------------------------------------------------------------- into stream mode
def test_bytes_after_attach_in_the_same_segment_are_frames():
    with shared_sessions() as s:
        name = s.create()
        c = s.client()
        c.send(_json({"cmd": "attach", "session": name}) + packed(DATA + b"same-") + packed(DATA + b"segment\n"))
        equal(c.answer(), {"ok": True})
        c.until("same-segment\r\n")


def test_handshake_create_attach_and_keys_in_one_segment():
    with shared_sessions() as s:
        message = s.request()
        c = s.client(hello=False)
        c.send(_json({"version": 1}) + _json(message) + _json({"cmd": "attach", "session": message["name"]}) + packed(DATA + b"all-at-once\n"))
        equal([c.answer()["ok"] for _ in range(3)], [True, True, True])
        c.until("all-at-once\r\n")


def test_frames_after_shell_in_the_same_segment():
    with shared_sessions() as s:
        name = s.create()
        c = s.client()
        c.send(_json({"cmd": "shell", "session": name}) + packed(DATA + b"echo sh''ell-$((1+1))\n") + packed(CONTROL + b'{"cmd":"resize","cols":81,"rows":25}') +
               packed(DATA + b"stty size\n"))
        equal(c.answer(), {"ok": True, "pty": 1})
        c.until("shell-2\r\n")
        c.until("25 81\r\n")


def test_a_frame_in_single_bytes():
    with shared_sessions() as s:
        c = s.attach(s.create())
        c.until("ready")
        for byte in packed(DATA + b"byte by byte\n"):
            c.send(bytes([byte]))
        c.until("byte by byte\r\n")


def test_create_never_upgrades():
    """After create with detach false the next message is a command still, not a frame with tag 0x7b."""
    with shared_sessions() as s:
        for detach in (False, True):
            c = s.client()
            message = s.request()
            message["detach"] = detach
            c.good(message)
            c.good({"cmd": "ls"})
            c.bad({"cmd": "nonsense"})


def test_detach_member_may_be_absent():
    with shared_sessions() as s:
        c = s.client()
        message = s.request()
        del message["detach"]
        c.good(message)
        c.good({"cmd": "ls"})


# ---------------------------------------------------------------------------------------------------- ignored
def test_unknown_tags_are_ignored():
    with shared_sessions() as s:
        c = s.attach(s.create())
        c.until("ready")
        for tag in (2, 3, 0x7B, 0xFF):
            c.frame(bytes([tag]) + b"must-not-arrive\n")
            c.frame(bytes([tag]))
        _echoes(c, "after")
        check(b"must-not-arrive" not in c.data, "an unknown tag was taken as input")
        equal(c.events, [])


def test_zero_length_frames_are_ignored():
    with shared_sessions() as s:
        name = s.create()
        c, other = s.attach(name), s.attach(name)
        c.until("ready")
        c.send(b"\0\0\0\0" * 100)
        c.key(b"")
        _echoes(c, "after")
        other.until("after\r\n")
        equal(c.events, [])


def test_bad_control_messages_are_ignored():
    with shared_sessions() as s:
        c = s.attach(s.create())
        c.until("ready")
        for text in (b"", b"{", b"[]", b"null", b"17", b'"detach"', b"{}", b'{"cmd":1}', b'{"cmd":"nonsense"}', b'{"cmd":"ls"}', b'{"cmd":"kill","session":"x"}',
                     b'{"cmd":"shutdown"}', b'{"cmd":"attach","session":"x"}', b'{"version":1}', b'\xff\xfe', b'{"cmd":"DETACH"}', b"\0" * 100, b"[" * 5000):
            c.control(text)
        _echoes(c, "after")
        equal(c.events, [])


def test_commands_are_no_commands_any_more():
    """An unframed command in stream mode has tag 0x7b and is ignored."""
    with shared_sessions() as s:
        c = s.attach(s.create())
        c.until("ready")
        c.frame(b'{"cmd":"shutdown"}')
        _echoes(c, "after")


# ---------------------------------------------------------------------------------------------------- resize
def _size(c):
    c.key(b"\n")
    c.until("<")
    return c.until("\r\n").strip().decode()


def _sized(s):
    c = s.attach(s.create("stty -echo; while read l; do printf '<'; stty size; done"), cols=100, rows=30)
    equal(_size(c), "30 100")
    return c


def test_resize_to_0_leaves_a_side_alone():
    with shared_sessions() as s:
        c = _sized(s)
        for cols, rows, want in ((0, 0, "30 100"), (0, 31, "31 100"), (101, 0, "31 101")):
            c.control({"cmd": "resize", "cols": cols, "rows": rows})
            equal(_size(c), want)


def test_resize_to_the_largest():
    with shared_sessions() as s:
        c = _sized(s)
        c.control({"cmd": "resize", "cols": 65535, "rows": 65535})
        equal(_size(c), "65535 65535")
        c.control({"cmd": "resize", "cols": 1, "rows": 1})
        equal(_size(c), "1 1")


def test_resize_with_invalid_numbers_is_ignored():
    with shared_sessions() as s:
        c = _sized(s)
        for cols, rows in ((65536, 24), (80, 65536), (-1, 24), (80, -1), (80.5, 24), (80.0, 24.0), ("80", 24), (None, 24), (True, 24), (1 << 70, 24), ([80], 24)):
            c.control({"cmd": "resize", "cols": cols, "rows": rows})
        c.control({"cmd": "resize"})
        c.control({"cmd": "resize", "cols": 80})
        equal(_size(c), "30 100")
        equal(c.events, [])


def test_resize_has_no_answer_and_the_last_writer_wins():
    with shared_sessions() as s:
        name = s.create(SIZE)
        a, b = s.attach(name, cols=100, rows=30), s.attach(name, cols=90, rows=20)
        a.until("ready")
        b.key(b"\n")
        b.until("20 90\r\n")
        a.control({"cmd": "resize", "cols": 77, "rows": 17})
        a.key(b"\n")
        a.until("17 77\r\n")
        equal(a.events + b.events, [])


def test_attach_with_numbers_out_of_range():
    with shared_sessions() as s:
        name = s.create()
        c = s.client()
        for members in ({"cols": 65536}, {"rows": -1}, {"cols": 1.5}, {"rows": "24"}, {"pty": -1}, {"pty": 1 << 32}, {"pty": "0"}):
            c.bad({"cmd": "attach", "session": name, **members})
        c.bad({"cmd": "attach"})
        c.bad({"cmd": "attach", "session": 1})
        c.bad({"cmd": "attach", "session": name, "pty": (1 << 32) - 1}, "PTY_NOT_FOUND")
        c.good({"cmd": "attach", "session": name, "unknown": [1]})
        c.until("ready")


def test_attach_with_size_0():
    with shared_sessions() as s:
        name = s.create(SIZE)
        s.attach(name, cols=91, rows=21).until("ready")
        c = s.attach(name, cols=0, rows=0)
        c.key(b"\n")
        c.until("21 91\r\n")


# ---------------------------------------------------------------------------------------------------- size of a message
def test_largest_frame():
    """1 MiB with the tag: taken whole."""
    data = os.urandom(COOP_MAX // 2).hex().encode()[:COOP_MAX - 1]
    with shared_sessions() as s:
        c = s.attach(s.create("stty raw -echo; printf ready; head -c %d | sha256sum" % len(data)))
        c.until("ready")
        c.key(data)
        c.until(hashlib.sha256(data).hexdigest())


def test_frame_above_the_limit():
    with shared_sessions() as s:
        name = s.create()
        c, other = s.attach(name), s.attach(name)
        c.until("ready")
        c.send((COOP_MAX + 1).to_bytes(4, "big"))
        c.ended()
        equal(len(c.events), 1)
        equal((c.events[0]["ok"], c.events[0]["error"]), (False, "MESSAGE_TOO_LARGE"))
        _echoes(other, "unharmed")


def test_output_is_cut_into_legal_frames():
    """3 MiB of output: next() fails on a frame above the limit."""
    with shared_sessions() as s:
        c = s.attach(s.create("stty raw -echo; printf ready; read l; head -c 3145728 /dev/zero | tr '\\0' x; printf end; read l"))
        c.until("ready")
        c.key(b"\n")
        c.until("end")


# ---------------------------------------------------------------------------------------------------- the end of a stream
def test_detach_has_one_answer():
    with shared_sessions() as s:
        name = s.create()
        c = s.attach(name)
        c.until("ready")
        c.send(packed(CONTROL + b'{"cmd":"detach"}') + packed(CONTROL + b'{"cmd":"detach"}') + packed(DATA + b"too-late\n"))
        c.ended()
        equal(c.events, [{"ok": True, "event": "detached"}])
        _echoes(s.attach(name), "later")
        check(b"too-late" not in bytes(c.data), "input after detach arrived")


def test_detach_of_one_leaves_the_other():
    with shared_sessions() as s:
        name = s.create()
        a, b = s.attach(name), s.attach(name)
        a.until("ready")
        a.control({"cmd": "detach"})
        a.ended()
        _echoes(b, "still-here")


def test_half_closed_client_still_hears():
    """A client that shuts down its sending side is gone for the contract; the session is not."""
    with shared_sessions() as s:
        name = s.create()
        c = s.attach(name)
        c.until("ready")
        c.half_close()
        c.ended()
        _echoes(s.attach(name), "later")


def test_shutdown_detaches():
    with hosting() as s:
        c = s.attach(s.create())
        c.until("ready")
        s.good({"cmd": "shutdown"})
        equal(c.event("detached"), {"event": "detached"})
        c.ended()
        s.d.expect_exit(0)


def test_terminate_detaches():
    with hosting() as s:
        c = s.attach(s.create())
        c.until("ready")
        s.d.stop()
        equal(c.event("detached"), {"event": "detached"})
        c.ended()


# ---------------------------------------------------------------------------------------------------- local_clients
def test_local_clients():
    with shared_sessions() as s:
        workspace = s.workspace()
        name = s.create(workspace=workspace)

        def count(n):
            eventually(lambda: s.listed(name)["local_clients"] == n, what="local_clients == %d" % n)
        equal(s.listed(name)["local_clients"], 0)
        a, b, c = s.attach(name), s.attach(workspace), s.shell(name)
        equal(s.listed(name)["local_clients"], 3)
        a.close()
        count(2)
        b.control({"cmd": "detach"})
        b.ended()
        count(1)
        c.key(b"exit\n")
        c.ended()
        count(0)


def test_an_idle_connection_is_no_local_client():
    with shared_sessions() as s:
        name = s.create(ECHO)
        c = s.client()
        c.good({"cmd": "ls"})
        equal(s.listed(name)["local_clients"], 0)
