/* SPDX-License-Identifier: MIT */
/*
 * fleet.logs, screen, type, attach, record: what is hosted, seen and typed at, whatever contract it belongs to. What
 * has no terminal is shown, and refuses what only a terminal can do.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "core/daemon.h"
#include "core/fleet/inner.h"
#include "core/recording/recording.h"
#include "core/term/keys.h"
#include "core/term/screen.h"
#include "daemon/fleet-owners.h"
#include "dialect/coop/coop.h"
#include "gen/native-ops.h"
#include "sessions/sessions.h"

enum {
        FLEET_LOGS_MAX = 256 << 10,
        FLEET_TYPED_MAX = 256 << 10,
        FLEET_COLS = 80,
        FLEET_ROWS = 24,
        FLEET_RECORDINGS_MAX = 64 /* of one process */
};

static int fleet_require_running(Call *call, const FleetThing *thing, Hosted **ret) {
        int r = fleet_require_hosted(call, thing, ret);

        if (!r && (*ret)->state != HOSTED_RUNNING)
                r = call_fail(call, CALL_E_UNAVAILABLE, STR_FMT " has ended", STR_ARG(thing->name));
        return r;
}

static int fleet_require_terminal(Call *call, const char *verb, const FleetThing *thing, Hosted **ret) {
        int r = fleet_require_hosted(call, thing, ret);

        if (!r && (*ret)->kind != SHIM_PTY)
                r = call_fail(call, CALL_E_DOES_NOT_FIT, "%s does not fit " STR_FMT ": it has no terminal",
                              verb, STR_ARG(thing->name));
        return r;
}

/* ---- logs ------------------------------------------------------------------------------------ */

static int fleet_field_base64(JsonWriter *w, const char *key, Str bytes) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = base64_encode(&text, bytes);

        if (!r)
                jw_field_str(w, key, buf_str(&text));
        return error_trace(r);
}

static int fleet_logs_tell(Call *call, const FleetThing *thing, Str out, Str err, int64_t n_lines) {
        JsonWriter *w = call_result(call);
        int r;

        jw_begin_object(w);
        fleet_write_members(w, thing);
        r = fleet_field_base64(w, "log_data", str_last_lines(out, n_lines));
        if (!r && err.n)
                r = fleet_field_base64(w, "stderr_data", str_last_lines(err, n_lines));
        jw_end_object(w);
        return error_trace(r);
}

typedef struct FleetLogs { /* in the call's arena */
        Carry carry;
        FleetThing thing;
        int64_t n_lines;
} FleetLogs;

static int fleet_logs_run(Call *inner, const Carry *carry) {
        const FleetLogs *logs = container_of(carry, FleetLogs, carry);

        return logs->thing.owner->logs(inner, &logs->thing);
}

static int fleet_logs_got(Call *call, const Call *inner, const Carry *carry) {
        const FleetLogs *logs = container_of(carry, FleetLogs, carry);
        Str text = arena_str(&call->arena, inner_result(inner));
        Json *answer = NULL;

        if (inner->error)
                return inner_fail(call, inner);
        if (!text.data || json_parse(&call->arena, text.data, text.n, NULL, &answer, NULL))
                return error_origin(-ENOMEM);
        return fleet_logs_tell(call, &logs->thing, json_text_of(answer, "output"), STR_NULL, logs->n_lines);
}

static int fleet_logs_found(Call *call, const FleetThing *thing, const Carry *carry) {
        const NativeFleetLogsArgs *args = container_of(carry, NativeFleetLogsArgs, carry);
        FleetLogs *logs;
        Hosted *hosted;
        int r;

        if (!*thing->id && thing->owner->logs) {
                logs = arena_alloc(&call->arena, sizeof(*logs));
                if (!logs)
                        return error_origin(-ENOMEM);
                *logs = (FleetLogs){.thing = *thing, .n_lines = args->tail_lines};
                return call_inner(call, fleet_logs_run, fleet_logs_got, &logs->carry);
        }
        r = fleet_require_hosted(call, thing, &hosted);
        return r ? r
                 : fleet_logs_tell(call, thing, hosted_scrollback(hosted, FLEET_LOGS_MAX),
                                   hosted->kind == SHIM_PIPES ? hosted_stderr(hosted) : STR_NULL,
                                   args->tail_lines);
}

int op_native_fleet_logs(Call *call, const NativeFleetLogsArgs *args) {
        return fleet_call(call, args->name, STR_NULL, fleet_logs_found, &args->carry);
}

