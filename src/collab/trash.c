/* SPDX-License-Identifier: MIT */
#include "collab/trash.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "base/time.h"
#include "collab/document.h"

enum { STAMP_MAX = 32, SUFFIX_DIGITS = 6 };

int trash_take(const char *trash, const char *dir, const char *id, int64_t now_us) {
        _cleanup_(freep) char *path = NULL;
        char stamp[STAMP_MAX], digits[SUFFIX_DIGITS + 1];
        time_t seconds = (time_t)(now_us / 1000000);
        struct tm utc;
        int r = id_hex(digits, SUFFIX_DIGITS);

        if (!r)
                r = dir_make(trash, 0700);
        if (r)
                return error_trace(r);
        if (!gmtime_r(&seconds, &utc) || !strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc))
                return error_origin(-EOVERFLOW);
        if (asprintf(&path, "%s/%s.%s-%s", trash, id, stamp, digits) < 0) {
                path = NULL;
                return error_origin(-ENOMEM);
        }
        if (rename(dir, path) < 0)
                return errno == ENOENT ? 0 : error_origin(-errno);
        r = file_sync_name(dir);
        return error_trace(r ? r : dir_sync(trash));
}

/* ---- entries --------------------------------------------------------------------------------- */

typedef struct TrashEntry {
        const char *name;
        char *path;
        Str id;
        int64_t deleted_us;
} TrashEntry;

/* Nothing that we did not put there. */
static bool trash_read_name(const char *name, TrashEntry *ret) {
        const char *dot = strchr(name, '.');
        struct tm utc = {0};

        if (!str_starts(str_from(name), STR("g_")) || !dot || !strptime(dot + 1, "%Y%m%dT%H%M%SZ-", &utc))
                return false;
        ret->name = name;
        ret->id = (Str){name, (size_t)(dot - name)};
        ret->deleted_us = (int64_t)timegm(&utc) * 1000000;
        return true;
}

/* Everything below, counted and, if wanted, removed. */
static int trash_walk(char *path, bool is_removal, int64_t *n_bytes) {
        char *const paths[] = {path, NULL};
        FTS *fts = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR | FTS_XDEV, NULL);
        int r = fts ? 0 : -errno;

        for (FTSENT *entry = fts ? fts_read(fts) : NULL; entry; entry = fts_read(fts)) {
                bool is_folder = entry->fts_info == FTS_DP;

                if (entry->fts_info == FTS_D)
                        continue;
                if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS) {
                        r = r ? r : -entry->fts_errno;
                        continue;
                }
                if (is_removal && (is_folder ? rmdir(entry->fts_accpath) : unlink(entry->fts_accpath)))
                        r = r ? r : -errno;
                else if (!is_folder)
                        *n_bytes += entry->fts_statp->st_size;
        }
        if (fts)
                fts_close(fts);
        return r ? error_origin(r) : 0;
}

typedef int (*TrashFn)(const TrashEntry *entry, TrashCount *count, void *user);

static int trash_each(const char *trash, int64_t latest_us, TrashFn fn, TrashCount *count, void *user) {
        DIR *dir = opendir(trash);
        int r = 0;

        for (struct dirent *found = dir ? readdir(dir) : NULL; found; found = readdir(dir)) {
                TrashEntry entry;
                int r_one;

                if (!trash_read_name(found->d_name, &entry) || entry.deleted_us > latest_us)
                        continue;
                entry.path = path_join(trash, found->d_name);
                r_one = entry.path ? fn(&entry, count, user) : -ENOMEM;
                free(entry.path);
                r = r ? r : r_one;
        }
        if (dir)
                closedir(dir);
        return error_trace(r);
}

/* ---- ids ------------------------------------------------------------------------------------- */

typedef struct TrashIds {
        const char *groups;
        StrVec *found;
} TrashIds;

static int trash_note_id(const TrashEntry *entry, _unused_ TrashCount *count, void *user) {
        const TrashIds *ids = user;
        _cleanup_(freep) char *id = strndup(entry->id.data, entry->id.n);
        _cleanup_(freep) char *folder = id ? path_join(ids->groups, id) : NULL;

        if (!folder)
                return error_origin(-ENOMEM);
        return access(folder, F_OK) ? error_trace(strvec_push(ids->found, id)) : 0;
}

int trash_ids(const char *trash, const char *groups, StrVec *ret) {
        TrashIds ids = {groups, ret};

        return trash_each(trash, INT64_MAX, trash_note_id, NULL, &ids);
}

/* ---- list ------------------------------------------------------------------------------------ */

static void trash_write_title(const char *path, JsonWriter *w) {
        _cleanup_(document_unrefp) Document *document = NULL;
        _cleanup_(freep) char *doc_path = path_join(path, "group.yaml");
        bool is_read = doc_path && !document_read(&document, doc_path, DOCUMENT_YAML);

        jw_field_str(w, "title", is_read ? json_str(json_get(document->json, "title")) : STR(""));
}

static int trash_show(const TrashEntry *entry, TrashCount *count, void *user) {
        JsonWriter *w = user;
        char ts[TIME_TEXT_MAX];
        int64_t n_bytes = 0;

        (void)trash_walk(entry->path, false, &n_bytes); /* what can be read */
        time_format_us(entry->deleted_us, ts);
        jw_begin_object(w);
        jw_field_cstr(w, "name", entry->name);
        jw_field_str(w, "group_id", entry->id);
        trash_write_title(entry->path, w);
        jw_field_cstr(w, "deleted_at", ts);
        jw_field_int(w, "bytes", n_bytes);
        jw_end_object(w);
        count->n_entries++;
        count->n_bytes += n_bytes;
        return 0;
}

int trash_list(const char *trash, int64_t now_us, int64_t older_us, JsonWriter *w, TrashCount *ret) {
        *ret = (TrashCount){0};
        return trash_each(trash, now_us - older_us, trash_show, ret, w);
}

/* ---- empty ----------------------------------------------------------------------------------- */

static int trash_remove(const TrashEntry *entry, TrashCount *count, _unused_ void *user) {
        int64_t n_bytes = 0;
        int r = trash_walk(entry->path, true, &n_bytes);

        count->n_bytes += n_bytes;
        count->n_entries += !r;
        return error_trace(r);
}

int trash_empty(const char *trash, int64_t now_us, int64_t older_us, TrashCount *ret) {
        *ret = (TrashCount){0};
        return trash_each(trash, now_us - older_us, trash_remove, ret, NULL);
}
