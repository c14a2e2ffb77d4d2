#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Live: the subscriptions of one connection, which is told the events of the workspaces that it has named, as
 * they are kept.
 *
 * An event goes to each subscription that it fits, as one notification. A connection that does not read falls
 * behind: once LIVE_WAITING_MAX bytes wait for it nothing more is queued, only how far each trail was told, and
 * when it has read what waits it is told the rest from the files. Nothing is left out, nothing is told twice,
 * and the order of each trail stays. Hangs on the connection's visit. Loop thread.
 */
#include "company/workspace.h"
#include "core/client.h"
#include "core/store/store.h"

enum {
        LIVE_SUBSCRIPTIONS_MAX = 1000, /* of one connection; another one is refused */
        LIVE_WAITING_MAX = 8 << 20,    /* bytes: then it falls behind; also of one backfill */
        LIVE_TRAILS_MAX = 1000,        /* that it is behind in; with more it is closed */
        LIVE_READ_BYTES = 256 << 10,   /* of a trail, at a time */
};

typedef struct Live Live;

typedef struct LiveFilter {
        Str project_id, run_id; /* empty: any */
        StrList types;          /* none: any */
} LiveFilter;

/* Made or replaced; words are copied. 0, CALL_E_COMPANY with the call failed, or negative. */
int live_subscribe(Call *call, Str subscription_id, const LiveFilter *filter);
bool live_unsubscribe(Client *client, Str subscription_id);
bool live_ack(Client *client, Str subscription_id, int64_t at_ms);

void live_told(Workspace *workspace, const StoreTold *told); /* an event was kept */
void live_drained(Client *client);                           /* it has read what waited */
void live_end(Live *live);                                   /* the connection ends; NULL is fine */
/* One notification, as a text with its newline. */
int live_write(Buf *out, Str subscription_id, Str project_id, Str line);
bool live_wants(const LiveFilter *filter, Str project_id, Str run_id, Str type);
