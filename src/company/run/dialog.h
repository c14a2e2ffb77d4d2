#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Dialog: the lines that are exchanged with an app server (facts §6.4), as a machine without a process: it is fed with
 * what the program prints, in pieces, and says in `say` what the program is to be told.
 *
 *   IDLE ─ begin ─► GREETING ─ answer ─► THREAD ─ thread.id ─► TURN ─ turn.id ─► WORKING ─ turn/completed ─► OVER
 *                       │                  │                     │                 │                         ▲
 *                       └──────────────────┴── an error, a line that is too long ──┴─────────────────────────┘
 *
 * Lines that are no JSON object are passed over. It blocks nowhere and knows no thread; owned by its Run, whose texts it
 * borrows. Initialise with {0}.
 */
#include "base/macro.h"
#include "core/usage/usage-meter.h"

enum {
        DIALOG_LINE_MAX = 16 << 20,  /* bytes; a longer line ends the dialog */
        DIALOG_VALUES_MAX = 1 << 18, /* of JSON in a line; the same */
        DIALOG_ID_MAX = 256,         /* bytes of a thread's or a turn's name; the same */
        DIALOG_REQUEST_ID_MAX =
                1024, /* bytes of the id of a request; one with a longer id is not answered */
};

typedef enum DialogState {
        DIALOG_IDLE,
        DIALOG_GREETING,
        DIALOG_THREAD,
        DIALOG_TURN,
        DIALOG_WORKING,
        DIALOG_OVER
} DialogState;

typedef enum DialogVerdict {
        DIALOG_UNDECIDED,
        DIALOG_COMPLETED,
        DIALOG_INTERRUPTED,
        DIALOG_FAILED, /* the turn, says the program */
        DIALOG_BROKEN, /* the dialog itself: there is a reason */
} DialogVerdict;

typedef struct Dialog {
        Str prompt, model, folder; /* what is asked; an empty model: none. The owner's */
        UsageMeter *meter;         /* gets what is told of usage; the owner's */

        DialogState state;
        DialogVerdict verdict;
        char reason[256];
        char thread_id[DIALOG_ID_MAX + 1], turn_id[DIALOG_ID_MAX + 1]; /* empty: not known yet */
        Buf say;     /* whole lines; who has sent them empties it */
        Buf message; /* what the agent has written; who has kept it empties it */

        Buf rest, mended; /* private from here on */
        Arena scratch;
        unsigned n_requests;
        const UsageTold *told;
} Dialog;

/* Each returns 0 or -ENOMEM. */
int dialog_begin(Dialog *dialog);
int dialog_feed(Dialog *dialog, Str piece, const UsageTold *told);
int dialog_end(Dialog *dialog, const UsageTold *told); /* what is left is a line, too */
int dialog_interrupt(Dialog *dialog);                  /* only while there is a turn; else nothing */
/* It is over for this reason, unless it is over anyway. */
void dialog_break(Dialog *dialog, const char *format, ...) _printf_(2, 3);
void dialog_deinit(Dialog *dialog);
