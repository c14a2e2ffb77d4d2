# SPDX-License-Identifier: MIT
"""What the original's command line looks at before each command (0.4.0rc7 to 0.4.33: the same).

It asks for a ping, replaces the daemon when that names a version that is not its own and not empty, and then tries two operations:
one that is unknown makes it replace the daemon, too. With the settings of both as they come it has to stay.
"""
import os
import subprocess
import sys

from harness import Daemon, check, equal, write_text

LOOKS = """
import json, os, socket, sys
def call(op):
    if sys.argv[1].startswith("tcp:"):
        s = socket.create_connection(("127.0.0.1", int(sys.argv[1][4:])))
    else:
        s = socket.socket(socket.AF_UNIX)
        s.connect(sys.argv[1])
    s.sendall(json.dumps({"v": 1, "op": op, "args": {}}).encode() + b"\\n")
    return json.loads(s.makefile().readline())
def main():
    named = call("ping")["result"]["version"]
    known = all((call(op)["error"] or {}).get("code") != "unknown_op" for op in ("observability_get", "debug_snapshot"))
    print(repr(named) if known else "unknown_op")
"""


def _package(d):
    """The original as it is installed: a package and a script."""
    os.makedirs(os.path.join(d.home.base, "lib", "cccc"), exist_ok=True)
    os.makedirs(os.path.join(d.home.base, "bin"), exist_ok=True)
    write_text(os.path.join(d.home.base, "lib", "cccc", "__init__.py"), "")
    write_text(os.path.join(d.home.base, "lib", "cccc", "cli.py"), LOOKS + "if __name__ == '__main__':\n    main()\n")
    for name in ("cccc", "other"):
        path = os.path.join(d.home.base, "bin", name)
        write_text(path, "#!%s\nfrom cccc.cli import main\nmain()\n" % sys.executable)
        os.chmod(path, 0o755)


def _told(d, *command, address=None):
    done = subprocess.run([*command, address or d.home.cccc_sock], env={**os.environ, "PYTHONPATH": os.path.join(d.home.base, "lib")}, text=True,
                          capture_output=True, check=True)
    return done.stdout.strip()


def test_it_is_told_no_version_and_stays():
    for only in (None, "cccc"):
        with Daemon(only=only) as d:
            _package(d)
            script = os.path.join(d.home.base, "bin", "cccc")
            for command in ([script], [sys.executable, "-u", script], [sys.executable, "-m", "cccc.cli"], [sys.executable, "-um", "cccc.cli"],
                            [sys.executable, "-c", "from cccc.cli import main; main()"],
                            [sys.executable, os.path.join(d.home.base, "lib", "cccc", "cli.py")]):
                equal(_told(d, *command), "''", "version told to %r" % command)


def test_others_are_told_ours():
    with Daemon() as d:
        _package(d)
        version = d.info()["version"]
        equal(_told(d, os.path.join(d.home.base, "bin", "other")), repr(version))
        equal(d.cccc("ping")["result"]["version"], version)


def test_who_cannot_be_looked_at_may_be_it():
    with Daemon(only="cccc,native", env={"CCCC_DAEMON_TRANSPORT": "tcp"}) as d:
        _package(d)
        address = next(e["address"] for e in d.info()["endpoints"] if e["name"] == "cccc")
        check(address.startswith("tcp:127.0.0.1:"), address)
        equal(_told(d, os.path.join(d.home.base, "bin", "other"), address="tcp:" + address.rsplit(":", 1)[1]), "''")


def test_a_version_can_be_named():
    with Daemon(env={"MUSTER_CCCC_VERSION": "0.4.0rc14"}) as d:
        _package(d)
        equal(_told(d, os.path.join(d.home.base, "bin", "cccc")), "'0.4.0rc14'")
