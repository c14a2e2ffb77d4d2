/* SPDX-License-Identifier: MIT */
/*
 * Which job of a ledger runs next, and what the loop does with what a job brought.
 */
#define LOG_MODULE "core/ledger"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log/log.h"
#include "core/ledger/ledger-internal.h"

LedgerJob *ledger_job_new(Ledger *ledger) {
        LedgerJob *job = calloc(1, sizeof(*job));

        if (job) {
                job->ledger = ledger;
                job->place = &ledger->place;
                job->journal = &ledger->journal;
        }
        return job;
}

/* What changes from job to job. */
void ledger_job_prepare(Ledger *ledger, LedgerJob *job) {
        job->file = ledger->file;
        job->index = ledger->index;
        job->end = ledger->end;
        job->left_at = ledger->left_at;
        job->n_left = ledger->n_left;
        job->wall_us = loop_wall_us(ledger->loop);
        job->is_index_broken = ledger->index && (index_is_broken(ledger->index) || ledger_is_ahead(ledger));
}

LedgerJob *ledger_job_free(LedgerJob *job) {
        if (job) {
                ledger_load_deinit(&job->load);
                scan_deinit(&job->found);
                buf_deinit(&job->ranges);
                free(job->archive_path);
                free(job);
        }
        return NULL;
}

static void ledger_log_damage(Ledger *ledger, const ScanDamage *damage, size_t n) {
        for (size_t i = 0; i < n; i++)
                log_warning(loop_log(ledger->loop), ledger->place.path,
                            "skipped what is not an event offset=%llu bytes=%llu lines=%llu%s",
                            (unsigned long long)damage[i].offset, (unsigned long long)damage[i].n_bytes,
                            (unsigned long long)damage[i].n_lines, damage[i].is_binary ? " binary" : "");
}

static void log_cut(Ledger *ledger, uint64_t n_cut) {
        if (n_cut)
                log_warning(loop_log(ledger->loop), ledger->place.path,
                            "cut a torn tail bytes=%llu kept in %s/cut.*", (unsigned long long)n_cut,
                            ledger->place.state_path);
}

static void log_journal(Ledger *ledger, const LedgerJournalFound *found) {
        if (found->n_restored || found->n_aside)
                log_warning(loop_log(ledger->loop), ledger->place.path,
                            "lines were lost: put back from the journal bytes=%llu, no place for "
                            "bytes=%llu "
                            "(kept in %s/cut.*)",
                            (unsigned long long)found->n_restored, (unsigned long long)found->n_aside,
                            ledger->place.state_path);
}

void ledger_take_load(Ledger *ledger, LedgerLoad *load) {
        ledger_retire_index(ledger, ledger->index);
        ledger_file_unref(ledger->file);
        ledger->index = steal(&load->index);
        ledger->file = steal(&load->file);
        ledger->end = load->end;
        ledger->last_ts_us = MAX(ledger->last_ts_us, ledger->index->max_ts_us);
        ledger->stats.n_scanned += load->n_scanned;
        ledger->stats.n_damaged = load->n_damaged;
        ledger->stats.is_index_loaded = load->is_index_loaded;
        ledger_log_damage(ledger, load->damage, load->n_damage);
        log_cut(ledger, load->n_cut);
        log_journal(ledger, &load->journal);
}

/* Lines into the index. Without memory the rest is read from the file later, as if another program had
 * written it. */
static int ledger_jobs_take_records(Ledger *ledger, const Buf *records, uint64_t shift) {
        size_t at = 0;
        Record *record;

        ledger->index->believed_us = ledger_believed_us(loop_wall_us(ledger->loop));
        while ((record = record_next(records, &at))) {
                int r;

                record->offset += shift;
                r = index_append(ledger->index, record);
                if (r)
                        return error_trace(r);
                ledger->end = record->offset + record->n_bytes + 1;
        }
        ledger->last_ts_us = MAX(ledger->last_ts_us, ledger->index->max_ts_us);
        return 0;
}

