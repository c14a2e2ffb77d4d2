#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Turns the declarations in schema/ into C tables, the OpenRPC document and the reference pages.

    gen-ops.py --schema DIR --out DIR [--docs DIR] [--version X] [--depfile FILE]

The format of a declaration is described in schema/README.md. The output depends on the declarations and the version
only, and a file is written only when its content changed. A declaration that is wrong is reported with its file and
member; all of them are reported before the generator gives up, and then nothing is written.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True  # the source tree stays as it is

from genops.files import depfile_text, docs, outputs, package_files, write_all, write_if_changed
from genops.model import GENERIC, SCHEMA_FORMATS, SCHEMA_KEYWORDS, SCHEMA_TYPES  # for tests/unit/test_gen_ops.py
from genops.read import Reader


def main(argv):
    parser = argparse.ArgumentParser(description="Generate C tables and documents from schema/.")
    parser.add_argument("--schema", required=True, metavar="DIR", help="the declarations")
    parser.add_argument("--out", required=True, metavar="DIR", help="where the C files go; included as gen/…")
    parser.add_argument("--docs", metavar="DIR", help="where the reference pages go; none without it")
    parser.add_argument("--version", default="0", metavar="X", help="version of the project, for OpenRPC")
    parser.add_argument("--depfile", metavar="FILE", help="make rules; the target is OUT/errors.h")
    options = parser.parse_args(argv)

    reader = Reader(options.schema)
    schema = reader.read()
    if schema is None:
        print("\n".join(reader.problems), file=sys.stderr)
        print(f"gen-ops: {len(reader.problems)} problem(s) in {options.schema}", file=sys.stderr)
        return 1

    write_all(options.out, outputs(schema, options.version))
    if options.docs:
        write_all(options.docs, docs(schema))
    if options.depfile:
        inputs = [os.path.abspath(__file__), *package_files(), *reader.inputs]
        write_if_changed(options.depfile, depfile_text(os.path.join(options.out, "errors.h"), inputs))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
