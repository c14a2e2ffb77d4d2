/* SPDX-License-Identifier: MIT */
#include "company/index/index.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "company/index/index-internal.h"

static const char index_version[] = "SELECT value FROM muster_meta WHERE name='version'";

int index_make(Index **ret, int root, IndexWork *work) {
        Index *index = calloc(1, sizeof(*index));

        if (!index)
                return error_origin(-ENOMEM);
        index->wait_ms = INDEX_WAIT_MS;
        index->watch_min = INDEX_WATCH_MIN;
        index->work = work;
        for (unsigned i = 0; i < INDEX_N_AREAS; i++)
                index->parts[i].watch = (IndexWatch){.fd = -1, .n_open = work ? &work->n_watches : NULL};
        index->root = fcntl(root, F_DUPFD_CLOEXEC, 0);
        if (index->root < 0) {
                free(index);
                return error_origin(-errno);
        }
        *ret = index;
        return 0;
}

bool index_has_running(const Index *index) {
        return !index->is_loaded || index->n_running;
}

bool index_is_ours(const Index *index) {
        int64_t version = 0;

        return !sql_number(index->sql, index_version, &version) && version == INDEX_VERSION;
}

void index_count_steps(Index *index) {
        if (index->work && index->sql)
                atomic_fetch_add(&index->work->n_steps, sql_take_steps(index->sql));
}

const char *index_why(const Index *index) {
        return index->why;
}

/* ---- where it is ----------------------------------------------------------------------------- */

int index_place(const Index *index, bool makes, const char *name, char **ret) {
        _cleanup_(closep) int fd = -1;
        char link[64], path[PATH_MAX];
        ssize_t n;

        if (makes && mkdirat(index->root, ".local", 0777) && errno != EEXIST)
                return error_origin(-errno);
        fd = path_open_beneath(index->root, ".local", O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
        if (fd < 0)
                return fd == -ENOENT ? INDEX_E_MISSING : error_trace(fd);
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, path, sizeof(path) - 1);
        if (n < 0)
                return error_origin(-errno);
        path[n] = '\0';
        *ret = path_join(path, name);
        return *ret ? 0 : error_origin(-ENOMEM);
}

/* ---- the mark: under which boot it was written ----------------------------------------------- */

/*
 * The file is not synced when it is written, since it can be made again. So after another boot it is only
 * trusted when it was closed, which syncs it.
 */
static void index_boot(char out[64]) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str id = STR("unknown");

        if (!file_read("/proc/sys/kernel/random/boot_id", 60, &text) || text.n)
                id = str_trim(buf_str(&text));
        snprintf(out, 64, STR_FMT, STR_ARG(id));
}

/* Through no link: agents write in workspaces, and the file that it led to would be replaced. */
static int index_write_mark(const Index *index, const char *word) {
        _cleanup_(freep) char *folder = NULL;
        _cleanup_(closep) int fd = -1;
        char boot[64], text[96], path[64];
        int r = index_place(index, true, "muster", &folder);

        if (r)
                return error_fold(r);
        r = dir_make(folder, 0700);
        if (r)
                return error_trace(r);
        fd = path_open_beneath(index->root, ".local/muster", O_PATH | O_DIRECTORY, 0);
        if (fd < 0)
                return error_trace(fd);
        index_boot(boot);
        snprintf(text, sizeof(text), "%s %s\n", boot, word);
        snprintf(path, sizeof(path), "/proc/self/fd/%d/index", fd);
        return error_trace(file_replace(path, str_from(text), 0600, FILE_DURABLE));
}

int index_mark(Index *index) {
        int r = index->is_marked ? 0 : index_write_mark(index, "open");

        index->is_marked |= !r;
        return error_trace(r);
}

/* Whether what is on the disk can be what was written. */
static bool index_is_trusted(Index *index) {
        _cleanup_(freep) char *path = NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char boot[64];
        Str mark;

        if (index_place(index, false, "muster/index", &path) || file_read_beneath(path, 256, &text))
                return false;
        mark = str_trim(buf_str(&text));
        index_boot(boot);
        if (str_starts(mark, str_from(boot))) {
                index->is_marked = memmem(mark.data, mark.n, " open", 5) != NULL;
                return true;
        }
        return memmem(mark.data, mark.n, " closed", 7) != NULL;
}

