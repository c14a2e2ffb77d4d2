/* SPDX-License-Identifier: MIT */
#include "core/daemon.h"
#include "gen/aiwg-ops.h"
#include "tasks/project.h"

int op_aiwg_task_cancel(Call *call, Project *project, const AiwgTaskCancelArgs *args) {
        Str id = args->taskId;
        bool is_later;
        JsonWriter *w;
        int r = supervisor_cancel(project, id, call, &is_later);

        if (r == SUPERVISOR_E_UNAVAILABLE)
                return call_fail(call, CALL_E_UNAVAILABLE, "Task store is not available");
        if (r == SUPERVISOR_E_UNKNOWN)
                return call_fail(call, CALL_E_TASK_NOT_FOUND, "Task not found: " STR_FMT, STR_ARG(id));
        if (r == SUPERVISOR_E_ENDED)
                return call_fail(call, CALL_E_TASK_NOT_CANCELLABLE, "Task has ended already: " STR_FMT,
                                 STR_ARG(id));
        if (r || is_later)
                return r ? r : CALL_LATER;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_bool(w, "cancelled", true);
        jw_end_object(w);
        return 0;
}
