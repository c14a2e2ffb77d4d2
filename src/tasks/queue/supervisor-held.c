/* SPDX-License-Identifier: MIT */
/*
 * Tasks that are held: an earlier daemon was to have queued them, says the history in the project's folder;
 * but an agent in a sandbox could write there, and they have no ticket (tasks/queue/task-ticket.h). They are
 * listed as waiting and can be cancelled; they run when a person has looked at them: project.trust.
 */
#define LOG_MODULE "tasks/held"

#include <errno.h>

#include "base/error.h"
#include "base/utf8.h"
#include "tasks/project.h"

enum { HELD_SHOWN = 200, HELD_PROMPT_SHOWN = 4096 };

int supervisor_held_digest(const Project *project, char ret[SHA256_HEX_MAX]) {
        _cleanup_(buf_deinit) Buf all = BUF_NULL;
        int r = 0;

        for (const Task *task = TAILQ_FIRST(&project->supervisor.held); !r && task;
             task = TAILQ_NEXT(task, link))
                r = buf_printf(&all, "%s\n", task->ticket);
        return error_trace(r ? r : sha256_hex(all.n ? buf_str(&all) : STR(""), ret));
}

static void held_write(JsonWriter *w, const Task *task) {
        jw_begin_object(w);
        jw_field_cstr(w, "id", task->id);
        jw_field_str(w, "prompt", utf8_fit(task->prompt, HELD_PROMPT_SHOWN));
        jw_field_uint(w, "bytes", task->prompt.n);
        jw_field_cstr(w, "agent", task->agent);
        jw_key(w, "priority");
        jw_raw(w, str_from(task->priority_text));
        jw_field_time_ms(w, "createdAt", task->created_us);
        jw_end_object(w);
}

void supervisor_write_held(const Project *project, JsonWriter *w) {
        const Task *task = TAILQ_LAST(&project->supervisor.held, TaskList);

        jw_begin_array(w);
        for (int n = 0; task && n < HELD_SHOWN; n++, task = TAILQ_PREV(task, TaskList, link))
                held_write(w, task);
        jw_end_array(w);
}

/* Should we die before the tickets are written, the person is asked once more: that is the safe side. */
static void held_release(Task *task) {
        int r = task_ticket_put(task, STR_NULL, NULL);

        if (r)
                log_warning(&task->project->daemon->log, task->id, "no ticket for it error=%d", -r);
        supervisor_enqueue(task);
}

void supervisor_release_held(Project *project) {
        Task *oldest;

        while ((oldest = TAILQ_LAST(&project->supervisor.held, TaskList))) {
                supervisor_dequeue(oldest);
                held_release(oldest);
        }
        supervisor_pump(project);
}
