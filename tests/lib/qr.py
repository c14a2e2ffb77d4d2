# SPDX-License-Identifier: MIT
"""What a phone sees of a QR code in a terminal: the modules that were printed, held against those that libqrencode makes of the same text. That library is what
muster draws with, too; what is shown here is that nothing is lost on the way from it to the screen, and that the text is the whole address."""
import ctypes
import ctypes.util
import re

from checks import check, equal

QUIET = 2  # light modules around it
DARK_ON_LIGHT = re.compile("\x1b\\[30;47m([^\x1b\r\n]*)\x1b\\[0m\r?\n")
HALVES = {" ": (False, False), "\u2580": (True, False), "\u2584": (False, True), "\u2588": (True, True)}  # upper, lower; the ink is the dark one


class _QrCode(ctypes.Structure):
    _fields_ = [("version", ctypes.c_int), ("width", ctypes.c_int), ("data", ctypes.POINTER(ctypes.c_ubyte))]


def _encoded(text):
    """Rows of modules, True is dark: bytes as they are, the smallest version, the lowest level of correction."""
    library = ctypes.CDLL(ctypes.util.find_library("qrencode"))
    library.QRcode_encodeString8bit.restype = ctypes.POINTER(_QrCode)
    library.QRcode_free.argtypes = [ctypes.POINTER(_QrCode)]
    made = library.QRcode_encodeString8bit(text.encode(), 0, 0)
    check(made, "no QR code holds %r" % text)
    n = made[0].width
    rows = [[bool(made[0].data[y * n + x] & 1) for x in range(n)] for y in range(n)]
    library.QRcode_free(made)
    return rows


def _blocks(screen):
    rows = []
    for line in DARK_ON_LIGHT.findall(screen):
        check(set(line) <= set(HALVES), lambda: "no half blocks: %r" % line)
        rows += [[HALVES[c][half] for c in line] for half in (0, 1)]
    return rows


def _ascii(screen, n):
    """Pairs of characters, two for a module: the lines that are as wide as it has to be."""
    lines = [line for line in re.split("\r?\n", screen) if len(line) == 2 * n and not line.strip("# ")]
    check(all(line[::2] == line[1::2] for line in lines), "the two of a pair differ")
    return [[c == "#" for c in line[::2]] for line in lines]


def check_qr(screen, address, ascii_only=False):
    """The QR code on the screen, the only one there, says this address and nothing else."""
    want = _encoded(address)
    n = len(want) + 2 * QUIET
    rows = _ascii(screen, n) if ascii_only else _blocks(screen)
    check(rows, "no QR code")
    equal({len(row) for row in rows}, {n}, "columns of modules")
    below = [] if ascii_only else [False] * n  # n is odd: the last line of half blocks has half a row more
    whole = [[False] * n] * QUIET + [[False] * QUIET + row + [False] * QUIET for row in want] + [[False] * n] * QUIET + ([below] if below else [])
    equal(["".join(" #"[m] for m in row) for row in rows], ["".join(" #"[m] for m in row) for row in whole], "the modules")
