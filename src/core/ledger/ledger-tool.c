/* SPDX-License-Identifier: MIT */
#include "core/ledger/ledger-tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"
#include "core/ledger/ledger-internal.h"

static const char *const index_states[] = {"absent", "fresh", "behind", "unusable"};

const char *ledger_index_state_name(LedgerIndexState state) {
        return index_states[state];
}

/* Any object. */
static bool ledger_tool_classify(Arena *arena _unused_, const Json *line, LedgerFacts *facts) {
        facts->id = json_str(json_get(line, "id"));
        facts->kind = json_str(json_get(line, "kind"));
        (void)time_parse(json_str(json_get(line, "ts")), &facts->ts_us);
        return true;
}

/* Descriptor and length at one moment when nobody appends. */
static int ledger_tool_look(const LedgerPlace *place, int *ret_fd, uint64_t *ret_size) {
        _cleanup_(closep) int lock = -1, fd = -1;
        struct stat st;
        int r;

        r = ledger_lock_take(place, &lock);
        if (r && r != -ENOENT && r != -ENOTDIR && r != -EACCES && r != -EROFS)
                return error_trace(r);
        fd = open(place->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0 || fstat(fd, &st) < 0)
                return error_origin(-errno);
        if (!S_ISREG(st.st_mode))
                return error_origin(-EINVAL);
        *ret_size = (uint64_t)st.st_size;
        *ret_fd = fd;
        fd = -1;
        return 0;
}

static int ledger_tool_take_records(void *user, Buf *records) {
        Index *index = user;
        size_t at = 0;
        Record *record;
        int r = 0;

        while (r == 0 && (record = record_next(records, &at)))
                r = index_append(index, record);
        records->n = 0;
        return error_trace(r);
}

/* A scan that somebody waits for. */
typedef struct Reading {
        Scan scan;
        Index *index;
        const LedgerProgress *progress; /* may be NULL */
} Reading;

static int reading_take(void *user, Buf *records) {
        const Reading *reading = user;
        int r = ledger_tool_take_records(reading->index, records);

        if (reading->progress)
                reading->progress->tell(reading->progress->user, reading->scan.at, reading->scan.end);
        return error_trace(r);
}

static int count_kinds(const Index *index, LedgerReport *report) {
        uint64_t n = index_n(index);

        report->kinds = calloc(index->n_kinds, sizeof(*report->kinds));
        if (!report->kinds)
                return error_origin(-ENOMEM);
        report->n_kinds = index->n_kinds;
        for (size_t i = 0; i < index->n_kinds; i++)
                memcpy(report->kinds[i].name, index->kinds[i], strlen(index->kinds[i]) + 1);
        for (uint64_t i = 0; i < n; i++) {
                const IndexEntry entry = index_entry(index, i);

                report->kinds[entry.kind < index->n_kinds ? entry.kind : 0].n++;
                report->n_repeated += (entry.flags & INDEX_REPEATED) != 0;
        }
        report->first_ts_us = n ? index_entry(index, 0).ts_us : 0;
        report->last_ts_us = index->max_ts_us;
        return 0;
}

static int read_lines(int fd, const LedgerProgress *progress, LedgerReport *report) {
        Reading reading = {.scan = {.fd = fd,
                                    .end = report->n_bytes,
                                    .classify = ledger_tool_classify,
                                    .take = reading_take},
                           .progress = progress};
        Scan *scan = &reading.scan;
        Index *index = NULL;
        int r;

        r = index_new(&index, NULL);
        if (r)
                return error_trace(r);
        scan->index = reading.index = index;
        scan->user = &reading;
        r = scan_run(scan);
        if (r == 0)
                r = count_kinds(index, report);
        report->n_lines = scan->n_lines;
        report->n_events = scan->n_events;
        report->n_damaged = scan->n_damaged;
        report->n_tail = report->n_bytes - scan->at;
        report->is_tail_event = scan->is_tail_event;
        memcpy(report->damage, scan->damage, sizeof(scan->damage));
        report->n_damage = scan->n_damage;
        scan_deinit(scan);
        index_free(index);
        return error_trace(r);
}

static int look_at_index(const LedgerPlace *place, int fd, LedgerReport *report) {
        _cleanup_(freep) char *path = path_join(place->state_path, "index");
        Index *index = NULL;
        IndexStand stand;
        int r;

        if (!path)
                return error_origin(-ENOMEM);
        if (access(path, F_OK) < 0)
                return 0;
        r = index_file_open(path, fd, report->n_bytes, NULL, &index, &stand);
        if (r < 0)
                return error_trace(r);
        if (r)
                report->index = LEDGER_INDEX_UNUSABLE;
        else
                report->index = stand.end == report->n_bytes - report->n_tail ? LEDGER_INDEX_FRESH
                                                                              : LEDGER_INDEX_BEHIND;
        index_free(index);
        return 0;
}

static int look_at_journal(const LedgerPlace *place, int fd, LedgerReport *report) {
        struct stat st;

        if (fstat(fd, &st) < 0)
                return error_origin(-errno);
        return error_trace(ledger_journal_recover(place, fd, st.st_ino, 0, true, &report->journal));
}

int ledger_inspect(const char *path, const char *state_path, LedgerReport *report) {
        return ledger_inspect_telling(path, state_path, NULL, report);
}

