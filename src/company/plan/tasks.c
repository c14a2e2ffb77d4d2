/* SPDX-License-Identifier: MIT */
#include "company/plan/plan.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/time.h"
#include "company/place.h"
#include "core/document.h"
#include "gen/shapes.h"

/* ---- reading --------------------------------------------------------------------------------- */

static int plan_order(Str a, Str b) {
        int order = a.n && b.n ? memcmp(a.data, b.data, MIN(a.n, b.n)) : 0;

        return order ? order : (a.n > b.n) - (a.n < b.n);
}

static int plan_compare_tasks(const void *a, const void *b) {
        const PlanTask *x = a, *y = b;
        int order = plan_order(json_text_of(y->matter, "created_at"), json_text_of(x->matter, "created_at"));

        return order ? order : plan_order(x->task_id, y->task_id);
}

static void plan_count(PlanTask *task) {
        json_each (milestone, json_get(task->matter, "milestones")) {
                Str status = json_text_of(milestone, "status");

                task->n_milestones++;
                task->n_done += str_is(status, "done");
                task->n_in_progress += str_is(status, "in_progress");
                task->n_blocked += str_is(status, "blocked");
                task->n_ready += str_is(status, "ready");
                task->n_draft += str_is(status, "draft");
        }
        if (task->n_milestones)
                task->progress = (double)task->n_done / (double)task->n_milestones;
        else
                task->progress = str_is(json_text_of(task->matter, "status"), "done");
}

static int plan_load(int root, Arena *arena, Str project_id, Str id, PlanTask *ret, bool *is_task) {
        const char *path = place_task(arena, project_id, id);
        Json *json = NULL;
        int r = path ? document_load(arena, root, path, DOCUMENT_MATTER, &json, NULL, NULL)
                     : DOCUMENT_E_MISSING;

        *is_task = false;
        if (r || !shape_fits(&shape_task, json))
                return r < 0 ? error_trace(r) : 0;
        *ret = (PlanTask){.task_id = json_text_of(json, "id"),
                          .path = path,
                          .matter = shape_ordered(arena, &shape_task, json)};
        if (!ret->matter)
                return error_origin(-ENOMEM);
        plan_count(ret);
        *is_task = true;
        return 0;
}

int plan_tasks(int root, Arena *arena, Str project_id, PlanTasks *ret) {
        StrList ids = {0};
        int r = place_names(arena, root, place_project(arena, project_id, "tasks"), ".md", &ids);

        *ret = (PlanTasks){.items = r ? NULL : arena_alloc(arena, ids.n * sizeof(PlanTask))};
        if (!r && !ret->items)
                r = error_origin(-ENOMEM);
        for (size_t i = 0; !r && i < ids.n; i++) {
                bool is_task;

                r = plan_load(root, arena, project_id, ids.items[i], &ret->items[ret->n], &is_task);
                ret->n += !r && is_task;
        }
        if (!r && ret->n)
                qsort(ret->items, ret->n, sizeof(*ret->items), plan_compare_tasks);
        return error_trace(r);
}

static int plan_compare_projects(const void *a, const void *b) {
        const Json *x = *(Json *const *)a, *y = *(Json *const *)b;
        int order = plan_order(json_text_of(y, "created_at"), json_text_of(x, "created_at"));

        return order ? order : plan_order(json_text_of(x, "id"), json_text_of(y, "id"));
}

int plan_projects(int root, Arena *arena, Json **ret) {
        Json *list = json_new(arena, JSON_ARRAY), **items = NULL;
        StrList ids = {0};
        size_t n = 0;
        int r = list ? place_names(arena, root, PLACE_PROJECTS, NULL, &ids) : error_origin(-ENOMEM);

        items = r ? NULL : arena_alloc(arena, ids.n * sizeof(Json *));
        if (!r && !items)
                r = error_origin(-ENOMEM);
        for (size_t i = 0; !r && i < ids.n; i++) {
                const char *path = place_project(arena, ids.items[i], "project.yaml");

                r = path ? document_load(arena, root, path, DOCUMENT_YAML, &items[n], NULL, NULL)
                         : DOCUMENT_E_MISSING;
                n += !r && shape_fits(&shape_project, items[n]);
                r = r > 0 ? 0 : r;
        }
        if (!r && n)
                qsort(items, n, sizeof(*items), plan_compare_projects);
        for (size_t i = 0; !r && i < n; i++)
                r = json_push(list, items[i]);
        *ret = list;
        return error_trace(r);
}

double plan_percent(double ratio) {
        return (double)(int64_t)(ratio * 1000 + 0.5) / 10;
}

/* ---- changing -------------------------------------------------------------------------------- */

int plan_edit_read(Edit *edit, Str project_id, Str task_id, PlanEdit *ret) {
        char what[DOCUMENT_WHAT_MAX] = "";
        Json *json = NULL;
        Str text;
        int r;

        *ret = (PlanEdit){.path = place_task(edit->arena, project_id, task_id), .task_id = task_id};
        r = ret->path ? edit_read(edit, ret->path, DOCUMENT_MAX, &text) : FILE_E_MISSING;
        if (r > 0)
                return edit_fail(edit, CALL_E_COMPANY, "There is no task " STR_FMT, STR_ARG(task_id));
        if (!r)
                r = document_parse(edit->arena, text, DOCUMENT_MATTER, &json, &ret->body, what);
        if (r < 0)
                return error_trace(r);
        if (r || !shape_fits(&shape_task, json))
                return edit_fail(edit, CALL_E_COMPANY,
                                 "The front matter of task " STR_FMT " is not valid: %s", STR_ARG(task_id),
                                 r ? what : "it does not have the shape of a task");
        ret->matter = json_clone(edit->arena, json);
        return ret->matter ? 0 : error_origin(-ENOMEM);
}

static int plan_set(Edit *edit, Json *object, const char *key, Json *value) {
        return error_trace(json_set(edit->arena, object, str_from(key), value));
}

/* applied_at is now when somebody applies it, else what was given, else what was there. */
int plan_edit_merge(Edit *edit, PlanEdit *task, const Json *plan) {
        Json *old = json_get(task->matter, "execution_plan"), *merged;
        int r = 0;

        merged = old ? json_clone(edit->arena, old) : json_new(edit->arena, JSON_OBJECT);
        if (!merged)
                return error_origin(-ENOMEM);
        json_each (member, plan)
                if (!r && !str_is(json_key(member), "task_id"))
                        r = json_set(edit->arena, merged, json_key(member), json_clone(edit->arena, member));
        if (!r && json_get(plan, "applied_by"))
                r = plan_set(edit, merged, "applied_at", json_new_str(edit->arena, edit_now(edit)));
        return r ? error_trace(r) : plan_set(edit, task->matter, "execution_plan", merged);
}

int plan_edit_write(Edit *edit, PlanEdit *task) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str copy;
        int r;

        task->matter = shape_ordered(edit->arena, &shape_task, task->matter);
        r = task->matter ? document_text(task->matter, DOCUMENT_MATTER, task->body, &text)
                         : error_origin(-ENOMEM);
        if (r)
                return error_trace(r);
        copy = arena_str(edit->arena, buf_str(&text));
        return copy.data ? edit_replace(edit, task->path, copy) : error_origin(-ENOMEM);
}
