/* SPDX-License-Identifier: MIT */
/*
 * Events are sealed: each gets the hash of the one before it, whoever wrote that. What is known of the end of a
 * file is kept; one statx(2) tells whether others have appended since.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/siphash.h"
#include "core/store/store-internal.h"

static StoreTrail *store_trail_place(const StoreDisk *disk, const char *path) {
        static const SipKey any = {1, 2};

        return &disk->trails[siphash(any, str_from(path)) % STORE_TRAILS];
}

static int store_trail_begin(StoreTrail *trail, const char *path) {
        if (trail->path && strcmp(trail->path, path) == 0)
                return 0;
        free(trail->path);
        *trail = (StoreTrail){.path = strdup(path)};
        return trail->path ? 0 : error_origin(-ENOMEM);
}

static int store_trail_look(StoreDisk *disk, StoreTrail *trail) {
        const char *name;
        int dir = store_parent(disk, trail->path, &name), r;
        _cleanup_(closep) int fd = -1;
        FileStand st;

        trail->is_missed = false;
        if (dir < 0 && dir != -ENOENT)
                return error_trace(dir);
        if (dir >= 0)
                fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (dir < 0 || (fd < 0 && errno == ENOENT)) {
                trail->tail = (TrailTail){0};
                trail->ino = 0;
                return 0;
        }
        r = fd < 0 ? error_origin(-errno) : file_stand_at(fd, "", 0, &st);
        if (r)
                return error_trace(r);
        if (!S_ISREG(st.mode))
                return error_origin(-EISDIR);
        if (trail->ino != st.ino || trail->dev != st.dev || trail->tail.end > st.size)
                trail->tail = (TrailTail){0};
        trail->ino = st.ino;
        trail->dev = st.dev;
        return error_trace(trail_tail(fd, st.size, &trail->tail));
}

StoreTrail *store_trail(StoreDisk *disk, const char *path, int *reterr) {
        StoreTrail *trail;

        if (!disk->trails)
                disk->trails = calloc(STORE_TRAILS, sizeof(*disk->trails));
        if (!disk->trails) {
                *reterr = error_origin(-ENOMEM);
                return NULL;
        }
        trail = store_trail_place(disk, path);
        *reterr = store_trail_begin(trail, path);
        *reterr = *reterr ? *reterr : store_trail_look(disk, trail);
        return *reterr ? NULL : trail;
}

void store_trail_missed(StoreDisk *disk, const char *path) {
        StoreTrail *trail = disk->trails ? store_trail_place(disk, path) : NULL;

        if (trail && trail->path && strcmp(trail->path, path) == 0)
                trail->is_missed = true;
}

void store_trail_forget(StoreDisk *disk, const char *path) {
        StoreTrail *trail = disk->trails ? store_trail_place(disk, path) : NULL;

        if (!trail || !trail->path || strcmp(trail->path, path) != 0)
                return;
        free(trail->path);
        *trail = (StoreTrail){0};
}

uint64_t store_trail_ino(const StoreDisk *disk, const char *path) {
        const StoreTrail *trail = disk->trails ? store_trail_place(disk, path) : NULL;

        return trail && trail->path && strcmp(trail->path, path) == 0 ? trail->ino : 0;
}

static StoreEnd *store_end_of(StoreJob *job, const char *path) {
        StoreEnd *end = (StoreEnd *)(void *)job->ends.data, made = {.path = path};
        StoreTrail *trail;

        for (size_t i = 0; i < job->ends.n / sizeof(*end); i++)
                if (strcmp(end[i].path, path) == 0)
                        return &end[i];
        trail = store_trail(job->disk, path, &job->r);
        if (!trail)
                return NULL;
        made.tail = trail->tail;
        job->r = buf_append(&job->ends, &made, sizeof(made));
        return job->r ? NULL : (StoreEnd *)(void *)(job->ends.data + job->ends.n) - 1;
}

/* Torn bytes of others get a newline first: they stay, as a line that does not parse. */
static int store_seal_line(StoreEnd *end, const Step *step, Buf *line) {
        Str body = {step->bytes.data + step->head.n_kind, step->bytes.n - step->head.n_kind};
        char hash[SHA256_HEX_MAX];
        int r = end->tail.is_torn ? buf_append_str(line, STR("\n")) : 0;

        if (r == 0 && step->head.kind == STEP_EVENT) {
                r = trail_seal(line, body, end->tail.hash, hash);
                if (r == 0)
                        trail_tail_seal(&end->tail, buf_str(line), hash);
                return error_trace(r);
        }
        r = r ? r : buf_append_str(line, step->bytes);
        return error_trace(r ? r : trail_tail_take(&end->tail, buf_str(line)));
}

