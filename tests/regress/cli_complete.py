# SPDX-License-Identifier: MIT
"""Completion of command lines. Once it was a list in a bash script, in which `mail` and `doctor` were missing, and which started
daemons at a press of Tab."""
import os
import re
import shutil
import subprocess

from harness import DEADLINE, MUSTER, MUSTERD, ROOT, Daemon, Home, Skip, check, equal, run, shared, write_text
from home import numbers


def _candidates(answer, words):
    status, out, err = answer
    equal((status, err), (0, ""), "__complete %r" % (words,))
    lines = [line for line in out.splitlines() if line]
    return dict((line + "\t").split("\t")[:2] for line in lines if line[0] != ":"), {line for line in lines if line[0] == ":"}


def _complete(home, *words, **kw):
    """{candidate: summary} and what is left to the shell."""
    return _candidates(home.muster("__complete", *words, **kw), words)


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


# ---------------------------------------------------------------------------------------------------- ac
def _ac_folder(home):
    """A folder for PATH with muster under its other name."""
    folder = os.path.join(home.base, "bin")
    if not os.path.isdir(folder):
        os.mkdir(folder)
        os.symlink(os.path.abspath(MUSTER), os.path.join(folder, "ac"))
    return folder


def _complete_ac(home, *words):
    return _candidates(run([os.path.join(_ac_folder(home), "ac"), "__complete", *words], home), words)


def _ac_help(home):
    """{command: its options} as the help has them."""
    out = run([os.path.join(_ac_folder(home), "ac"), "--help"], home)[1]
    return {line.split()[0]: set(re.findall(r"--[a-z-]+", line)) for line in out.splitlines() if line.startswith("  ")}


def test_ac_every_command_and_every_option():
    with Home() as home:
        commands = _ac_help(home)
        check(len(commands) > 40, repr(commands))
        found, wishes = _complete_ac(home, "")
        equal((set(found) - {"help", "--help", "--version"}, wishes), (set(commands), set()))
        for command, options in commands.items():
            check(found[command], "%s has no summary" % command)
            offered = _complete_ac(home, command, "-")[0]
            equal(set(offered), options, "options of %s" % command)
            check(all(offered.values()), "%s: an option has no summary: %r" % (command, offered))


def test_ac_words():
    with Home() as home:
        equal(list(_complete_ac(home, "workspace:im")[0]), ["workspace:import"])
        equal(_complete_ac(home, "workspace:export", "w", "")[1], {":folders"})
        equal(set(_complete_ac(home, "comment:add", "w", "--role", "m")[0]), {"manager"})
        equal(set(_complete_ac(home, "task:new", "w", "--visibility", "")[0]), {"private_agent", "team", "managers", "org"})
        equal(set(_complete_ac(home, "rpc:call", "--method", "comment.")[0]), {"comment.add", "comment.list"})
        equal(_complete_ac(home, "machine:set-repo", "w", "--path", "")[1], {":folders"})
        equal(_complete_ac(home, "machine:set-provider-bin", "w", "--path", "")[1], {":programs"})
        equal(set(_complete_ac(home, "run:list", "w", "")[0]), {"--project"})
        equal(_complete_ac(home, "run:execute", "w", "--argv", "")[1], {":programs"})
        equal(_complete_ac(home, "run:execute", "w", "--stdin-file", "")[1], {":files"})
        equal(set(_complete_ac(home, "artifact:new", "m")[0]), {"milestone_report", "manager_digest", "memory_delta"})
        equal(_complete_ac(home, "artifact:new", "proposal", "")[1], {":files"})
        equal(_complete_ac(home, "no:such", ""), ({}, set()))
        equal(_complete_ac(home, "memory:delta", "w", "--insert", "one", "--"), _complete_ac(home, "memory:delta", "w", "--"))


