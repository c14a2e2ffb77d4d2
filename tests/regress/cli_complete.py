# SPDX-License-Identifier: MIT
"""Completion of command lines. Once it was a list in a bash script, in which `mail` and `doctor` were missing, and which started
daemons at a press of Tab."""
import os
import re
import shutil
import subprocess

from harness import DEADLINE, MUSTER, MUSTERD, ROOT, Daemon, Home, Skip, check, equal, shared
from home import numbers


def _complete(home, *words, **kw):
    """{candidate: summary} and what is left to the shell."""
    status, out, err = home.muster("__complete", *words, **kw)
    equal((status, err), (0, ""), "muster __complete %r" % (words,))
    lines = [line for line in out.splitlines() if line]
    return dict((line + "\t").split("\t")[:2] for line in lines if line[0] != ":"), {line for line in lines if line[0] == ":"}


def _names(home, *words, **kw):
    return sorted(_complete(home, *words, **kw)[0])


def _commands(home):
    return re.findall(r"^  ([a-z-]+) {1,}\S", home.muster("--help")[1].split("\nExamples:")[0], re.M)


def test_every_command_and_every_option():
    with Home() as home:
        commands = _commands(home)
        check(len(commands) > 25, repr(commands))
        equal(set(_names(home, "")) - {"help", "--help", "--version"}, set(commands))
        equal(set(_names(home, "help", "")), set(commands))
        for command in commands:
            text = home.muster(command, "--help")[1].split("\nExamples:")[0]
            options = _complete(home, command, "-")[0]
            equal(set(re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.M)) - set(options), set(), "options of %s" % command)
            for option, summary in options.items():
                check(summary or option == "--help", "%s %s has no summary" % (command, option))


def test_help_fits_80_columns():
    """At 80 columns a terminal cut the words of nearly every command."""
    with Home() as home:
        for words in (["--help"], *([command, "--help"] for command in _commands(home))):
            wide = [line for line in home.muster(*words)[1].splitlines() if len(line) > 80]
            check(not wide, "%s: %r" % (words[0], wide))


def test_help_of_the_daemon_fits_80_columns():
    """Twenty lines of it did not, and 5 was missing among the exit statuses."""
    done = subprocess.run([MUSTERD, "--help"], stdout=subprocess.PIPE, text=True, check=True, timeout=60)
    wide = [line for line in done.stdout.splitlines() if len(line) > 80]
    check(not wide, repr(wide))
    check("5 inside a process that muster hosts" in " ".join(done.stdout.split()), done.stdout)


def test_every_verb_of_the_help_is_one():
    """A verb that completion offers is not refused as unknown; most then miss a daemon or an operand."""
    with Home() as home:
        for command in _commands(home):
            candidates = _complete(home, command, "")[0]
            for verb in (v for v in candidates if command not in ("schema", "call")):
                check(re.fullmatch("[a-z-]+", verb), "%s: %r is no verb" % (command, verb))
                text = home.muster(command, verb, "--nosuch")[2]
                check("there is no" not in text, "%s %s: %s" % (command, verb, text))


def test_words():
    with Home() as home:
        equal(_names(home, "gr"), ["group"])
        equal(_names(home, "group", "state", ""), ["active", "idle", "paused"])
        equal(_names(home, "task", "ls", "--state", "c"), ["cancelled", "completed"])
        equal(_names(home, "new", "--sandbox", ""), ["bwrap", "none"])
        equal(_complete(home, "new", "")[1], {":folders"})
        equal(_complete(home, "new", "--", "")[1], {":programs"})
        equal(_complete(home, "new", "--", "make", "")[1], {":files"})
        equal(_complete(home, "group", "attach", "")[1], {":folders"})
        equal(_complete(home, "rules", "check", "")[1], {":files"})
        equal(_names(home, "call", "cccc.pin"), ["cccc.ping"])
        found, wishes = _complete(home, "call", "cccc.send", "te")
        equal((list(found), wishes), (["text="], {":nospace"}))
        check("coop" in _names(home, "schema", "co"), "dialects")
        equal(_names(home, "nosuch", ""), [])
        equal(_names(home, "--version", ""), [])