/* ---- screen ---------------------------------------------------------------------------------- */

typedef struct FleetScreen { /* in the call's arena */
        Carry carry;
        Call *call;
        ScreenWait wait;
        FleetThing thing;
        int64_t output_us;
        uint64_t at; /* of its output */
        uint8_t n_title;
        char title[MODES_TITLE_MAX];
        unsigned cols, rows, row, col;
        Buf drawn, text;
        int r;
} FleetScreen;

static FleetScreen *fleet_screen_of(const Carry *carry) {
        return (FleetScreen *)container_of(carry, FleetScreen, carry);
}

static void fleet_screen_read(const Carry *carry) {
        FleetScreen *self = fleet_screen_of(carry);
        Screen *screen = NULL;

        self->r = screen_new(&screen, self->cols, self->rows, NULL);
        if (self->r)
                return;
        screen_feed(screen, buf_str(&self->drawn));
        self->r = screen_plain(screen, &self->text, &self->row, &self->col);
        screen_free(screen);
}

static void fleet_screen_write(const FleetScreen *self, JsonWriter *w) {
        int64_t now_us = loop_wall_us(self->call->daemon->loop);

        jw_begin_object(w);
        jw_field_str(w, "name", self->thing.name);
        jw_field_cstr(w, "id", self->thing.id);
        jw_field_uint(w, "at", self->at);
        if (self->n_title)
                jw_field_str(w, "title", (Str){self->title, self->n_title});
        jw_field_str(w, "text", buf_str(&self->text));
        jw_field_uint(w, "cols", self->cols);
        jw_field_uint(w, "rows", self->rows);
        jw_key(w, "cursor");
        jw_begin_object(w);
        jw_field_uint(w, "row", self->row);
        jw_field_uint(w, "col", self->col);
        jw_end_object(w);
        if (self->output_us) {
                jw_field_time_ms(w, "output", self->output_us);
                jw_field_int(w, "output_age_seconds", MAX((now_us - self->output_us) / 1000000, (int64_t)0));
        }
        jw_end_object(w);
}

static int fleet_screen_tell(Call *call, const Carry *carry) {
        FleetScreen *self = fleet_screen_of(carry);
        int r = self->r;

        if (!r)
                fleet_screen_write(self, call_result(call));
        buf_deinit(&self->drawn);
        buf_deinit(&self->text);
        return error_trace(r);
}

static void fleet_screen_drawn(ScreenWait *wait, ScreenDrawn *drawn) {
        FleetScreen *self = container_of(wait, FleetScreen, wait);
        int r = buf_append_str(&self->drawn, buf_str(&drawn->text));

        self->at = drawn->position;
        r = r ? r : call_work(self->call, fleet_screen_read, fleet_screen_tell, &self->carry);
        if (r == CALL_LATER)
                return;
        buf_deinit(&self->drawn);
        call_finish(self->call, r);
}

static bool fleet_screen_is_same(const Hosted *hosted, const NativeFleetScreenArgs *args) {
        return args->has_since && (uint64_t)args->since == hosted->shown_out &&
               (!args->has_cols || args->cols == hosted->cols) &&
               (!args->has_rows || args->rows == hosted->rows);
}

static int fleet_screen_tell_same(Call *call, const FleetThing *thing, const Hosted *hosted) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "name", thing->name);
        jw_field_cstr(w, "id", thing->id);
        jw_field_uint(w, "at", hosted->shown_out);
        jw_field_bool(w, "same", true);
        jw_end_object(w);
        return 0;
}

static int fleet_screen_found(Call *call, const FleetThing *thing, const Carry *carry) {
        const NativeFleetScreenArgs *args = container_of(carry, NativeFleetScreenArgs, carry);
        FleetScreen *self = arena_alloc(&call->arena, sizeof(*self));
        Hosted *hosted;
        int r = fleet_require_terminal(call, "screen", thing, &hosted);

        if (r || !call->client)
                return r;
        if (fleet_screen_is_same(hosted, args))
                return fleet_screen_tell_same(call, thing, hosted);
        if (!self)
                return error_origin(-ENOMEM);
        *self = (FleetScreen){.call = call,
                              .thing = *thing,
                              .output_us = hosted->output_us,
                              .n_title = hosted->modes.n_title,
                              .cols = hosted->cols ? hosted->cols : FLEET_COLS,
                              .rows = hosted->rows ? hosted->rows : FLEET_ROWS,
                              .wait = {.frame = chunk_new, .drawn = fleet_screen_drawn}};
        memcpy(self->title, hosted->modes.title, self->n_title);
        r = screen_wait(&self->wait, hosted, conn_turn_peer(call->client->conn));
        return r ? error_fold(r) : CALL_LATER;
}

