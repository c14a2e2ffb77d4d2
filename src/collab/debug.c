/* SPDX-License-Identifier: MIT */
#include "collab/debug.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/group/group-doc.h"
#include "collab/observability.h"
#include "collab/parts.h"
#include "gen/cccc-ops.h"

struct Debug { /* in the call's arena */
        Call *call;
        Str group_id, by;
        DebugFn fn;
        const Carry *theirs; /* of the operation */
        Carry carry;
        Arena arena; /* of the settings */
        Json *settings;
        int r;
};

static int run_fn(Debug *self, Group *group) {
        return self->fn(self->call, group, self->settings, self->theirs);
}

static int with_group(Call *call, Group *group, const Carry *carry) {
        Debug *self = container_of(carry, Debug, carry);
        int r = group_require(call, group->doc, self->by, ROLE_FOREMAN, STR_NULL, "debug",
                              CALL_E_PERMISSION_DENIED);

        return r ? r : run_fn(self, group);
}

/* The settings move to the call's arena: fn may answer later. */
static int debug_go_on(Debug *self) {
        bool is_developer = false;

        if (self->r)
                return self->r;
        self->settings = json_clone(&self->call->arena, self->settings);
        if (!self->settings)
                return error_origin(-ENOMEM);
        json_bool(json_get(self->settings, "developer_mode"), &is_developer);
        if (!is_developer)
                return call_fail(self->call, CALL_E_DEVELOPER_MODE_REQUIRED, "developer mode is disabled");
        return self->group_id.n ? collab_read(self->call, self->group_id, with_group, &self->carry)
                                : run_fn(self, NULL); /* roles are those of a group */
}

static void debug_run(const Carry *carry) {
        Debug *self = container_of(carry, Debug, carry);
        Collab *collab = self->call->daemon->collab;

        self->r = observability_load(&self->arena, collab->settings_path, NULL, &self->settings);
}

static int debug_done(_unused_ Call *call, const Carry *carry) {
        Debug *self = container_of(carry, Debug, carry);
        Arena arena = self->arena;
        int r = debug_go_on(self);

        arena_deinit(&arena);
        return r;
}

/* Answers developer_mode_required, group_not_found, permission_denied; then runs fn, in a later turn. */
static int debug_call(Call *call, Str group_id, Str by, DebugFn fn, const Carry *carry) {
        Debug *self = arena_alloc(&call->arena, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        *self = (Debug){.call = call, .group_id = group_id, .by = by, .fn = fn, .theirs = carry};
        return call_work(call, debug_run, debug_done, &self->carry);
}

static void write_daemon(JsonWriter *w, Call *call) {
        char ts[TIME_TEXT_MAX];

        time_format_us(loop_wall_us(call->daemon->loop), ts);
        jw_begin_object(w);
        jw_field_int(w, "pid", getpid());
        jw_field_cstr(w, "version", collab_version(call->daemon->collab));
        jw_field_cstr(w, "ts", ts);
        jw_end_object(w);
}

static void write_group(JsonWriter *w, const Group *group) {
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_field_cstr(w, "state", group_state_name(group->doc->state));
        jw_field_str(w, "active_scope_key", group->doc->active_scope_key);
        jw_field_str(w, "title", group->doc->title);
        jw_end_object(w);
}

static void debug_snapshot_write_actor(JsonWriter *w, const Group *group, const ActorView *actor) {
        jw_begin_object(w);
        jw_field_str(w, "id", actor->id);
        jw_field_cstr(w, "role", group_role(group->doc, actor->id));
        jw_field_str(w, "runtime", actor->runtime);
        jw_field_str(w, "runner", actor->runner);
        jw_field_str(w, "runner_effective", actor->runner);
        jw_field_bool(w, "enabled", actor->is_enabled);
        jw_field_bool(w, "running", group_actor_is_running(group, actor->id));
        jw_field_int(w, "unread_count", 0); /* the original never counts here; actor_list does */
        jw_end_object(w);
}

static void write_delivery(JsonWriter *w, const Group *group) {
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->write_debug) {
                        (*part)->write_debug(group, w);
                        return;
                }
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_key(w, "actors");
        jw_begin_object(w);
        jw_end_object(w);
        jw_field_int(w, "pending_total", 0);
        jw_end_object(w);
}

static int debug_snapshot_snapshot(Call *call, Group *group, const Json *settings,
                                   _unused_ const Carry *carry) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "developer_mode", true);
        jw_field_value(w, "observability", settings);
        jw_key(w, "daemon");
        write_daemon(w, call);
        if (group) {
                jw_key(w, "group");
                write_group(w, group);
                jw_key(w, "actors");
                jw_begin_array(w);
                for (size_t i = 0; i < group->doc->n_actors; i++)
                        debug_snapshot_write_actor(w, group, &group->doc->actors[i]);
                jw_end_array(w);
                jw_key(w, "delivery");
                write_delivery(w, group);
        }
        jw_end_object(w);
        return 0;
}

int op_cccc_debug_snapshot(Call *call, const CcccDebugSnapshotArgs *args) {
        return debug_call(call, args->group_id, args->by, debug_snapshot_snapshot, &args->carry);
}

/* debug_tail_logs and debug_clear_logs: the log files of the daemon, the web port and a group's IM bridge.
 */
enum { TAIL_MAX = 1 << 20, LINES_DEFAULT = 200, LINES_MAX = 2000 };

typedef struct LogJob { /* in the call's arena */
        Carry carry;
        Call *call;
        Str component, group_id;
        char *path;
        bool is_clear;
        size_t n_lines;
        Buf text; /* the end of the file */
        int r;
} LogJob;

