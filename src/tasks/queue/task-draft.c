/* SPDX-License-Identifier: MIT */
/*
 * A long record is put into words by a worker: 12 MB of prompt held the loop for 50 ms. The worker sees the
 * task as it was when it was asked; nobody changes the texts of a task, and one that is freed meanwhile leaves
 * them here. What was printed is copied: the ring goes on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tasks/project.h"

struct TaskDraft {
        Task *task; /* NULL: it is gone, and the texts of the view are ours */
        Task view;
        bool is_end;
        TaskEnd end;
        char *prompt, *error; /* prompt: a copy of one that was borrowed */
        Buf output;
        uint64_t n_all;
        int64_t now_us;
        void (*done)(Task *task, int r);
        int r;
};

static TaskDraft *task_draft_free(TaskDraft *draft) {
        Task *view = &draft->view;

        buf_deinit(&view->line);
        buf_deinit(&view->written);
        buf_deinit(&view->farewell);
        buf_deinit(&draft->output);
        free(draft->prompt);
        free(draft->error);
        if (!draft->task) {
                free(view->id);
                task_drop_prompt(view);
                free(view->agent);
                free(view->priority_text);
                free(view->metadata);
        }
        free(draft);
        return NULL;
}

void task_draft_leave(Task *task) {
        task->draft->task = NULL;
        task->draft = NULL;
        task->id = task->agent = task->priority_text = task->metadata = NULL;
        task->prompt = STR_NULL;
        task->borrowed = NULL;
}

static void task_draft_run(void *user) {
        TaskDraft *draft = user;
        Task *view = &draft->view;

        if (draft->is_end)
                draft->r = task_put_end(view, &draft->end, buf_str(&draft->output), draft->n_all,
                                        draft->now_us);
        else
                draft->r = task_put_first(view);
        if (!draft->r && !draft->is_end)
                draft->r = sha256_hex(task_line_record(buf_str(&view->line)), view->ticket);
        if (!draft->r && view->borrowed && !(draft->prompt = str_dup(view->prompt)))
                draft->r = error_origin(-ENOMEM);
        if (!draft->r)
                draft->r = buf_append_str(&view->written, buf_str(&view->line));
        if (!draft->r)
                draft->r = buf_append(&view->written, "\n", 1);
}

static void task_draft_take(Task *task, TaskDraft *draft) {
        Task *view = &draft->view;

        if (draft->prompt) {
                Str copy = {steal(&draft->prompt), task->prompt.n};

                task_drop_prompt(task);
                task->prompt = copy;
        }
        buf_deinit(&task->line);
        buf_deinit(&task->written);
        task->written = view->written;
        buf_deinit(&task->farewell);
        task->line = view->line;
        task->farewell = view->farewell;
        task->farewell_name = view->farewell_name;
        memcpy(task->ticket, view->ticket, sizeof(task->ticket));
        view->line = view->written = view->farewell = BUF_NULL;
}

static void task_draft_done(void *user) {
        TaskDraft *draft = user;
        Task *task = draft->task;
        void (*done)(Task *, int) = draft->done;
        int r = draft->r;

        if (task && !r)
                task_draft_take(task, draft);
        if (task)
                task->draft = NULL;
        task_draft_free(draft);
        if (task)
                done(task, r);
}

static int task_draft_fill(TaskDraft *draft, const Task *task, const TaskEnd *end) {
        Str output = task_output(task);

        draft->view = *task;
        draft->view.line = draft->view.written = draft->view.farewell = BUF_NULL;
        draft->view.hosted = NULL;
        draft->is_end = end;
        if (!end)
                return 0;
        draft->end = *end;
        draft->now_us = loop_wall_us(task->project->daemon->loop);
        draft->n_all = output.n ? task->hosted->shown_out : 0;
        draft->error = end->error ? strdup(end->error) : NULL;
        draft->end.error = draft->error;
        if (end->error && !draft->error)
                return error_origin(-ENOMEM);
        return error_trace(buf_append_str(&draft->output, output));
}

int task_draft_begin(Task *task, const TaskEnd *end, void (*done)(Task *task, int r)) {
        TaskDraft *draft = calloc(1, sizeof(*draft));
        int r;

        if (!draft)
                return error_origin(-ENOMEM);
        draft->task = task;
        draft->done = done;
        r = task_draft_fill(draft, task, end);
        if (!r)
                r = loop_work_heavy(task->project->daemon->loop, task_draft_run, task_draft_done, draft);
        if (r) {
                task_draft_free(draft);
                return error_trace(r);
        }
        task->draft = draft;
        return 0;
}
