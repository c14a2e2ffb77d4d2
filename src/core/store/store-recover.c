/* SPDX-License-Identifier: MIT */
/*
 * What the journal has and the files have not is put there: the daemon or the machine went down. Doing it twice
 * changes nothing. Of several states of a document only the last counts. Nothing that others have written since is
 * overwritten: a document that is neither the old one nor any of ours stays, and ours goes to cut.<stamp>; lines are
 * looked for from where they should have landed, and else are appended.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/siphash.h"
#include "base/time.h"
#include "core/store/store-internal.h"

typedef struct Redo {
        StoreDisk *disk;
        Buf steps; /* of RedoStep */
        Buf voids; /* of RecordVoid */
        Buf kept;  /* of Buf: staged records that steps point into */
        int64_t wall_us;
        int cut;
} Redo;

typedef struct RedoStep {
        Step step;
        uint64_t serial, hash;
        bool is_over; /* a later one replaces the same file */
} RedoStep;

static int redo_take_steps(Redo *redo, Str record) {
        RecordHead head;
        size_t at = sizeof(head);
        RedoStep one = {0};
        int r = 0;

        if (record.n < sizeof(head))
                return 0;
        memcpy(&head, record.data, sizeof(head));
        one.serial = head.serial;
        while (r == 0 && step_next(record, &at, &one.step)) {
                one.hash = siphash((SipKey){5, 6}, str_from(one.step.path));
                r = buf_append(&redo->steps, &one, sizeof(one));
        }
        return error_trace(r);
}

static int redo_take_staged(Redo *redo, Str bytes) {
        RecordStaged staged;
        Buf record = BUF_NULL;
        int r;

        if (bytes.n != sizeof(staged))
                return 0;
        memcpy(&staged, bytes.data, sizeof(staged));
        staged.name[sizeof(staged.name) - 1] = 0;
        r = store_read_staged(redo->disk, &staged, &record);
        if (r == 0)
                r = buf_append(&redo->kept, &record, sizeof(record));
        if (r) {
                buf_deinit(&record);
                return r < 0 ? error_trace(r) : 0;
        }
        return error_trace(redo_take_steps(redo, buf_str(&record)));
}

static int redo_take_record(void *user, uint64_t tag, Str bytes) {
        Redo *redo = user;

        if (tag == RECORD_INLINE)
                return error_trace(redo_take_steps(redo, bytes));
        if (tag == RECORD_STAGED)
                return error_trace(redo_take_staged(redo, bytes));
        if (tag == RECORD_VOID && bytes.n == sizeof(RecordVoid))
                return error_trace(buf_append(&redo->voids, bytes.data, bytes.n));
        return 0;
}

static bool redo_is_void(const Redo *redo, const RedoStep *one) {
        const RecordVoid *all = (const RecordVoid *)(const void *)redo->voids.data;

        for (size_t i = 0; i < redo->voids.n / sizeof(*all); i++)
                if (all[i].serial == one->serial && all[i].change == one->step.head.change)
                        return true;
        return false;
}

/* From the last one back: what a later step replaces need not be done. */
static void redo_find_last(Redo *redo) {
        RedoStep *all = (RedoStep *)(void *)redo->steps.data;
        size_t n = redo->steps.n / sizeof(*all);

        for (size_t i = n; i-- > 0;) {
                all[i].is_over |= redo_is_void(redo, &all[i]);
                if (all[i].is_over || !step_is_content(&all[i].step))
                        continue;
                for (size_t k = 0; k < i; k++)
                        all[k].is_over |= all[k].hash == all[i].hash && all[k].step.head.kind != STEP_MKDIR;
        }
}

static int redo_read(const Redo *redo, const char *path, uint64_t from, Buf *ret,
                     FileIdentity *ret_identity) {
        _cleanup_(closep) int fd = path_open_beneath(redo->disk->root, path, O_RDONLY | O_NONBLOCK, 0);
        int r;

        *ret_identity = (FileIdentity){0};
        if (fd == -ENOENT)
                return 0;
        r = fd < 0 ? fd : file_identify_fd(fd, ret_identity);
        if (r == 0 && ret_identity->n_bytes > (int64_t)from &&
            ret_identity->n_bytes - (int64_t)from <= STORE_WAITING_MAX)
                r = buf_reserve(ret, (size_t)(ret_identity->n_bytes - (int64_t)from));
        while (r == 0 && ret->n < ret->cap) {
                ssize_t n = pread(fd, ret->data + ret->n, ret->cap - ret->n, (off_t)(from + ret->n));

                if (n < 0 && errno != EINTR)
                        r = error_origin(-errno);
                if (n == 0)
                        break;
                ret->n += n > 0 ? (size_t)n : 0;
        }
        return error_trace(r);
}

/* Bytes of ours of which pages were lost: cut short, or zeros. */
static bool redo_is_damaged(Str now, Str ours) {
        if (now.n > ours.n)
                return false;
        for (size_t i = 0; i < now.n; i++)
                if (now.data[i] && now.data[i] != ours.data[i])
                        return false;
        return true;
}

