#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Modes: what a program has asked of its terminal beside drawing: the alternate screen, mouse, paste and
 * keyboard modes, cursor shape, margins, title.
 *
 * It sees all bytes of a hosted process, always, so it is made to be cheap: one memchr() over text. So the
 * modes are right even when the sequence that set them left the ring long ago. It draws nothing; that is
 * Screen, which embeds one. Less than 1 KiB. Embedded in its owner; modes_init() before use.
 */
#include "core/term/vt.h"

typedef enum ModeFlag {
        MODE_CURSOR_KEYS = 1 << 0, /* 1: arrows send SS3 */
        MODE_REVERSE_SCREEN = 1 << 1,
        MODE_ORIGIN = 1 << 2,
        MODE_AUTOWRAP = 1 << 3,
        MODE_CURSOR_VISIBLE = 1 << 4,
        MODE_SIDE_MARGINS = 1 << 5,    /* 69 */
        MODE_MOUSE_X10 = 1 << 6,       /* 9; of this one and the three below at most one is set */
        MODE_MOUSE_CLICK = 1 << 7,     /* 1000 */
        MODE_MOUSE_DRAG = 1 << 8,      /* 1002 */
        MODE_MOUSE_MOVE = 1 << 9,      /* 1003 */
        MODE_FOCUS = 1 << 10,          /* 1004 */
        MODE_MOUSE_UTF8 = 1 << 11,     /* 1005; at most one of these four */
        MODE_MOUSE_SGR = 1 << 12,      /* 1006 */
        MODE_MOUSE_URXVT = 1 << 13,    /* 1015 */
        MODE_MOUSE_PIXELS = 1 << 14,   /* 1016 */
        MODE_WHEEL_KEYS = 1 << 15,     /* 1007: the wheel sends arrows in the alternate screen */
        MODE_PASTE = 1 << 16,          /* 2004: bracketed */
        MODE_COLOUR_REPORTS = 1 << 17, /* 2031 */
        MODE_SIZE_REPORTS = 1 << 18,   /* 2048 */
        MODE_ALTERNATE = 1 << 19,      /* 47, 1047, 1049 */
        MODE_KEYPAD = 1 << 20,         /* ESC = */
        MODE_INSERT = 1 << 21,         /* 4 */
        MODE_NEWLINE = 1 << 22,        /* 20 */
} ModeFlag;

/* A DEC private mode that is a plain switch. */
typedef struct ModeInfo {
        uint32_t flag;
        uint32_t others; /* that go off with any change of this one */
        uint16_t number;
        bool is_optional; /* terminals differ in its default: say nothing unless the program did */
} ModeInfo;

enum {
        MODES_TITLE_MAX = 200,
        MODES_KEYBOARDS = 8,
        MODES_N_INFOS = 19,
};

extern const ModeInfo mode_infos[MODES_N_INFOS];

typedef struct Modes {
        VtParser parser;
        uint32_t set;           /* ModeFlag */
        uint32_t seen;          /* ever changed */
        uint8_t cursor_shape;   /* of DECSCUSR: 0 is the terminal's own */
        uint8_t modify_keys;    /* xterm's modifyOtherKeys */
        uint8_t n_keyboards[2]; /* kitty keyboard flags pushed, on the main and the alternate screen */
        uint8_t keyboards[2][MODES_KEYBOARDS]; /* [0] below what is pushed */
        uint16_t top, bottom;                  /* scroll region as asked for; 0, 0: none */
        uint16_t left, right;
        uint32_t n_queries; /* so far: what a terminal is asked and Screen can answer */
        uint8_t n_title;
        char title[MODES_TITLE_MAX]; /* UTF-8 without controls */
} Modes;

void modes_init(Modes *modes);
void modes_feed(Modes *modes, Str bytes);
/* What the sequence that modes->parser has just read does; for owners that drive the parser themselves. */
void modes_apply(Modes *modes, VtEvent event);
/* Terminals drop their margins when their size changes. */
void modes_resized(Modes *modes);
/* 0: unknown, 1: set, 2: reset, as DECRPM has it. */
unsigned modes_report(const Modes *modes, unsigned number);
unsigned modes_keyboard(const Modes *modes);
/* 10, 11, 12: the string just read asks for the colour of text, background, cursor; 0: it does not. */
unsigned modes_colour_query(const VtParser *vt);
