/* SPDX-License-Identifier: MIT */
/*
 * One change into the files. What is likely to fail comes first (folders, temp files: no space), then appends, then
 * the renames that make documents visible. Where a step fails, those before it are taken back: a document that was
 * replaced changed places with its temp file, so the old one is still there until all is done.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/store/store-internal.h"

typedef enum AppliedState { APPLIED_NOT, APPLIED_TEMP, APPLIED_APPENDED, APPLIED_PUBLISHED } AppliedState;

typedef struct Applied {
        Step step;
        AppliedState state;
        int ahead;      /* its file, written and without a name; -1: it is made here */
        bool has_old;   /* the temp file is what was there before */
        bool is_new;    /* the file that was appended to */
        uint64_t at, n; /* of what was appended */
} Applied;

enum { _APPLY_E_SUCCESS, APPLY_E_TEMP }; /* it is in its temp file, and has to be renamed */

int store_write_all(int fd, Str bytes, size_t *ret_n) {
        size_t n_done = 0;
        int r = 0;

        while (r == 0 && n_done < bytes.n) {
                ssize_t n = write(fd, bytes.data + n_done, bytes.n - n_done);

                if (n < 0 && errno != EINTR)
                        r = error_origin(-errno);
                n_done += n > 0 ? (size_t)n : 0;
        }
        if (ret_n)
                *ret_n = n_done;
        return r;
}

/* The rights of the document that it is to replace. */
static int store_take_rights(int fd, int dir, const char *name) {
        FileStand is, was;

        if (file_stand_at(dir, name, AT_SYMLINK_NOFOLLOW, &was) || !S_ISREG(was.mode) ||
            file_stand_at(fd, "", 0, &is) || !((is.mode ^ was.mode) & 0777))
                return 0;
        return fchmod(fd, was.mode & 0777) < 0 ? error_origin(-errno) : 0;
}

/* A file that was made ahead is as good as a new one. */
static int store_name_temp(int ahead, int dir, const char *temp) {
        int r = ahead < 0 ? -ENOENT : store_ahead_name(ahead, dir, temp);

        if (r == -EEXIST && unlinkat(dir, temp, 0) == 0) /* of a try before */
                r = store_ahead_name(ahead, dir, temp);
        return r;
}

/* ahead: written already, without a name; taken over. -1: none. */
static int store_write_temp(StoreDisk *disk, int dir, const char *name, const Step *step, int ahead) {
        const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;
        _cleanup_(closep) int fd = ahead;
        char temp[STORE_TEMP_MAX];
        int r = 0;

        store_temp_name(name, step->head.stamp, temp);
        store_disk_step(disk, "temp");
        if (store_name_temp(fd, dir, temp)) {
                close_fd(fd);
                fd = openat(dir, temp, flags, 0666);
                if (fd < 0 && errno == EEXIST && unlinkat(dir, temp, 0) == 0)
                        fd = openat(dir, temp, flags, 0666);
                r = fd < 0 ? error_origin(-errno) : store_write_all(fd, step->bytes, NULL);
        }
        if (r == 0 && step->head.kind == STEP_REPLACE)
                r = store_take_rights(fd, dir, name);
        if (r && fd >= 0)
                (void)unlinkat(dir, temp, 0);
        return error_trace(r);
}

static int apply_temp(StoreDisk *disk, Applied *applied) {
        const char *name;
        int dir = store_parent(disk, applied->step.path, &name);
        int ahead = applied->ahead, r;

        if (dir < 0)
                return error_trace(dir);
        applied->ahead = -1;
        r = store_write_temp(disk, dir, name, &applied->step, ahead);
        if (r == 0)
                applied->state = APPLIED_TEMP;
        return error_trace(r);
}

/* Bytes of ours that nobody has written behind. */
static void store_cut_back(int fd, uint64_t at, uint64_t n) {
        struct stat st;

        if (n && fstat(fd, &st) == 0 && (uint64_t)st.st_size == at + n && ftruncate(fd, (off_t)at) < 0)
                return; /* they stay, as a line that does not parse */
}

static int apply_append(StoreDisk *disk, Applied *applied) {
        int fd = store_open_append(disk, applied->step.path, &applied->is_new);
        size_t n = 0;
        off_t end;
        int r;

        if (fd < 0)
                return error_trace(fd);
        store_disk_step(disk, "append");
        r = store_write_all(fd, applied->step.bytes, &n);
        end = lseek(fd, 0, SEEK_CUR);
        applied->at = end < (off_t)n ? 0 : (uint64_t)end - n;
        applied->n = n;
        if (r) {
                store_cut_back(fd, applied->at, n);
                return error_trace(r);
        }
        if (applied->at != applied->step.head.at)
                store_trail_missed(disk, applied->step.path); /* others were faster */
        applied->state = APPLIED_APPENDED;
        return 0;
}

