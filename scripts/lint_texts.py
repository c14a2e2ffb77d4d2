# SPDX-License-Identifier: MIT
"""What the texts say about commands, options and settings, held against the tables of the programs. For scripts/lint."""
import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MUSTER, MUSTERD, TOML = ("docs/man/muster.1", "docs/man/musterd.8", "docs/man/muster.toml.5")
EXAMPLE, OPTIONS = "docs/muster.toml.example", "src/daemon/options.c"
FOREIGN = {"help", "version"}  # words behind `muster` that are no rows of the tables
PAGES_OF_OTHERS = {"project.md"}


def text_of(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


# ------------------------------------------------------------------------------------------------ the tables of the code
def literals(source):
    """What adjacent C strings say together."""
    found = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', source))
    return found.replace("\\n", "\n").replace('\\"', '"').replace("\\\\", "\\")


def letters():
    """{option of muster: its letter}; a bare --wait is called await there."""
    rows = re.findall(r'^\s+\{"([a-z-]+)", (?:\'(.)\'|0), KIND', text_of("src/cli/options.c"), re.M)
    return {name: letter for name, letter in rows}


class Command:
    """One row of commands-*.c: its name, the options it takes as people write them, and its help."""

    def __init__(self, row, macros):
        for name, text in macros.items():
            row = re.sub(r"\b%s\b" % name, lambda _: text, row)
        fields = {name: literals(text) for name, text in re.findall(r"\.(\w+) =(.*?)(?=\n {16}\.|\n {8}\})", row, re.S)}
        self.name, self.usage = fields["name"], fields.get("usage", "")
        self.details, self.examples = fields.get("details", ""), fields.get("examples", "")
        self.takes = {word.replace("await", "wait") for word in fields.get("takes", "").split()}
        self.passes = ".passes_rest = true" in row

    def rows(self):
        """Options that have a row in its help."""
        return set(re.findall(r"^  (?:-\w, )?--([a-z-]+)", self.details, re.M))

    def verbs(self):
        """Words that begin a row, where its usage asks for one of them; none: the first word may be anything."""
        if not re.search(r"VERB|\w\|\w|ls \|", self.usage):
            return set()
        rows = re.findall(r"^  ((?:[a-z]+, )*[a-z]+)(?= |$)", self.details, re.M)
        return {verb for row in rows for verb in row.split(", ")}


def commands():
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "src/cli/cmd/commands-*.c"))):
        source = text_of(path)
        macros = {name: body.replace("\\\n", " ") for name, body in re.findall(r"^#define (\w+)\s*((?:.*\\\n)*.*)$", source, re.M)}
        for row in re.findall(r"^ {8}\{\n(.*?^ {8}\})", source, re.M | re.S):
            command = Command(row, macros)
            found[command.name] = command
    return found


def settings():
    """[(flag, variable, key or "")] of musterd."""
    rows = re.findall(r'\{"([a-z-]+)", "([A-Z_]+)",\s+(?:"([a-z_.]+)"|NULL), OPTION_', text_of(OPTIONS))
    assert len(rows) > 20, OPTIONS
    return rows


# ------------------------------------------------------------------------------------------------------ muster and its page
def check_help(known):
    """A command's own help names what it takes, in a row each, and nothing else."""
    problems = []
    for command in known.values():
        used = set(re.findall(r"--([a-z-]+)", command.usage)) | command.rows()
        problems += ["muster %s --help: --%s has no row" % (command.name, name) for name in sorted(command.takes - command.rows())]
        problems += ["muster %s --help: it does not take --%s" % (command.name, name) for name in sorted(used - command.takes)]
    return problems


def synopses():
    """{command: options in the SYNOPSIS of muster(1), long names and letters}"""
    page, found = text_of(MUSTER), {}
    synopsis = page[page.index(".Sh SYNOPSIS"):page.index(".Sh DESCRIPTION")]
    for part in synopsis.split("\n.Nm\n")[1:]:
        name = re.match(r"\.Cm ([a-z-]+)", part)
        if name:
            flags = [flag for line in part.splitlines() for flag in re.findall(r"Fl (-?[a-zA-Z-]+)", line)]
            names = {flag[1:] for flag in flags if flag.startswith("-") and flag != "-"}
            found.setdefault(name[1], set()).update(names | {c for flag in flags if not flag.startswith("-") for c in flag})
    return found


def sections():
    """{command: text of its section of muster(1)}"""
    found = {}
    for heading, body in re.findall(r"^\.Ss (muster .*)\n((?:(?!\.S[sh] ).*\n)*)", text_of(MUSTER), re.M):
        for name in re.findall(r"muster ([a-z-]+)", heading):
            found[name] = body
    return found


