# SPDX-License-Identifier: MIT
"""muster as a person uses it, inside tmux: a shell, vim and top; the window changes, the person leaves, the daemon is killed, the person
comes back. What counts is what is on the screen. Once `ps` was wider than the pane of whoever wanted to look."""
import contextlib
import os
import shlex
import shutil
import subprocess

from harness import MUSTER, Home, Skip, equal, eventually, read_text, start_time


class Tmux:
    """One window."""

    def __init__(self, home, cols=90, rows=24):
        if not shutil.which("tmux"):
            raise Skip("tmux is not installed")
        self.home, self.socket = home, os.path.join(home.base, "tmux")
        self.workspace = os.path.join(home.base, "project")
        os.mkdir(self.workspace)
        self.run("new-session", "-d", "-x", str(cols), "-y", str(rows), "env PS1='outside> ' sh")
        self.prompt()

    def run(self, *args):
        env = self.home.env({"TERM": "xterm-256color", "MUSTER_SANDBOX": "none", "PATH": os.path.dirname(MUSTER) + ":" + os.environ["PATH"]})
        p = subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *args], env=env, cwd=self.workspace, stdout=subprocess.PIPE, check=True)
        return p.stdout.decode()

    def type(self, *keys):
        self.run("send-keys", *keys)

    def prompt(self):
        """Until the shell outside waits for a command: whatever ran before has given the terminal back."""
        def is_prompt(line):  # what a program left on the screen may stand behind it
            return line.startswith("outside>") and not line.startswith("outside> muster")
        eventually(lambda: any(is_prompt(line) for line in self.screen()), what="the prompt of the shell outside")

    def clear(self):
        """Nothing of before is on the screen any more: what is seen then is new."""
        self.type("clear", "Enter")
        eventually(lambda: self.screen() == ["outside>"], what="an empty screen")

    def screen(self):
        return self.run("capture-pane", "-p").rstrip("\n").split("\n")

    def until(self, text, line=None):
        """Until text is on the screen, or at the beginning of this line of it."""
        def there():
            lines = self.screen()
            return any(text in one for one in lines) if line is None else len(lines) > line and lines[line].startswith(text)
        try:
            return eventually(there, what="%r on the screen" % text)
        except Exception:
            print("\n".join(self.screen()))
            raise

    def resize(self, cols, rows):
        self.run("resize-window", "-x", str(cols), "-y", str(rows))


@contextlib.contextmanager
def _tmux():
    with Home() as home:
        t = Tmux(home)
        try:
            yield t
        finally:
            with contextlib.suppress(subprocess.CalledProcessError):
                t.run("kill-server")
            home.muster("kill", "--all", "-f")
            home.muster("down")


def _attached(t, command, sign="[attached to project"):
    """sign: what is on the screen then; a program that clears it wipes our own line away."""
    t.clear()
    t.type("muster new -- " + command, "Enter")
    t.until(sign)


def _sized(t, cols, rows):
    """The shell inside learns the size of the window. Line editing reads the size and writes it back, and what came in between is lost to
    it: then another size has to come."""
    sign = "size-%d-%d" % (cols, rows)
    t.type("until stty size | grep -qx '%d %d'; do sleep 0.1; done; echo size-%d-$((%d))" % (rows, cols, cols, rows), "Enter")

    def is_seen():
        t.resize(cols + 1, rows)
        t.resize(cols, rows)
        return any(line.startswith(sign) for line in t.screen())
    eventually(is_seen, what="the size inside")


def test_shell():
    """Its size is the window's, keys and colours get through, detaching gives the outside back as it was."""
    with _tmux() as t:
        _attached(t, "bash --norc --noprofile")
        t.type("PS1='inside> '; clear", "Enter")
        t.until("inside>", 0)
        _sized(t, 90, 24)
        t.resize(70, 20)
        _sized(t, 70, 20)
        t.type("echo 12", "Left", "x", "Enter")
        t.until("1x2")
        t.type("C-]")
        t.until("[detached]")
        t.prompt()
        t.clear()
        t.type("stty -a | tr ' ;' '\\n' | grep -x -e -echo -e echo", "Enter")
        t.until("echo", 1)
        t.clear()
        t.type("muster ps", "Enter")
        t.until("project")
        eventually(lambda: any(len(one) <= 70 and " session:project " in " " + one and " running " in one for one in t.screen()), what="a row that fits the window")


def test_vim_over_the_death_of_the_daemon():
    if not shutil.which("vim"):
        raise Skip("vim is not installed")
    with _tmux() as t:
        _attached(t, "sh -c 'exec vim -u NONE -N -n file'", "~")
        t.type("ifirst line", "Enter", "second line", "Escape")
        t.until("second line", 1)
        t.resize(60, 15)

        def has_size():  # asked again and again: keys may be faster than a size
            t.type(":echo &lines &columns", "Enter")
            lines = t.screen()
            return lines[14:] == ["15 60"] and lines[13].startswith("~")
        eventually(has_size, what="vim has the new size")
        t.type("C-]")
        t.until("[detached]")
        t.prompt()
        pid = int(read_text(os.path.join(t.home.user, ".coop", "daemon.pid")))
        os.kill(pid, 9)
        eventually(lambda: not start_time(pid), what="the daemon is gone")
        equal(t.home.muster("up")[0], 0)
        t.clear()
        t.type("muster attach", "Enter")
        t.until("second line", 1)
        t.until("first line", 0)
        t.type("othird line", "Escape", ":wq", "Enter")
        t.until("[process exited (code 0)]")
        equal(read_text(os.path.join(t.workspace, "file")), "first line\nsecond line\nthird line\n")


def test_top_after_a_while():
    with _tmux() as t:
        _attached(t, "top -d 0.5", "top - ")
        t.resize(100, 30)
        t.until("top - ", 0)
        t.type("C-]")
        t.until("[detached]")
        t.prompt()
        t.clear()
        t.type("muster attach", "Enter")
        t.until("top - ", 0)
        t.until("Tasks:", 1)
        t.type("q")
        t.until("[process exited (code 0)]")


def test_daemon_killed_while_attached():
    """The person is told, and the session is there again with the next daemon."""
    with _tmux() as t:
        _attached(t, shlex.join(["sh", "-c", "echo still-$((40+2)); exec cat"]))
        t.until("still-42")
        os.kill(int(read_text(os.path.join(t.home.user, ".coop", "daemon.pid"))), 9)
        t.until("[the daemon has gone; waiting for the next one]")
        equal(t.home.muster("up")[0], 0)
        t.until("still-42", 1)
        t.type("typed", "Enter")
        t.until("typed")
