#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Events: the layout of a ledger line, and what the ledger's index keeps of one.
 *
 *   {"v":1,"id":…,"ts":…,"kind":…,"group_id":…,"scope_key":…,"by":…,"data":{…}}
 *
 * Tags are words under which lines can be listed without reading them. They are a coarse sieve: who lists by
 * them looks at the line before he believes it.
 *
 *   by:<who>                  every event
 *   to:<token>                chat.message: each recipient; "to:@all" when the list is empty
 *   to:*                      chat.message with more recipients than there is room for: for anybody
 *   re:<event id>             chat.message (what it answers), chat.ack, chat.read, system.notify_ack
 *   notify:<actor>, notify:*  system.notify: its target, or everybody
 *   attention:*               chat.message with that priority
 *   src:<event id>            chat.message that came from another group: its record there
 *   client:<client_id>        chat.message: the key of who asked for it, for idempotency
 *
 * So the inbox of X is the merge of to:@all, to:*, to:X, to:@peers or to:@foreman, notify:* and notify:X.
 */
#include "base/json/json-writer.h"
#include "core/ledger/ledger.h"

enum { EVENT_LINE_MAX = 256000, EVENT_TEXT_MAX = 32000 };
enum { EVENT_ID_DIGITS = 32 };

/* LedgerClassifyFn: pure, any thread. */
bool collab_classify(Arena *arena, const Json *line, LedgerFacts *facts);

/* "by:" + who and so on, in the arena; data is NULL without memory. */
Str event_tag(Arena *arena, const char *prefix, Str value);