static bool redo_is_same(const FileIdentity *now, const FileIdentity *then) { /* a rename changes ctime */
        return now->ino == then->ino && now->dev == then->dev && now->n_bytes == then->n_bytes &&
               now->mtime_ns == then->mtime_ns;
}

/* Whether what is there is any state of before, of this journal: the one it began with, or one of ours. */
static bool redo_is_of_before(const Redo *redo, const RedoStep *last, const FileIdentity *now, Str text) {
        const RedoStep *all = (const RedoStep *)(const void *)redo->steps.data;

        for (const RedoStep *one = all; one <= last; one++) {
                if (one->hash != last->hash || !step_is_content(&one->step))
                        continue;
                if (redo_is_same(now, &one->step.head.expect) ||
                    (one->step.head.kind != STEP_REMOVE && redo_is_damaged(text, one->step.bytes)))
                        return true;
        }
        return false;
}

static int redo_put_aside(Redo *redo, const Step *step) {
        char stamp[TIME_TEXT_MAX];

        redo->disk->n_aside++;
        if (redo->cut < 0) {
                time_format_stamp(redo->wall_us, stamp);
                snprintf(redo->disk->cut, sizeof(redo->disk->cut), "cut.%.16s", stamp);
                redo->cut = openat(redo->disk->state, redo->disk->cut,
                                   O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
        }
        if (redo->cut < 0 || dprintf(redo->cut, "== %s %zu\n", step->path, step->bytes.n) < 0)
                return error_origin(-errno);
        return error_trace(store_write_all(redo->cut, step->bytes, NULL));
}

static int redo_content(Redo *redo, const RedoStep *one) {
        _cleanup_(buf_deinit) Buf now = BUF_NULL;
        Step step = one->step;
        FileIdentity identity;
        bool is_old, is_there;
        int r = redo_read(redo, step.path, 0, &now, &identity);

        if (r)
                return error_trace(r);
        is_there = identity.ino != 0;
        is_old = is_there && redo_is_same(&identity, &step.head.expect);
        if (step.head.kind == STEP_REMOVE) {
                if (!is_there || !redo_is_of_before(redo, one, &identity, buf_str(&now)))
                        return 0;
        } else if (is_there && !is_old &&
                   (!step.bytes.n || (now.data && str_starts(buf_str(&now), step.bytes))))
                return 0; /* done, and perhaps more by now */
        else if (is_there && !redo_is_of_before(redo, one, &identity, buf_str(&now)))
                return error_trace(redo_put_aside(redo, &step));
        redo->disk->n_restored++;
        step.head.kind = step.head.kind == STEP_REMOVE ? STEP_REMOVE : STEP_REPLACE;
        return error_trace(store_put(redo->disk, &step));
}

/* Without the newline that ended somebody's torn line. */
static Str redo_own(const Step *step) {
        Str own = step->bytes;

        if (own.n && own.data[0] == '\n')
                own = (Str){own.data + 1, own.n - 1};
        return own;
}

/* Others have written where it should have landed: it comes behind them, sealed anew. */
static int redo_append(Redo *redo, const Step *step) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str own = redo_own(step), body = trail_body(own);
        char hash[SHA256_HEX_MAX];
        int r, fd;
        StoreTrail *trail = store_trail(redo->disk, step->path, &r);

        if (!trail)
                return error_trace(r);
        fd = store_open_append(redo->disk, step->path, NULL);
        if (fd < 0)
                return error_trace(fd);
        if (trail->tail.is_torn)
                r = buf_append_str(&text, STR("\n"));
        if (r == 0 && step->head.kind == STEP_EVENT && body.n) {
                _cleanup_(buf_deinit) Buf whole = BUF_NULL;

                r = buf_append_str(&whole, body);
                r = r ? r : buf_append_str(&whole, STR("}"));
                r = r ? r : trail_seal(&text, buf_str(&whole), trail->tail.hash, hash);
        } else if (r == 0)
                r = buf_append_str(&text, own);
        r = r ? r : store_write_all(fd, buf_str(&text), NULL);
        store_trail_forget(redo->disk, step->path);
        return error_trace(r);
}

/* Whether the line at this place is whole: an event may have been sealed anew by a recovery before. */
static bool redo_is_whole(Str rest, Str own, Str body) {
        const char *newline = memchr(rest.data, '\n', rest.n);
        Str line = {rest.data, newline ? (size_t)(newline - rest.data) : 0};

        if (rest.n >= own.n && memcmp(rest.data, own.data, own.n) == 0)
                return true;
        return body.n && newline && !memchr(line.data, 0, line.n) && trail_body(line).n == body.n;
}

/* Looked for where lines begin. */
static bool redo_has(Str now, Str own, Str body) {
        const char *at = now.data, *end = now.data + now.n, *found;
        Str what = body.n ? body : own;

        while (at < end && (found = memmem(at, (size_t)(end - at), what.data, what.n))) {
                if ((found == now.data || found[-1] == '\n') &&
                    redo_is_whole((Str){found, (size_t)(end - found)}, own, body))
                        return true;
                at = found + 1;
        }
        return false;
}

