/* SPDX-License-Identifier: MIT */
/*
 * recording.ls, stop, rm, read: what was recorded, of whatever contract, also of what is long gone. One is begun by
 * fleet.record, or with its session.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/utf8.h"
#include "core/daemon.h"
#include "core/host/host.h"
#include "core/recording/recording-shelf.h"
#include "gen/native-ops.h"

enum { RECORDING_WORD_SHOWN = 100 }; /* characters of an id that is none */

/* Who is recorded into this file now; NULL: nobody. */
static Hosted *recording_writer(const Daemon *daemon, const char *path) {
        for (Hosted *h = daemon->host ? host_first(daemon->host) : NULL; h; h = h->next)
                if (h->recording && h->recording_path && !strcmp(h->recording_path, path))
                        return h;
        return NULL;
}

static int recording_missing(Call *call, Str id) {
        return call_fail(call, CALL_E_RECORDING_NOT_FOUND, "there is no recording " STR_FMT,
                         STR_ARG(utf8_first(id, RECORDING_WORD_SHOWN)));
}

static int recording_require(Call *call, Str id, char **ret_path) {
        *ret_path = shelf_path(call->daemon->home, id);
        if (*ret_path)
                return 0;
        return shelf_is_id(id) ? error_origin(-ENOMEM) : recording_missing(call, id);
}

/* ---- ls -------------------------------------------------------------------------------------- */

typedef struct RecordingList { /* in the call's arena */
        Carry carry;
        const char *home;
        Str object;
        Arena arena; /* the worker's */
        ShelfItem *items;
        size_t n;
        int r;
} RecordingList;

static void recording_list_run(const Carry *carry) {
        RecordingList *self = (RecordingList *)container_of(carry, RecordingList, carry);

        self->r = shelf_list(self->home, &self->arena, &self->items, &self->n);
}

static void recording_list_write(Call *call, const ShelfItem *item, JsonWriter *w) {
        _cleanup_(freep) char *path = shelf_path(call->daemon->home, str_from(item->id));
        const Hosted *hosted = path ? recording_writer(call->daemon, path) : NULL;

        jw_begin_object(w);
        jw_field_cstr(w, "id", item->id);
        jw_field_str(w, "object", item->title.n ? item->title : STR(""));
        jw_field_time_ms(w, "started", item->started_s * 1000000);
        jw_key(w, "seconds");
        jw_double(w, (double)item->ms / 1000);
        jw_field_uint(w, "bytes", item->n_bytes);
        jw_field_bool(w, "is_live", hosted != NULL);
        if (hosted)
                jw_field_cstr(w, "process", hosted->id);
        jw_end_object(w);
}

static int recording_list_tell(Call *call, const Carry *carry) {
        RecordingList *self = (RecordingList *)container_of(carry, RecordingList, carry);
        JsonWriter *w;
        int r = self->r;

        if (!r) {
                w = call_result(call);
                jw_begin_object(w);
                jw_key(w, "recordings");
                jw_begin_array(w);
                for (size_t i = 0; i < self->n; i++)
                        if (!self->object.n || str_eq(self->object, self->items[i].title))
                                recording_list_write(call, &self->items[i], w);
                jw_end_array(w);
                jw_end_object(w);
        }
        arena_deinit(&self->arena);
        return error_trace(r);
}

int op_native_recording_ls(Call *call, const NativeRecordingLsArgs *args) {
        RecordingList *self = arena_alloc(&call->arena, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        *self = (RecordingList){.home = call->daemon->home, .object = args->object, .arena = ARENA_NULL};
        return call_work(call, recording_list_run, recording_list_tell, &self->carry);
}

/* ---- stop ------------------------------------------------------------------------------------ */

int op_native_recording_stop(Call *call, const NativeRecordingStopArgs *args) {
        _cleanup_(freep) char *path = NULL;
        int r = recording_require(call, args->id, &path);
        Hosted *hosted = r ? NULL : recording_writer(call->daemon, path);
        JsonWriter *w;

        if (r)
                return r;
        if (!hosted)
                return call_fail(call, CALL_E_UNAVAILABLE, "nothing is recorded into " STR_FMT " now",
                                 STR_ARG(args->id));
        host_stop_recording(hosted);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "id", args->id);
        jw_field_cstr(w, "process", hosted->id);
        jw_end_object(w);
        return 0;
}

