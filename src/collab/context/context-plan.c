/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "collab/context/context-internal.h"

/* ---- create ---------------------------------------------------------------------------------- */

static int add_step(Context *context, Json *steps, int64_t number, const Json *given) {
        Str id = arena_printf(context->arena, "S%lld", (long long)number);
        Json *step = json_new(context->arena, JSON_OBJECT);
        int r;

        if (!step || !id.data)
                return error_origin(-ENOMEM);
        r = context_set(context, step, "id", id);
        if (!r)
                r = context_set(context, step, "name", context_text(given, "name"));
        if (!r)
                r = context_set(context, step, "acceptance", context_text(given, "acceptance"));
        if (!r)
                r = context_set(context, step, "status", STR("pending"));
        if (!r)
                r = json_push(steps, step);
        return error_trace(r);
}

/* Steps are numbered by their place in the list; what is no object leaves its number unused. */
static int add_steps(Context *context, Json *task, const Json *given) {
        Json *steps = json_new(context->arena, JSON_ARRAY);
        int64_t number = 0;
        int r;

        r = json_set(context->arena, task, STR("steps"), steps);
        if (r || !json_is(given, JSON_ARRAY))
                return error_trace(r);
        json_each (item, given) {
                number++;
                r = json_is(item, JSON_OBJECT) ? add_step(context, steps, number, item) : 0;
                if (r)
                        return error_trace(r);
        }
        return 0;
}

/* A name of somebody or something: an empty one or null takes it away. */
static int set_link(Context *context, Json *task, const char *key, Str text) {
        if (text.n)
                return context_set(context, task, key, text);
        json_remove(task, str_from(key));
        return 0;
}

static int set_links(Context *context, Json *task, const Json *item) {
        Str milestone = context_id(item, "milestone_id");
        int r = 0;

        if (!milestone.n)
                milestone = context_id(item, "milestone");
        if (json_get(item, "milestone_id") || json_get(item, "milestone"))
                r = set_link(context, task, "milestone", milestone);
        if (!r && json_get(item, "assignee"))
                r = set_link(context, task, "assignee", context_id(item, "assignee"));
        return error_trace(r);
}

static int context_tasks_fill(Context *context, Json *task, Str id, const Json *item) {
        int r;

        r = context_set(context, task, "id", id);
        if (!r)
                r = context_set(context, task, "name", context_text(item, "name"));
        if (!r)
                r = context_set(context, task, "goal", context_text(item, "goal"));
        if (!r)
                r = context_set(context, task, "status", STR("planned"));
        if (!r)
                r = set_links(context, task, item);
        if (!r)
                r = context_set_now(context, task, "created_at");
        if (!r)
                r = context_set_now(context, task, "updated_at");
        if (!r)
                r = add_steps(context, task, json_get(item, "steps"));
        return error_trace(r);
}

int context_task_create(Context *context, const Json *item, Str *detail) {
        ContextDoc *task = arena_alloc(context->arena, sizeof(*task));
        Str id = arena_printf(context->arena, "T%03lld", (long long)context->last_task + 1);
        int r;

        if (!task || !id.data)
                return error_origin(-ENOMEM);
        if (context->n_tasks >= CONTEXT_TASKS_MAX || !context_is_task_id(id))
                return context_refuse(context, "too many tasks");
        *task = (ContextDoc){.id = id, .is_changed = true, .document = document_new()};
        task->path = arena_printf(context->arena, "%s/tasks/%s.yaml", context->dir, id.data).data;
        r = task->document && task->path ? context_add_task(context, task) : error_origin(-ENOMEM);
        if (r) {
                document_unref(task->document);
                return error_trace(r);
        }
        context->last_task++;
        r = context_tasks_fill(context, task->document->json, id, item);
        return r ? error_trace(r) : context_detail(context, detail, "Created %s", id.data);
}

/* ---- update, restore ------------------------------------------------------------------------- */

/* For changing it. NULL: *r says why. */
static ContextDoc *open_task(Context *context, Str id, int *r) {
        ContextDoc *task = context_find_task(context, id);

        if (!task) {
                *r = context_refuse(context, "Task not found: " STR_FMT, STR_ARG(id));
                return NULL;
        }
        task->is_changed = true;
        *r = context_own(task);
        return *r ? NULL : task;
}

static int update_status(Context *context, Json *task, const Json *item) {
        Str text = context_id(item, "status");
        const char *status = context_status(text);

        if (!text.n)
                return 0;
        if (!status)
                return context_refuse(context, "Invalid task status: " STR_FMT, STR_ARG(text));
        return error_trace(context_set_status(context, task, status));
}

static int update_step(Context *context, Json *task, const Json *item) {
        Str id = context_id(item, "step_id"), text = context_id(item, "step_status");
        Json *step = context_find(json_get(task, "steps"), id);
        const char *status = context_step_status(text);

        if (!id.n && !text.n)
                return 0;
        if (!id.n || !text.n)
                return context_refuse(context, "step_id and step_status must be given together");
        if (!step)
                return context_refuse(context, "Step not found: " STR_FMT, STR_ARG(id));
        if (!status || !str_is(text, status))
                return context_refuse(context, "Invalid step status: " STR_FMT, STR_ARG(text));
        return error_trace(context_set(context, step, "status", str_from(status)));
}

