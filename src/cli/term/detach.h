#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Detach: finds, in what a terminal sends, the keys that leave; all the rest is for the program.
 *
 * A key is known in each form that terminals have for it: its control byte, CSI code ; modifiers u (kitty,
 * with event types and alternates, and xterm) and CSI 27 ; modifiers ; code ~ (modifyOtherKeys). Inside a
 * bracketed paste nothing is a key. The keys pressed twice are sent once. Bytes of a sequence that is not
 * whole yet are held, for a moment: where reads cut the stream makes no difference. Knows no descriptor and
 * no clock: its owner asks how long to wait and says when that is over. Owned by the Relay.
 */
#include "core/term/vt.h"

enum { DETACH_KEYS_MAX = 4, DETACH_TEXT_MAX = 64 };
enum { _DETACH_E_SUCCESS, DETACH_E_INVALID };

typedef struct DetachKey {
        char character; /* small, where it is a letter with control */
        bool has_control;
} DetachKey;

typedef struct DetachKeys {
        DetachKey keys[DETACH_KEYS_MAX];
        size_t n;                   /* 0: no key leaves */
        char text[DETACH_TEXT_MAX]; /* for people: Ctrl+P D */
} DetachKeys;

#define DETACH_KEYS_DEFAULT "C-]"

/*
 * Keys with commas between them: C-a (also ^a and ctrl-a), then others of this kind or characters; or none.
 * Condition: DETACH_E_INVALID: it is nothing of this.
 */
int detach_keys_parse(const char *text, DetachKeys *ret);

typedef struct Detach {
        const DetachKeys *keys;
        bool is_watching; /* the program gets nothing: one press is enough, and Ctrl+C is as good */
        bool is_pasting;
        bool leaves;  /* the keys were pressed; what follows is dropped */
        size_t at;    /* keys pressed so far; from keys->n on they are pressed for the second time */
        size_t n_end; /* bytes of the end of a paste that were seen */
        Buf round;    /* bytes of the keys pressed so far */
        Buf open;     /* bytes of the open sequence that are held */
        VtParser vt;
} Detach;

void detach_deinit(Detach *detach);
/* Appends to out what is for the program. Each fails only without memory. */
int detach_feed(Detach *detach, Str bytes, Buf *out);
/* How long to wait for the next byte, in milliseconds, until detach_pause(); -1: as long as it takes. */
int detach_wait_ms(const Detach *detach);
/* Nothing came in that time. */
int detach_pause(Detach *detach, Buf *out);
/* Nothing will come: what is held goes out. */
int detach_end(Detach *detach, Buf *out);
