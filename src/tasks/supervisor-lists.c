/* SPDX-License-Identifier: MIT */
/*
 * Where a task hangs: in its bucket, in the queue, among those under way.
 */
#include "tasks/project.h"
#include "tasks/supervisor.h"

void supervisor_unlink(Task *task) {
        if (!task->link)
                return;
        *task->link = task->next;
        if (task->next)
                task->next->link = task->link;
        task->link = NULL;
}

static void link_at(Task *task, Task **at) {
        task->next = *at;
        task->link = at;
        if (task->next)
                task->next->link = &task->next;
        *at = task;
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

        memset(counts, 0, TASK_N_STATES * sizeof(counts[0]));
        if (!project->store.is_ready)
                return;
        memcpy(counts, rows->counts, TASK_N_STATES * sizeof(counts[0]));
        for (const Task *task = project->supervisor.active; task; task = task->next)
                if (task->has_row) {
                        counts[rows->rows[task->row].state]--;
                        counts[task->state]++;
                }
}

const Task *supervisor_before(const Supervisor *s, const Task *task) {
        return task->link == &s->active ? NULL : container_of(task->link, Task, next);
}

/* Higher priorities first, equal ones in order of submission. */
void supervisor_enqueue(Task *task) {
        Supervisor *s = &task->project->supervisor;
        Task **at = s->queue_last ? &s->queue_last->next : &s->queue;

        if (s->queue_last && s->queue_last->priority < task->priority)
                for (at = &s->queue; *at && (*at)->priority >= task->priority;)
                        at = &(*at)->next;
        link_at(task, at);
        if (!task->next)
                s->queue_last = task;
        s->n_queue++;
}

void supervisor_dequeue(Task *task) {
        Supervisor *s = &task->project->supervisor;

        if (s->queue_last == task)
                s->queue_last = task->link == &s->queue ? NULL : container_of(task->link, Task, next);
        supervisor_unlink(task);
        s->n_queue--;
}

void supervisor_link(Task *task) {
        link_at(task, &task->project->supervisor.active);
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