/* ---- the connection -------------------------------------------------------------------------- */

/* What is known of files is only good for the tables that it was written to. */
static void index_forget(Index *index) {
        for (unsigned i = 0; i < INDEX_N_AREAS; i++) {
                index_map_deinit(&index->parts[i].map);
                index_watch_end(&index->parts[i].watch);
        }
}

void index_shut(Index *index) {
        index->sql = sql_close(index->sql);
        index_forget(index);
        index->is_loaded = false;
}

int index_result(Index *index, int r) {
        if (r > 0)
                snprintf(index->why, sizeof(index->why), "%s",
                         index->sql ? sql_why(index->sql) : "the index cannot be read");
        switch (r) {
        case SQL_E_BUSY: return INDEX_E_BUSY;
        case SQL_E_MISSING:
        case SQL_E_BROKEN:
        case SQL_E_DONE: return INDEX_E_MISSING;
        default: return error_trace(r);
        }
}

/* The file that stands there now is the one that is open, and ends at the end of a page. */
static bool index_is_fresh(const Index *index, const char *path) {
        struct stat st;

        return !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_ino == index->ino &&
               st.st_dev == index->dev && st.st_size % 512 == 0;
}

static int index_connect(Index *index, const char *path) {
        struct stat st;
        int r;

        if (lstat(path, &st))
                return SQL_E_MISSING;
        index->dev = st.st_dev;
        index->ino = st.st_ino;
        if (!S_ISREG(st.st_mode) || st.st_size % 512)
                return SQL_E_BROKEN;
        r = sql_open(&index->sql, path, &(SqlOptions){.wait_ms = index->wait_ms});
        if (!r)
                r = sql_run(index->sql, "PRAGMA journal_mode=DELETE; PRAGMA synchronous=OFF");
        return r;
}

int index_look(Index *index, Sql **ret) {
        _cleanup_(freep) char *path = NULL;
        int r = index_place(index, false, "index.sqlite", &path);

        if (r)
                return r;
        if (index->sql && !index_is_fresh(index, path))
                index_shut(index);
        if (!index->sql && (r = index_connect(index, path))) {
                r = index_result(index, r);
                index_shut(index);
                return r;
        }
        *ret = index->sql;
        return 0;
}

/* Tables of ours, of this version; those of the original, and of another version, are made anew. */
static int index_load(Index *index) {
        int64_t version = 0, contested = 0;
        int r = sql_number(index->sql, index_version, &version);

        if (!r)
                r = sql_number(index->sql, "SELECT value FROM muster_meta WHERE name='contested'",
                               &contested);
        if (!r && version != INDEX_VERSION)
                r = SQL_E_BROKEN;
        index_forget(index);
        if (!r)
                r = index_map_load(index, index->sql);
        if (!r)
                r = index_count(index->sql, index->n_total);
        if (!r)
                r = sql_number(index->sql, index_running, &index->n_running);
        index->is_contested = contested;
        return r;
}

int index_open(Index *index) {
        Sql *sql = NULL;
        int64_t version = 0;
        int r = index_look(index, &sql);

        if (r)
                return r;
        r = sql_number(sql, "PRAGMA data_version", &version);
        if (!r && index->is_loaded && version == index->version)
                return 0;
        if (!index->is_loaded && !index_is_trusted(index)) {
                snprintf(index->why, sizeof(index->why), "it was not closed before the machine went down");
                return INDEX_E_MISSING;
        }
        if (!r)
                r = index_load(index);
        index->is_loaded = !r;
        index->version = version;
        return index_result(index, r);
}

/* ---- its end --------------------------------------------------------------------------------- */

static void index_settle(Index *index) {
        _cleanup_(freep) char *path = NULL;
        _cleanup_(closep) int fd = -1;

        if (!index->is_marked || index_place(index, false, "index.sqlite", &path))
                return;
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0 && !fdatasync(fd))
                (void)index_write_mark(index, "closed");
}

Index *index_end(Index *index) {
        if (!index)
                return NULL;
        index_shut(index);
        index_settle(index);
        arena_deinit(&index->waiting.arena);
        close(index->root);
        free(index);
        return NULL;
}
