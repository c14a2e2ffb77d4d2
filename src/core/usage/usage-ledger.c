/* SPDX-License-Identifier: MIT */
/* The ledger of what agents use: read into a table by a worker when it is opened, appended to, and halved when it is long. */
#define LOG_MODULE "core/usage"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/time.h"
#include "core/usage/usage-book-internal.h"
#include "core/usage/usage-meter.h"

typedef struct UsageChange {
        UsageBook *book;
        LedgerChange change;
} UsageChange;

static void usage_ledger_warn(const UsageBook *self, const char *what, int r) {
        log_warning(&self->daemon->log, self->path, "%s: %s", what, strerror(-r));
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool usage_ledger_classify(_unused_ Arena *arena, const Json *line, LedgerFacts *facts) {
        *facts = (LedgerFacts){.id = json_text_of(line, "key"), .kind = STR("usage")};
        if (!time_parse(json_text_of(line, "ts"), &facts->ts_us))
                facts->ts_us = 0;
        return facts->id.n;
}

int usage_ledger_line(UsageBook *self, LedgerChange *change, const UsageRecord *record) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        (void)self;
        jw_begin_object(&w);
        jw_field_int(&w, "v", 1);
        jw_field_time_ms(&w, "ts", record->ts_us);
        jw_field_str(&w, "name", record->name);
        jw_field_str(&w, "account", record->account);
        jw_field_str(&w, "runtime", record->runtime);
        jw_field_str(&w, "model", record->model);
        jw_field_str(&w, "session", record->session);
        jw_field_str(&w, "process", record->process);
        jw_field_str(&w, "key", record->key);
        jw_field_int(&w, "in", record->tokens.in);
        jw_field_int(&w, "cached", record->tokens.cached);
        jw_field_int(&w, "cache_write", record->tokens.cache_write);
        jw_field_int(&w, "out", record->tokens.out);
        jw_field_int(&w, "reasoning", record->tokens.reasoning);
        if (record->basis != USAGE_UNPRICED) {
                jw_key(&w, "cost");
                jw_double(&w, record->cost_usd);
        }
        jw_field_cstr(&w, "basis", usage_basis_name(record->basis));
        jw_field_cstr(&w, "source", record->n_turns ? "hook" : record->is_output ? "output" : "transcript");
        if (record->n_turns) {
                jw_field_uint(&w, "turns", record->n_turns);
                jw_field_int(&w, "ms", record->n_ms);
        }
        jw_end_object(&w);
        return error_trace(w.failed ? -ENOMEM : ledger_change_line(change, buf_str(&text)));
}

static int64_t usage_ledger_number(const Json *line, const char *name) {
        int64_t n = 0;

        return json_int64(json_get(line, name), &n) && n > 0 ? n : 0;
}

static void usage_ledger_read(const Json *line, UsageRecord *ret) {
        Str basis = json_text_of(line, "basis");

        *ret = (UsageRecord){.name = json_text_of(line, "name"),
                             .account = json_text_of(line, "account"),
                             .runtime = json_text_of(line, "runtime"),
                             .model = json_text_of(line, "model"),
                             .session = json_text_of(line, "session"),
                             .process = json_text_of(line, "process"),
                             .key = json_text_of(line, "key"),
                             .tokens = {.in = usage_ledger_number(line, "in"),
                                        .cached = usage_ledger_number(line, "cached"),
                                        .cache_write = usage_ledger_number(line, "cache_write"),
                                        .out = usage_ledger_number(line, "out"),
                                        .reasoning = usage_ledger_number(line, "reasoning")}};
        (void)time_parse(json_text_of(line, "ts"), &ret->ts_us);
        ret->is_output = str_is(json_text_of(line, "source"), "output");
        ret->n_turns = usage_ledger_number(line, "turns") > 0;
        ret->n_ms = usage_ledger_number(line, "ms");
        if (str_is(basis, "reported"))
                ret->basis = USAGE_REPORTED;
        else if (str_is(basis, "priced"))
                ret->basis = USAGE_PRICED;
        if (ret->basis != USAGE_UNPRICED && !json_double(json_get(line, "cost"), &ret->cost_usd))
                ret->basis = USAGE_UNPRICED;
}

/* ---- its bound ------------------------------------------------------------------------------- */

static void usage_ledger_on_halved(void *user, int r) {
        UsageBook *self = user;

        self->is_halving = false;
        free(self->positions);
        self->positions = NULL;
        if (r)
                usage_ledger_warn(self, "cannot be shortened", r);
}

