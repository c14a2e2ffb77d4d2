/* SPDX-License-Identifier: MIT */
/*
 * The end of a task in words: the final record as a line of the history, and what clients are told.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "base/error.h"
#include "core/runtimes.h"
#include "tasks/project.h"

enum {
        LINE_SAFE = LEDGER_LINE_MAX - (1 << 20), /* a record that is longer gets less of its output */
        OUTPUT_CUT = 64 << 10,                   /* this much of it */
        RESULT_TOLD = 64 << 10,                  /* a longer result is not part of the notification */
        READ_MAX = 1 << 20,                      /* a longer output is not searched for usage */
};

/* ---- metadata -------------------------------------------------------------------------------- */

static void task_end_write_usage(JsonWriter *w, const RuntimeReading *reading) {
        jw_key(w, "usage");
        jw_begin_object(w);
        jw_field_int(w, "input_tokens", reading->n_input);
        jw_field_int(w, "cached_tokens", reading->n_cached);
        jw_field_int(w, "output_tokens", reading->n_output);
        if (reading->has_cost) {
                jw_key(w, "cost_usd");
                jw_double(w, reading->cost_usd);
        }
        jw_end_object(w);
}

/* The task's own, with what is known now: tokens used, output that was not kept. */
static int make_metadata(const Task *task, Buf *out, Str output, uint64_t n_dropped) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str own = str_from(task->metadata);
        RuntimeReading reading = {0};
        JsonWriter w = JSON_WRITER(out);
        Json *json = NULL;

        if (output.n <= READ_MAX)
                runtime_read(&arena, output, &reading);
        if ((!reading.has_usage && !n_dropped) || json_parse(&arena, own.data, own.n, NULL, &json, NULL))
                return buf_append_str(out, own);
        jw_begin_object(&w);
        json_each (member, json) {
                jw_key_str(&w, json_key(member));
                jw_value(&w, member);
        }
        if (reading.has_usage)
                task_end_write_usage(&w, &reading);
        if (n_dropped)
                jw_field_uint(&w, "outputDroppedBytes", n_dropped);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

/* ---- the line -------------------------------------------------------------------------------- */

static int make_line(Task *task, const TaskEnd *end, Str output, uint64_t n_dropped, int64_t now_us) {
        _cleanup_(buf_deinit) Buf metadata = BUF_NULL;
        JsonWriter w = JSON_WRITER(&task->line);
        char kind[32] = "task.";
        int r = make_metadata(task, &metadata, output, n_dropped);

        if (r)
                return error_trace(r);
        strncat(kind, task_state_name(end->state), sizeof(kind) - sizeof("task."));
        task->line.n = 0;
        task_line_begin(&w, kind, now_us);
        task_write_end(task, &w, end, now_us, buf_str(&metadata), output);
        task_line_end(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

/* ---- the farewell ---------------------------------------------------------------------------- */

static void write_farewell(const Task *task, JsonWriter *w, const TaskEnd *end, Str output, int64_t now_us) {
        jw_begin_object(w);
        jw_field_cstr(w, "taskId", task->id);
        jw_field_cstr(w, "state", task_state_name(end->state));
        if (end->state == TASK_COMPLETED && output.n <= RESULT_TOLD)
                jw_field_str(w, "result", output.n ? output : STR(""));
        if (end->state == TASK_FAILED) {
                jw_field_cstr(w, "error", end->error);
                if (end->exit_code >= 0)
                        jw_field_int(w, "exitCode", end->exit_code);
        }
        if (end->signal) {
                char name[32] = "SIG";
                const char *abbreviation = sigabbrev_np(end->signal);
                strncat(name, abbreviation ? abbreviation : "?", sizeof(name) - 4);
                jw_field_cstr(w, "signal", name);
        }
        if (end->reason)
                jw_field_cstr(w, "reason", end->reason);
        if (task->started_us)
                jw_field_int(w, "duration", (now_us - task->started_us) / 1000);
        jw_end_object(w);
}

int task_put_end(Task *task, const TaskEnd *end, Str output, uint64_t n_all, int64_t now_us) {
        static const char *const names[TASK_N_STATES] = {[TASK_COMPLETED] = "event.taskCompleted",
                                                         [TASK_FAILED] = "event.taskFailed",
                                                         [TASK_CANCELLED] = "event.taskCancelled"};
        JsonWriter w = JSON_WRITER(&task->farewell);
        int r = make_line(task, end, output, n_all - output.n, now_us);

        if (!r && task->line.n > LINE_SAFE) {
                size_t n = MIN(output.n, (size_t)OUTPUT_CUT);
                output = (Str){output.data + output.n - n, n};
                r = make_line(task, end, output, n_all - n, now_us);
        }
        if (r)
                return error_trace(r);
        task->farewell_name = names[end->state];
        task->farewell.n = 0;
        write_farewell(task, &w, end, output, now_us);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

int task_make_end(Task *task, const TaskEnd *end) {
        Str output = task_output(task);
        uint64_t n_all = output.n ? task->hosted->shown_out : 0;

        return task_put_end(task, end, output, n_all, loop_wall_us(task->project->daemon->loop));
}