int op_native_fleet_screen(Call *call, const NativeFleetScreenArgs *args) {
        return fleet_call(call, args->name, STR_NULL, fleet_screen_found, &args->carry);
}

/* ---- type ------------------------------------------------------------------------------------ */

static int fleet_type_collect(Call *call, const NativeFleetTypeArgs *args, Buf *out) {
        int r = buf_append_str(out, args->text);

        for (size_t i = 0; !r && i < args->keys.n; i++) {
                r = keys_append(out, args->keys.items[i].data);
                if (r == KEYS_E_UNKNOWN)
                        return call_fail(call, CALL_E_INVALID_PARAMS, "keys: there is no key " STR_FMT,
                                         STR_ARG(args->keys.items[i]));
        }
        if (!r && args->submit)
                r = buf_append_str(out, STR("\r"));
        if (!r && !out->n)
                return call_fail(call, CALL_E_INVALID_PARAMS, "text, keys or submit is required");
        if (!r && out->n > FLEET_TYPED_MAX)
                return call_fail(call, CALL_E_INVALID_PARAMS, "at most %d bytes are typed at once",
                                 FLEET_TYPED_MAX);
        return error_trace(r);
}

static int fleet_type_found(Call *call, const FleetThing *thing, const Carry *carry) {
        const NativeFleetTypeArgs *args = container_of(carry, NativeFleetTypeArgs, carry);
        _cleanup_(buf_deinit) Buf keys = BUF_NULL;
        Hosted *hosted;
        JsonWriter *w;
        int r = fleet_require_terminal(call, "type", thing, &hosted);

        if (!r && !TAILQ_EMPTY(&hosted->seats))
                r = call_fail(call, CALL_E_UNAVAILABLE, "somebody else types at " STR_FMT,
                              STR_ARG(thing->name));
        if (!r)
                r = fleet_type_collect(call, args, &keys);
        if (r)
                return r;
        r = host_write(hosted, buf_str(&keys));
        if (r == HOST_E_ENDED)
                return call_fail(call, CALL_E_UNAVAILABLE, STR_FMT " has ended", STR_ARG(thing->name));
        if (r < 0)
                return error_trace(r);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "name", thing->name);
        jw_field_cstr(w, "id", thing->id);
        jw_field_uint(w, "typed", keys.n);
        jw_end_object(w);
        return 0;
}

int op_native_fleet_type(Call *call, const NativeFleetTypeArgs *args) {
        return fleet_call(call, args->name, STR_NULL, fleet_type_found, &args->carry);
}

/* ---- attach ---------------------------------------------------------------------------------- */

static void fleet_attach_stream(Call *call) {
        const PtyTarget *target = container_of(call->target, PtyTarget, carry);

        if (call->client->dialect->stream)
                call->client->dialect->stream(call->client, &target->stream);
        else
                coop_stream(call->client, &target->stream);
}

/* A terminal of a session stays the same while its program is started again. */
static int fleet_attach_aim(Call *call, const FleetThing *thing, Hosted *hosted, PtyTarget *target) {
        if (thing->owner == &fleet_session)
                return pty_require(call, thing->place, thing->number, &target->pty);
        target->stream.hosted = hosted;
        return 0;
}

static int fleet_attach_to(Call *call, const FleetThing *thing, const StreamTarget *wanted) {
        PtyTarget *target = pty_target(call, NULL, wanted->cols, wanted->rows);
        Hosted *hosted;
        JsonWriter *w;
        int r = fleet_require_running(call, thing, &hosted);

        if (!r)
                r = target ? fleet_attach_aim(call, thing, hosted, target) : error_origin(-ENOMEM);
        if (r)
                return r;
        target->stream.is_read_only = wanted->is_read_only || hosted->kind != SHIM_PTY;
        call->target = &target->carry;
        call_after(call, fleet_attach_stream);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "name", thing->name);
        jw_field_cstr(w, "id", thing->id);
        jw_field_bool(w, "writer",
                      !target->stream.is_read_only && (target->pty || TAILQ_EMPTY(&hosted->seats)));
        jw_end_object(w);
        return 0;
}

