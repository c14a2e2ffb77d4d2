/* SPDX-License-Identifier: MIT */
#include "collab/group/group-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "collab/group/bridge.h"
#include "collab/collab.h"
#include "collab/group/trash.h"

enum { ID_DIGITS = 12, SUFFIX_DIGITS = 12, WALK_FDS = 16 };

Str group_new_id(Arena *arena) {
        char digits[ID_DIGITS + 1];

        return id_hex(digits, ID_DIGITS) ? STR_NULL : arena_printf(arena, "g_%s", digits);
}

/* ---- worker: emptying ------------------------------------------------------------------------ */

static int group_folder_remove_entry(const char *path, _unused_ const struct stat *st, _unused_ int kind,
                                     _unused_ struct FTW *ftw) {
        return remove(path) < 0 && errno != ENOENT ? -1 : 0;
}

static int remove_tree(const char *path) {
        if (nftw(path, group_folder_remove_entry, WALK_FDS, FTW_DEPTH | FTW_PHYS) < 0 && errno != ENOENT)
                return error_origin(-errno);
        return 0;
}

static int remove_dir(const char *dir) {
        _cleanup_(freep) char *away = NULL;
        char digits[SUFFIX_DIGITS + 1];
        int r = id_hex(digits, SUFFIX_DIGITS);

        if (r)
                return error_trace(r);
        if (asprintf(&away, "%s.deleted-%s", dir, digits) < 0)
                return error_origin(-ENOMEM);
        if (rename(dir, away) < 0)
                return errno == ENOENT ? 0 : error_origin(-errno);
        r = file_sync_name(dir);
        if (!r)
                r = remove_tree(away);
        if (r && rename(away, dir) < 0)
                return error_origin(-errno);
        return error_trace(r);
}

/* ---- worker: making -------------------------------------------------------------------------- */

static int make_file(const char *dir, const char *name) {
        _cleanup_(freep) char *path = path_join(dir, name);
        _cleanup_(closep) int fd = path ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) : -1;

        if (!path)
                return error_origin(-ENOMEM);
        return fd < 0 ? error_origin(-errno) : 0;
}

static int make_folders(const char *dir) {
        static const char *const names[] = {"context", "scopes", "state/ledger"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_(freep) char *path = path_join(dir, names[i]);
                int r = path ? dir_make(path, 0700) : error_origin(-ENOMEM);
                if (r)
                        return error_trace(r);
        }
        return error_trace(make_file(dir, "ledger.jsonl")); /* synced with the document, which comes last */
}

static int write_doc(const char *path, const GroupSpec *spec, int64_t now_us) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char ts[TIME_TEXT_MAX];
        Str now = {ts, time_format_us(now_us, ts)};
        GroupDoc *doc = group_doc_make(spec->id, spec->title, spec->topic, now);
        int r = doc ? group_doc_text(doc, now, &text) : error_origin(-ENOMEM);

        if (!r)
                r = file_replace(path, buf_str(&text), 0600, FILE_DURABLE);
        group_doc_unref(doc);
        return error_trace(r);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

typedef struct MakeJob {
        Call *call;
        const GroupSpec *spec;
        GroupFn fn;
        const Carry *carry;
        Group *group;
        int64_t now_us;
        int r;
} MakeJob;

static void run_make(void *user) {
        MakeJob *job = user;
        const Group *group = job->group;

        if (access(group->doc_path, F_OK) == 0)
                return;
        job->r = make_folders(group->dir);
        if (!job->r)
                job->r = write_doc(group->doc_path, job->spec, job->now_us);
        if (job->r)
                (void)remove_dir(group->dir);
}

static void made(void *user) {
        MakeJob *job = user;
        Call *call = job->call;
        int r = job->r ? job->r : collab_edit(call, job->spec->id, job->fn, job->carry);

        group_unref(job->group);
        free(job);
        if (r != CALL_LATER)
                call_finish(call, r);
}

int collab_make_group(Call *call, const GroupSpec *spec, GroupFn fn, const Carry *carry) {
        MakeJob *job = calloc(1, sizeof(*job));
        Group *group = NULL;
        int r = job ? group_get(call->daemon->collab, spec->id, &group) : error_origin(-ENOMEM);

        if (!r) {
                *job = (MakeJob){.call = call,
                                 .spec = spec,
                                 .fn = fn,
                                 .carry = carry,
                                 .group = group_ref(group),
                                 .now_us = loop_wall_us(call->daemon->loop)};
                if (!loop_work(call->daemon->loop, run_make, made, job))
                        return CALL_LATER;
                group_unref(group);
                r = error_origin(-ENOMEM);
        }
        free(job);
        return error_trace(r);
}

typedef struct RemoveJob {
        Group *group;
        void (*done)(void *user, int r);
        void *user;
        int64_t now_us;
        int r;
} RemoveJob;

static void run_remove(void *user) {
        RemoveJob *job = user;

        bridge_end(job->group->dir, job->group->id);
        job->r = trash_take(job->group->collab->trash_path, job->group->dir, job->group->id, job->now_us);
}

static void removed(void *user) {
        RemoveJob *job = user;

        if (!job->r)
                group_forget(job->group);
        job->done(job->user, job->r);
        group_unref(job->group);
        free(job);
}

int group_remove(Group *group, void (*done)(void *user, int r), void *user) {
        RemoveJob *job = calloc(1, sizeof(*job));

        if (job) {
                *job = (RemoveJob){.group = group_ref(group),
                                   .done = done,
                                   .user = user,
                                   .now_us = loop_wall_us(group->collab->daemon->loop)};
                if (!loop_work(group->collab->daemon->loop, run_remove, removed, job))
                        return 0;
                group_unref(group);
        }
        free(job);
        return error_origin(-ENOMEM);
}