int store_write_at(StoreDisk *disk, const Step *step, uint64_t *ret_n) {
        _cleanup_(closep) int fd = -1;
        const char *name;
        int dir = store_parent(disk, step->path, &name);
        Str rest = step->bytes;

        *ret_n = 0;
        if (dir < 0)
                return error_trace(dir);
        fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        while (fd >= 0 && *ret_n < rest.n) {
                ssize_t n = pwrite(fd, rest.data + *ret_n, rest.n - (size_t)*ret_n,
                                   (off_t)(step->head.at + *ret_n));

                if (n < 0 && errno != EINTR)
                        return error_origin(-errno);
                *ret_n += n > 0 ? (uint64_t)n : 0;
        }
        return fd < 0 ? error_origin(-errno) : 0;
}

static int apply_grow(StoreDisk *disk, Applied *applied) {
        int r;

        store_disk_step(disk, "grow");
        applied->at = applied->step.head.at;
        applied->state = APPLIED_APPENDED; /* also what was written in part is taken back */
        r = store_write_at(disk, &applied->step, &applied->n);
        return error_trace(r);
}

static int store_exchange(int dir, const char *temp, const char *name, bool *ret_has_old) {
        *ret_has_old = true;
        if (renameat2(dir, temp, dir, name, RENAME_EXCHANGE) == 0)
                return 0;
        *ret_has_old = false;
        if (errno != ENOENT && errno != EINVAL && errno != ENOSYS)
                return error_origin(-errno);
        return renameat(dir, temp, dir, name) < 0 ? error_origin(-errno) : 0;
}

static int store_publish(int dir, const char *temp, const char *name, const Step *step, bool *ret_has_old) {
        if (step->head.kind == STEP_REMOVE) {
                *ret_has_old = renameat(dir, name, dir, temp) == 0;
                return *ret_has_old || errno == ENOENT ? 0 : error_origin(-errno);
        }
        if (step->head.kind == STEP_REPLACE)
                return error_trace(store_exchange(dir, temp, name, ret_has_old));
        if (renameat2(dir, temp, dir, name, RENAME_NOREPLACE) == 0)
                return 0;
        if (errno == EEXIST)
                return error_origin(-ESTALE); /* made by somebody who does not ask for the lock */
        if (errno != EINVAL && errno != ENOSYS)
                return error_origin(-errno);
        return renameat(dir, temp, dir, name) < 0 ? error_origin(-errno) : 0;
}

/* What has the name already: a document of somebody who was faster, or nothing that is replaced. */
static int apply_taken(int dir, const char *name) {
        struct stat st;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || S_ISREG(st.st_mode))
                return error_origin(-ESTALE);
        return error_origin(S_ISLNK(st.st_mode) ? -ELOOP : -EISDIR);
}

/* The file that was made ahead gets its name; where that cannot be, another one is made. */
static int apply_name(StoreDisk *disk, Applied *applied, int dir, const char *name) {
        int r = store_ahead_name(applied->ahead, dir, name);

        applied->ahead = close_fd(applied->ahead);
        if (r == -EEXIST)
                return error_trace(apply_taken(dir, name));
        if (!r || r == -ENOSPC || r == -EDQUOT || r == -EIO)
                return error_trace(r);
        r = store_write_temp(disk, dir, name, &applied->step, -1);
        return r ? error_trace(r) : APPLY_E_TEMP;
}

static int apply_publish(StoreDisk *disk, Applied *applied) {
        const char *name;
        int dir = store_parent(disk, applied->step.path, &name);
        char temp[STORE_TEMP_MAX];
        int r = APPLY_E_TEMP;

        if (dir < 0)
                return applied->step.head.kind == STEP_REMOVE && dir == -ENOENT ? 0 : error_trace(dir);
        store_temp_name(name, applied->step.head.stamp, temp);
        store_disk_step(disk, "publish");
        store_reach_forget_file(disk, applied->step.path);
        if (applied->ahead >= 0)
                r = apply_name(disk, applied, dir, name);
        if (r == APPLY_E_TEMP)
                r = store_publish(dir, temp, name, &applied->step, &applied->has_old);
        if (r == 0)
                applied->state = APPLIED_PUBLISHED;
        return error_trace(r);
}

/* What was there before is needed no more, or what was to come is not. */
static void apply_drop_temp(StoreDisk *disk, const Applied *applied) {
        const char *name;
        int dir = store_parent(disk, applied->step.path, &name);
        char temp[STORE_TEMP_MAX];

        if (dir < 0)
                return;
        store_temp_name(name, applied->step.head.stamp, temp);
        (void)unlinkat(dir, temp, 0);
}

