/* SPDX-License-Identifier: MIT */
/*
 * Native methods about deleted groups, for `muster prune`: what lies in the trash, and its end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/trash.h"
#include "gen/native-ops.h"

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