static int take_own(Ledger *ledger, LedgerJob *job) {
        for (LedgerChange *change = job->group->first; change; change = change->next) {
                int r;

                if (change->r)
                        continue;
                change->first = index_n(ledger->index);
                r = ledger_jobs_take_records(ledger, &change->records, job->own_start + change->start);
                if (r)
                        return error_trace(r);
                ledger->stats.n_lines += change->n_lines;
                if (ledger->totals)
                        ledger->totals->n_lines += change->n_lines;
        }
        return 0;
}

static void take_reload(Ledger *ledger, LedgerJob *job) {
        uint64_t n_old = index_n(ledger->index), n_new, n_gone;

        ledger_take_load(ledger, &job->load);
        n_new = index_n(ledger->index);
        n_gone = n_old > n_new ? n_old - n_new : 0;
        followers_rewritten(ledger, n_gone);
        if (ledger->rewritten)
                ledger->rewritten(ledger->user, n_gone);
}

/* What a commit or a look at the file has brought. */
static void take_job(Ledger *ledger, LedgerJob *job) {
        uint64_t first;
        int r;

        ledger->left_at = job->left_at;
        ledger->n_left = job->n_left;
        log_cut(ledger, job->n_cut);
        if (job->is_reloaded)
                take_reload(ledger, job);
        first = index_n(ledger->index);
        ledger_log_damage(ledger, job->found.damage, job->found.n_damage);
        ledger->stats.n_damaged += job->found.n_damaged;
        r = ledger_jobs_take_records(ledger, &job->found.records, 0);
        job->own_first = index_n(ledger->index);
        ledger->stats.n_foreign += job->own_first - first;
        if (r == 0 && job->group && job->r == 0)
                r = take_own(ledger, job);
        if (r == 0)
                ledger->end = MAX(ledger->end, job->new_end);
        ledger_merge_if_due(ledger);
        if (index_n(ledger->index) == first)
                return;
        followers_tell(ledger, true, job->own_first, job->group ? buf_str(&job->group->bytes) : STR_NULL,
                       job->own_start);
        if (ledger->committed)
                ledger->committed(ledger->user, first, index_n(ledger->index) - first);
}

void ledger_commit_work(void *user) {
        ledger_commit_run(user);
}

static void commit_done(void *user) {
        LedgerJob *job = user;
        Ledger *ledger = job->ledger;
        LedgerGroup *group = steal(&ledger->running), *behind = NULL;
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;

        if (job->is_index_broken && job->is_reloaded)
                log_warning(loop_log(ledger->loop), ledger->place.path,
                            "the index was damaged and is made again lines=%llu",
                            (unsigned long long)index_n(job->load.index));
        take_job(ledger, job);
        ledger_resume_reads(ledger, job->r);
        if (job->r && group) {
                log_err(loop_log(ledger->loop), ledger->place.path, "commit failed errno=%d", -job->r);
                behind = steal(&ledger->collecting);
        }
        ledger->stats.n_commits += group && !job->r;
        ledger->stats.n_syncs += job->has_synced;
        if (ledger->totals) {
                ledger->totals->n_commits += group && !job->r;
                ledger->totals->n_syncs += job->has_synced;
        }
        ledger->stats.n_journaled += job->is_journaled;
        if (group && group->bytes.n && !job->r)
                ledger->is_dirty = job->is_journaled || !job->has_synced;
        if (group) {
                bytes = group->bytes;
                group->bytes = BUF_NULL;
        }
        ledger_group_finish(ledger, group, job->r);
        ledger_group_finish(ledger, behind, job->r);
        followers_tell(ledger, false, job->own_first, buf_str(&bytes), job->own_start);
        ledger->job = ledger_job_free(job);
        ledger_kick(ledger);
}

