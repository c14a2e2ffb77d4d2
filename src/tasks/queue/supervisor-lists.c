/* SPDX-License-Identifier: MIT */
/*
 * Where a task hangs: in its bucket, in the queue, among those under way.
 */
#include "tasks/project.h"
#include "tasks/queue/supervisor.h"

void supervisor_unlink(Task *task) {
        if (task->list)
                TAILQ_REMOVE(task->list, task, link);
        task->list = NULL;
}

static void link_first(Task *task, TaskList *list) {
        TAILQ_INSERT_HEAD(list, task, link);
        task->list = list;
}

void supervisor_add(Task *task) {
        Task **bucket = &task->project->supervisor.buckets[task->row % TASK_BUCKETS];

        task->has_row = true;
        task->next_in_bucket = *bucket;
        *bucket = task;
}

void supervisor_remove(Task *task) {
        Task **at = &task->project->supervisor.buckets[task->row % TASK_BUCKETS];

        while (task->has_row && *at != task)
                at = &(*at)->next_in_bucket;
        if (task->has_row)
                *at = task->next_in_bucket;
        task->has_row = false;
}

Task *supervisor_find_row(const Project *project, uint64_t row) {
        Task *task = project->supervisor.buckets[row % TASK_BUCKETS];

        while (task && task->row != row)
                task = task->next_in_bucket;
        return task;
}

TaskState supervisor_state_of(const Project *project, uint64_t row) {
        const Task *task = supervisor_find_row(project, row);

        return task ? task->state : (TaskState)project->store.rows.rows[row].state;
}

/* Rows say what is kept; what clients see of a task under way can be a step behind or before that. */
void supervisor_count(const Project *project, uint64_t counts[TASK_N_STATES]) {
        const TaskRows *rows = &project->store.rows;
        const Task *task;

        memset(counts, 0, TASK_N_STATES * sizeof(counts[0]));
        if (!project->store.is_ready)
                return;
        memcpy(counts, rows->counts, TASK_N_STATES * sizeof(counts[0]));
        TAILQ_FOREACH (task, &project->supervisor.active, link)
                if (task->has_row) {
                        counts[rows->rows[task->row].state]--;
                        counts[task->state]++;
                }
}

/* Higher priorities first, equal ones in order of submission; most come last. */
void supervisor_enqueue(Task *task) {
        Supervisor *s = &task->project->supervisor;
        const Task *last = TAILQ_LAST(&s->queue, TaskList);
        Task *at = last && last->priority < task->priority ? TAILQ_FIRST(&s->queue) : NULL;

        while (at && at->priority >= task->priority)
                at = TAILQ_NEXT(at, link);
        if (at)
                TAILQ_INSERT_BEFORE(at, task, link);
        else
                TAILQ_INSERT_TAIL(&s->queue, task, link);
        task->list = &s->queue;
        s->n_queue++;
}

void supervisor_hold(Task *task) {
        Supervisor *s = &task->project->supervisor;

        link_first(task, &s->held);
        task->is_held = true;
        s->n_held++;
}

void supervisor_dequeue(Task *task) {
        Supervisor *s = &task->project->supervisor;

        supervisor_unlink(task);
        if (!task->is_held)
                s->n_queue--;
        else
                s->n_held--;
        task->is_held = false;
}

void supervisor_link(Task *task) {
        link_first(task, &task->project->supervisor.active);
}

void supervisor_activate(Task *task) {
        supervisor_link(task);
        task->is_reserved = true;
        task->project->supervisor.n_slots++;
}

void supervisor_release(Task *task) {
        task->project->supervisor.n_slots -= task->is_reserved;
        task->is_reserved = false;
}
