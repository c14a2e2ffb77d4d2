/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/docket"

#include "core/attention/docket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "base/time.h"
#include "core/daemon.h"

enum { DOCKET_LINE_DIGITS = 24 };

/* ---- lines ----------------------------------------------------------------------------------- */

int docket_line_begin(const Docket *docket, JsonWriter *w, const char *kind) {
        char id[DOCKET_LINE_DIGITS + 1], ts[TIME_TEXT_MAX];
        int r = id_hex(id, DOCKET_LINE_DIGITS);

        if (r)
                return error_trace(r);
        time_format_us(loop_wall_us(docket->daemon->loop), ts);
        jw_begin_object(w);
        jw_field_int(w, "v", 1);
        jw_field_cstr(w, "id", id);
        jw_field_cstr(w, "ts", ts);
        jw_field_cstr(w, "kind", kind);
        return 0;
}

int docket_line_end(JsonWriter *w, Buf *out) {
        jw_end_object(w);
        return w->failed || !buf_cstr(out) ? error_origin(-ENOMEM) : 0;
}

bool docket_classify(const Json *line, LedgerFacts *facts) {
        *facts = (LedgerFacts){.id = json_text_of(line, "id"), .kind = json_text_of(line, "kind")};
        if (!time_parse(json_text_of(line, "ts"), &facts->ts_us))
                facts->ts_us = 0;
        return facts->id.n && facts->kind.n;
}

static void docket_bound(Docket *docket);

static void docket_on_kept(LedgerChange *change, int r) {
        DocketLine *line = container_of(change, DocketLine, change);
        Docket *docket = line->docket;

        if (r)
                log_warning(&docket->daemon->log, docket->path, "a line was not kept: %s", strerror(-r));
        if (line->done)
                line->done(line, r);
        free(line);
        docket_bound(docket);
}

int docket_append(Docket *docket, Str first, Str second, const char *id, DocketKeptFn done, void *user) {
        DocketLine *line = docket->ledger ? calloc(1, sizeof(*line)) : NULL;
        int r;

        if (!line)
                return error_origin(docket->ledger ? -ENOMEM : -ESHUTDOWN);
        line->docket = docket;
        line->done = done;
        line->user = user;
        if (id)
                memcpy(line->id, id, strnlen(id, sizeof(line->id) - 1));
        ledger_change_init(&line->change, docket->ledger, docket_on_kept);
        r = ledger_change_line(&line->change, first);
        if (!r && second.n)
                r = ledger_change_line(&line->change, second);
        if (!r)
                r = ledger_change_commit(&line->change);
        if (!r)
                return 0;
        ledger_change_deinit(&line->change);
        free(line);
        return error_trace(r);
}

/* ---- its bound ------------------------------------------------------------------------------- */

void docket_remember(Docket *docket, Str tag_word) {
        LedgerTag tag = tag_word.data ? ledger_tag(docket->ledger, tag_word) : (LedgerTag){0};
        LedgerCursor cursor;
        uint64_t position;

        if (ledger_tag_is_none(tag) || ledger_cursor_init(&cursor, docket->ledger, &tag, 1, 0, false))
                return;
        while (ledger_cursor_next(&cursor, &position))
                if (position < docket->n_positions)
                        docket->stays[position] = true;
}

static void docket_on_shortened(void *user, int r) {
        Docket *docket = user;

        docket->is_shortening = false;
        free(docket->positions);
        docket->positions = NULL;
        if (r)
                log_warning(&docket->daemon->log, docket->path, "cannot be shortened: %s", strerror(-r));
}

/* Lines that nothing remembered has a tag of. */
static size_t docket_collect_gone(Docket *docket) {
        size_t n_gone = 0;

        docket->type->remember(docket);
        for (uint64_t i = 0; i < docket->n_positions; i++)
                if (!docket->stays[i])
                        docket->positions[n_gone++] = i;
        return n_gone;
}

