# SPDX-License-Identifier: MIT
"""What an agent in a sandbox can see, and how it cannot get more.

One left a link to the home in the folder that is kept for it, wrote a coop.toml that named it, and had the home to write to after the
next restart. Another read the keys of the user, who had trusted the word sandbox. And claude asked to be logged in every time.
"""
import os

from harness import Daemon, check, equal, eventually, read_text, write_text
from sandbox_box import SHELL, Box, script


def _again(box):
    """Restarts the agent; what it left the time before is gone."""
    os.unlink(os.path.join(box.workspace, "out"))
    return box.d.coop().good({"cmd": "restart", "session": "box", "pty": 0})


# ---------------------------------------------------------------------------------------------------- the agent's own coop.toml
PLANT = """[ -e planted ] || {
    ln -s "$TARGET" ~/.claude/x
    echo '[session]\npersist = [".claude/x"]' > coop.toml
    touch planted
}
echo owned > ~/.claude/x/.bashrc && echo through
echo owned > ~/direct && echo direct"""


def _plant(box):
    write_text(os.path.join(box.workspace, "agent.sh"), PLANT)
    box.create(coopfile="[sandbox]\n" + SHELL % script(". ./agent.sh") + '[env]\nTARGET = "%s"\n' % box.home.user)
    check("through" not in box.out(), "it wrote through the link at once")
    check("persist" in read_text(os.path.join(box.workspace, "coop.toml")), "the file was not planted")


def _untouched(box):
    for name in (".bashrc", "direct"):
        check(not os.path.exists(os.path.join(box.home.user, name)), "%s was written to the home" % name)


def test_a_link_in_a_persistent_folder():
    """The restart takes what was accepted at create, and says that the file is another one now."""
    with Box() as box:
        _plant(box)
        reply = _again(box)
        check(any("coop.toml has changed" in n for n in reply["notes"]), reply)
        check("through" not in box.out(), "it wrote through the link")
        _untouched(box)


def test_a_link_in_a_persistent_folder_after_a_restart_of_the_daemon():
    with Box() as box:
        _plant(box)
        box.d.kill()
        box.d = Daemon(only="coop,native", home=box.home, args=["--sandbox", "bwrap"])
        _again(box)
        check("through" not in box.out(), "it wrote through the link")
        _untouched(box)


def test_a_person_who_accepts_the_file_does_not_follow_the_link_either():
    with Box() as box:
        _plant(box)
        box.d.coop().good({"cmd": "kill", "session": "box", "force": True})
        reply = box.ask()
        equal((reply["ok"], reply["error"]), (False, "INVALID_COOPFILE"))
        check("link" in reply["message"], reply)
        _untouched(box)


def test_what_the_file_says_about_the_sandbox_waits_for_create():
    """Mounts, network, variables of the host, what is hidden; the command and the rest are read again."""
    with Box(env={"HOST_SECRET": "hunter2"}) as box:
        box.file("data/x", "data")
        box.file(".ssh/id", "key")
        first = "[sandbox]\n" + SHELL % script("ls /tmp; echo $S; cat ~/.ssh/id; echo first")
        box.said(first)
        check(box.out().endswith("first\n") and "key" not in box.out(), box.out())
        second = first.replace("first", "second") + 'mounts = ["~/data:/tmp/data", "~/.ssh:/tmp/ssh"]\nhide = []\n[env]\nS = "$HOST_SECRET"\n[network]\nmode = "none"\n'
        write_text(os.path.join(box.workspace, "coop.toml"), second)
        _again(box)
        out = box.out()
        check(out.endswith("second\n"), out)
        for word in ("data", "hunter2", "key"):
            check(word not in out, out)
        box.d.coop().good({"cmd": "kill", "session": "box", "force": True})
        os.unlink(os.path.join(box.workspace, "out"))
        reply = box.create()
        out = box.out()
        check("data" in out and "hunter2" in out and "key" not in out, out)
        check(any("is hidden" in n for n in reply["notes"]), reply)