def either(options, letter):
    """As long names and as letters."""
    return options | {letter.get(option) for option in options}


def verbs_in(line):
    """Of an entry as `start , stop Ar actor` or `vision Ar text ... , Cm sketch Ar text ...`."""
    bare = re.sub(r"\b(?:Ar|Fl) \S+|\b(?:Cm|Oo|Oc|Op|Ns|No)\b|=|\.\.\.", "", line)
    return [words.split()[0] for words in bare.split(" ,") if words.split()]


def check_page(known):
    """muster(1) has a line in the SYNOPSIS and a section for each command, with the options that it takes."""
    letter, lines, parts, problems = letters(), synopses(), sections(), []
    for name in sorted(set(known) | set(lines) | set(parts)):
        if name not in known:
            problems.append("%s: there is no command %s" % (MUSTER, name))
            continue
        problems += ["%s: %s is missing in the %s" % (MUSTER, name, what)
                     for what, there in (("SYNOPSIS", lines), ("DESCRIPTION", parts)) if name not in there]
        takes, shown = known[name].takes, lines.get(name, set())
        problems += ["%s: --%s is missing in the SYNOPSIS of %s" % (MUSTER, option, name) for option in sorted(takes)
                     if option not in shown and letter.get(option) not in shown]
        written = {verb for line in re.findall(r"^\.It Cm (.*)$", parts.get(name, ""), re.M) for verb in verbs_in(line)}
        problems += ["%s: %s: the verb %s is %s" % (MUSTER, name, verb, "missing" if verb in known[name].verbs() else "not one")
                     for verb in sorted(known[name].verbs() ^ written)]
        listed = {flag for line in re.findall(r"^\.It Fl (.*)$", parts.get(name, ""), re.M)
                  for flag in re.findall(r"(?:^|, )-?([a-z][a-z-]*)", line)}
        sisters = [known[other].takes for other in parts if other in known and parts[other] == parts.get(name)]
        problems += ["%s: %s does not take %s" % (MUSTER, name, option)
                     for option in sorted((shown - either(takes, letter)) | (listed - either(set().union(*sisters), letter)))]
    return problems


# ------------------------------------------------------------------------------------------------- commands that texts show
def shown_in(path):
    """(number of the line, command line) of each `muster …` that stands as code."""
    is_page = path.endswith((".1", ".5", ".8"))
    for number, line in enumerate(text_of(path).splitlines(), 1):
        if path.endswith(".md"):
            found = re.findall(r"`((?:build/)?muster [^`]+)`", line)
            found += re.findall(r"^ {4,}(?:\$ )?((?:build/)?muster .*)$", line)
        elif is_page:
            found = re.findall(r"^(muster .*)$", line) + re.findall(r'^\.(?:BR?|Ic|Dl) "?(muster [a-z][^"]*)', line)
        else:
            found = re.findall(r"`(muster [^`]+)`", line)
        yield from ((number, text) for text in found)


def judge(line, known):
    """What is wrong with a command line that a text shows; None: nothing that can be told."""
    line = re.split(r"\s#|[|<>;&)](?:\s|$)|…", line.replace("\\-", "-"))[0]
    words = [word.strip("\"'.,:") for word in line.split()[1:]]
    if not words or words[0].startswith("-") or not re.fullmatch(r"[a-z][a-z-]*", words[0]) or words[0] in FOREIGN:
        return None
    command = known.get(words[0])
    if not command:
        return "there is no command muster %s" % words[0]
    ours = words[1:words.index("--")] if "--" in words else words[1:]
    wrong = [word for word in ours if re.match(r"--[a-z]", word) and re.split(r"[=\[]", word[2:])[0] not in command.takes | {"help"}]
    if wrong:
        return "muster %s does not take %s" % (command.name, wrong[0])
    verb = ours[0] if ours else ""
    if command.verbs() and re.fullmatch(r"[a-z]+", verb) and verb not in command.verbs():
        return "muster %s has no verb %s" % (command.name, verb)
    return None


