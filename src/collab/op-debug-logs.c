/* SPDX-License-Identifier: MIT */
/* debug_tail_logs and debug_clear_logs: the log files of the daemon, the web port and a group's IM bridge.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/debug.h"
#include "gen/cccc-ops.h"

enum { TAIL_MAX = 1 << 20, LINES_DEFAULT = 200, LINES_MAX = 2000 };

typedef struct LogJob { /* in the call's arena */
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

static void debug_logs_run(void *user) {
        LogJob *job = user;

        job->r = job->is_clear ? make_empty(job->path) : read_tail(job->path, &job->text);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Where the last n lines begin. */
static size_t debug_logs_last_lines(Str text, size_t n) {
        size_t at = text.n;

        if (at && text.data[at - 1] == '\n')
                at--;
        while (at) {
                if (text.data[at - 1] == '\n' && !--n)
                        return at;
                at--;
        }
        return 0;
}

static void write_lines(JsonWriter *w, Str text, size_t n) {
        size_t start = text.data ? debug_logs_last_lines(text, n) : 0;

        jw_begin_array(w);
        if (text.data)
                text = (Str){text.data + start, text.n - start};
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
                write_lines(w, buf_str(&job->text), job->n_lines);
        }
        jw_end_object(w);
        return 0;
}

static void debug_logs_done(void *user) {
        LogJob *job = user;
        Call *call = job->call;
        int r = debug_logs_answer(job);

        buf_deinit(&job->text);
        free(job->path);
        call_finish(call, r);
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
        if (!loop_work(call->daemon->loop, debug_logs_run, debug_logs_done, job))
                return CALL_LATER;
        free(job->path);
        return error_origin(-ENOMEM);
}

static int debug_logs_tail(Call *call, Group *group, _unused_ const Json *settings, const void *user) {
        const CcccDebugTailLogsArgs *args = user;
        int64_t n = args->lines <= 0 ? LINES_DEFAULT : MIN(args->lines, LINES_MAX);

        return debug_logs_start(
                call, group,
                &(LogJob){.component = args->component, .group_id = args->group_id, .n_lines = (size_t)n});
}

int op_cccc_debug_tail_logs(Call *call, const CcccDebugTailLogsArgs *args) {
        return debug_call(call, args->group_id, args->by, debug_logs_tail, args);
}

static int debug_logs_clear(Call *call, Group *group, _unused_ const Json *settings, const void *user) {
        const CcccDebugClearLogsArgs *args = user;

        return debug_logs_start(
                call, group,
                &(LogJob){.component = args->component, .group_id = args->group_id, .is_clear = true});
}

int op_cccc_debug_clear_logs(Call *call, const CcccDebugClearLogsArgs *args) {
        return debug_call(call, args->group_id, args->by, debug_logs_clear, args);
}
