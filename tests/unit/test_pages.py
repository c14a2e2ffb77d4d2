# SPDX-License-Identifier: MIT
"""What pages and units have to say, since people could not know it otherwise. musterd(8) said that it runs no tasks when it did; nobody was told that `cccc`
and `coop` start daemons of their own beside musterd, that a user's services end at logout, or that IM bridges are not started."""
import os
import re

from harness import ROOT, check, read_text

SAYS = (
    ("docs/man/musterd.8", r"runs the tasks and rules of AIWG projects"),
    ("docs/man/musterd.8", r"actors of CCCC groups"),
    ("contrib/systemd/musterd.service", r"Linger: .*loginctl enable-linger"),
    ("contrib/systemd/musterd.service", r"PATH and keys: .*muster env set PATH ANTHROPIC_API_KEY"),
    ("contrib/systemd/musterd.service", r"EnvironmentFile=.* chmod 600"),
    ("contrib/systemd/musterd-cccc.socket", r"starts musterd and not the original's own daemon"),
    ("contrib/systemd/musterd-coop.socket", r"starts musterd and not a daemon of its own"),
    ("docs/cccc.md", r"starts the original's own daemon when no socket answers.*systemctl --user enable --now musterd.service.*musterd-cccc.socket.*musterd-coop.socket"),
    ("docs/cccc.md", r"Ctrl\+C in `cccc` ends its web page, not musterd and no actor"),
    ("docs/cccc.md", r"IM bridges\W.*musterd starts none.*`cccc im start --group ID`"),
    ("README.md", r"musterd starts no bridge \(`cccc im start` does\)"),
    ("README.md", r"`make uninstall .*`docs/removing.md`"),
    ("README.md", r"muster project add \. .*muster task submit"),
)


def _words(path):
    """Without the marks of comments and the ends of lines."""
    return " ".join(re.sub(r"^# ?", "", read_text(os.path.join(ROOT, path)), flags=re.M).split())


def test_what_has_to_be_said():
    for path, want in SAYS:
        check(re.search(want, _words(path)), "%s does not say: %s" % (path, want))


def test_what_is_not_so():
    """Said once, of what has come since."""
    for path, wrong in (("docs/man/musterd.8", "runs no tasks"), ("README.md", "AgentCompany comes next")):
        check(wrong not in _words(path), "%s says: %s" % (path, wrong))