def test_ac_ids_are_those_of_the_workspace():
    """Names of files are enough: no daemon is asked, and none is started."""
    with Home() as home:
        there = os.path.join(home.cwd, "there")
        for name in ("work/projects/proj_a/runs/run_1", "work/projects/proj_a/tasks", "org/agents/agent_x", "org/teams/team_y"):
            os.makedirs(os.path.join(there, name))
        for name in ("task_1.md", "task_1.md.bak", ".hidden.md"):
            write_text(os.path.join(there, "work/projects/proj_a/tasks", name), "")
        equal(list(_complete_ac(home, "run:list", there, "--project", "")[0]), ["proj_a"])
        equal(list(_complete_ac(home, "run:replay", there, "--project", "proj_a", "--run", "r")[0]), ["run_1"])
        equal(list(_complete_ac(home, "milestone:approve", there, "--project", "proj_a", "--task", "")[0]), ["task_1"])
        equal(list(_complete_ac(home, "run:new", there, "--agent", "")[0]), ["agent_x"])
        equal(list(_complete_ac(home, "agent:new", there, "--team", "")[0]), ["team_y"])
        equal(_complete_ac(home, "run:replay", there, "--run", ""), ({}, set()))
        check(not os.path.exists(home.native_sock) and not os.path.exists(home.muster_home), "a daemon was started")


# ---------------------------------------------------------------------------------------------------- shells
def _bash(home, line):
    """What bash would offer for a line."""
    words = re.findall("[:=]+|[^ :=]+", line) + [""] * line.endswith(" ")  # as readline cuts it
    script = 'source %s; PATH=%s:%s:$PATH; COMP_WORDS=(%s); COMP_CWORD=%d; _muster; printf "%%s\\n" "${COMPREPLY[@]}"' % (
        os.path.join(ROOT, "completions", "muster.bash"), os.path.dirname(MUSTER), _ac_folder(home), " ".join("'%s'" % w for w in words), len(words) - 1)
    return subprocess.run(["bash", "--norc", "-c", script], env=home.env(), cwd=home.cwd, check=True, text=True, stdout=subprocess.PIPE).stdout.split("\n")[:-1]


def test_bash():
    with Home() as home:
        os.mkdir(os.path.join(home.cwd, "folder with blanks"))
        equal(_bash(home, "muster led"), ["ledger"])
        equal(_bash(home, "muster ledger v"), ["verify"])
        equal(_bash(home, "muster logs --str"), ["--strip"])
        equal(_bash(home, "muster group attach fol"), ["folder with blanks"])
        check("bash" in _bash(home, "muster new -- ba"), "programs")


def test_bash_of_ac():
    """Readline cuts words at colons, and replaces what stands behind the last one only."""
    with Home() as home:
        os.mkdir(os.path.join(home.cwd, "folder with blanks"))
        equal(_bash(home, "ac workspace:imp"), ["import"])
        equal(_bash(home, "ac workspace:"), ["init", "bootstrap", "validate", "doctor", "diagnostics", "migrate", "export", "import"])
        equal(_bash(home, "ac rpc"), ["rpc:call"])
        equal(_bash(home, "ac run:list fol"), ["folder with blanks"])
        equal(_bash(home, "ac rpc:call --method comment.a"), ["comment.add"])


def _shell(home, name, *argv):
    if not shutil.which(name):
        raise Skip("%s is not installed" % name)
    path = os.pathsep.join((_ac_folder(home), os.path.dirname(os.path.abspath(MUSTER)), os.environ["PATH"]))
    return subprocess.run([name, *argv], env=home.env({"PATH": path, "TERM": "dumb"}), cwd=home.cwd, check=True, text=True, stdout=subprocess.PIPE, timeout=DEADLINE).stdout


def test_fish():
    with Home() as home:
        os.mkdir(os.path.join(home.cwd, "folder"))
        lines = "; ".join("complete -C '%s'" % line for line in ("muster led", "muster ledger v", "muster group attach fol", "ac workspace:imp", "ac run:list fol"))
        out = _shell(home, "fish", "--no-config", "-c", "source %s; %s" % (os.path.join(ROOT, "completions", "muster.fish"), lines))
        equal([line.split("\t")[0] for line in out.splitlines()], ["ledger", "verify", "folder/", "workspace:import", "folder/"])


def test_zsh():
    """It completes only in a terminal, which its own module makes."""
    with Home() as home:
        setup = "fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D; print ready-$((1+1))" % os.path.join(ROOT, "completions")
        script = ("zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z '%s'; zpty -r -m z out '*ready-2*';"
                  "zpty -n -w z $'muster led\\t'; zpty -r -m z out '*muster ledger *';"
                  "zpty -n -w z $'v\\t'; zpty -r -m z out '*verify *'; zpty -n -w z $'\\x15ac workspace:imp\\t'; zpty -r -m z out '*ac workspace:import *'; print found" % setup)
        equal(_shell(home, "zsh", "-f", "-c", script), "found\n")