static void apply_unpublish(StoreDisk *disk, const Applied *applied) {
        const char *name;
        int dir = store_parent(disk, applied->step.path, &name);
        char temp[STORE_TEMP_MAX];

        if (dir < 0)
                return;
        store_temp_name(name, applied->step.head.stamp, temp);
        if (applied->step.head.kind == STEP_REPLACE && applied->has_old)
                (void)renameat2(dir, temp, dir, name, RENAME_EXCHANGE);
        else if (applied->step.head.kind == STEP_REMOVE && applied->has_old)
                (void)renameat(dir, temp, dir, name);
        else if (applied->step.head.kind != STEP_REMOVE)
                (void)renameat(dir, name, dir, temp);
}

/* A file that had to be made for its first line. */
static void apply_drop_new(StoreDisk *disk, const char *path) {
        const char *name;
        int dir = store_parent(disk, path, &name);
        struct stat st;

        if (dir >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && st.st_size == 0)
                (void)unlinkat(dir, name, 0);
}

static void apply_take_back(StoreDisk *disk, Applied *applied) {
        if (applied->state == APPLIED_APPENDED) {
                int fd = store_open_append(disk, applied->step.path, NULL);

                if (fd >= 0)
                        store_cut_back(fd, applied->at, applied->n);
        }
        applied->ahead = close_fd(applied->ahead);
        if (applied->is_new)
                apply_drop_new(disk, applied->step.path);
        if (applied->state == APPLIED_PUBLISHED)
                apply_unpublish(disk, applied);
        if (step_is_content(&applied->step))
                apply_drop_temp(disk, applied);
}

static void apply_take_all_back(StoreDisk *disk, Applied *applied, size_t n, const Buf *made) {
        size_t end = made->n;

        store_reach_forget(disk);
        while (n > 0)
                apply_take_back(disk, &applied[--n]);
        while (end > 0) { /* the folders, those made last first */
                size_t start = end - 1;
                const char *name;
                int dir;

                while (start > 0 && made->data[start - 1])
                        start--;
                dir = store_parent(disk, made->data + start, &name);
                if (dir >= 0)
                        (void)unlinkat(dir, name, AT_REMOVEDIR);
                end = start;
        }
        store_reach_forget(disk); /* some of it is gone now */
}

static int apply_prepare(StoreDisk *disk, Applied *applied, Buf *made) {
        const Step *step = &applied->step;
        char inside[STORE_PATH_MAX + 2];
        int r;

        if (step->head.kind == STEP_REMOVE)
                return 0;
        snprintf(inside, sizeof(inside), "%s%s", step->path, step->head.kind == STEP_MKDIR ? "/." : "");
        r = store_make_parents(disk, inside, made);
        if (r == 0 &&
            (step->head.kind == STEP_REPLACE || (step->head.kind == STEP_CREATE && applied->ahead < 0)))
                r = apply_temp(disk, applied);
        return error_trace(r);
}

static int apply_all(StoreDisk *disk, Applied *applied, size_t n, Buf *made) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++)
                r = apply_prepare(disk, &applied[i], made);
        for (size_t i = 0; r == 0 && i < n; i++)
                if (applied[i].step.head.kind == STEP_GROW)
                        r = apply_grow(disk, &applied[i]);
                else if (applied[i].step.head.kind >= STEP_APPEND)
                        r = apply_append(disk, &applied[i]);
        for (size_t i = 0; r == 0 && i < n; i++)
                if (step_is_content(&applied[i].step))
                        r = apply_publish(disk, &applied[i]);
        return error_trace(r);
}

int store_apply(StoreDisk *disk, Str steps, uint64_t number, StoreChange *change) {
        _cleanup_(buf_deinit) Buf all = BUF_NULL, made = BUF_NULL;
        Applied one = {0}, *applied;
        size_t at = 0, n = 0, n_written = 0;
        int r = 0;

        while (r == 0 && step_next(steps, &at, &one.step)) {
                if (one.step.head.change != number)
                        continue;
                one.ahead = -1;
                r = buf_append(&all, &one, sizeof(one));
                n++;
        }
        applied = (Applied *)(void *)all.data;
        for (size_t i = 0; !r && i < n; i++)
                if (step_is_written(&applied[i].step))
                        applied[i].ahead = store_ahead_take(change, n_written++);
        r = r ? r : apply_all(disk, applied, n, &made);
        if (r) {
                apply_take_all_back(disk, applied, all.n / sizeof(one), &made);
                return error_trace(r);
        }
        for (size_t i = 0; i < n; i++) {
                if (applied[i].has_old)
                        apply_drop_temp(disk, &applied[i]);
                store_disk_touch(disk, applied[i].step.path);
        }
        store_disk_step(disk, "applied");
        return 0;
}

int store_put(StoreDisk *disk, const Step *step) {
        Applied applied = {.step = *step, .ahead = -1};
        int r = apply_prepare(disk, &applied, NULL);

        r = r ? r : apply_publish(disk, &applied);
        apply_drop_temp(disk, &applied);
        if (r == 0)
                store_disk_touch(disk, step->path);
        return error_trace(r);
}
