/* SPDX-License-Identifier: MIT */
#include "core/recording/recording-shelf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/json.h"

enum { SHELF_LOOK_MAX = 4096, SHELF_HEAD = 4 << 10, SHELF_TAIL = 64 << 10 };

bool shelf_is_id(Str id) {
        if (!id.n || id.n > SHELF_ID_MAX || id.data[0] == '.')
                return false;
        for (size_t i = 0; i < id.n; i++) {
                char c = id.data[i];

                if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '.' || c == '_'))
                        return false;
        }
        return true;
}

char *shelf_path(const char *home, Str id) {
        char *path = NULL;

        if (!shelf_is_id(id) || asprintf(&path, "%s/recordings/" STR_FMT ".cast", home, STR_ARG(id)) < 0)
                return NULL;
        return path;
}

/* A link, a folder or a FIFO in its place is none. */
static int shelf_open(int dir, const char *name, struct stat *st) {
        int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

        if (fd < 0)
                return error_origin(errno == ELOOP ? -ENOENT : -errno);
        if (!fstat(fd, st) && S_ISREG(st->st_mode))
                return fd;
        (void)close(fd);
        return error_origin(-ENOENT);
}

int shelf_read(const char *path, uint64_t offset, size_t n, Buf *out, uint64_t *ret_n_all) {
        struct stat st;
        _cleanup_(closep) int fd = shelf_open(AT_FDCWD, path, &st);
        ssize_t got;

        if (fd < 0)
                return fd;
        *ret_n_all = (uint64_t)st.st_size;
        n = MIN(n, (size_t)SHELF_READ_MAX);
        if (offset >= *ret_n_all)
                return 0;
        if (buf_reserve(out, n))
                return error_origin(-ENOMEM);
        got = pread(fd, out->data + out->n, n, (off_t)offset);
        if (got < 0)
                return error_origin(-errno);
        out->n += (size_t)got;
        return 0;
}

/* ---- the list -------------------------------------------------------------------------------- */

/* The header has the title and when it began. */
static void shelf_take_head(int fd, Arena *arena, ShelfItem *item) {
        char text[SHELF_HEAD];
        ssize_t n = pread(fd, text, sizeof(text), 0);
        const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
        Json *json = NULL;

        if (!end || json_parse(arena, text, (size_t)(end - text), NULL, &json, NULL))
                return;
        (void)json_int64(json_get(json, "timestamp"), &item->started_s);
        item->title = arena_str(arena, json_text_of(json, "title"));
}

/* [12.345, … begins the last line. */
static void shelf_take_tail(int fd, ShelfItem *item) {
        char text[SHELF_TAIL + 1];
        uint64_t from = item->n_bytes > SHELF_TAIL ? item->n_bytes - SHELF_TAIL : 0;
        ssize_t n = pread(fd, text, SHELF_TAIL, (off_t)from);
        char *at;

        while (n > 0 && text[n - 1] != '\n')
                n--; /* a line that is being written */
        if (n <= 1)
                return;
        text[n - 1] = 0;
        at = strrchr(text, '\n');
        if (at && at[1] == '[')
                item->ms = (int64_t)(strtod(at + 2, NULL) * 1000 + 0.5);
}

static bool shelf_take(DIR *dir, const char *name, Arena *arena, ShelfItem *item) {
        size_t n = strlen(name);
        struct stat st;
        int fd;

        if (n < 6 || strcmp(name + n - 5, ".cast") != 0 || !shelf_is_id((Str){name, n - 5}))
                return false;
        fd = shelf_open(dirfd(dir), name, &st);
        if (fd < 0)
                return false;
        *item = (ShelfItem){.id = (char *)arena_str(arena, (Str){name, n - 5}).data,
                            .n_bytes = (uint64_t)st.st_size,
                            .started_s = st.st_mtim.tv_sec};
        shelf_take_head(fd, arena, item);
        shelf_take_tail(fd, item);
        (void)close(fd);
        return item->id != NULL;
}

static int shelf_compare(const void *a, const void *b) {
        const ShelfItem *x = a, *y = b;

        if (x->started_s != y->started_s)
                return x->started_s < y->started_s ? -1 : 1;
        return strcmp(x->id, y->id);
}

int shelf_list(const char *home, Arena *arena, ShelfItem **ret, size_t *ret_n) {
        _cleanup_(freep) char *path = path_join(home, "recordings");
        ShelfItem *items = arena_alloc(arena, SHELF_LOOK_MAX * sizeof(*items));
        DIR *dir = path && items ? opendir(path) : NULL;
        const struct dirent *entry;
        size_t n = 0;

        if (!path || !items)
                return error_origin(-ENOMEM);
        while (dir && n < SHELF_LOOK_MAX && (entry = readdir(dir)))
                n += shelf_take(dir, entry->d_name, arena, &items[n]);
        if (dir)
                closedir(dir);
        if (n)
                qsort(items, n, sizeof(*items), shelf_compare);
        *ret = items;
        *ret_n = n;
        return 0;
}