/* ---- which file ------------------------------------------------------------------------------ */

static int refuse_component(Call *call, Str component) {
        JsonWriter *w = call_details(call);

        jw_begin_object(w);
        jw_field_str(w, "component", component);
        jw_end_object(w);
        return call_fail(call, CALL_E_INVALID_COMPONENT, "unknown component");
}

static int find_path(Call *call, const Group *group, Str component, char **ret) {
        const char *home = call->daemon->collab->home;

        if (str_is(component, "daemon") || str_is(component, "ccccd"))
                *ret = path_join(home, "daemon/ccccd.log");
        else if (str_is(component, "web"))
                *ret = path_join(home, "daemon/cccc-web.log");
        else if (!str_is(component, "im") && !str_is(component, "im_bridge"))
                return refuse_component(call, component);
        else if (!group)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id for im logs");
        else
                *ret = path_join(group->dir, "state/im_bridge.log");
        return *ret ? 0 : error_origin(-ENOMEM);
}

/* ---- worker ---------------------------------------------------------------------------------- */

static int read_tail(const char *path, Buf *out) {
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        struct stat st;
        ssize_t n;
        int r;

        if (fd < 0)
                return errno == ENOENT ? 0 : error_origin(-errno);
        if (fstat(fd, &st) < 0)
                return error_origin(-errno);
        r = buf_reserve(out, TAIL_MAX);
        if (r)
                return error_trace(r);
        n = pread(fd, out->data, TAIL_MAX, st.st_size > TAIL_MAX ? st.st_size - TAIL_MAX : 0);
        if (n < 0)
                return error_origin(-errno);
        out->n = (size_t)n;
        return 0;
}

/* Makes it when there is none. */
static int make_empty(const char *path) {
        _cleanup_(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600);

        return fd < 0 ? error_origin(-errno) : 0;
}

static void debug_logs_run(const Carry *carry) {
        LogJob *job = container_of(carry, LogJob, carry);

        job->r = job->is_clear ? make_empty(job->path) : read_tail(job->path, &job->text);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void write_lines(JsonWriter *w, Str text, int64_t n) {
        text = str_last_lines(text, n);
        jw_begin_array(w);
        while (text.data && text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                size_t n_line = end ? (size_t)(end - text.data) : text.n;
                jw_str(w, (Str){text.data, n_line});
                n_line += end ? 1 : 0;
                text = (Str){text.data + n_line, text.n - n_line};
        }
        jw_end_array(w);
}

static int debug_logs_answer(LogJob *job) {
        JsonWriter *w;

        if (job->r && job->is_clear)
                return call_fail(job->call, CALL_E_DEBUG_CLEAR_LOGS_FAILED, "cannot empty the log: %s",
                                 strerror(-job->r));
        if (job->r)
                return job->r;
        w = call_result(job->call);
        jw_begin_object(w);
        jw_field_str(w, "component", job->component);
        jw_field_str(w, "group_id", job->group_id);
        jw_field_cstr(w, "path", job->path);
        if (job->is_clear)
                jw_field_bool(w, "cleared", true);
        else {
                jw_key(w, "lines");
                write_lines(w, buf_str(&job->text), (int64_t)job->n_lines);
        }
        jw_end_object(w);
        return 0;
}

static int debug_logs_done(_unused_ Call *call, const Carry *carry) {
        LogJob *job = container_of(carry, LogJob, carry);
        int r = debug_logs_answer(job);

        buf_deinit(&job->text);
        free(job->path);
        return r;
}

static Str lower_case(Arena *arena, Str word) {
        Str copy = arena_str(arena, word.data ? word : STR(""));

        for (size_t i = 0; i < copy.n; i++)
                ((char *)copy.data)[i] = (char)tolower((unsigned char)copy.data[i]);
        return copy;
}

static int debug_logs_start(Call *call, Group *group, const LogJob *wanted) {
        LogJob *job = arena_alloc(&call->arena, sizeof(*job));
        int r;

        if (!job)
                return error_origin(-ENOMEM);
        *job = *wanted;
        job->call = call;
        job->component = lower_case(&call->arena, wanted->component);
        if (!job->component.data)
                return error_origin(-ENOMEM);
        r = find_path(call, group, job->component, &job->path);
        if (r)
                return r;
        r = call_work(call, debug_logs_run, debug_logs_done, &job->carry);
        if (r != CALL_LATER)
                free(job->path);
        return r;
}

static int debug_logs_tail(Call *call, Group *group, _unused_ const Json *settings, const Carry *carry) {
        const CcccDebugTailLogsArgs *args = container_of(carry, CcccDebugTailLogsArgs, carry);
        int64_t n = args->lines <= 0 ? LINES_DEFAULT : MIN(args->lines, LINES_MAX);

        return debug_logs_start(
                call, group,
                &(LogJob){.component = args->component, .group_id = args->group_id, .n_lines = (size_t)n});
}

int op_cccc_debug_tail_logs(Call *call, const CcccDebugTailLogsArgs *args) {
        return debug_call(call, args->group_id, args->by, debug_logs_tail, &args->carry);
}

static int debug_logs_clear(Call *call, Group *group, _unused_ const Json *settings, const Carry *carry) {
        const CcccDebugClearLogsArgs *args = container_of(carry, CcccDebugClearLogsArgs, carry);

        return debug_logs_start(
                call, group,
                &(LogJob){.component = args->component, .group_id = args->group_id, .is_clear = true});
}

int op_cccc_debug_clear_logs(Call *call, const CcccDebugClearLogsArgs *args) {
        return debug_call(call, args->group_id, args->by, debug_logs_clear, &args->carry);
}
