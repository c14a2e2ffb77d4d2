/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/host/recording"

#include "core/recording/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/recording/cast.h"
#include "base/error.h"
#include "core/host/host-internal.h"

/* The worker's while is_busy: nothing of it is touched by the loop then. */
typedef struct Piece {
        Buf bytes;
        uint64_t position; /* of the ring, behind the bytes */
        uint64_t n_lost;
        unsigned cols, rows; /* 0, 0: as they were */
        bool was_away, is_last;
        int64_t at_ms;
        int r;
} Piece;

struct Recording {
        Daemon *daemon;
        Hosted *hosted; /* NULL: it has gone before all was written */
        char id[17];

        /* the worker's while is_busy */
        int fd;
        CastWriter cast;
        Buf lines;
        off_t n_file; /* bytes of the file that count */
        Piece piece;

        int64_t base_ms, opened_ms; /* time in the recording, and on the loop's clock, when it was opened */
        bool is_busy;
        bool is_stopped; /* full, or the disk refuses */
        bool is_dropped; /* to be freed, whatever is left */
        bool was_away;   /* nobody timed what comes first */

        /* what comes next */
        Buf next;
        uint64_t position; /* of the ring, behind what was taken */
        uint64_t n_lost;
        unsigned cols, rows;
        char *why; /* it has ended: the last marker */
};

/* ---- on a worker ----------------------------------------------------------------------------- */

static void recording_put_lines(Recording *rec) {
        char text[96];
        int64_t at_ms = rec->piece.at_ms;

        if (rec->piece.cols)
                cast_resize(&rec->cast, rec->piece.cols, rec->piece.rows, at_ms);
        if (rec->piece.was_away)
                cast_marker(&rec->cast, "musterd was away; what was printed meanwhile follows at once",
                            at_ms);
        if (rec->piece.n_lost) {
                snprintf(text, sizeof(text), "%llu bytes are missing",
                         (unsigned long long)rec->piece.n_lost);
                cast_marker(&rec->cast, text, at_ms);
        }
        if (rec->piece.bytes.n)
                cast_output(&rec->cast, buf_str(&rec->piece.bytes), at_ms);
        if (!rec->piece.is_last)
                return;
        cast_end(&rec->cast, at_ms);
        if (rec->why)
                cast_marker(&rec->cast, rec->why, at_ms);
}

/* All of it or nothing: a line that is cut would make the file unreadable from there on. */
static int recording_put_file(Recording *rec) {
        size_t at = 0;

        while (at < rec->lines.n) {
                ssize_t n =
                        pwrite(rec->fd, rec->lines.data + at, rec->lines.n - at, rec->n_file + (off_t)at);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0) {
                        int r = n < 0 ? -errno : -ENOSPC;
                        (void)!ftruncate(rec->fd, rec->n_file);
                        return error_origin(r);
                }
                at += (size_t)n;
        }
        rec->n_file += (off_t)rec->lines.n;
        return 0;
}

