#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The gate of a mailbox: whether something may be typed into a terminal now, and if not, why and until when.
 * Pure: facts in, answer out. All times are those of the loop's clock, in ms.
 */
#include <stdbool.h>
#include <stdint.h>

#include "collab/group-doc.h"

typedef enum MailWhy {
        MAIL_GO,
        MAIL_EMPTY,     /* nothing is queued */
        MAIL_STOPPED,   /* the actor does not run */
        MAIL_PAUSED,    /* the group is paused */
        MAIL_IDLE,      /* the group is idle, and only notices are queued */
        MAIL_STARTING,  /* the program has just started */
        MAIL_THROTTLED, /* delivery.min_interval_seconds, or a second, in which what is sent goes together */
        MAIL_FAILED,    /* the last attempt failed, or the terminal took nothing */
        _MAIL_WHYS,
} MailWhy;

enum {
        GATE_OUTPUT_MS = 1000,   /* after the first output */
        GATE_SILENT_MS = 10000,  /* after the start, when nothing is printed or paste is not switched on */
        GATE_EVERY_MS = 1000,    /* between two attempts, and from the first that is queued to its own */
        GATE_FAILED_MS = 5000,   /* after a failed one */
        GATE_SUBMIT_MS = 1500,   /* from the text to the key */
        GATE_PREAMBLE_MS = 2000, /* from the preamble's key to the first message */
        GATE_BLOCKED_MS = 5000,  /* so long a terminal may take nothing */
        GATE_BLOCKED_STEP_MS = 100,
};

typedef struct GateFacts {
        int64_t now_ms;
        size_t n_chat, n_notices; /* queued */
        int64_t queued_ms;        /* since when there is something */
        GroupState state;
        bool is_running, is_introduced; /* the preamble was sent in this session */
        int64_t started_ms;
        int64_t output_ms, paste_ms; /* first output, paste switched on; < 0: not yet */
        int64_t tried_ms,
                failed_ms; /* the last attempt that went well, and the last that did not; < 0: none */
        int64_t min_interval_ms;
} GateFacts;

/* *ret_due_ms: when to ask again; INT64_MAX: when something has changed. */
MailWhy delivery_gate(const GateFacts *facts, int64_t *ret_due_ms);
const char *mail_why_name(MailWhy why);