/* ---- rm, read -------------------------------------------------------------------------------- */

typedef struct RecordingStep { /* in the call's arena */
        Carry carry;
        Str id;
        char *path; /* malloc'd */
        uint64_t offset, n_all;
        size_t n_max;
        Buf bytes;
        int r;
} RecordingStep;

static RecordingStep *recording_step_of(const Carry *carry) {
        return (RecordingStep *)container_of(carry, RecordingStep, carry);
}

static int recording_step(Call *call, const RecordingStep *what, CallRunFn run, CallThenFn then) {
        RecordingStep *self = arena_alloc(&call->arena, sizeof(*self));
        int r = self ? recording_require(call, what->id, &self->path) : error_origin(-ENOMEM);
        char *path = self ? self->path : NULL;

        if (r)
                return r;
        *self = *what;
        self->path = path;
        r = call_work(call, run, then, &self->carry);
        if (r != CALL_LATER)
                free(path);
        return r;
}

static int recording_step_end(Call *call, RecordingStep *self, int r) {
        free(self->path);
        buf_deinit(&self->bytes);
        return r == -ENOENT ? recording_missing(call, self->id) : error_trace(r);
}

static void recording_rm_run(const Carry *carry) {
        RecordingStep *self = recording_step_of(carry);
        Buf none = BUF_NULL;

        self->r = shelf_read(self->path, 0, 0, &none, &self->n_all); /* is it one? */
        buf_deinit(&none);
        if (!self->r && unlink(self->path))
                self->r = -errno;
}

static int recording_rm_tell(Call *call, const Carry *carry) {
        RecordingStep *self = recording_step_of(carry);
        JsonWriter *w;

        if (!self->r) {
                w = call_result(call);
                jw_begin_object(w);
                jw_field_str(w, "id", self->id);
                jw_field_uint(w, "bytes", self->n_all);
                jw_end_object(w);
        }
        return recording_step_end(call, self, self->r);
}

int op_native_recording_rm(Call *call, const NativeRecordingRmArgs *args) {
        _cleanup_(freep) char *path = shelf_path(call->daemon->home, args->id);

        if (path && recording_writer(call->daemon, path))
                return call_fail(call, CALL_E_UNAVAILABLE,
                                 STR_FMT " is being recorded: recording.stop first", STR_ARG(args->id));
        return recording_step(call, &(RecordingStep){.id = args->id}, recording_rm_run, recording_rm_tell);
}

static void recording_read_run(const Carry *carry) {
        RecordingStep *self = recording_step_of(carry);

        self->r = shelf_read(self->path, self->offset, self->n_max, &self->bytes, &self->n_all);
}

static int recording_read_tell(Call *call, const Carry *carry) {
        RecordingStep *self = recording_step_of(carry);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = self->r ? self->r : base64_encode(&text, buf_str(&self->bytes));
        JsonWriter *w;

        if (!r) {
                w = call_result(call);
                jw_begin_object(w);
                jw_field_str(w, "id", self->id);
                jw_field_uint(w, "offset", self->offset);
                jw_field_uint(w, "bytes", self->n_all);
                jw_field_str(w, "data", text.n ? buf_str(&text) : STR(""));
                jw_end_object(w);
        }
        return recording_step_end(call, self, r);
}

int op_native_recording_read(Call *call, const NativeRecordingReadArgs *args) {
        return recording_step(call,
                              &(RecordingStep){.id = args->id,
                                               .offset = (uint64_t)args->offset,
                                               .n_max = (size_t)args->limit},
                              recording_read_run, recording_read_tell);
}
