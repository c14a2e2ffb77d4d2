/* SPDX-License-Identifier: MIT */
/*
 * The life of a ledger on the loop, from open to close.
 */
#include "core/ledger/ledger.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/config.h"
#include "core/ledger/ledger-internal.h"

enum { INTERVAL_MS = 1000, INTERVAL_MAX_MS = 3600 * 1000 };

static const char *const policy_names[] = {"commit", "interval", "none"};

const char *ledger_policy_name(LedgerPolicy policy) {
        return policy_names[policy];
}

static int ledger_policy_from_name(Str name) {
        for (size_t i = 0; i < ARRAY_SIZE(policy_names); i++)
                if (str_is(name, policy_names[i]))
                        return (int)i;
        return error_origin(-EINVAL);
}

LedgerPolicy ledger_policy_of(const Config *config) {
        int policy =
                config->durability ? ledger_policy_from_name(str_from(config->durability)) : LEDGER_COMMIT;

        return policy < 0 ? LEDGER_COMMIT : (LedgerPolicy)policy; /* words are checked where they are read */
}

void ledger_options_apply(LedgerOptions *options, const Config *config) {
        options->policy = ledger_policy_of(config);
        options->interval_ms = (unsigned)MIN(MAX(config->sync_interval_ms, 0), INTERVAL_MAX_MS);
        options->has_chain = config->ledger_chain;
}

static void free_ledger(Ledger *ledger) {
        void (*closed)(void *user) = ledger->closed;
        void *user = ledger->closed_user;

        deferred_cancel(&ledger->next);
        timer_clear(&ledger->sync_timer);
        ledger_journal_close(&ledger->journal, false);
        index_free(ledger->index);
        ledger_file_unref(ledger->file);
        ledger_job_free(ledger->rewrite);
        arena_deinit(&ledger->arena);
        free(ledger->place.path);
        free(ledger->place.state_path);
        free(ledger->place.index_path);
        free(ledger);
        if (closed)
                closed(user);
}

/* The loop has given everything away: nobody else looks at it now. */
static void close_work(void *user) {
        LedgerJob *job = user;
        Index *index = job->load.index;
        _cleanup_(freep) char *path = path_join(job->place->state_path, "index");

        ledger_journal_close(job->journal,
                             !job->file || !job->ledger->is_dirty || fdatasync(job->file->fd) == 0);
        if (path && index && job->file && index->n_segments < LEDGER_SEGMENTS &&
            index->segments[index->n_segments - 1]->n >= LEDGER_MERGE_OPEN)
                (void)index_persist(index, path, job->file->fd, &job->ledger->frozen);
        job->load.index = index_free(index);
}

static void close_done(void *user) {
        LedgerJob *job = user;
        Ledger *ledger = job->ledger;

        ledger_job_free(job);
        free_ledger(ledger);
}

void ledger_start_close(Ledger *ledger) {
        LedgerJob *job = ledger_job_new(ledger);

        ledger->job = job;
        if (job) {
                ledger_job_prepare(ledger, job);
                job->load.index = steal(&ledger->index);
                if (ledger->file)
                        ledger->frozen =
                                (IndexStand){ledger->file->ino, ledger->end, ledger->stats.n_damaged};
                if (loop_work(ledger->loop, close_work, close_done, job) == 0)
                        return;
        }
        ledger_job_free(job);
        free_ledger(ledger);
}

void ledger_write_opening(const Ledger *ledger, JsonWriter *w, const char *what, const char *of) {
        char text[512];

        if (!ledger || ledger->is_open || ledger->is_closing || !ledger->job)
                return;
        snprintf(text, sizeof(text), "%s %s", what, of);
        jw_begin_object(w);
        jw_field_cstr(w, "what", text);
        jw_field_uint(w, "done", ledger->reading.done);
        jw_field_uint(w, "all", ledger->reading.all);
        jw_end_object(w);
}

static void open_done(void *user) {
        LedgerJob *job = user;
        Ledger *ledger = job->ledger;
        bool is_closing = ledger->is_closing; /* before it is open; otherwise ledger_close() sees to it */
        int r = job->r;

        if (job->is_reloaded)
                ledger_take_load(ledger, &job->load);
        ledger->job = ledger_job_free(job);
        ledger->is_open = r == 0;
        if (r == 0)
                ledger_kick(ledger);
        ledger->opened(ledger->user, r);
        if (r && is_closing)
                ledger_start_close(ledger);
}