/* The last archive has been removed. */
static void docket_shorten(void *user) {
        Docket *docket = user;
        uint64_t n = docket->life == DOCKET_READY ? ledger_n_committed(docket->ledger) : 0;
        int r = 0;

        docket->n_positions = n;
        docket->stays = n ? calloc(n, sizeof(*docket->stays)) : NULL;
        docket->positions = docket->stays ? calloc(n, sizeof(*docket->positions)) : NULL;
        if (docket->positions)
                r = ledger_rewrite(docket->ledger, docket->positions, docket_collect_gone(docket),
                                   docket->archive, docket_on_shortened, docket);
        free(docket->stays);
        docket->stays = NULL;
        if (r || !docket->positions)
                docket_on_shortened(docket, r);
}

static void docket_drop_archive(void *user) {
        const Docket *docket = user;

        (void)unlink(docket->archive);
}

static void docket_bound(Docket *docket) {
        if (docket->is_shortening || docket->life != DOCKET_READY ||
            ledger_n_committed(docket->ledger) < docket->type->n_lines_max)
                return;
        docket->is_shortening =
                !loop_work(docket->daemon->loop, docket_drop_archive, docket_shorten, docket);
}

/* ---- calls that wait ------------------------------------------------------------------------- */

typedef struct DocketCall { /* in the call's arena */
        LIST_ENTRY(DocketCall) link;
        Call *call;
        CallThenFn then;
        const Carry *carry;
} DocketCall;

static int docket_refuse(const Docket *docket, Call *call) {
        return call_fail(call, CALL_E_UNAVAILABLE, "%s", docket->type->unreadable);
}

int docket_call(Docket *docket, Call *call, CallThenFn then, const Carry *carry) {
        DocketCall *wait;

        if (docket->life == DOCKET_FAILED || docket->life == DOCKET_CLOSING)
                return docket_refuse(docket, call);
        if (docket->life != DOCKET_OPENING)
                return then(call, carry);
        wait = docket->n_calls < docket->type->n_calls_max ? arena_alloc(&call->arena, sizeof(*wait)) : NULL;
        if (!wait)
                return docket_refuse(docket, call);
        *wait = (DocketCall){.call = call, .then = then, .carry = carry};
        LIST_INSERT_HEAD(&docket->calls, wait, link);
        docket->n_calls++;
        return CALL_LATER;
}

