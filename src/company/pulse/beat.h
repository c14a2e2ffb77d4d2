#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Beat: the clock of a workspace's pulse, and what is known of it in memory. It beats while a connection that has named
 * the workspace is open, and with company.heartbeat = "always" from then on for as long as the daemon runs: a daemon
 * that never ends must not wake agents that are paid for, for ever, where nobody looks.
 *
 * Owned by its Workspace, made when it is first observed or asked. Loop thread.
 */
#include "base/json/json-writer.h"
#include "company/workspace.h"

typedef struct Beat {
        Workspace *workspace;
        Timer timer;
        bool is_planned;   /* the documents were read since it is observed */
        bool is_looking;   /* and are being read */
        bool is_checked;   /* what a tick of an earlier daemon left in them is put right */
        bool is_ticking;   /* one at a time */
        bool is_kept;      /* "always": it holds a reference */
        struct Tick *tick; /* that waits for what workers report; NULL: none does */
        int64_t next_us;   /* of the wall clock; 0: none is planned */
        const Client *
                last; /* who has named it last and is there: jobs of a tick have its environment; NULL: nobody */
        char *summary;    /* what the last tick has answered, JSON; NULL: there was none */
        char *last_error; /* of a tick that began by itself; NULL: none */
} Beat;

Beat *beat_of(Workspace *workspace); /* NULL without memory */
void beat_free(Workspace *workspace);
/* One more, or one less, has named it and is there. */
void beat_observe(Workspace *workspace, const Client *client);
void beat_leave(Workspace *workspace, const Client *client);
bool beat_is_running(const Workspace *workspace); /* it is observed, or kept */

/* When the next tick is, by the documents: at next_tick_at if that is to come, else one interval from now. */
void beat_plan(Beat *beat, const Json *config, const Json *state);
void beat_set(Beat *beat, int64_t next_us); /* 0: none */
void beat_forget(Workspace *workspace);     /* the settings have changed: it is planned anew */
/* fn, when what is planned is known. As a handler returns. */
int beat_ready(Call *call, Workspace *workspace, WorkspaceFn fn, const Carry *carry);
/* The members of heartbeat.status's runtime. */
void beat_write(const Workspace *workspace, JsonWriter *w);