int ledger_inspect_telling(const char *path, const char *state_path, const LedgerProgress *progress,
                           LedgerReport *report) {
        const LedgerPlace place = {.path = (char *)path, .state_path = (char *)state_path};
        _cleanup_(freep) char *chain = path_join(state_path, "chain");
        _cleanup_(closep) int fd = -1;
        int r;

        *report = (LedgerReport){0};
        r = chain ? ledger_tool_look(&place, &fd, &report->n_bytes) : error_origin(-ENOMEM);
        if (r == 0)
                r = read_lines(fd, progress, report);
        if (r == 0)
                r = look_at_journal(&place, fd, report);
        if (r == 0)
                r = look_at_index(&place, fd, report);
        if (r == 0)
                r = chain_verify(chain, fd, report->n_bytes, &report->chain);
        if (r)
                ledger_report_deinit(report);
        return error_trace(r);
}

void ledger_report_deinit(LedgerReport *report) {
        free(steal(&report->kinds));
        report->n_kinds = 0;
}

bool ledger_report_is_sound(const LedgerReport *report) {
        return !report->n_damaged && !report->n_tail && !report->chain.is_broken &&
               !report->journal.n_restored && !report->journal.n_aside;
}

/* A repair sorts the lines into those that stay and those that are put aside. */
typedef struct Sorting {
        LedgerOutput kept, aside;
        Arena arena;
        bool is_inside; /* a line in pieces: too long to be an event */
        uint64_t n_moved;
} Sorting;

static int sort_line(void *user, Str piece, uint64_t offset _unused_, bool is_end) {
        Sorting *sorting = user;
        LedgerFacts facts;
        bool is_event;

        arena_reset(&sorting->arena);
        is_event = is_end && !sorting->is_inside &&
                   record_classify(&sorting->arena, ledger_tool_classify, str_trim(piece), &facts);
        sorting->is_inside = !is_end;
        if (is_event)
                return error_trace(ledger_output_put(&sorting->kept, piece));
        sorting->n_moved += is_end;
        return error_trace(ledger_output_put(&sorting->aside, piece));
}

static int sort_lines(const LedgerPlace *place, int fd, uint64_t size, LedgerRepair *ret) {
        Sorting sorting = {.kept.fd = -1, .aside.fd = -1};
        _cleanup_(scan_deinit) Scan scan = {
                .fd = fd, .end = size, .line = sort_line, .wants_holes = true, .user = &sorting};
        _cleanup_(freep) char *temp = NULL;
        int r;

        r = ledger_output_temp(&sorting.kept, place->path, fd, &temp);
        if (r == 0) {
                sorting.aside.fd = ledger_open_cut(place, (int64_t)time(NULL) * 1000000);
                r = MIN(sorting.aside.fd, 0);
        }
        r = r ? r : scan_run(&scan);
        r = r ? r : ledger_output_finish(&sorting.aside);
        r = r ? r : ledger_output_finish(&sorting.kept);
        r = r ? r : file_publish(temp, place->path, FILE_DURABLE);
        if (r && temp)
                (void)unlink(temp);
        ret->n_moved = sorting.n_moved;
        arena_deinit(&sorting.arena);
        ledger_output_deinit(&sorting.kept);
        ledger_output_deinit(&sorting.aside);
        return error_trace(r);
}

/* What is derived from the lines. */
static int remake(const LedgerPlace *place) {
        _cleanup_(freep) char *index = path_join(place->state_path, "index"),
                              *chain = path_join(place->state_path, "chain");
        _cleanup_(closep) int fd = open(place->path, O_RDONLY | O_CLOEXEC);
        struct stat st;

        if (!index || !chain)
                return error_origin(-ENOMEM);
        if (fd < 0 || fstat(fd, &st) < 0)
                return error_origin(-errno);
        (void)unlink(index);
        return access(chain, F_OK) < 0 ? 0
                                       : error_trace(chain_extend(chain, fd, (uint64_t)st.st_size, true));
}

static int repair_open(const LedgerPlace *place, int fd, uint64_t size, const LedgerProgress *progress,
                       LedgerRepair *ret) {
        Reading reading = {
                .scan = {.fd = fd, .end = size, .classify = ledger_tool_classify, .take = reading_take},
                .progress = progress};
        Scan *scan = &reading.scan;
        uint64_t before = size;
        int r;

        r = index_new(&reading.index, NULL);
        scan->index = reading.index;
        scan->user = &reading;
        r = r ? r : scan_run(scan);
        r = r ? r : ledger_mend_tail(place, fd, scan, (int64_t)time(NULL) * 1000000, &size, &ret->n_cut);
        ret->is_completed = size > before;
        if (r == 0 && scan->n_damaged)
                r = sort_lines(place, fd, size, ret);
        if (r == 0 && (scan->n_damaged || size != before))
                r = remake(place);
        scan_deinit(scan);
        index_free(reading.index);
        return error_trace(r);
}

int ledger_repair(const char *path, const char *state_path, const LedgerProgress *progress,
                  LedgerRepair *ret) {
        const LedgerPlace place = {.path = (char *)path, .state_path = (char *)state_path};
        _cleanup_(closep) int lock = -1, fd = -1;
        struct stat st;
        int r;

        *ret = (LedgerRepair){0};
        r = dir_make(state_path, 0700);
        r = r ? r : ledger_lock_take(&place, &lock);
        if (r)
                return error_trace(r);
        fd = open(path, O_RDWR | O_CLOEXEC | O_NOCTTY);
        if (fd < 0 || fstat(fd, &st) < 0)
                return error_origin(-errno);
        if (!S_ISREG(st.st_mode))
                return error_origin(-EINVAL);
        r = ledger_journal_recover(&place, fd, st.st_ino, (int64_t)time(NULL) * 1000000, false,
                                   &ret->journal);
        if (r || fstat(fd, &st) < 0)
                return r ? error_trace(r) : error_origin(-errno);
        return error_trace(repair_open(&place, fd, (uint64_t)st.st_size, progress, ret));
}
