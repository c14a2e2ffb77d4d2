# SPDX-License-Identifier: MIT
"""coop: the coopfile (coop.md 7): layers, both schemas, and errors that name the key."""
import os

from coop_stream import ECHO, coopfile, hosting, shared_sessions
from harness import check, write_text


def _bad(text, *words):
    def test():
        with shared_sessions() as s:
            message = s.request()
            message["coopfile"] = text
            reply = s.bad(message, "INVALID_COOPFILE")
            for word in words:
                check(word in reply["message"], "%r is not named: %r" % (word, reply["message"]))
            check(s.listed(message["name"]) is None, "listed after a refusal")
            message["coopfile"] = coopfile(ECHO)
            s.good(message)
    return test


test_not_toml = _bad("[agent\n", "coopfile")
test_not_toml_line = _bad('[agent]\ncommand = "x"\nargs = [\n')
test_unknown_table = _bad("[nonsense]\n", "nonsense")
test_unknown_top_level_key = _bad("command = 'x'\n", "command")
test_unknown_key = _bad("[agent]\ncolour = 'red'\n", "agent.colour", ":2")
test_command_type = _bad("[agent]\ncommand = 1\n", "agent.command")
test_command_empty = _bad("[agent]\ncommand = ''\n", "agent.command")
test_command_nul = _bad('[agent]\ncommand = "a\\u0000b"\n', "agent.command")
test_args_type = _bad("[agent]\nargs = 'x'\n", "agent.args")
test_args_item_type = _bad("[agent]\nargs = ['x', 2]\n", "agent.args[1]")
test_auto_restart_type = _bad("[session]\nauto_restart = 'yes'\n", "session.auto_restart")
test_restart_delay_negative = _bad("[session]\nrestart_delay_ms = -1\n", "session.restart_delay_ms")
test_restart_delay_fraction = _bad("[session]\nrestart_delay_ms = 1.5\n", "session.restart_delay_ms")
test_restart_delay_huge = _bad("[session]\nrestart_delay_ms = 9223372036854775807\n", "session.restart_delay_ms")
test_persist_outside = _bad("[session]\npersist = ['../x']\n", "session.persist[0]")
test_network_mode = _bad("[network]\nmode = 'mesh'\n", "network.mode")
test_sandbox_mode = _bad("[sandbox]\nmode = 'docker'\n", "sandbox.mode")
test_sandbox_user = _bad("[sandbox]\nuser = '../root'\n", "sandbox.user")
test_mounts_relative_inside = _bad("[sandbox]\nmounts = ['/tmp:inside']\n", "sandbox.mounts[0]")
test_env_type = _bad("[env]\nNUMBER = 1\n", "env.NUMBER")
test_env_table = _bad("env = 1\n", "env")
test_duplicate_key = _bad("[agent]\ncommand = 'a'\ncommand = 'b'\n")
test_duplicate_table = _bad("[agent]\n[agent]\n")


def test_type_of_the_member():
    with shared_sessions() as s:
        for value in (1, True, {}, []):
            message = s.request()
            message["coopfile"] = value
            s.bad(message, "INVALID_COMMAND")


def test_secrets_stay_out_of_messages():
    with shared_sessions() as s:
        message = s.request()
        message["coopfile"] = "[env]\nTOKEN = 'hunter2'\nOTHER = 1\n"
        reply = s.bad(message, "INVALID_COOPFILE")
        check("hunter2" not in reply["message"], repr(reply))


# ---------------------------------------------------------------------------------------------------- layers
def _value(s, name, expression):
    c = s.shell(name)
    c.key(b"echo \"<%s>\"\n" % expression.encode())
    c.until("\r\n")
    c.until("<")
    return c.until(">")[:-1].decode()


def test_project_file_that_is_wrong_is_named():
    with shared_sessions() as s:
        workspace = s.workspace()
        write_text(os.path.join(workspace, "coop.toml"), "[agent]\n\ncolour = 1\n")
        reply = s.bad(s.request(workspace=workspace), "INVALID_COOPFILE")
        check("coop.toml" in reply["message"] and "agent.colour" in reply["message"] and ":3" in reply["message"], repr(reply))


def test_layers():
    """built-in, global, project, create: maps add up, scalars replace."""
    with hosting(env={"FROM_HOST": "host-value"}) as s:
        workspace = s.workspace()
        write_text(os.path.join(s.home.config, "coop", "default.toml"), '[agent]\ncommand = "/no/such"\n[env]\nA = "global"\nB = "global"\nC = "global"\n')
        write_text(os.path.join(workspace, "coop.toml"), '[env]\nB = "project"\nC = "project"\nD = "$FROM_HOST"\nE = "$NOT_SET_ANYWHERE"\nF = "x$FROM_HOST"\n')
        name = s.create(workspace=workspace, more='[env]\nC = "override"\n')
        got = _value(s, name, "$A|$B|$C|$D|$E|$F")
        check(got == "global|project|override|host-value||x$FROM_HOST", repr(got))


def test_a_layer_that_does_not_mention_restart_leaves_it_alone():
    with shared_sessions() as s:
        workspace = s.workspace()
        write_text(os.path.join(workspace, "coop.toml"), "[session]\nauto_restart = false\n")
        message = s.request("echo rea''dy; read l; exit 4", workspace=workspace)
        message["coopfile"] = '[agent]\ncommand = "/bin/sh"\nargs = ["-c", "echo rea\'\'dy; read l; exit 4"]\n'
        name = s.good(message)["session"]
        c = s.attach(name)
        c.until("ready")
        c.key(b"\n")
        c.ended()
        check([e["event"] for e in c.events] == ["pty_exited"], "restarts all the same: %r" % c.events)


def test_first_reference_schema():
    with shared_sessions() as s:
        s.attach(s.create(style="sandbox")).until("ready")


def test_agent_as_a_name_of_the_newest_reference():
    with shared_sessions() as s:
        message = s.request()
        message["coopfile"] = '[sandbox]\nagent = "/bin/sh"\nargs = ["-c", "echo new''est; read l"]\n[session]\nauto_restart = false\n'
        s.attach(s.good(message)["session"]).until("newest")


def test_shell_of_the_coopfile():
    with shared_sessions() as s:
        workspace = s.workspace()
        path = os.path.join(workspace, "myshell")
        write_text(path, "#!/bin/sh\necho my-own-shell; read l\n")
        os.chmod(path, 0o700)
        message = s.request(workspace=workspace)
        message["coopfile"] = message["coopfile"] + "[sandbox]\nshell = \"%s\"\n" % path
        name = s.good(message)["session"]
        c = s.client()
        c.good({"cmd": "shell", "session": name})
        c.until("my-own-shell")
        check(s.listed(name)["ptys"][1]["command"] == path, repr(s.listed(name)))


def test_file_of_a_megabyte():
    """The largest message: the comment is read over, the rest counts."""
    with shared_sessions() as s:
        message = s.request()
        message["coopfile"] += "# " + "x" * 1_000_000 + "\n"
        s.attach(s.good(message)["session"]).until("ready")