static int redo_lines(Redo *redo, const Step *step) {
        _cleanup_(buf_deinit) Buf now = BUF_NULL;
        Str own = redo_own(step), body = step->head.kind == STEP_EVENT ? trail_body(own) : STR_NULL;
        FileIdentity identity;
        uint64_t n;
        int r;

        r = store_make_parents(redo->disk, step->path, NULL);
        r = r ? r : redo_read(redo, step->path, step->head.at, &now, &identity);
        if (r)
                return error_trace(r);
        if (redo_has(buf_str(&now), own, body))
                return 0;
        if ((uint64_t)identity.n_bytes < step->head.at) /* others have cut the file, or it is gone */
                return error_trace(redo_put_aside(redo, step));
        redo->disk->n_restored++;
        if (redo_is_damaged((Str){now.data, MIN(now.n, step->bytes.n)}, step->bytes))
                r = store_write_at(redo->disk, step, &n);
        else
                r = redo_append(redo, step);
        store_disk_touch(redo->disk, step->path);
        return error_trace(r);
}

/* A file of ours alone: its bytes are written again unless they stand there. */
static int redo_grow(Redo *redo, const Step *step) {
        _cleanup_(buf_deinit) Buf now = BUF_NULL;
        FileIdentity identity;
        uint64_t n;
        int r = store_make_parents(redo->disk, step->path, NULL);

        r = r ? r : redo_read(redo, step->path, step->head.at, &now, &identity);
        if (r || (now.data && str_starts(buf_str(&now), step->bytes)))
                return error_trace(r);
        if ((uint64_t)identity.n_bytes < step->head.at)
                return error_trace(redo_put_aside(redo, step));
        redo->disk->n_restored++;
        r = store_write_at(redo->disk, step, &n);
        store_disk_touch(redo->disk, step->path);
        return error_trace(r);
}

/* What a try of before has left beside the file. */
static void redo_drop_temp(Redo *redo, const Step *step) {
        const char *name;
        int dir = store_parent(redo->disk, step->path, &name);
        char temp[STORE_TEMP_MAX];

        if (dir < 0)
                return;
        store_temp_name(name, step->head.stamp, temp);
        (void)unlinkat(dir, temp, 0);
}

static int redo_one(Redo *redo, const RedoStep *one) {
        char inside[STORE_PATH_MAX + 2];
        int r = 0;

        if (!one->is_over && one->step.head.kind == STEP_MKDIR) {
                snprintf(inside, sizeof(inside), "%s/.", one->step.path);
                r = store_make_parents(redo->disk, inside, NULL);
        } else if (!one->is_over && step_is_content(&one->step))
                r = redo_content(redo, one);
        else if (!one->is_over && one->step.head.kind == STEP_GROW)
                r = redo_grow(redo, &one->step);
        else if (!one->is_over)
                r = redo_lines(redo, &one->step);
        if (step_is_content(&one->step))
                redo_drop_temp(redo, &one->step);
        return error_trace(r);
}

static int redo_all(Redo *redo) {
        const RedoStep *all = (const RedoStep *)(const void *)redo->steps.data;
        int r = 0;

        redo_find_last(redo);
        for (size_t i = 0; r == 0 && i < redo->steps.n / sizeof(*all); i++)
                r = redo_one(redo, &all[i]);
        return error_trace(r);
}

/* Only now that all of it is safe elsewhere the journal may go. */
static int redo_finish(Redo *redo) {
        StoreDisk *disk = redo->disk;

        if (redo->cut >= 0 && (fsync(redo->cut) < 0 || fsync(disk->state) < 0))
                return error_origin(-errno);
        if (disk->policy != LEDGER_NONE && syncfs(disk->root) < 0)
                return error_origin(-errno);
        store_disk_step(disk, "recovered");
        if (unlinkat(disk->state, "journal", 0) < 0)
                return error_origin(-errno);
        for (size_t at = 0; at < disk->staged.n; at += strlen(disk->staged.data + at) + 1)
                (void)unlinkat(disk->state, disk->staged.data + at, 0);
        disk->touched.n = disk->n_touched = disk->staged.n = 0;
        return 0;
}

int store_recover(StoreDisk *disk, Str journal, int64_t wall_us) {
        Redo redo = {.disk = disk, .wall_us = wall_us, .cut = -1};
        StoreLock lock = STORE_LOCK_NULL;
        JournalHead head;
        int r;

        if (!journal_head(journal, &head))
                return 0;
        r = journal_replay(journal, &head, STORE_JOURNAL_SIZE, redo_take_record, &redo);
        if (r == 0)
                (void)store_lock_take(
                        &lock, disk,
                        wall_us); /* who has it will be done in a moment, and is not overwritten */
        r = r ? r : redo_all(&redo);
        r = r ? r : redo_finish(&redo);
        store_lock_drop(&lock);
        close_fd(redo.cut);
        for (size_t at = 0; at < redo.kept.n; at += sizeof(Buf))
                buf_deinit((Buf *)(void *)(redo.kept.data + at));
        buf_deinit(&redo.kept);
        buf_deinit(&redo.voids);
        buf_deinit(&redo.steps);
        return error_trace(r);
}