static int store_seal_note(StoreJob *job, StoreChange *change, const Step *step, const StoreEnd *end,
                           size_t n_line) {
        StoreLine line = {.change = change,
                          .told = {.path = str_from(step->path),
                                   .kind = {step->bytes.data, step->head.n_kind},
                                   .line = {NULL, n_line},
                                   .seq = end->tail.n_lines}};

        line.told.line.data = (const char *)job->record.n; /* an offset until the record is whole */
        return error_trace(buf_append(&job->lines, &line, sizeof(line)));
}

static int store_seal_append(StoreJob *job, StoreChange *change, const Step *step) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        StoreEnd *end = store_end_of(job, step->path);
        StepHead head = step->head;
        int r;

        if (!end)
                return job->r;
        head.at = end->tail.end;
        r = store_seal_line(end, step, &text);
        head.n_kind = 0;
        head.n_bytes = text.n;
        r = r ? r : step_add(&job->record, &head, step->path, buf_str(&text));
        if (r == 0 && step->head.kind == STEP_EVENT)
                r = store_seal_note(job, change, step, end, text.n);
        return error_trace(r);
}

/* What is sealed gets a little longer. */
static size_t store_seal_room(const StoreJob *job) {
        size_t n = 4096;

        for (const StoreChange *change = job->changes; change; change = change->next)
                n += change->r ? 0 : change->steps.n;
        return n;
}

static int store_seal_change(StoreJob *job, StoreChange *change, uint32_t number) {
        size_t at = 0;
        Step step;
        int r = 0;

        while (r == 0 && step_next(buf_str(&change->steps), &at, &step)) {
                step.head.change = number;
                step.head.stamp = ++job->disk->stamp;
                if (step.head.kind == STEP_APPEND || step.head.kind == STEP_EVENT)
                        r = store_seal_append(job, change, &step);
                else if (step.head.kind != STEP_EXPECT)
                        r = step_add(&job->record, &step.head, step.path, step.bytes);
        }
        return error_trace(r);
}

/* Where each line stands in the record: its last step's bytes, without the newlines around it. */
static void store_seal_point(StoreJob *job) {
        StoreLine *line = (StoreLine *)(void *)job->lines.data;

        for (size_t i = 0; i < job->lines.n / sizeof(*line); i++) {
                Str *text = &line[i].told.line;
                size_t end = (size_t)text->data, n_pad;
                const char *bytes;

                n_pad = (8 - (text->n + line[i].told.path.n + 1) % 8) % 8;
                bytes = job->record.data + end - n_pad - text->n;
                *text = str_trim((Str){bytes, text->n});
        }
}

int store_seal(StoreJob *job) {
        RecordHead head = {.serial = ++job->disk->serial, .stamp = job->disk->stamp};
        uint32_t number = 0;
        int r;

        job->record.n = job->lines.n = job->ends.n = 0;
        r = buf_reserve(&job->record, store_seal_room(job));
        r = r ? r : buf_append(&job->record, &head, sizeof(head));
        for (StoreChange *change = job->changes; r == 0 && change; change = change->next, number++)
                if (!change->r)
                        r = store_seal_change(job, change, number);
        if (r == 0)
                store_seal_point(job);
        return error_trace(r);
}

/* A file that others have appended to meanwhile, or that is new, is read next time. */
void store_seal_keep(StoreJob *job) {
        const StoreEnd *end = (const StoreEnd *)(const void *)job->ends.data;

        for (size_t i = 0; i < job->ends.n / sizeof(*end); i++) {
                StoreTrail *trail = store_trail_place(job->disk, end[i].path);

                if (trail->path && trail->ino && !trail->is_missed && strcmp(trail->path, end[i].path) == 0)
                        trail->tail = end[i].tail;
        }
}
