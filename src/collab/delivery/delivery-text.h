#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Delivery texts: what is typed into an actor's terminal for messages and notices, and the introduction that
 * a session gets first. Pure functions over events and documents; what is typed when is collab/mailbox.h.
 *
 * What others wrote is made fit by collab/delivery/typed-text.h: it holds no keys, nothing hidden, and no line
 * that looks like one of ours. Only the heads that are written here begin a line with "[cccc]".
 */
#include "base/json/json.h"
#include "collab/group/group-doc.h"

enum { DELIVERY_QUOTE_MAX = 80, DELIVERY_FILES_MAX = 8, DELIVERY_TEAM_MAX = 8 };

/* One chat.message or system.notify, without a line end behind it. 0 or -ENOMEM, as all of these. */
int delivery_event_text(const Json *event, Buf *out);
/* Several, as one text; a reminder how to answer follows when chat is among them. */
int delivery_batch_text(const Json *const *events, size_t n, Buf *out);

typedef struct PreambleFacts {
        const GroupDoc *doc;
        const ActorView *actor;
        Str group_id;
        Str root;         /* folder of the active scope; empty: there is none */
        Str project;      /* path of its PROJECT.md; empty: it has none */
        Str body;         /* CCCC_PREAMBLE.md; blank: the built-in one */
        bool lacks_tools; /* it was started without ours, and can run `muster` instead */
} PreambleFacts;
int delivery_preamble_text(const PreambleFacts *facts, Buf *out);

/* The bytes for the terminal: wrapped as a paste, or with blanks for tabs. Replaces what is in out. */
int delivery_payload(Str text, bool is_paste, Buf *out);
Str delivery_submit_key(Str submit); /* "enter", "newline", "none"; empty: nothing is pressed */