static int copy_options(Ledger *ledger, const LedgerOptions *options) {
        ledger->place = (LedgerPlace){.path = strdup(options->path),
                                      .state_path = strdup(options->state_path),
                                      .index_path = path_join(options->state_path, "index"),
                                      .reading = &ledger->reading,
                                      .policy = options->policy,
                                      .has_chain = options->has_chain,
                                      .is_lines_only = options->is_lines_only,
                                      .classify = options->classify};
        ledger->interval_ms = options->interval_ms ? options->interval_ms : INTERVAL_MS;
        ledger->committed = options->committed;
        ledger->rewritten = options->rewritten;
        ledger->user = options->user;
        return ledger->place.path && ledger->place.state_path && ledger->place.index_path
                       ? 0
                       : error_origin(-ENOMEM);
}

int ledger_open(Ledger **ret, const LedgerOptions *options, void (*opened)(void *user, int r)) {
        Ledger *ledger = calloc(1, sizeof(*ledger));
        int r;

        if (!ledger)
                return error_origin(-ENOMEM);
        ledger->loop = options->loop;
        ledger->journal = LEDGER_JOURNAL_NULL;
        ledger->opened = opened;
        ledger->totals = options->totals;
        deferred_init(&ledger->next, options->loop, ledger_run_next);
        timer_init(&ledger->sync_timer, options->loop, ledger_on_sync_timer);
        r = copy_options(ledger, options);
        if (r == 0) {
                ledger->job = ledger_job_new(ledger);
                r = ledger->job ? 0 : -ENOMEM;
        }
        if (r == 0) {
                ledger_job_prepare(ledger, ledger->job);
                r = loop_work(ledger->loop, ledger_commit_work, open_done, ledger->job);
        }
        if (r) {
                ledger_job_free(ledger->job);
                free_ledger(ledger);
                return error_trace(r);
        }
        *ret = ledger;
        return 0;
}

void ledger_close(Ledger *ledger, void (*closed)(void *user), void *user) {
        ledger->is_closing = true;
        ledger->closed = closed;
        ledger->closed_user = user;
        if (ledger->is_open)
                ledger_kick(ledger);
        else if (!ledger->job)
                ledger_start_close(ledger);
}

bool ledger_is_ahead(const Ledger *ledger) {
        return ledger->index->max_ts_us > ledger_believed_us(loop_wall_us(ledger->loop));
}

bool ledger_is_mending(Ledger *ledger) {
        if (!ledger->index || (!segment_is_changed(ledger->index->segments[0], ledger->place.index_path) &&
                               !ledger_is_ahead(ledger)))
                return false;
        if (ledger->is_open && !(ledger->job && ledger->job->is_index_broken)) {
                ledger->wants_check = true;
                ledger_kick(ledger);
        }
        return ledger->is_open;
}

bool ledger_check(Ledger *ledger) {
        FileStand stand;

        if (!ledger->is_open || ledger->is_closing)
                return false;
        if (ledger_is_mending(ledger))
                return true;
        if (ledger->wants_check || (ledger->job && ledger->job->is_check))
                return true;
        if (ledger->job)
                return false; /* it looks for itself, and the size is in motion */
        if (ledger_stand(ledger->place.path, &stand) || !stand.ino)
                return false;
        if (stand.ino == ledger->file->ino && stand.dev == ledger->file->dev && stand.size == ledger->end)
                return false;
        ledger->wants_check = true;
        ledger_kick(ledger);
        return true;
}

int64_t ledger_next_ts_us(Ledger *ledger) {
        int64_t now = loop_wall_us(ledger->loop);
        bool is_believed = ledger->last_ts_us <= ledger_believed_us(now);

        ledger->last_ts_us = is_believed ? MAX(now, ledger->last_ts_us + 1) : MAX(now, 0);
        return ledger->last_ts_us;
}

LedgerStats ledger_stats(const Ledger *ledger) {
        return ledger->stats;
}