static void docket_run_calls(Docket *docket) {
        DocketCall *wait;

        while ((wait = LIST_FIRST(&docket->calls))) {
                Call *call = wait->call;
                int r;

                LIST_REMOVE(wait, link);
                docket->n_calls--;
                r = docket->life == DOCKET_READY ? wait->then(call, wait->carry)
                                                 : docket_refuse(docket, call);
                if (r != CALL_LATER)
                        call_finish(call, r);
        }
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void docket_on_closed(void *user) {
        Docket *docket = user;

        docket->holds = false;
        daemon_release_stop(docket->daemon);
}

static void docket_hold(Docket *docket) {
        if (!docket->holds)
                daemon_hold_stop(docket->daemon);
        docket->holds = true;
}

static void docket_close(Docket *docket) {
        follower_stop(&docket->lines);
        if (docket->ledger) {
                docket_hold(docket);
                ledger_close(steal(&docket->ledger), docket_on_closed, docket);
        }
}

static void docket_opened(Docket *docket, int r) {
        if (r && r != -ECANCELED)
                log_warning(&docket->daemon->log, docket->path, "cannot be opened: %s", strerror(-r));
        if (docket->life == DOCKET_CLOSING || r) {
                if (docket->life != DOCKET_CLOSING)
                        docket->life = docket->ledger ? DOCKET_FAILED : DOCKET_NEW;
                docket_close(docket);
        } else {
                docket->life = DOCKET_READY;
                docket->type->ready(docket);
        }
        docket_run_calls(docket);
}

static void docket_take(LedgerFollower *lines, LedgerLine *line) {
        Docket *docket = container_of(lines, Docket, lines);

        docket->type->take(docket, ledger_line_json(line), line->entry.ts_us);
}

static bool docket_lines_failed(LedgerFollower *lines, int r) {
        Docket *docket = container_of(lines, Docket, lines);

        log_warning(&docket->daemon->log, docket->path, "cannot be read: %s", strerror(-r));
        return true; /* what cannot be read is passed over */
}

static void docket_caught_up(LedgerFollower *lines) {
        Docket *docket = container_of(lines, Docket, lines);

        if (docket->life == DOCKET_OPENING)
                docket_opened(docket, 0);
}

static const LedgerFollowerType docket_lines = {
        .n_lines = FOLLOWER_LINES_MAX,
        .n_bytes = FOLLOWER_BYTES,
        .is_early = true, /* who has kept a line finds it in the table */
        .take = docket_take,
        .caught_up = docket_caught_up,
        .failed = docket_lines_failed,
};

static void docket_on_ledger(void *user, int r) {
        Docket *docket = user;

        docket->is_open = !r;
        if (r || docket->life == DOCKET_CLOSING) {
                docket_opened(docket, r);
                return;
        }
        follower_start(&docket->lines, &docket_lines, docket->ledger, 0);
        follower_go_on(&docket->lines);
}

static void docket_on_committed(_unused_ void *user, _unused_ uint64_t first, _unused_ uint64_t n) {}

static void docket_open_ledger(void *user) {
        Docket *docket = user;
        LedgerOptions options = {.loop = docket->daemon->loop,
                                 .path = docket->path,
                                 .state_path = docket->state_path,
                                 .is_lines_only = true,
                                 .classify = docket->type->classify,
                                 .committed = docket_on_committed,
                                 .user = docket};
        int r = docket->life == DOCKET_CLOSING ? -ECANCELED : docket->r;

        if (docket->type->is_promise) {
                options.policy = LEDGER_COMMIT;
                options.has_chain = true;
        } else {
                options.totals = &docket->daemon->ledgers;
                ledger_options_apply(&options, &docket->daemon->config);
        }
        if (!r)
                r = ledger_open(&docket->ledger, &options, docket_on_ledger);
        if (r)
                docket_opened(docket, r);
}

static void docket_make_folder(void *user) {
        Docket *docket = user;
        _cleanup_(freep) char *state = path_join(docket->folder, "state");

        docket->r = state ? dir_make(docket->folder, 0700) : -ENOMEM;
        if (!docket->r)
                docket->r = dir_make(state, 0700);
}

int docket_open(Docket *docket) {
        int r = loop_work(docket->daemon->loop, docket_make_folder, docket_open_ledger, docket);

        if (!r)
                docket->life = DOCKET_OPENING;
        return error_trace(r);
}

int docket_init(Docket *docket, const DocketType *type, Daemon *daemon) {
        docket->type = type;
        docket->daemon = daemon;
        docket->folder = path_join(daemon->home, type->name);
        docket->path = docket->folder ? path_join(docket->folder, "ledger.jsonl") : NULL;
        docket->state_path = docket->folder ? path_join(docket->folder, "state/ledger") : NULL;
        docket->archive = docket->folder ? path_join(docket->folder, "archive.jsonl") : NULL;
        if (!docket->path || !docket->state_path || !docket->archive)
                return error_origin(-ENOMEM);
        return access(docket->path, F_OK) ? 0 : error_trace(docket_open(docket));
}

/* One that is being opened is closed when it is open; whether its lines were read does not matter then. */
void docket_stop(Docket *docket) {
        bool is_opening = docket->life == DOCKET_OPENING && !docket->is_open;

        if (docket->life == DOCKET_CLOSING)
                return;
        docket->life = DOCKET_CLOSING;
        if (!is_opening)
                docket_close(docket);
        else if (docket->ledger)
                docket_hold(docket);
        docket_run_calls(docket);
}

void docket_deinit(Docket *docket) {
        free(docket->positions);
        free(docket->folder);
        free(docket->path);
        free(docket->state_path);
        free(docket->archive);
}
