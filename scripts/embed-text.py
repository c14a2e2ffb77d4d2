#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""embed-text.py NAME FILE OUT: the bytes of a text file as a C array that ends with a NUL."""
import sys

name, source, out = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read() + b"\0"
rows = [",".join(str(byte) for byte in data[at:at + 32]) for at in range(0, len(data), 32)]
with open(out, "w", encoding="ascii") as file:
    file.write("extern const char %s[];\nconst char %s[] = {\n%s};\n" % (name, name, ",\n".join(rows)))