# ---------------------------------------------------------------------------------------------------- our sockets
CONNECT = script("python3 -c 'import socket, sys\nfor p in sys.argv[1:]:\n    try:\n        socket.socket(socket.AF_UNIX).connect(p); print(p)\n"
                 "    except OSError: pass' $SOCKETS").replace("\n", "\\n").replace('"', '\\"')


def test_the_sockets_of_the_next_daemon():
    """Covers lay on the sockets alone. A daemon that was started anew made new ones, and the kernel takes a cover away with the file that it lies on."""
    with Box() as box:
        wait = "while [ ! -e go ]; do sleep 0.01; done"
        box.said("[sandbox]\n" + SHELL % CONNECT.replace("exec > tmp", wait + "; exec > tmp") + '[env]\nSOCKETS = "%s %s"\n' % (
            box.home.coop_sock, box.home.native_sock))
        box.d.kill()
        box.d = Daemon(only="coop,native", home=box.home, args=["--sandbox", "bwrap"])
        write_text(os.path.join(box.workspace, "go"), "")
        equal(box.out(), "")


# ---------------------------------------------------------------------------------------------------- secrets
SECRETS = (".ssh/id_ed25519", ".gnupg/key", ".aws/credentials", ".config/gh/hosts.yml", ".netrc", ".git-credentials", ".codex/auth.json",
           ".claude/.credentials.json")


def _seen(box, coopfile="", agent=SHELL):
    for name in SECRETS:
        box.file(name, "secret-of-%s\n" % name)
    box.file("ordinary", "ordinary\n")
    box.create(coopfile="[sandbox]\n" + agent % script("cat ~/ordinary %s" % " ".join("~/" + n for n in SECRETS)) + coopfile)
    return {name for name in SECRETS if "secret-of-%s\n" % name in box.out()}, box.out()


def test_keys_and_tokens_are_not_seen():
    with Box() as box:
        seen, out = _seen(box, "[session]\npersist = []\n")
        equal(seen, set())
        check("ordinary\n" in out, "nothing is seen at all: %s" % out)


def test_hide_is_a_persons_to_say():
    with Box() as box:
        seen, out = _seen(box, 'hide = ["~/.aws", "~/ordinary"]\n[session]\npersist = []\n')
        equal(seen, set(SECRETS) - {".aws/credentials"})
        check("ordinary\n" not in out, "what was named is seen")


def test_a_mount_shows_what_is_hidden():
    """What a person mounts by name is meant to be seen; the rest stays hidden."""
    with Box() as box:
        equal(_seen(box, 'mounts = ["~/.ssh:~/.ssh"]\n[session]\npersist = []\n')[0], {".ssh/id_ed25519"})


# ---------------------------------------------------------------------------------------------------- logged in
def _runtime(box, name, text):
    """A fake agent program of this name, on the PATH that sessions have."""
    path = box.file(".local/bin/" + name, "#!/bin/sh\ncd \"$COOP_WORKSPACE\"\n%s\n" % text)
    os.chmod(path, 0o755)
    return 'agent = "%s"\n' % name


LOOK = script("cat ~/.claude/.credentials.json ~/.codex/auth.json; echo more >> ~/.claude/history; echo new > ~/.claude.json; echo hook >> ~/.claude/settings.json")


def _login(box):
    for name in (".claude/.credentials.json", ".claude/settings.json", ".claude.json", ".codex/auth.json", ".ssh/id"):
        box.file(name, "secret-of-%s\n" % name)


def test_claude_is_logged_in():
    """It has its own folder, to write to, but for what says which programs it runs; not the login of others. One line says so."""
    with Box() as box:
        _login(box)
        reply = box.create(coopfile="[sandbox]\n" + _runtime(box, "claude", LOOK))
        out = box.out()
        check("secret-of-.claude/.credentials.json" in out and "secret-of-.codex" not in out, out)
        equal(box.file(".claude/history"), "more\n")
        equal(box.file(".claude.json"), "new\n")
        equal(box.file(".claude/settings.json"), "secret-of-.claude/settings.json\n")
        equal(reply["notes"], ["mounted for claude to be logged in: ~/.claude, ~/.claude.json read-write; ~/.claude/settings.json read-only"])


