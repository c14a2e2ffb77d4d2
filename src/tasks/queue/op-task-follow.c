/* SPDX-License-Identifier: MIT */
/*
 * task.follow: the way to ask for event.taskOutput. The answer holds what was printed so far, and the events
 * go on from there: no byte is missing or told twice.
 */
#include "core/daemon.h"
#include "gen/aiwg-ops.h"
#include "tasks/project.h"

static void task_follow_answer(Call *call, const Task *task, bool is_following) {
        JsonWriter *w = call_result(call);
        Str output = task ? task_output(task) : STR_NULL;
        size_t n_tail = task ? task->tails[0].n : 0;

        jw_begin_object(w);
        jw_field_bool(w, "following", is_following);
        if (task) {
                jw_field_cstr(w, "taskId", task->id);
                jw_field_cstr(w, "state", task_state_name(task->state));
                jw_field_str(w, "output",
                             output.n > n_tail ? (Str){output.data, output.n - n_tail} : STR(""));
        }
        jw_end_object(w);
}

int op_aiwg_task_follow(Call *call, Project *project, const AiwgTaskFollowArgs *args) {
        int64_t row = args->taskId.n && project->store.is_ready
                              ? task_rows_find(&project->store.rows, args->taskId)
                              : -1;
        const Task *task = row < 0 ? NULL : supervisor_find_row(project, (uint64_t)row);
        int r = 0;

        if (!project->store.is_ready)
                return call_fail(call, CALL_E_UNAVAILABLE, "Task store is not available");
        if (args->taskId.n && row < 0)
                return call_fail(call, CALL_E_TASK_NOT_FOUND, "Task not found: " STR_FMT,
                                 STR_ARG(args->taskId));
        if (args->stop)
                task_unfollow(project, call->client);
        else if (task || !args->taskId.n) /* of one that has ended nothing will come */
                r = task_follow(project, call->client, args->taskId);
        if (!r)
                task_follow_answer(call, task, !args->stop && (task || !args->taskId.n));
        return r;
}
