# SPDX-License-Identifier: MIT
"""scripts/lint texts finds what it is for: a text is changed, and it has to say so. `muster env` and twenty options once stood in no manual page."""
import os
import sys

from harness import ROOT, check, equal

sys.path.insert(0, os.path.join(ROOT, "scripts"))
import lint_texts  # noqa: E402

README, MUSTER, MUSTERD = "README.md", lint_texts.MUSTER, lint_texts.MUSTERD


def _known():
    return lint_texts.commands()


def _found(path, old, new, look):
    """What a check finds that it does not find now, when path had new in the place of old."""
    true_text, before = lint_texts.text_of, set(look())
    check(old in true_text(path), "%s has no %r" % (path, old))
    lint_texts.text_of = lambda name: true_text(name).replace(old, new) if name == path else true_text(name)
    try:
        return sorted(set(look()) - before)
    finally:
        lint_texts.text_of = true_text


def _shown(path, line):
    """The same, of a line more at the end."""
    text = lint_texts.text_of(path)
    return _found(path, text, text + line + "\n", lambda: lint_texts.check_shown(_known(), [path]))


def test_commands_that_texts_show():
    check("no command muster shall" in _shown(README, "    build/muster shall x")[0], "a command")
    check("no verb submitt" in _shown(README, "    muster task submitt hello   # say hello")[0], "a verb")
    check("not take --stripe" in _shown(README, "It says `muster logs --stripe`.")[0], "an option")
    check("muster hosts is no command" in _shown("src/cli/main.c", 'const char prose[] = "what muster hosts";')[0], "prose")
    check("no verb put" in _shown("src/cli/main.c", 'const char advice[] = "try: muster project " "put .";')[0], "advice")
    equal(_shown(README, "    muster logs --strip api | grep -i --colour error"), [], "options of another program")
    equal(_shown(README, "    muster new --sandbox none -- make --nosuch"), [], "options of what it runs")


def test_options_and_verbs_of_the_manual_page():
    def page():
        return lint_texts.check_page(_known())

    equal(len(_found(MUSTER, ".Op Fl -reveal", ".Op Fl -revel", page)), 2, "an option in the SYNOPSIS, missing and unknown")
    check("does not take revel" in _found(MUSTER, ".It Fl -reveal", ".It Fl -revel", page)[0], "an option of a section")
    equal(len(_found(MUSTER, ".It Cm unset Ar", ".It Cm unsett Ar", page)), 2, "a verb, missing and unknown")


def test_words_of_delivery():
    words, page = "src/collab/delivery/mail-words.c", "docs/cccc-delivery.md"
    equal(len(_found(words, '"queue full"', '"queue filled"', lint_texts.check_mail_words)), 3, "missing in both pages, and a row of none")
    equal(len(_found(page, "| `throttled` |", "| `throttle` |", lint_texts.check_mail_words)), 2)
    equal(len(_found(MUSTER, ".It added later", ".It later", lint_texts.check_mail_words)), 1)


def test_settings_and_variables():
    problems = _found(MUSTERD, "limits.queued_mb_per_peer", "limits.queued", lint_texts.check_settings)
    check("limits.queued_mb_per_peer is missing" in problems[0], problems)
    equal(len(_found(lint_texts.EXAMPLE, "# items = ", "# itemz = ", lint_texts.check_settings)), 2)
    equal(len(_found(lint_texts.TOML, ".BR idle_ms", ".BR idel_ms", lint_texts.check_settings)), 2)
    equal(len(_found(MUSTER, "GH_TOKEN", "GHX_TOKEN", lambda: lint_texts.check_variables([]))), 2)
    equal(len(_found("docs/coopfile.md", "| `session.record` |", "| `session.recrod` |", lint_texts.check_coopfile)), 2)


def test_operations_links_and_what_is_said_twice():
    files = ["schema/native/env.show.json", "docs/ledger.md", "docs/decisions/README.md"]
    problems = _found("docs/protocols.md", "`env.show`", "`x`", lambda: lint_texts.check_operations(files))
    equal(problems, ["docs/protocols.md: env.show is missing"])
    problems = _found("docs/ledger.md", "(#the-journal)", "(#the-jornal)", lambda: lint_texts.check_links(files))
    check(len(problems) == 1 and "#the-jornal" in problems[0], problems)
    twice = "- " + "a b c d e f g h i j k\n"
    check(_found("CHANGELOG.md", "### Fixed\n", twice + "### Fixed\n" + twice, lint_texts.check_changelog), "said twice")
