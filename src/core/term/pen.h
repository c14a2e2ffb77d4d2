#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Pen: how the next character will look: colours and attributes, as SGR sequences say it. A plain value.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/term/vt.h"

enum {
        PEN_BOLD = 1 << 0,
        PEN_DIM = 1 << 1,
        PEN_ITALIC = 1 << 2,
        PEN_BLINK = 1 << 3,
        PEN_REVERSE = 1 << 4,
        PEN_CONCEAL = 1 << 5,
        PEN_STRIKE = 1 << 6,
        PEN_OVERLINE = 1 << 7,
};

enum {
        PEN_DEFAULT = 0,       /* the terminal's own colour */
        PEN_INDEXED = 1 << 24, /* | 0..255 */
        PEN_RGB = 2 << 24,     /* | 0xrrggbb */
        PEN_COLOUR_KIND = 3 << 24,
        PEN_SGR_MAX = 96, /* bytes that pen_sgr() writes at most */
};

typedef struct Pen {
        uint32_t fg, bg;
        uint8_t attrs;
        uint8_t underline; /* 0, 1 single, 2 double, 3 curly */
} Pen;

#define PEN_NULL ((Pen){0})

static inline bool pen_eq(Pen a, Pen b) {
        return a.fg == b.fg && a.bg == b.bg && a.attrs == b.attrs && a.underline == b.underline;
}

/* What CSI … m does to it. Colours of underlines and unknown numbers change nothing. */
void pen_apply(Pen *pen, const VtParser *sgr);
/*
 * Writes the sequences that set exactly this pen from any other; returns their length. libvterm keeps no
 * dim, conceal and overline: with for_libvterm they become one of its font numbers, which it does keep.
 */
size_t pen_sgr(char *out, const Pen *pen, bool for_libvterm);