def check_advice(known, files):
    """Verbs and options in what the programs tell people to type. A word that is no command may be prose there, but not in what muster says: it
    names commands as it was called itself (src/cli/print/report.h), and cannot tell prose from them."""
    problems = []
    for path in files:
        if path.startswith("src/") and path.endswith((".c", ".h")) and "/test-" not in path:
            source = re.sub(r'"\s+"', "", text_of(path))
            told = [told for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', source) for told in re.findall(r"\bmuster [a-z][^;,)`\\%]*", text)]
            problems += ["%s: %s" % (path, wrong) for line in told if line.split()[1] in known and (wrong := judge(line, known))]
            problems += ["%s: muster %s is no command: in prose it is musterd" % (path, line.split()[1]) for line in told
                         if path.startswith("src/cli/") and "/commands-" not in path and line.split()[1] not in known]
    return problems


def check_shown(known, files):
    problems = check_advice(known, files)
    for path in files:
        if path.endswith((".md", ".1", ".5", ".8", ".service", ".socket")) and not path.startswith("tests/conformance/goldens/"):
            problems += ["%s:%d: %s" % (path, number, wrong) for number, line in shown_in(path) if (wrong := judge(line, known))]
    for command in known.values():
        problems += ["muster %s --help: %s" % (command.name, wrong) for line in command.examples.splitlines()
                     if line.startswith("  muster ") and (wrong := judge(line, known))]
    return problems


# -------------------------------------------------------------------------------------------------- musterd and its settings
def example_keys():
    table, found = "", set()
    for line in text_of(EXAMPLE).splitlines():
        heading, key = re.match(r"\[(\w+)\]", line), re.match(r"# (\w+) = ", line)
        table = heading[1] if heading else table
        found |= {"%s.%s" % (table, key[1])} if key else set()
    return found


def page_keys():
    """Keys that muster.toml(5) has an entry for."""
    found = set()
    for table, body in re.findall(r'^\.SH "\[(\w+)\]"\n((?:(?!\.SH).*\n)*)', text_of(TOML), re.M):
        for line in re.findall(r'^\.TP\n\.BR? (.* "? ?\(.*)$', body, re.M):
            found |= {"%s.%s" % (table, key) for key in re.findall(r"\b[a-z_]+\b", line.split(" (")[0].replace('"', " "))}
    return found


def check_settings():
    """Each setting stands in musterd(8) with its variable and key, in muster.toml(5) and in the example, and nothing else does."""
    page = text_of(MUSTERD).replace("\\-", "-")
    entries = {part.split()[0]: part for part in re.split(r"^\.TP\n\.BI? --", page, flags=re.M)[1:]}
    rows, problems = settings(), []
    for flag, variable, key in rows:
        entry = entries.get(flag, "")
        problems += ["%s: --%s: %s is missing" % (MUSTERD, flag, what) for what in (flag, variable, key)
                     if not re.search(r"(?<![\w.])%s(?![\w.]*\w)" % re.escape(what), entry)]
    problems += ["%s: there is no --%s" % (MUSTERD, flag) for flag in sorted(set(entries) - {row[0] for row in rows} - FOREIGN)]
    keys = {row[2] for row in rows if row[2]} | {"cli.detach_keys"}
    for path, there in ((TOML, page_keys()), (EXAMPLE, example_keys())):
        problems += ["%s: %s is missing" % (path, key) for key in sorted(keys - there)]
        problems += ["%s: there is no key %s" % (path, key) for key in sorted(there - keys)]
    return problems


def check_coopfile():
    """docs/coopfile.md has a row for each key of a coopfile, and each key of `.aiwg/daemon.json` stands in docs/aiwg*.md."""
    rows = re.findall(r'\{"([a-z_]+)", (?:"([a-z_]+)"|NULL), apply_', text_of("src/sessions/coopfile/coopfile-merge.c"))
    keys = {"%s.%s" % (table, key) for table, key in rows if key} | {"env.NAME", "packages.MANAGER"}
    lines = [line.split(" | ")[:2] for line in text_of("docs/coopfile.md").splitlines() if re.match(r"\| `[a-z_]+\.", line)]
    shown = {key for cells in lines for cell in cells for key in re.findall(r"`(\w+\.\w+)`", cell)}
    problems = ["docs/coopfile.md: %s is %s" % (key, "missing" if key in keys else "no key") for key in sorted(keys ^ shown)]
    words = re.findall(r"(\w+)_keys = \{(.*?)\};", text_of("src/tasks/rules/rule-words.c"), re.S)
    pages = text_of("docs/aiwg.md") + text_of("docs/aiwg-automation.md") + text_of("docs/protocols.md")
    assert len(keys) > 20 and len(words) > 10, "tables of keys"
    return problems + ["docs/aiwg*.md: %s of %s is missing" % (key, table) for table, text in words for key in re.findall(r'"(\w+)"', text)
                       if not re.search(r'[`.{"]%s[`"},]' % key, pages)]


def check_variables(files):
    """Variables of ours that the programs read or set stand in a manual page, and muster(1) lists what goes from the caller to agents."""
    pages = text_of(MUSTER) + text_of(MUSTERD)
    sources = [text_of(path) for path in files if path.startswith("src/") and path.endswith((".c", ".h")) and "/test-" not in path]
    ours = {name for source in sources for name in re.findall(r'"(MUSTER_[A-Z_]*[A-Z])["=]', source)}
    problems = ["no manual page names %s" % name for name in sorted(ours) if not re.search(r"\b%s\b" % name, pages)]
    table = re.search(r"names\[\] = \{(.*?)\};", text_of("src/cli/link/caller-env.c"), re.S)[1]
    names = {name for name in re.findall(r'"([A-Z_*]+)"', table) if not name.startswith("XDG_")}
    listed = {name for line in re.findall(r"^\.Ev (.*)$", sections()["env"], re.M) for name in re.findall(r"[A-Z_]+\*?", line)} - {"XDG_*"}
    return problems + ["%s: env: %s is %s" % (MUSTER, name, "missing" if name in names else "not passed") for name in sorted(names ^ listed)]


def check_mail_words():
    """Each word that delivery says has a row in docs/cccc-delivery.md and stands in muster(1), and no row is of another word."""
    page = text_of("docs/cccc-delivery.md")
    words = set(re.findall(r'\] = "([^"]+)"', text_of("src/collab/delivery/mail-words.c")))
    table = re.search(r"^\| word \| means .*\n((?:\|.*\n)*)", page, re.M)[1]
    rows = {word for cell in re.findall(r"^\| ([^|]*) \|", table, re.M) for word in re.findall(r"`([^`]+)`", cell)}
    assert len(words) > 30, "mail-words.c"
    shown = sections()["mail"]
    return (["docs/cccc-delivery.md: %s is %s" % (word, "missing" if word in words else "no word of mail-words.c") for word in sorted(words ^ rows)] +
            ["%s: mail: %s is missing" % (MUSTER, word) for word in sorted(words - {"mark", "empty"}) if not re.search(r"\b%s\b" % word, shown)])


# --------------------------------------------------------------------------------------------------------------- operations
def check_operations(files):
    """docs/protocols.md, of CCCC docs/cccc.md, names every operation of schema/."""
    parts = dict(re.findall(r"^## (\S+)\n((?:(?!## ).*\n)*)", text_of("docs/protocols.md"), re.M))
    parts = {"aiwg": parts["AIWG"], "coop": parts["coop"], "native": parts["native"], "cccc": text_of("docs/cccc.md")}
    found = [path.split("/")[1:] for path in files if re.fullmatch(r"schema/\w+/[a-z]\S*\.json", path)]
    return ["%s: %s is missing" % ("docs/cccc.md" if dialect == "cccc" else "docs/protocols.md", name[:-5]) for dialect, name in found
            if dialect in parts and name != "daemon.advance.json" and "`%s`" % name[:-5] not in parts[dialect]]


# -------------------------------------------------------------------------------------------------------- what was said twice
def check_changelog():
    """No ten words in a row stand in two lines of CHANGELOG.md: that is what a conflict leaves that was resolved in haste."""
    problems, seen = [], {}
    for number, line in enumerate(text_of("CHANGELOG.md").splitlines(), 1):
        words = line.split()
        for some in (tuple(words[i:i + 10]) for i in range(len(words) - 9)):
            if seen.setdefault(some, number) != number:
                problems.append("CHANGELOG.md:%d: as line %d: %s" % (number, seen[some], " ".join(some)))
                break
    return problems


# -------------------------------------------------------------------------------------------------------------------- links
def anchors(path):
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", text_of(path), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def check_links(files):
    """Pages that pages name, by a link or as `page.md`, exist, and so do the headings that links name."""
    problems, known = [], set(files)
    for path in files:
        if not path.endswith(".md") or path.startswith(("tests/", "docs/reference/")):
            continue
        for number, line in enumerate(text_of(path).splitlines(), 1):
            for target in re.findall(r"\]\(([^)\s]+)\)|`([a-z0-9/-]+\.md)`", line):
                name, _, anchor = (target[0] or target[1]).partition("#")
                places = [os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path, name]
                found = next((place for place in places if place in known), None)
                if "://" not in name and name not in PAGES_OF_OTHERS and (not found or anchor and anchor not in anchors(found)):
                    problems.append("%s:%d: there is no %s" % (path, number, target[0] or target[1]))
    return problems


def check_texts(files):
    known = commands()
    assert len(known) > 30, "commands-*.c"
    return (check_help(known) + check_page(known) + check_shown(known, files) + check_settings() + check_coopfile() +
            check_variables(files) + check_mail_words() + check_operations(files) + check_links(files) + check_changelog())
