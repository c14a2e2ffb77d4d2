/* SPDX-License-Identifier: MIT */
/*
 * The context as clients see it.
 */
#include "collab/context/context-internal.h"

#include "base/error.h"

static void field_text(JsonWriter *w, const char *key, const Json *object) {
        jw_field_str(w, key, context_text(object, key));
}

/* A text, or null when it is not there. */
static void field_maybe(JsonWriter *w, const char *key, const Json *object) {
        jw_key(w, key);
        if (context_is_given(object, key))
                jw_str(w, context_text(object, key));
        else
                jw_null(w);
}

/* ---- tasks ----------------------------------------------------------------------------------- */

static void write_steps(JsonWriter *w, const Json *steps) {
        jw_key(w, "steps");
        jw_begin_array(w);
        json_each (step, steps) {
                if (!json_is(step, JSON_OBJECT))
                        continue;
                jw_begin_object(w);
                field_text(w, "id", step);
                field_text(w, "name", step);
                field_text(w, "acceptance", step);
                jw_field_cstr(w, "status", context_step_status_of(step));
                jw_end_object(w);
        }
        jw_end_array(w);
}

static void write_progress(JsonWriter *w, const Json *steps) {
        const Json *current = NULL;
        size_t n = 0, n_done = 0;

        json_each (step, steps) {
                bool is_done = !strcmp(context_step_status_of(step), "done");
                if (!json_is(step, JSON_OBJECT))
                        continue;
                n++;
                n_done += is_done;
                if (!is_done && !current)
                        current = step;
        }
        jw_key(w, "current_step");
        if (current)
                jw_str(w, context_text(current, "id"));
        else
                jw_null(w);
        jw_key(w, "progress");
        jw_double(w, n ? (double)n_done / (double)n : 0.0);
}

void context_write_task(const ContextDoc *task, JsonWriter *w) {
        const Json *steps = json_get(task->document->json, "steps");

        steps = json_is(steps, JSON_ARRAY) ? steps : NULL;
        jw_begin_object(w);
        jw_field_str(w, "id", task->id);
        field_text(w, "name", task->document->json);
        field_text(w, "goal", task->document->json);
        jw_field_cstr(w, "status", context_status_of(task->document->json));
        field_maybe(w, "milestone", task->document->json);
        field_maybe(w, "assignee", task->document->json);
        field_maybe(w, "created_at", task->document->json);
        field_maybe(w, "updated_at", task->document->json);
        write_steps(w, steps);
        write_progress(w, steps);
        jw_end_object(w);
}

void context_write_tasks(const Context *context, JsonWriter *w) {
        jw_begin_array(w);
        for (size_t i = 0; i < context->n_tasks; i++)
                if (context_task_is_there(context->tasks[i]))
                        context_write_task(context->tasks[i], w);
        jw_end_array(w);
}

static size_t count_tasks(const Context *context, const char *status) {
        size_t n = 0;

        for (size_t i = 0; i < context->n_tasks; i++)
                n += context_task_is_there(context->tasks[i]) &&
                     (!status || !strcmp(context_status_of(context->tasks[i]->document->json), status));
        return n;
}

static void write_tasks_summary(const Context *context, JsonWriter *w) {
        jw_key(w, "tasks_summary");
        jw_begin_object(w);
        jw_field_uint(w, "total", count_tasks(context, NULL));
        jw_field_uint(w, "done", count_tasks(context, "done"));
        jw_field_uint(w, "active", count_tasks(context, "active"));
        jw_field_uint(w, "planned", count_tasks(context, "planned"));
        jw_end_object(w);
}

static void write_active_task(const Context *context, JsonWriter *w) {
        jw_key(w, "active_task");
        for (size_t i = 0; i < context->n_tasks; i++)
                if (context_task_is_there(context->tasks[i]) &&
                    !strcmp(context_status_of(context->tasks[i]->document->json), "active")) {
                        context_write_task(context->tasks[i], w);
                        return;
                }
        jw_null(w);
}

/* ---- context.yaml ---------------------------------------------------------------------------- */

static void write_milestone(JsonWriter *w, const Json *milestone) {
        field_text(w, "id", milestone);
        field_text(w, "name", milestone);
        field_text(w, "description", milestone);
        jw_field_cstr(w, "status", context_status_of(milestone));
        field_maybe(w, "started", milestone);
        field_maybe(w, "completed", milestone);
        field_maybe(w, "outcomes", milestone);
}

static void context_json_write_note(JsonWriter *w, const Json *note) {
        field_text(w, "id", note);
        field_text(w, "content", note);
}

static void write_reference(JsonWriter *w, const Json *reference) {
        field_text(w, "id", reference);
        field_text(w, "url", reference);
        field_text(w, "note", reference);
}

static void write_agent(JsonWriter *w, const Json *agent) {
        field_text(w, "id", agent);
        field_text(w, "status", agent);
        field_text(w, "updated_at", agent);
}

/* The objects of a list; what a hand put there besides is left out. */
static void context_json_write_list(JsonWriter *w, const Json *list,
                                    void (*write)(JsonWriter *w, const Json *item)) {
        jw_begin_array(w);
        json_each (item, json_is(list, JSON_ARRAY) ? list : NULL) {
                if (!json_is(item, JSON_OBJECT))
                        continue;
                jw_begin_object(w);
                write(w, item);
                jw_end_object(w);
        }
        jw_end_array(w);
}

void context_write_agents(const Context *context, JsonWriter *w) {
        context_json_write_list(w, json_get(context->presence.document->json, "agents"), write_agent);
}

int64_t context_heartbeat_s(const Context *context) {
        int64_t s = CONTEXT_HEARTBEAT_S_DEFAULT;

        json_int64(json_get(context->presence.document->json, "heartbeat_timeout_seconds"), &s);
        return s;
}

static void write_main(const Context *context, JsonWriter *w) {
        const Json *json = context->main.document->json;

        field_maybe(w, "vision", json);
        field_maybe(w, "sketch", json);
        jw_key(w, "milestones");
        context_json_write_list(w, json_get(json, "milestones"), write_milestone);
        jw_key(w, "notes");
        context_json_write_list(w, json_get(json, "notes"), context_json_write_note);
        jw_key(w, "references");
        context_json_write_list(w, json_get(json, "references"), write_reference);
}

int context_write_summary(const Context *context, JsonWriter *w) {
        char version[CONTEXT_VERSION_MAX];
        int r;

        r = context_version(context, version);
        if (r)
                return error_trace(r);
        jw_begin_object(w);
        jw_field_cstr(w, "version", version);
        write_main(context, w);
        write_tasks_summary(context, w);
        write_active_task(context, w);
        jw_key(w, "presence");
        jw_begin_object(w);
        jw_key(w, "agents");
        context_write_agents(context, w);
        jw_end_object(w);
        jw_end_object(w);
        return 0;
}
