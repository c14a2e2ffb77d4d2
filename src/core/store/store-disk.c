/* SPDX-License-Identifier: MIT */
/*
 * The file side of a store: our own folder in it with the lock of daemons and the journal, and the sync of what was
 * touched.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/siphash.h"
#include "core/store/store-internal.h"

static const SipKey store_key = {0x6d75737465722073,
                                 0x746f7265206b6579}; /* against accidents, not against people */

void store_disk_step(const StoreDisk *disk, const char *what) {
        if (disk->step)
                disk->step(what);
}

void store_temp_name(const char *name, uint64_t stamp, char out[STORE_TEMP_MAX]) {
        snprintf(out, STORE_TEMP_MAX, ".%.200s" STORE_TEMP "%llx", name, (unsigned long long)stamp);
}

bool store_is_passing(const char *name) {
        return !strcmp(name, STORE_LOCK) || (name[0] == '.' && strstr(name, STORE_TEMP));
}

/* Without memory the whole file system is synced instead. */
void store_disk_touch(StoreDisk *disk, const char *path) {
        if (disk->n_touched++ <= STORE_TOUCHED_MAX && buf_append(&disk->touched, path, strlen(path) + 1))
                disk->n_touched = STORE_TOUCHED_MAX + 1;
}

static int store_sync_path(StoreDisk *disk, const char *path) {
        const char *name;
        int dir = store_parent(disk, path, &name);
        _cleanup_(closep) int fd = -1;

        if (dir < 0)
                return dir == -ENOENT ? 0 : error_trace(dir);
        fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0 && errno != ENOENT)
                return error_origin(-errno);
        if ((fd >= 0 && fsync(fd) < 0) || fsync(dir) < 0)
                return error_origin(-errno);
        return 0;
}

static int store_sync_touched(StoreDisk *disk) {
        int r = 0;

        if (disk->n_touched > STORE_TOUCHED_MAX)
                return syncfs(disk->root) < 0 ? error_origin(-errno) : 0;
        for (size_t at = 0; r == 0 && at < disk->touched.n; at += strlen(disk->touched.data + at) + 1)
                r = store_sync_path(disk, disk->touched.data + at);
        return error_trace(r);
}

/* The folders in which files were made lately, and the files that had lines appended. */
static void store_meet_touched(StoreDisk *disk) {
        for (size_t at = 0; at < disk->touched.n; at += strlen(disk->touched.data + at) + 1) {
                const char *path = disk->touched.data + at, *name;
                int dir = store_parent(disk, path, &name);
                FileStand st;

                if (dir >= 0 && file_stand_at(dir, "", 0, &st) == 0)
                        journal_meet(&disk->journal, st.ino);
                journal_meet(&disk->journal, store_trail_ino(disk, path));
        }
        journal_meet(&disk->journal, disk->spare_ino);
}

bool store_disk_wants_flush(const StoreDisk *disk) {
        return disk->policy != LEDGER_NONE && disk->n_touched > STORE_TOUCHED_MAX;
}

/* Whatever it does not reach, or what comes behind it, is left for the sync. */
void store_disk_flush(const StoreDisk *disk) {
        (void)syncfs(disk->root);
}

int store_disk_sync(StoreDisk *disk) {
        int r;

        store_disk_step(disk, "sync");
        store_meet_touched(disk);
        r = disk->policy == LEDGER_NONE ? 0 : store_sync_touched(disk);
        if (r)
                return error_trace(r);
        store_disk_step(disk, "synced");
        journal_restart(&disk->journal);
        for (size_t at = 0; at < disk->staged.n; at += strlen(disk->staged.data + at) + 1)
                (void)unlinkat(disk->state, disk->staged.data + at, 0);
        disk->touched.n = disk->n_touched = disk->staged.n = 0;
        return 0;
}

static void store_let_go(StoreDisk *disk) {
        journal_close(&disk->journal);
        disk->lock = close_fd(disk->lock);
        disk->spare = close_fd(disk->spare);
        disk->state = close_fd(disk->state);
}

int store_disk_settle(StoreDisk *disk) {
        int r;

        if (disk->policy != LEDGER_COMMIT || !journal_wants_to_move(&disk->journal))
                return 0;
        store_disk_step(disk, "move");
        r = journal_move(&disk->journal, disk->state, "journal");
        if (r)
                store_let_go(disk); /* the next commit begins anew */
        return error_trace(r);
}

