/* SPDX-License-Identifier: MIT */
#include "collab/group/trash.h"

#include <dirent.h>
#include <errno.h>
#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "base/time.h"
#include "collab/collab.h"
#include "core/document.h"
#include "gen/native-ops.h"

enum { SUFFIX_DIGITS = 6 };

int trash_take(const char *trash, const char *dir, const char *id, int64_t now_us) {
        _cleanup_(freep) char *path = NULL;
        char stamp[TIME_TEXT_MAX], digits[SUFFIX_DIGITS + 1];
        int r = id_hex(digits, SUFFIX_DIGITS);

        if (!r)
                r = dir_make(trash, 0700);
        if (r)
                return error_trace(r);
        time_format_stamp(now_us, stamp);
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
        const char *dot = strchr(name, '.'), *dash = dot ? strchr(dot, '-') : NULL;

        if (!str_starts(str_from(name), STR("g_")) || !dash ||
            !time_parse_stamp((Str){dot + 1, (size_t)(dash - dot - 1)}, &ret->deleted_us))
                return false;
        ret->name = name;
        ret->id = (Str){name, (size_t)(dot - name)};
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
        _cleanup_(freep) char *id = str_dup(entry->id);
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

/* Entries as objects, for those that have been there for at least older_us; *ret sums them up. */
static int trash_list(const char *trash, int64_t now_us, int64_t older_us, JsonWriter *w, TrashCount *ret) {
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

/* Removes them for good; *ret: what is gone, also after a failure. */
static int trash_empty(const char *trash, int64_t now_us, int64_t older_us, TrashCount *ret) {
        *ret = (TrashCount){0};
        return trash_each(trash, now_us - older_us, trash_remove, ret, NULL);
}

/*
 * Native methods about deleted groups, for `muster prune`: what lies in the trash, and its end.
 */
typedef struct TrashJob {
        Call *call;
        char *trash;
        bool is_removal;
        int64_t now_us, older_us;
        Buf entries; /* JSON */
        TrashCount count;
        int r;
} TrashJob;

static void trash_run(void *user) {
        TrashJob *job = user;
        JsonWriter w = JSON_WRITER(&job->entries);

        if (job->is_removal) {
                job->r = trash_empty(job->trash, job->now_us, job->older_us, &job->count);
                return;
        }
        jw_begin_array(&w);
        job->r = trash_list(job->trash, job->now_us, job->older_us, &w, &job->count);
        jw_end_array(&w);
        job->r = w.failed ? -ENOMEM : job->r;
}

static int trash_answer(TrashJob *job) {
        JsonWriter *w;

        if (job->r && job->is_removal)
                return call_fail(job->call, CALL_E_INTERNAL, "%s cannot be emptied: %s", job->trash,
                                 strerror(-job->r));
        if (job->r)
                return job->r;
        w = call_result(job->call);
        jw_begin_object(w);
        jw_field_cstr(w, "folder", job->trash);
        if (!job->is_removal) {
                jw_key(w, "entries");
                jw_raw(w, buf_str(&job->entries));
        }
        jw_field_int(w, "n", (int64_t)job->count.n_entries);
        jw_field_int(w, "bytes", job->count.n_bytes);
        jw_end_object(w);
        return 0;
}

static void trash_free(TrashJob *job) {
        buf_deinit(&job->entries);
        free(job->trash);
        free(job);
}

static void trash_done(void *user) {
        TrashJob *job = user;

        call_finish(job->call, trash_answer(job));
        trash_free(job);
}

static int trash_start(Call *call, bool is_removal, int64_t older_s) {
        TrashJob *job = calloc(1, sizeof(*job));

        if (!job)
                return error_origin(-ENOMEM);
        *job = (TrashJob){.call = call,
                          .trash = call->daemon->collab ? strdup(call->daemon->collab->trash_path) : NULL,
                          .is_removal = is_removal,
                          .now_us = loop_wall_us(call->daemon->loop),
                          .older_us = older_s * 1000000};
        if (job->trash && !loop_work_slow(call->daemon->loop, trash_run, trash_done, job))
                return CALL_LATER;
        trash_free(job);
        return call->daemon->collab ? error_origin(-ENOMEM)
                                    : call_fail(call, CALL_E_UNAVAILABLE, "this daemon serves no CCCC home");
}

int op_native_trash_ls(Call *call, const NativeTrashLsArgs *args) {
        return trash_start(call, false, args->older_than);
}

int op_native_trash_empty(Call *call, const NativeTrashEmptyArgs *args) {
        return trash_start(call, true, args->older_than);
}