def test_no_daemon_is_started():
    with Home() as home:
        for words in (("attach", ""), ("send", "--to", ""), ("actor", "start", ""), ("task", "get", ""), ("group", "delete", "")):
            check(not set(_names(home, *words)) - {"user", "@all", "@peers", "@foreman"}, repr(words))
        check(not os.path.exists(home.native_sock), "a daemon was started")
        check(not os.path.exists(home.muster_home), "a state folder was made")


def test_names_of_a_daemon_that_runs():
    home = shared(args=("--sandbox", "none"), project=False).home
    folder = os.path.join(home.base, "w%d" % next(numbers))
    os.mkdir(folder)
    name = "s%d" % next(numbers)
    equal(home.muster("new", "-d", "--name", name, folder, "--", "/bin/sh", "-c", "exec cat")[0], 0)
    for command in ("attach", "logs", "kill", "restart", "send-keys"):
        check(name in _names(home, command, name[:1]), command)
    status, group, err = home.muster("group", "attach", cwd=folder)
    equal(status, 0, err)
    equal(home.muster("actor", "add", "dev", "runtime=custom", "--", "/bin/cat", cwd=folder)[0], 0)
    check(group.strip() in _names(home, "inbox", "--group", ""), "groups")
    check("dev" in _names(home, "actor", "start", "", cwd=folder), "actors of this folder's group")
    check("dev" in _names(home, "send", "-g", group.strip(), "--to", ""), "actors of a group that is named")
    equal(home.muster("kill", name)[0], 0)


def test_tasks_of_the_project():
    with Daemon() as d:
        answer = d.aiwg().result("task.submit", {"prompt": "say hello\nand more"})
        found, _ = _complete(d.home, "task", "get", "", cwd=d.home.project)
        equal(found.get(answer["taskId"]), "say hello")
        equal(list(_complete(d.home, "task", "get", "--project", d.home.project, "")[0]), [answer["taskId"]])


def _bash(home, line):
    """What bash would offer for a line."""
    words = line.split(" ")
    script = 'source %s; PATH=%s:$PATH; COMP_WORDS=(%s); COMP_CWORD=%d; _muster; printf "%%s\\n" "${COMPREPLY[@]}"' % (
        os.path.join(ROOT, "completions", "muster.bash"), os.path.dirname(MUSTER), " ".join("'%s'" % w for w in words), len(words) - 1)
    return subprocess.run(["bash", "--norc", "-c", script], env=home.env(), cwd=home.cwd, check=True, text=True, stdout=subprocess.PIPE).stdout.split("\n")[:-1]


def test_bash():
    with Home() as home:
        os.mkdir(os.path.join(home.cwd, "folder with blanks"))
        equal(_bash(home, "muster led"), ["ledger"])
        equal(_bash(home, "muster ledger v"), ["verify"])
        equal(_bash(home, "muster logs --str"), ["--strip"])
        equal(_bash(home, "muster group attach fol"), ["folder with blanks"])
        check("bash" in _bash(home, "muster new -- ba"), "programs")


def _shell(home, name, *argv):
    if not shutil.which(name):
        raise Skip("%s is not installed" % name)
    path = os.pathsep.join((os.path.dirname(os.path.abspath(MUSTER)), os.environ["PATH"]))
    return subprocess.run([name, *argv], env=home.env({"PATH": path, "TERM": "dumb"}), cwd=home.cwd, check=True, text=True, stdout=subprocess.PIPE, timeout=DEADLINE).stdout


def test_fish():
    with Home() as home:
        os.mkdir(os.path.join(home.cwd, "folder"))
        lines = "; ".join("complete -C '%s'" % line for line in ("muster led", "muster ledger v", "muster group attach fol"))
        out = _shell(home, "fish", "--no-config", "-c", "source %s; %s" % (os.path.join(ROOT, "completions", "muster.fish"), lines))
        equal([line.split("\t")[0] for line in out.splitlines()], ["ledger", "verify", "folder/"])


def test_zsh():
    """It completes only in a terminal, which its own module makes."""
    with Home() as home:
        setup = "fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D; print ready-$((1+1))" % os.path.join(ROOT, "completions")
        script = ("zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z '%s'; zpty -r -m z out '*ready-2*';"
                  "zpty -n -w z $'muster led\\t'; zpty -r -m z out '*muster ledger *';"
                  "zpty -n -w z $'v\\t'; zpty -r -m z out '*verify *'; print found" % setup)
        equal(_shell(home, "zsh", "-f", "-c", script), "found\n")