static int fleet_attach_found(Call *call, const FleetThing *thing, const Carry *carry) {
        const NativeFleetAttachArgs *args = container_of(carry, NativeFleetAttachArgs, carry);

        return fleet_attach_to(call, thing,
                               &(StreamTarget){.cols = (unsigned)args->cols,
                                               .rows = (unsigned)args->rows,
                                               .is_read_only = args->read_only});
}

/* Only as a request of its own: replies of a batch leave together, behind what would be streamed. */
static int fleet_attach_alone(Call *call, Str name, FleetFn found, const Carry *carry) {
        if (call->out != conn_out(call->client->conn))
                return call_fail(call, CALL_E_INVALID_REQUEST,
                                 "%s cannot stand in a batch or be a notification", call->op->name);
        return fleet_call(call, name, STR_NULL, found, carry);
}

int op_native_fleet_attach(Call *call, const NativeFleetAttachArgs *args) {
        return fleet_attach_alone(call, args->name, fleet_attach_found, &args->carry);
}

static int term_follow_found(Call *call, const FleetThing *thing, _unused_ const Carry *carry) {
        return fleet_attach_to(call, thing, &(StreamTarget){.is_read_only = true});
}

int op_native_term_follow(Call *call, const NativeTermFollowArgs *args) {
        return fleet_attach_alone(call, args->name, term_follow_found, &args->carry);
}

/* ---- record ---------------------------------------------------------------------------------- */

typedef struct FleetRecord { /* in the call's arena */
        Carry carry;
        FleetThing thing;
        const char *home;
        char *path;
        unsigned cols, rows;
        int fd;
} FleetRecord;

/* One that was recorded before has a file already: the next has a number behind its id. */
static void fleet_record_create(const Carry *carry) {
        FleetRecord *self = (FleetRecord *)container_of(carry, FleetRecord, carry);

        self->fd = recording_create(self->path, self->thing.name.data, self->cols, self->rows);
        for (unsigned i = 2; self->fd == -EEXIST && i <= FLEET_RECORDINGS_MAX; i++) {
                char id[32];

                snprintf(id, sizeof(id), "%s-%u", self->thing.id, i);
                free(self->path);
                self->path = recording_path(self->home, self->thing.name.data, id);
                self->fd = self->path ? recording_create(self->path, self->thing.name.data, self->cols,
                                                         self->rows)
                                      : -ENOMEM;
        }
}

static int fleet_record_tell(Call *call, const FleetThing *thing, const Hosted *hosted) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "name", thing->name);
        jw_field_cstr(w, "id", thing->id);
        jw_field_cstr(w, "recording", hosted->recording_path);
        jw_end_object(w);
        return 0;
}

static int fleet_record_created(Call *call, const Carry *carry) {
        FleetRecord *self = (FleetRecord *)container_of(carry, FleetRecord, carry);
        Hosted *hosted = host_find(call->daemon->host, str_from(self->thing.id));
        int r = self->fd < 0 ? self->fd : host_record(hosted, self->path, self->fd);

        free(self->path);
        if (r == HOST_E_ENDED)
                return call_fail(call, CALL_E_UNAVAILABLE, STR_FMT " has ended", STR_ARG(self->thing.name));
        return r ? error_trace(r) : fleet_record_tell(call, &self->thing, hosted);
}

static int fleet_record_found(Call *call, const FleetThing *thing, _unused_ const Carry *carry) {
        FleetRecord *self = arena_alloc(&call->arena, sizeof(*self));
        Hosted *hosted;
        int r = fleet_require_running(call, thing, &hosted);

        if (r)
                return r;
        if (hosted->recording)
                return fleet_record_tell(call, thing, hosted);
        if (!self)
                return error_origin(-ENOMEM);
        *self = (FleetRecord){.thing = *thing,
                              .home = call->daemon->home,
                              .path = recording_path(call->daemon->home, thing->name.data, hosted->id),
                              .cols = hosted->cols ? hosted->cols : FLEET_COLS,
                              .rows = hosted->rows ? hosted->rows : FLEET_ROWS,
                              .fd = -1};
        r = self->path ? call_work(call, fleet_record_create, fleet_record_created, &self->carry)
                       : error_origin(-ENOMEM);
        if (r != CALL_LATER)
                free(self->path);
        return r;
}

int op_native_fleet_record(Call *call, const NativeFleetRecordArgs *args) {
        return fleet_call(call, args->name, STR_NULL, fleet_record_found, &args->carry);
}
