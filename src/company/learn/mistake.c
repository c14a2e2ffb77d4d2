/* SPDX-License-Identifier: MIT */
#include "company/learn/mistake.h"

#include <errno.h>

#include "base/error.h"
#include "company/event.h"
#include "company/learn/guide.h"
#include "company/learn/learn.h"
#include "company/place.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/shapes.h"

enum { LEARN_OBSERVATIONS_MAX = 20 }; /* kept of one mistake; the oldest go */

int learn_read_guide(Edit *edit, const char *path, Str agent_id, Str *ret, bool *is_new) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = edit_read(edit, path, 0, ret);

        *is_new = r == FILE_E_MISSING;
        if (r == FILE_E_TOO_LARGE)
                return edit_fail(edit, CALL_E_COMPANY, "%s is too large", path);
        if (r != FILE_E_MISSING)
                return error_trace(r);
        r = guide_begin(&text, agent_id);
        if (r)
                return error_trace(r);
        *ret = arena_str(edit->arena, buf_str(&text));
        return ret->data ? 0 : error_origin(-ENOMEM);
}

static int mistake_set_str(Edit *edit, Json *object, const char *key, Str text) {
        return error_trace(json_set(edit->arena, object, str_from(key), json_new_str(edit->arena, text)));
}

/* The log as it is, or an empty one. */
static int mistake_read_log(Edit *edit, const Mistake *mistake, Str agent_id, Json **ret) {
        char what[DOCUMENT_WHAT_MAX];
        Issues issues = ISSUES(edit->arena);
        Str text;
        int r = edit_read(edit, mistake->log_path, 0, &text);

        if (r == FILE_E_MISSING)
                text = arena_printf(edit->arena, "schema_version: 1\ntype: agent_mistake_log\nagent_id: "
                                                 "x\nupdated_at: x\nentries: []\n");
        else if (r)
                return r < 0 ? error_trace(r)
                             : edit_fail(edit, CALL_E_COMPANY, "%s is too large", mistake->log_path);
        if (!text.data)
                return error_origin(-ENOMEM);
        if (document_parse(edit->arena, text, DOCUMENT_YAML, ret, NULL, what))
                return edit_fail(edit, CALL_E_COMPANY, "%s cannot be read: %s", mistake->log_path, what);
        if (mistake_set_str(edit, *ret, "updated_at", edit_now(edit)) ||
            (r == FILE_E_MISSING && mistake_set_str(edit, *ret, "agent_id", agent_id)))
                return error_origin(-ENOMEM);
        return shape_check(&shape_mistake_log, *ret, NULL, &issues) ? 0
                                                                    : call_fail_issues(edit->call, &issues);
}

static Json *mistake_find_entry(Edit *edit, Json *log, Str key) {
        Json *entries = json_get(log, "entries"), *entry;

        json_each (one, entries)
                if (str_eq(json_text_of(one, "key"), key))
                        return one;
        entry = json_new(edit->arena, JSON_OBJECT);
        if (!entry || mistake_set_str(edit, entry, "key", key) ||
            json_set(edit->arena, entry, STR("count"), json_new_int(edit->arena, 0)) ||
            json_push(entries, entry))
                return NULL;
        return entry;
}

/* A JSON text as a tree that can be put into another. */
static Json *mistake_tree(Edit *edit, const JsonWriter *w) {
        Json *json = NULL;
        Str text = w->failed ? STR_NULL : arena_str(edit->arena, buf_str(w->out));

        return text.data && !json_parse(edit->arena, text.data, text.n, NULL, &json, NULL) ? json : NULL;
}

static void mistake_put_optional(JsonWriter *w, const char *key, Str text) {
        if (text.n)
                jw_field_str(w, key, text);
}

static void mistake_put_ids(JsonWriter *w, const StrList *ids) {
        jw_key(w, "evidence_artifact_ids");
        jw_begin_array(w);
        for (size_t i = 0; i < ids->n; i++)
                jw_str(w, ids->items[i]);
        jw_end_array(w);
}

static Json *mistake_observation(Edit *edit, const MistakeGiven *args) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_str(&w, "at", edit_now(edit));
        jw_field_str(&w, "observed_by", args->manager_actor_id);
        mistake_put_optional(&w, "project_id", args->project_id);
        mistake_put_optional(&w, "run_id", args->run_id);
        mistake_put_optional(&w, "task_id", args->task_id);
        mistake_put_optional(&w, "milestone_id", args->milestone_id);
        mistake_put_ids(&w, args->evidence_artifact_ids);
        jw_end_object(&w);
        return mistake_tree(edit, &w);
}

/* The last observations and a new one. */
static Json *mistake_observations(Edit *edit, const Json *before, const MistakeGiven *args) {
        Json *list = json_new(edit->arena, JSON_ARRAY), *one = mistake_observation(edit, args);
        size_t n_skip = json_count(before) >= LEARN_OBSERVATIONS_MAX
                                ? json_count(before) + 1 - LEARN_OBSERVATIONS_MAX
                                : 0;

        if (!list || !one)
                return NULL;
        json_each (old, before) {
                if (n_skip) {
                        n_skip--;
                        continue;
                }
                if (json_push(list, json_clone(edit->arena, old)))
                        return NULL;
        }
        return json_push(list, one) ? NULL : list;
}