static int store_open_state(StoreDisk *disk, bool is_reading) {
        int fd = path_open_beneath(disk->root, STORE_STATE, O_RDONLY | O_DIRECTORY, 0);

        if (fd == -ENOENT && !is_reading) {
                if ((mkdirat(disk->root, ".local", 0777) < 0 && errno != EEXIST) ||
                    (mkdirat(disk->root, STORE_STATE, 0700) < 0 && errno != EEXIST))
                        return error_origin(-errno);
                fd = path_open_beneath(disk->root, STORE_STATE, O_RDONLY | O_DIRECTORY, 0);
        }
        return fd;
}

/* The pid that stands in it is that of the daemon before: of its end we know, since we have the lock now. */
static int store_take_lock(StoreDisk *disk) {
        char path[64], text[24] = "";
        ssize_t n;
        int r;

        snprintf(path, sizeof(path), "/proc/self/fd/%d/lock", disk->state);
        r = file_lock(path, &disk->lock);
        if (r == FILE_E_LOCKED) {
                disk->is_foreign = true;
                disk->other = file_lock_taker(path);
                return error_origin(-EWOULDBLOCK);
        }
        if (r)
                return error_fold(r);
        n = pread(disk->lock, text, sizeof(text) - 1, 0);
        disk->other = n > 0 ? (pid_t)strtol(text, NULL, 10) : 0;
        disk->is_foreign = false;
        n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
        if (pwrite(disk->lock, text, (size_t)n, 0) == n)
                (void)ftruncate(disk->lock, n); // NOLINT(bugprone-unused-return-value)
        return 0;
}

static int store_read_journal(const StoreDisk *disk, Buf *ret) {
        char path[64];

        snprintf(path, sizeof(path), "/proc/self/fd/%d/journal", disk->state);
        return file_read_beneath(path, STORE_JOURNAL_SIZE, ret);
}

static bool store_is_own(const StoreDisk *disk, const JournalHead *head) {
        return head->words[0] == disk->dev && head->words[1] == disk->ino;
}

/* One of another folder, of which this is a copy, stays as it is, under another name. */
static int store_put_journal_away(const StoreDisk *disk, int64_t wall_us) {
        char name[64];

        snprintf(name, sizeof(name), "journal.of-another.%lld", (long long)(wall_us / 1000000));
        return renameat(disk->state, "journal", disk->state, name) < 0 ? error_origin(-errno) : 0;
}