static void usage_ledger_halve(UsageBook *self) {
        size_t n = USAGE_LINES_KEPT / 2;

        if (self->is_halving || self->life != USAGE_OPEN ||
            ledger_n_committed(self->ledger) < USAGE_LINES_KEPT)
                return;
        self->positions = calloc(n, sizeof(*self->positions));
        for (size_t i = 0; self->positions && i < n; i++)
                self->positions[i] = i;
        self->is_halving = self->positions != NULL;
        if (self->positions &&
            ledger_rewrite(self->ledger, self->positions, n, self->archive, usage_ledger_on_halved, self))
                usage_ledger_on_halved(self, 0);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void usage_ledger_on_kept(LedgerChange *change, int r) {
        UsageChange *kept = container_of(change, UsageChange, change);
        UsageBook *self = kept->book;

        self->n_under_way--;
        if (r)
                usage_ledger_warn(self, "usage was not kept", r);
        free(kept);
        usage_ledger_halve(self);
}

LedgerChange *usage_ledger_begin(UsageBook *self) {
        UsageChange *change = self->life == USAGE_OPEN ? calloc(1, sizeof(*change)) : NULL;

        if (!change)
                return NULL;
        change->book = self;
        ledger_change_init(&change->change, self->ledger, usage_ledger_on_kept);
        return &change->change;
}

void usage_ledger_commit(UsageBook *self, LedgerChange *change) {
        int r = ledger_change_commit(change);

        if (!r) {
                self->n_under_way++;
                return;
        }
        usage_ledger_warn(self, "usage was not kept", r);
        ledger_change_deinit(change);
        free(container_of(change, UsageChange, change));
}

/* ---- opening --------------------------------------------------------------------------------- */

static void usage_ledger_on_closed(void *user) {
        UsageBook *self = user;

        daemon_release_stop(self->daemon);
}

void usage_book_stop(UsageBook *self) {
        bool is_opening = self && self->life == USAGE_OPENING;

        if (!self || self->life == USAGE_CLOSING)
                return;
        self->life = USAGE_CLOSING;
        if (!self->ledger)
                return;
        daemon_hold_stop(self->daemon);
        if (!is_opening)
                ledger_close(steal(&self->ledger), usage_ledger_on_closed, self);
}

static void usage_ledger_on_opened(void *user, int r) {
        UsageBook *self = user;

        if (self->life == USAGE_CLOSING) {
                usage_book_opened(self);
                ledger_close(steal(&self->ledger), usage_ledger_on_closed, self);
                return;
        }
        self->life = r ? USAGE_FAILED : USAGE_OPEN;
        if (r)
                usage_ledger_warn(self, "cannot be opened: what agents use is counted, and not kept", r);
        if (self->changed)
                self->changed(self->daemon);
        usage_book_opened(self);
        usage_follow_run(self);
}

static void usage_ledger_on_committed(_unused_ void *user, _unused_ uint64_t first, _unused_ uint64_t n) {}

static void usage_ledger_opens(void *user) {
        UsageBook *self = user;
        LedgerOptions options = {.loop = self->daemon->loop,
                                 .totals = &self->daemon->ledgers,
                                 .path = self->path,
                                 .state_path = self->state_path,
                                 .policy = LEDGER_INTERVAL,
                                 .is_lines_only = true,
                                 .classify = usage_ledger_classify,
                                 .committed = usage_ledger_on_committed,
                                 .user = self};
        int r = self->life == USAGE_CLOSING ? -ECANCELED : self->r;

        if (self->prices_why)
                log_warning(&self->daemon->log, self->users_prices, "%s", self->prices_why);
        if (!r)
                r = ledger_open(&self->ledger, &options, usage_ledger_on_opened);
        if (r == -ECANCELED)
                usage_book_opened(self);
        else if (r)
                usage_ledger_on_opened(self, r);
}

typedef struct UsageRestore {
        UsageTable *table;
        Arena arena;
        int r;
} UsageRestore;

static void usage_ledger_restore_line(void *user, Str line) {
        UsageRestore *self = user;
        UsageRecord record;
        Json *json = NULL;

        arena_reset(&self->arena);
        if (json_parse(&self->arena, line.data, line.n, NULL, &json, NULL) || !json_text_of(json, "key").n)
                return;
        usage_ledger_read(json, &record);
        if (!self->r)
                self->r = usage_table_restore(self->table, &record);
}

/* Lines that are not whole are nobody's: what they said is read again from the transcript. */
static int usage_ledger_restore(UsageBook *self) {
        UsageRestore restore = {.table = self->table};
        UsageLines lines = {0};
        char *block = malloc(TRANSCRIPT_BLOCK);
        FILE *file = fopen(self->path, "re");
        size_t n;

        while (block && file && (n = fread(block, 1, TRANSCRIPT_BLOCK, file)) > 0 && !restore.r)
                restore.r = usage_lines_feed(&lines, (Str){block, n}, usage_ledger_restore_line, &restore);
        if (file)
                (void)fclose(file);
        usage_lines_deinit(&lines);
        arena_deinit(&restore.arena);
        free(block);
        return error_trace(block ? restore.r : -ENOMEM);
}

static int usage_ledger_users_prices(UsageBook *self) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const char *why = NULL;
        int r = self->users_prices ? file_read(self->users_prices, PRICES_FILE_MAX, &text) : FILE_E_MISSING;

        if (r == FILE_E_MISSING)
                return 0;
        if (r)
                why = "it cannot be read";
        else if (prices_add(&self->prices, buf_str(&text), true, &why))
                return error_origin(-ENOMEM);
        self->prices_why = why ? strdup(why) : NULL;
        return 0;
}

static void usage_ledger_prepare(void *user) {
        UsageBook *self = user;
        _cleanup_(freep) char *state = path_join(self->folder, "state");

        self->r = state ? dir_make(self->folder, 0700) : -ENOMEM;
        if (!self->r)
                self->r = dir_make(state, 0700);
        if (!self->r)
                self->r = usage_ledger_restore(self);
        if (!self->r)
                self->r = prices_add_ours(&self->prices);
        if (!self->r)
                self->r = usage_ledger_users_prices(self);
}

void usage_ledger_open(UsageBook *self) {
        if (self->life != USAGE_UNOPENED || self->daemon->is_stopping)
                return;
        self->life = USAGE_OPENING;
        if (loop_work(self->daemon->loop, usage_ledger_prepare, usage_ledger_opens, self))
                usage_ledger_on_opened(self, -ENOMEM);
}