static int mistake_update_entry(Edit *edit, Mistake *mistake, Json *entry, const MistakeGiven *args) {
        Json *observations = mistake_observations(edit, json_get(entry, "observations"), args);

        (void)json_int64(json_get(entry, "count"), &mistake->count);
        mistake->count++;
        if (!observations ||
            json_set(edit->arena, entry, STR("count"), json_new_int(edit->arena, mistake->count)) ||
            mistake_set_str(edit, entry, "last_seen_at", edit_now(edit)) ||
            mistake_set_str(edit, entry, "summary", mistake->summary) ||
            mistake_set_str(edit, entry, "prevention_rule", mistake->rule) ||
            json_set(edit->arena, entry, STR("observations"), observations))
                return error_origin(-ENOMEM);
        return 0;
}

static int mistake_write_log(Edit *edit, Mistake *mistake, const MistakeGiven *args) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *log = NULL, *entry;
        int r = mistake_read_log(edit, mistake, args->worker_agent_id, &log);

        if (r)
                return error_trace(r);
        entry = mistake_find_entry(edit, log, mistake->key);
        r = entry ? mistake_update_entry(edit, mistake, entry, args) : -ENOMEM;
        if (!r)
                r = document_text(log, DOCUMENT_YAML, STR_NULL, &text);
        return r ? error_trace(r)
                 : error_trace(
                           edit_replace(edit, mistake->log_path, arena_str(edit->arena, buf_str(&text))));
}

static int mistake_write_guide(Edit *edit, Mistake *mistake, const MistakeGiven *args) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        bool is_new;
        Str before;
        int r = learn_read_guide(edit, mistake->guide_path, args->worker_agent_id, &before, &is_new);

        if (r)
                return error_trace(r);
        mistake->is_guided = guide_has_rule(before, mistake->key);
        mistake->is_promoted = mistake->count >= args->promote_threshold && !mistake->is_guided;
        r = mistake->is_promoted ? guide_add_rule(&text, before, mistake->key, mistake->rule, mistake->count)
            : args->needs_heading ? guide_add_heading(&text, before)
                                  : buf_append_str(&text, before);
        if (r || (!is_new && str_eq(buf_str(&text), before)))
                return error_trace(r);
        return error_trace(edit_replace(edit, mistake->guide_path, arena_str(edit->arena, buf_str(&text))));
}

static void mistake_put_or_null(JsonWriter *w, const char *key, Str text) {
        if (text.n)
                jw_field_str(w, key, text);
        else
                jw_field_null(w, key);
}

static void mistake_tell(Edit *edit, const Mistake *mistake, const MistakeGiven *args) {
        const char *events = place_run(edit->arena, args->project_id, args->run_id, "events.jsonl");
        EventOf of = {.project_id = args->project_id,
                      .run_id = args->run_id,
                      .actor = args->manager_actor_id,
                      .visibility = STR("managers")};
        JsonWriter *w;

        if (!events || !edit_exists(edit, events))
                return;
        w = event_begin(edit, &of, "evaluation.mistake_recorded");
        jw_begin_object(w);
        jw_field_str(w, "worker_agent_id", args->worker_agent_id);
        jw_field_str(w, "mistake_key", mistake->key);
        jw_field_int(w, "count", mistake->count);
        jw_field_int(w, "threshold", args->promote_threshold);
        mistake_put_or_null(w, "task_id", args->task_id);
        mistake_put_or_null(w, "milestone_id", args->milestone_id);
        mistake_put_ids(w, args->evidence_artifact_ids);
        jw_end_object(w);
        event_end(edit);
        if (!mistake->is_promoted)
                return;
        w = event_begin(edit, &of, "evaluation.rule_promoted");
        jw_begin_object(w);
        jw_field_str(w, "worker_agent_id", args->worker_agent_id);
        jw_field_str(w, "mistake_key", mistake->key);
        jw_field_cstr(w, "promoted_to", mistake->guide_path);
        jw_field_int(w, "count", mistake->count);
        jw_end_object(w);
        event_end(edit);
}

int mistake_record(Edit *edit, const MistakeGiven *args, Mistake *mistake) {
        int r;

        *mistake = (Mistake){.key = str_trim(args->mistake_key),
                             .summary = str_trim(args->summary),
                             .rule = str_trim(args->prevention_rule),
                             .log_path = place_agent(edit->arena, args->worker_agent_id, "mistakes.yaml"),
                             .guide_path = place_agent(edit->arena, args->worker_agent_id, "AGENTS.md")};
        if (str_is(args->manager_role, "worker"))
                return edit_fail(edit, CALL_E_COMPANY, "A worker may not record mistakes");
        if (!mistake->key.n || !mistake->summary.n || !mistake->rule.n)
                return edit_fail(edit, CALL_E_COMPANY,
                                 "mistake_key, summary and prevention_rule may not be blank");
        if (!mistake->log_path || !mistake->guide_path)
                return edit_fail(edit, CALL_E_COMPANY, "No such agent");
        r = mistake_write_log(edit, mistake, args);
        if (!r)
                r = mistake_write_guide(edit, mistake, args);
        if (!r)
                mistake_tell(edit, mistake, args);
        return error_trace(r);
}
