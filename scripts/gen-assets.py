#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes one C file of the web console: a table of files and their bytes (src/dialect/http/assets.h).

  scripts/gen-assets.py --web web --work DIR --out FILE.c --depfile FILE.d --console auto|enabled|disabled

In this order: a folder web/dist, as releases have it, is taken as it is; else node and npm build it from web/ (npm ci, web/build.mjs) in DIR;
where that cannot be had, `auto` embeds web/fallback/ and says why in one line, `enabled` fails. Only npm touches the network, and only when the
lock file is not what is installed.
"""
import argparse
import fcntl
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
         ".txt": "text/plain; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png", ".webmanifest": "application/manifest+json"}
PAGES = {"/index.html": "/", "/connect.html": "/connect"}  # files that are asked for by another name
PLAIN_MAX = 16384  # a longer file that compresses well is embedded in its coded forms only
NODE_MIN = 18


class NoConsole(Exception):
    """Why the console cannot be built here."""


def need_programs():
    for name in ("node", "npm"):
        if not shutil.which(name):
            raise NoConsole("%s is missing (scripts/deps installs it)" % name)
    version = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, text=True, check=False).stdout
    found = re.match(r"v(\d+)\.", version)
    if not found or int(found[1]) < NODE_MIN:
        raise NoConsole("node is %s, %d or newer is needed" % (version.strip() or "broken", NODE_MIN))


def run(command, cwd, what):
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
    if done.returncode:
        raise NoConsole("%s failed: %s" % (what, " ".join(done.stdout.split())[-400:]))
    return done.stdout


def is_installed(web, packages):
    """Whether each package of the lock file that the build needs is there, in its version."""
    for path, package in packages.items():
        if path and not package.get("dev") and not package.get("optional"):
            try:
                with open(os.path.join(web, path, "package.json"), encoding="utf-8") as f:
                    if json.load(f)["version"] != package["version"]:
                        return False
            except OSError:
                return False
    return True


def install(web):
    """The packages of the lock file, once; two builds may want them at the same time."""
    with open(os.path.join(web, "package-lock.json"), "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_installed(web, json.load(lock)["packages"]):
            run(["npm", "ci", "--omit=dev", "--prefer-offline", "--fetch-retries=1", "--loglevel=error"], web, "npm ci")


def build(web, work):
    need_programs()
    install(web)
    dist = os.path.join(work, "dist")
    run(["node", os.path.join(web, "build.mjs"), "--out", dist], web, "web/build.mjs")
    return dist


def choose(options):
    """The folder with the files, what it is, and why it is not the console."""
    if options.console == "disabled":
        return os.path.join(options.web, "fallback"), "fallback", "the build was told to leave it out (-Dconsole=disabled)"
    if os.path.exists(os.path.join(options.web, "dist", "index.html")):
        return os.path.join(options.web, "dist"), "console", ""
    try:
        return build(options.web, options.work), "console", ""
    except NoConsole as e:
        if options.console == "enabled":
            sys.exit("the console cannot be built: %s" % e)
        print("console: the page without it is built in, since %s. `make console` tries again." % e, file=sys.stderr)
        return os.path.join(options.web, "fallback"), "fallback", str(e)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def files_of(folder):
    """(path in a request, file), sorted; coded forms lie beside their file and are none of their own."""
    found = []
    for base, _, names in os.walk(folder):
        for name in names:
            if os.path.splitext(name)[1] in TYPES:
                path = "/" + os.path.relpath(os.path.join(base, name), folder)
                found.append((PAGES.get(path, path), os.path.join(base, name)))
    return sorted((path.encode(), name) for path, name in found)


def c_string(text):
    return '"%s"' % text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


class Writer:
    """The C file, and the coded forms that it draws in by .incbin."""

    def __init__(self, work):
        self.work, self.blobs, self.rows = work, [], []

    def blob(self, path):
        """A name for the bytes of a file."""
        name = "asset_%d" % len(self.blobs)
        self.blobs.append((name, os.path.abspath(path), os.path.getsize(path)))
        return "{%s, %d}" % (name, os.path.getsize(path))

    def coded(self, path, suffix, n_plain, data=None):
        """Its coded form, where it is shorter by a tenth."""
        name = path + suffix
        if data is not None:
            name = os.path.join(self.work, hashlib.sha256(path.encode()).hexdigest()[:16] + suffix)
            with open(name, "wb") as f:
                f.write(data)
        return self.blob(name) if os.path.exists(name) and os.path.getsize(name) * 10 < n_plain * 9 else "{NULL, 0}"

    def add(self, path, name):
        data = read(name)
        packed = None if os.path.exists(name + ".gz") else gzip.compress(data, 9, mtime=0)
        zipped = self.coded(name, ".gz", len(data), packed)
        plain = self.blob(name) if len(data) <= PLAIN_MAX or zipped.startswith("{NULL") else "{NULL, 0}"
        self.rows.append("        {%s, %s, %s, %s, %d, %s, %s, %s}," % (
            "{%s, %d}" % (c_string(path.decode()), len(path)), self.literal(TYPES[os.path.splitext(name)[1]]), self.literal('"%s"' % hashlib.sha256(data).hexdigest()),
            "true" if re.search(r"-[0-9A-Z]{8}\.\w+$", name) else "false", len(data), plain, zipped, self.coded(name, ".br", len(data))))

    @staticmethod
    def literal(text):
        return "{%s, %d}" % (c_string(text), len(text))

    def text(self, kind, reason):
        out = ["/* Made by scripts/gen-assets.py. */", '#include "dialect/http/assets.h"', ""]
        for name, path, n in self.blobs:
            out.append('__asm__(".pushsection .rodata\\n.balign 16\\n%s:\\n.incbin %s\\n.byte 0\\n.popsection\\n"); /* %d bytes */' % (name, c_string(c_string(path))[1:-1], n))
            out.append("extern const char %s[];" % name)
        out += ["", "const Asset assets_table[] = {", *self.rows, "};", "",
                "const size_t n_assets_table = sizeof(assets_table) / sizeof(assets_table[0]);",
                "const char assets_table_kind[] = %s;" % c_string(kind), "const char assets_table_reason[] = %s;" % c_string(reason), ""]
        return "\n".join(out)


def sources(web):
    return sorted(os.path.join(base, name) for base, folders, names in os.walk(web) for name in names
                  if "node_modules" not in base.split(os.sep) and not folders.sort())


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("web", "work", "out", "depfile"):
        ap.add_argument("--" + name, required=True)
    ap.add_argument("--console", choices=("auto", "enabled", "disabled"), default="auto")
    options = ap.parse_args()
    os.makedirs(options.work, exist_ok=True)
    folder, kind, reason = choose(options)
    writer = Writer(options.work)
    for path, name in files_of(folder):
        writer.add(path, name)
    with open(options.out, "w", encoding="utf-8") as f:
        f.write(writer.text(kind, reason))
    with open(options.depfile, "w", encoding="utf-8") as f:
        f.write("%s: %s\n" % (options.out, " ".join(x.replace(" ", "\\ ") for x in [os.path.abspath(__file__), *sources(os.path.abspath(options.web))])))


if __name__ == "__main__":
    main()