static void recording_run(void *user) {
        Recording *rec = user;

        rec->lines.n = 0;
        recording_put_lines(rec);
        if (rec->cast.is_out_of_memory) {
                rec->piece.r = error_origin(-ENOMEM);
                return;
        }
        if (rec->n_file + (off_t)rec->lines.n > RECORDING_BYTES_MAX) {
                rec->lines.n = 0;
                cast_marker(&rec->cast, "the recording ends here: it has reached its largest size",
                            rec->piece.at_ms);
                rec->piece.r = recording_put_file(rec);
                rec->piece.r = rec->piece.r ? rec->piece.r : -EFBIG;
                return;
        }
        rec->piece.r = recording_put_file(rec);
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static Recording *recording_free(Recording *rec) {
        if (rec->hosted) {
                rec->hosted->recording = NULL;
                host_announce(rec->hosted, "recording");
        }
        close_fd(rec->fd);
        buf_deinit(&rec->lines);
        buf_deinit(&rec->piece.bytes);
        buf_deinit(&rec->next);
        free(rec->why);
        free(rec);
        return NULL;
}

static int64_t recording_now_ms(const Recording *rec) {
        return rec->base_ms + loop_now_ms(rec->daemon->loop) - rec->opened_ms;
}

/* In the process's record: what a later daemon goes on from. Two places, so that one is always whole. */
static void note_progress(Recording *rec) {
        ShimRecord *record = rec->hosted ? rec->hosted->record : NULL;
        uint32_t slot;

        if (!record)
                return;
        slot = !(atomic_load(&record->recorded_slot) & 1);
        record->recorded[slot] = (ShimRecorded){.position = rec->piece.position - rec->cast.n_held,
                                                .n_bytes = (uint64_t)rec->n_file,
                                                .at_ms = rec->piece.at_ms,
                                                .is_over = rec->piece.is_last || rec->is_stopped};
        atomic_store(&record->recorded_slot, slot);
}

bool recording_is_over(const ShimRecord *record) {
        return record->recorded[atomic_load(&record->recorded_slot) & 1].is_over;
}

static void begin_piece(Recording *rec);

static void recording_done(void *user) {
        Recording *rec = user;

        rec->is_busy = false;
        if (rec->piece.r && !rec->is_stopped) {
                log_warning(&rec->daemon->log, rec->id, "recording stopped: %s", strerror(-rec->piece.r));
                rec->is_stopped = true;
        }
        note_progress(rec);
        if (rec->is_dropped || rec->piece.is_last || (rec->is_stopped && rec->why))
                recording_free(rec);
        else
                begin_piece(rec);
}

/* What has come since the last time, as far as the ring still has it. */
static void recording_take_output(Recording *rec) {
        const Ring *ring = &rec->hosted->out;
        uint64_t begin = ring_begin(ring), end = rec->hosted->shown_out;

        if (begin > rec->position) {
                rec->n_lost += begin - rec->position;
                rec->position = begin;
        }
        if (end > rec->position &&
            !buf_append(&rec->next, ring_span(ring, rec->position).data, (size_t)(end - rec->position)))
                rec->position = end;
}

static void hand_over(Recording *rec) {
        Buf empty = rec->piece.bytes;

        empty.n = 0;
        rec->piece = (Piece){.bytes = rec->next,
                             .position = rec->position,
                             .n_lost = rec->n_lost,
                             .cols = rec->cols,
                             .rows = rec->rows,
                             .was_away = rec->was_away && (rec->next.n || rec->n_lost),
                             .is_last = rec->why != NULL,
                             .at_ms = recording_now_ms(rec)};
        rec->next = empty;
        rec->n_lost = 0;
        rec->cols = rec->rows = 0;
        rec->was_away = false;
}

static void begin_piece(Recording *rec) {
        if (rec->is_busy || rec->is_stopped)
                return;
        if (rec->hosted && !rec->why)
                recording_take_output(rec);
        if (!rec->next.n && !rec->n_lost && !rec->cols && !rec->why)
                return;
        hand_over(rec);
        rec->is_busy = !loop_work(rec->daemon->loop, recording_run, recording_done, rec);
        rec->is_stopped |= !rec->is_busy;
}

int recording_open(Recording **ret, Hosted *hosted, int fd) {
        ShimRecord *record = hosted->record;
        const ShimRecorded *noted = &record->recorded[atomic_load(&record->recorded_slot) & 1];
        Recording *rec = calloc(1, sizeof(*rec));

        if (!rec) {
                close_fd(fd);
                return error_origin(-ENOMEM);
        }
        *rec = (Recording){.daemon = hosted->host->daemon,
                           .hosted = hosted,
                           .fd = fd,
                           .n_file = lseek(fd, 0, SEEK_END),
                           .position = noted->position,
                           .opened_ms = loop_now_ms(hosted->host->daemon->loop),
                           .was_away = hosted->is_adopted};
        if (hosted->is_adopted)
                rec->base_ms = MAX(noted->at_ms, hosted_age_ms(hosted));
        else
                record->recorded[0].n_bytes =
                        (uint64_t)rec->n_file; /* the header counts from the beginning */
        rec->cast.out = &rec->lines;
        memcpy(rec->id, hosted->id, sizeof(rec->id));
        *ret = rec;
        return 0;
}

void recording_poke(Recording *rec) {
        begin_piece(rec);
}

void recording_skip(Recording *rec, uint64_t to) {
        rec->position = MAX(rec->position, to);
}

void recording_resized(Recording *rec) {
        rec->cols = rec->hosted->cols;
        rec->rows = rec->hosted->rows;
        begin_piece(rec);
}

/* The ring goes away with the process, so what is left of it is taken now. */
void recording_end(Recording *rec, const char *why) {
        if (rec->why)
                return;
        recording_take_output(rec);
        rec->why = strdup(why);
        begin_piece(rec);
        if (!rec->is_busy)
                recording_free(rec);
}

void recording_drop(Recording *rec) {
        rec->hosted = NULL;
        if (!rec->why)
                rec->is_dropped = true;
        if (!rec->is_busy)
                recording_free(rec);
}
