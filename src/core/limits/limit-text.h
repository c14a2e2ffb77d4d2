#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * LimitTexts: what agent programs print when a limit stops them, as data (limit-texts.toml, in the program). The weakest of all sources:
 * agents print such sentences, too, so who asks has to know that the turn has failed, or that nothing else can tell. Pure, for any thread.
 */
#include "base/arena.h"
#include "core/limits/limit-time.h"

enum {
        LIMIT_TEXTS_MAX = 200, /* rows */
        LIMIT_TEXT_BELOW =
                12, /* lines of the screen with something in them, from the last one up, that are looked at */
        LIMIT_TEXT_JOINED = 3, /* lines that one sentence may be broken into */
        LIMIT_LINE_MAX = 1024, /* bytes of one */
        LIMIT_WINDOW_MAX = 32, /* bytes of the name of a window */
};

typedef struct LimitText {
        Str runtime, begins, reset, window, option;
} LimitText;

typedef struct LimitTexts {
        Arena arena;
        LimitText *rows; /* in the arena */
        size_t n;
} LimitTexts;

typedef struct LimitFound {
        char window[LIMIT_WINDOW_MAX];
        char line[LIMIT_LINE_MAX]; /* what was found, in one line */
        bool is_asked; /* the choices of a dialog stand below it: the program waits, whatever else it says */
        bool has_time;
        LimitTime time; /* its zone points into line */
        uint64_t hash;  /* of the sentence, by which it is known again */
} LimitFound;

/* Rows of a file; *ret_why: what is wrong with it, NULL: nothing. 0 or -ENOMEM. */
int limit_texts_read(LimitTexts *ret, Str toml, const char **ret_why);
int limit_texts_read_ours(LimitTexts *ret);
void limit_texts_deinit(LimitTexts *texts);
/* The last such sentence of this program among the last lines of what a screen shows. */
bool limit_text_find(const LimitTexts *texts, Str runtime, Str screen, LimitFound *ret);