/* Those of which the journal knows nothing: we died before it did. */
static void store_drop_stages(const StoreDisk *disk) {
        int fd = openat(disk->state, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        DIR *dir = fd < 0 ? NULL : fdopendir(fd);
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                if (strncmp(entry->d_name, "stage.", 6) == 0)
                        (void)unlinkat(disk->state, entry->d_name, 0);
        if (dir)
                closedir(dir);
        else
                close_fd(fd);
}

/* The folder of the lock of the others changes with every commit. */
static uint64_t store_busy_ino(const StoreDisk *disk) {
        _cleanup_(closep) int dir = store_lock_dir(disk);
        struct stat st;

        return dir >= 0 && fstat(dir, &st) == 0 ? st.st_ino : 0;
}

static int store_open_journal(StoreDisk *disk, int64_t wall_us) {
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;
        JournalHead head;
        int r = store_read_journal(disk, &bytes);

        if (r < 0)
                return error_trace(r);
        if (r == 0 && journal_head(buf_str(&bytes), &head)) {
                if (store_is_own(disk, &head))
                        r = store_recover(disk, buf_str(&bytes), wall_us);
                else
                        r = store_put_journal_away(disk, wall_us);
                if (r)
                        return error_trace(r);
        }
        store_drop_stages(disk);
        disk->journal.epoch = disk->stamp >> 1;
        if (journal_reuse(&disk->journal, disk->state, "journal", STORE_JOURNAL_SIZE) == 0)
                return 0;
        return error_trace(journal_create(&disk->journal, disk->state, "journal", STORE_JOURNAL_SIZE,
                                          store_busy_ino(disk)));
}

static bool store_has_journal(const StoreDisk *disk) {
        return faccessat(disk->state, "journal", F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Removed and made again by others while it was open. */
static bool store_is_state_gone(const StoreDisk *disk) {
        struct statx st; /* not its times: after a look at them the next write sets finer ones */

        return disk->journal.fd >= 0 &&
               (statx(disk->journal.fd, "", AT_EMPTY_PATH, STATX_NLINK, &st) < 0 || st.stx_nlink == 0);
}

int store_disk_own(StoreDisk *disk, bool is_reading, int64_t wall_us) {
        int r = 0;

        if (store_is_state_gone(disk))
                store_let_go(disk);
        if (disk->journal.fd >= 0)
                return 0;
        disk->state = store_open_state(disk, is_reading);
        if (disk->state < 0 || (is_reading && !store_has_journal(disk))) {
                r = disk->state < 0 ? disk->state : 0;
                store_let_go(disk);
                return is_reading && r == -ENOENT ? 0 : r;
        }
        r = store_take_lock(disk);
        if (r == 0)
                store_lock_clear(disk,
                                 wall_us); /* now, since the next one will not know who was before us */
        r = r ? r : store_open_journal(disk, wall_us);
        if (r)
                store_let_go(disk);
        return error_trace(r);
}

/* What is too large for the journal lies beside it. */
static int store_stage(StoreDisk *disk, Str record, RecordStaged *ret) {
        _cleanup_(closep) int fd = -1;
        int r;

        *ret = (RecordStaged){.serial = disk->serial, .n = record.n, .sum = siphash(store_key, record)};
        snprintf(ret->name, sizeof(ret->name), "stage.%llx.%llx", (unsigned long long)disk->stamp,
                 (unsigned long long)disk->serial);
        store_disk_step(disk, "stage");
        fd = openat(disk->state, ret->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd < 0)
                return error_origin(-errno);
        r = buf_append(&disk->staged, ret->name, strlen(ret->name) + 1);
        r = r ? r : store_write_all(fd, record, NULL);
        if (r == 0 && (fsync(fd) < 0 || fsync(disk->state) < 0))
                r = error_origin(-errno);
        if (r)
                (void)unlinkat(disk->state, ret->name, 0);
        return error_trace(r);
}

static int store_journal_put(StoreDisk *disk, uint64_t tag, Str bytes) {
        const uint64_t words[JOURNAL_WORDS] = {disk->dev, disk->ino, 1};
        int r = 0;

        if (!journal_has_room(&disk->journal, bytes.n))
                r = store_disk_sync(disk);
        store_disk_step(disk, "journal");
        return error_trace(
                r ? r : journal_append(&disk->journal, words, tag, bytes, disk->policy == LEDGER_COMMIT));
}

int store_disk_journal(StoreDisk *disk, Str record, bool *ret_is_staged) {
        RecordStaged staged;
        int r;

        *ret_is_staged = record.n > STORE_RECORD_MAX + sizeof(RecordHead);
        if (!*ret_is_staged)
                return error_trace(store_journal_put(disk, RECORD_INLINE, record));
        r = store_stage(disk, record, &staged);
        return error_trace(
                r ? r
                  : store_journal_put(disk, RECORD_STAGED, (Str){(const char *)&staged, sizeof(staged)}));
}

int store_disk_void(StoreDisk *disk, uint64_t change) {
        RecordVoid none = {.serial = disk->serial, .change = change};

        return error_trace(store_journal_put(disk, RECORD_VOID, (Str){(const char *)&none, sizeof(none)}));
}

/* A stage that is not what the journal says was not finished: nothing came after it. */
int store_read_staged(StoreDisk *disk, const RecordStaged *staged, Buf *ret) {
        char path[128];
        int r;

        snprintf(path, sizeof(path), "/proc/self/fd/%d/%.39s", disk->state, staged->name);
        if (strncmp(staged->name, "stage.", 6) != 0 || memchr(staged->name, '/', sizeof(staged->name)))
                return FILE_E_MISSING;
        r = file_read_beneath(path, STORE_WAITING_MAX, ret);
        if (r == 0 && (ret->n != staged->n || siphash(store_key, buf_str(ret)) != staged->sum))
                return FILE_E_MISSING;
        (void)buf_append(&disk->staged, staged->name, strlen(staged->name) + 1);
        return r;
}

void store_disk_close(StoreDisk *disk) {
        store_let_go(disk);
        store_reach_forget(disk);
        for (size_t i = 0; disk->trails && i < STORE_TRAILS; i++)
                free(disk->trails[i].path);
        free(steal(&disk->trails));
        buf_deinit(&disk->touched);
        buf_deinit(&disk->staged);
        disk->root = close_fd(disk->root);
}