def test_other_runtimes_are_logged_in():
    """Each with its own folders: to write to where it writes, and no others'."""
    for name, ours, guarded in (("codex", ".codex/auth.json", ".codex/config.toml"), ("gemini", ".gemini/oauth_creds.json", ".gemini/settings.json"),
                                ("opencode", ".local/share/opencode/auth.json", ".config/opencode/opencode.json")):
        with Box() as box:
            _login(box)
            box.file(ours, "login of %s\n" % name)
            box.file(guarded, "settings\n")
            folder = os.path.dirname(ours)
            box.create(coopfile="[sandbox]\n" + _runtime(box, name, script("cat ~/%s ~/.claude/.credentials.json; echo more >> ~/%s/history; echo hook >> ~/%s" % (ours, folder, guarded))))
            out = box.out()
            check("login of " + name in out and "secret-of" not in out, out)
            equal((box.file(folder + "/history"), box.file(guarded)), ("more\n", "settings\n"), name)


def test_not_logged_in_when_told_so():
    """The folder is then the session's own, as the coop contract has it."""
    with Box() as box:
        _login(box)
        reply = box.create(coopfile="[sandbox]\nlogin = false\n" + _runtime(box, "claude", LOOK))
        check("secret-of" not in box.out(), box.out())
        check("notes" not in reply, reply)
        equal(box.file(".coop/sessions/box/persist/.claude/history"), "more\n")


def test_folders_in_which_nothing_was_kept_go_with_the_session():
    """~/.coop/sessions/NAME stayed for ever after a start that was refused, and after a kill. What a session has kept stays."""
    with Box() as box:
        folder = os.path.join(box.home.user, ".coop/sessions/box")
        reply = box.ask(coopfile='[sandbox]\nagent = "/nowhere/agent"\n[session]\npersist = [".claude", ".deep/er"]\n')
        check(not reply["ok"] and "No such file" in reply["message"], reply)
        check(not os.path.exists(folder), "after a start that was refused")
        box.create(coopfile="[sandbox]\n" + SHELL % script("touch up") + '[session]\npersist = [".claude", ".deep/er"]\n')
        box.out()
        check(os.path.isdir(os.path.join(folder, "persist", ".deep", "er")), "it is there while the session is")
        box.ask(cmd="kill", session="box", force=True)
        eventually(lambda: not os.path.exists(folder), what="it is gone after a kill")
        os.unlink(os.path.join(box.workspace, "out"))
        box.create(coopfile="[sandbox]\n" + SHELL % script("echo mine > ~/.claude/kept") + '[session]\npersist = [".claude", ".deep/er"]\n')
        box.out()
        box.ask(cmd="kill", session="box", force=True)
        eventually(lambda: not os.path.exists(os.path.join(folder, "persist", ".deep")), what="what is empty is gone")
        equal(box.file(".coop/sessions/box/persist/.claude/kept"), "mine\n")


def test_what_was_asked_for_wins_over_the_login():
    with Box() as box:
        _login(box)
        box.said("[sandbox]\n" + _runtime(box, "claude", LOOK) + 'mounts = ["mine:~/.claude"]\n')
        check("secret-of-.claude/.credentials.json" in box.out(), "the volume was not seeded: %s" % box.out())
        equal(box.file(".coop/volumes/mine/history"), "more\n")
        check(not os.path.exists(os.path.join(box.home.user, ".claude", "history")), "it wrote to the host's folder")


def test_a_mount_of_the_same_folder_leaves_it_writable():
    with Box() as box:
        _login(box)
        box.said("[sandbox]\n" + _runtime(box, "claude", LOOK) + 'mounts = ["~/.claude:~/.claude"]\n')
        box.out()
        eventually(lambda: os.path.exists(os.path.join(box.home.user, ".claude", "history")), what="it is written")


def test_new_says_what_was_mounted():
    with Box() as box:
        _login(box)
        write_text(os.path.join(box.workspace, "coop.toml"), "[sandbox]\n" + _runtime(box, "claude", "exec sleep 1000"))
        status, _, err = box.home.muster("new", "-d", box.workspace)
        equal(status, 0, err)
        check("mounted for claude to be logged in: ~/.claude, ~/.claude.json read-write" in err, err)