static void start_commit(Ledger *ledger) {
        LedgerJob *job = ledger_job_new(ledger);
        LedgerGroup *group = steal(&ledger->collecting);
        int r = -ENOMEM;

        if (job) {
                ledger_job_prepare(ledger, job);
                job->is_check = ledger->wants_check;
                job->group = group;
                r = loop_work(ledger->loop, ledger_commit_work, commit_done, job);
        }
        ledger->wants_check = false;
        if (r) {
                ledger_job_free(job);
                ledger_resume_reads(ledger, r);
                ledger_group_finish(ledger, group, r);
                return;
        }
        ledger->job = job;
        ledger->running = group;
}

static void rewrite_work(void *user) {
        ledger_rewrite_run(user);
}

static void finish_rewrite(Ledger *ledger, int r) {
        void (*done)(void *user, int r) = ledger->rewrite_done;
        void *user = ledger->rewrite_user;

        ledger->job = NULL;
        ledger->rewrite = ledger_job_free(ledger->rewrite);
        done(user, r);
        ledger_kick(ledger);
}

static void rewrite_done(void *user) {
        LedgerJob *job = user;

        take_job(job->ledger, job);
        followers_tell(job->ledger, false, UINT64_MAX, STR_NULL, 0);
        finish_rewrite(job->ledger, job->r);
}

static void start_rewrite(Ledger *ledger) {
        int r;

        ledger_job_prepare(ledger, ledger->rewrite);
        ledger->job = ledger->rewrite;
        r = loop_work(ledger->loop, rewrite_work, rewrite_done, ledger->rewrite);
        if (r)
                finish_rewrite(ledger, r);
}

static void sync_work(void *user) {
        LedgerJob *job = user;

        job->r = fdatasync(job->file->fd) < 0 ? error_origin(-errno) : 0;
        if (job->r == 0)
                ledger_journal_synced(job->journal, job->file->ino, job->end);
}

static void sync_done(void *user) {
        LedgerJob *job = user;
        Ledger *ledger = job->ledger;

        if (job->r)
                log_err(loop_log(ledger->loop), ledger->place.path, "sync failed errno=%d", -job->r);
        ledger->stats.n_syncs++;
        if (ledger->totals)
                ledger->totals->n_syncs++;
        ledger->job = ledger_job_free(job);
        ledger_kick(ledger);
}

static void start_sync(Ledger *ledger) {
        LedgerJob *job = ledger_job_new(ledger);

        ledger->wants_sync = ledger->is_dirty = false;
        if (!job)
                return;
        ledger_job_prepare(ledger, job);
        ledger->job = job;
        if (loop_work(ledger->loop, sync_work, sync_done, job))
                ledger->job = ledger_job_free(job);
}

void ledger_on_sync_timer(Timer *timer) {
        Ledger *ledger = container_of(timer, Ledger, sync_timer);

        ledger->wants_sync = true;
        ledger_kick(ledger);
}

/* A group of barriers only costs no worker. */
void ledger_run_next(Deferred *deferred) {
        Ledger *ledger = container_of(deferred, Ledger, next);
        LedgerGroup *group = ledger->collecting;

        if (ledger->job || !ledger->is_open)
                return;
        if (ledger->rewrite)
                start_rewrite(ledger);
        else if (ledger->wants_check || (group && group->has_content))
                start_commit(ledger);
        else if (group) {
                ledger_group_finish(ledger, steal(&ledger->collecting), 0);
                ledger_kick(ledger);
        } else if (ledger->wants_sync && ledger->is_dirty)
                start_sync(ledger);
        else if (ledger->is_closing && !ledger->n_reads && !ledger->n_retiring && !ledger->merge) {
                ledger_start_close(ledger);
        }
}

void ledger_kick(Ledger *ledger) {
        if (ledger->place.policy != LEDGER_NONE && ledger->is_dirty && !timer_is_set(&ledger->sync_timer))
                (void)timer_set(&ledger->sync_timer, ledger->interval_ms);
        if (!ledger->job)
                deferred_schedule(&ledger->next);
}