int context_task_update(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "task_id");
        int r;
        ContextDoc *task = open_task(context, id, &r);

        if (!task)
                return r;
        r = update_status(context, task->document->json, item);
        if (!r)
                r = update_step(context, task->document->json, item);
        if (!r)
                r = context_set_given(context, task->document->json, "name", item);
        if (!r)
                r = context_set_given(context, task->document->json, "goal", item);
        if (!r)
                r = set_links(context, task->document->json, item);
        if (!r)
                r = context_set_now(context, task->document->json, "updated_at");
        return r ? r : context_detail(context, detail, "Updated " STR_FMT, STR_ARG(id));
}

int context_task_restore(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "task_id");
        const char *status;
        int r;
        ContextDoc *task = open_task(context, id, &r);

        if (!task)
                return r;
        if (strcmp(context_status_of(task->document->json), "archived") != 0)
                return context_refuse(context, "Task is not archived: " STR_FMT, STR_ARG(id));
        r = context_unarchive(context, task->document->json, &status);
        if (!r)
                r = context_set_now(context, task->document->json, "updated_at");
        return r ? error_trace(r)
                 : context_detail(context, detail, "Restored " STR_FMT " -> %s", STR_ARG(id), status);
}

static Json *find_milestone(Context *context, Str id) {
        Json *milestone = context_find(context_list(context, &context->main, "milestones", false), id);

        if (milestone)
                context->main.is_changed = true;
        return milestone;
}

static int context_milestones_not_found(Context *context, Str id) {
        return context_refuse(context, "Milestone not found: " STR_FMT, STR_ARG(id));
}

/* The status that an op asks for: the default when it does not. Refused: *ret is NULL. */
static int wanted_status(Context *context, const Json *item, const char *initial, const char **ret) {
        Str text = context_id(item, "status");

        *ret = text.n ? context_status(text) : initial;
        return *ret || !text.n
                       ? 0
                       : context_refuse(context, "Invalid milestone status: " STR_FMT, STR_ARG(text));
}

static int enter_status(Context *context, Json *milestone, const char *status) {
        int r = context_set_status(context, milestone, status);

        if (!r && !strcmp(status, "active") && !json_str(json_get(milestone, "started")).n)
                r = context_set_today(context, milestone, "started");
        return error_trace(r);
}

static int context_milestones_fill(Context *context, Json *milestone, Str id, const Json *item,
                                   const char *status) {
        int r;

        r = context_set(context, milestone, "id", id);
        if (!r)
                r = context_set(context, milestone, "name", context_text(item, "name"));
        if (!r)
                r = context_set(context, milestone, "description", context_text(item, "description"));
        if (!r)
                r = enter_status(context, milestone, status);
        if (!r)
                r = context_set_now(context, milestone, "updated_at");
        return error_trace(r);
}

int context_milestone_create(Context *context, const Json *item, Str *detail) {
        Str id = arena_printf(context->arena, "M%lld", (long long)context->last_milestone + 1);
        Json *list, *milestone;
        const char *status;
        int r;

        r = wanted_status(context, item, "planned", &status);
        if (r)
                return r;
        context->last_milestone++;
        context->main.is_changed = true;
        list = context_list(context, &context->main, "milestones", true);
        milestone = json_new(context->arena, JSON_OBJECT);
        if (!list || !milestone || !id.data)
                return error_origin(-ENOMEM);
        r = context_milestones_fill(context, milestone, id, item, status);
        if (!r)
                r = json_push(list, milestone);
        return r ? error_trace(r) : context_detail(context, detail, "Created %s", id.data);
}

int context_milestone_update(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "milestone_id");
        Json *milestone = find_milestone(context, id);
        const char *status;
        int r;

        if (!milestone)
                return context_milestones_not_found(context, id);
        r = wanted_status(context, item, NULL, &status);
        if (r)
                return r;
        r = context_set_given(context, milestone, "name", item);
        if (!r)
                r = context_set_given(context, milestone, "description", item);
        if (!r && status)
                r = enter_status(context, milestone, status);
        if (!r)
                r = context_set_now(context, milestone, "updated_at");
        return r ? error_trace(r) : context_detail(context, detail, "Updated " STR_FMT, STR_ARG(id));
}

int context_milestone_complete(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "milestone_id");
        Json *milestone = find_milestone(context, id);
        int r;

        if (!milestone)
                return context_milestones_not_found(context, id);
        r = context_set_status(context, milestone, "done");
        if (!r)
                r = context_set_today(context, milestone, "completed");
        if (!r)
                r = context_set(context, milestone, "outcomes", context_text(item, "outcomes"));
        if (!r)
                r = context_set_now(context, milestone, "updated_at");
        return r ? error_trace(r) : context_detail(context, detail, "Completed " STR_FMT, STR_ARG(id));
}

int context_milestone_restore(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "milestone_id");
        Json *milestone = find_milestone(context, id);
        const char *status;
        int r;

        if (!milestone)
                return context_milestones_not_found(context, id);
        if (strcmp(context_status_of(milestone), "archived") != 0)
                return context_refuse(context, "Milestone is not archived: " STR_FMT, STR_ARG(id));
        r = context_unarchive(context, milestone, &status);
        if (!r)
                r = context_set_now(context, milestone, "updated_at");
        return r ? error_trace(r)
                 : context_detail(context, detail, "Restored " STR_FMT " -> %s", STR_ARG(id), status);
}
