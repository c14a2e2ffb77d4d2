/* SPDX-License-Identifier: MIT */
#include "company/job/prompt.h"

#include <errno.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "base/utf8.h"
#include "core/shape.h"
#include "gen/shapes.h"

bool prompt_is_heartbeat(const Json *job) {
        return str_is(json_text_of(job, "job_kind"), "heartbeat");
}

/* ---- the form of an answer, for people and models -------------------------------------------- */

static void prompt_form_object(JsonWriter *w, const Shape *shape);

static void prompt_form_words(JsonWriter *w, const ShapeMember *member) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = 0;

        for (const char *const *word = member->words; !r && *word; word++)
                r = buf_printf(&text, "%s%s", word == member->words ? "" : "|", *word);
        r = !r && (member->flags & SHAPE_OPTIONAL) ? buf_printf(&text, " (optional)") : r;
        w->failed |= r != 0;
        jw_str(w, buf_str(&text));
}

static void prompt_form_value(JsonWriter *w, const ShapeMember *member) {
        bool is_optional = member->flags & SHAPE_OPTIONAL;

        switch ((ShapeType)member->type) {
        case SHAPE_OBJECT: prompt_form_object(w, member->shape); break;
        case SHAPE_ARRAY:
                jw_begin_array(w);
                prompt_form_value(w, member->items);
                jw_end_array(w);
                break;
        case SHAPE_INT:
        case SHAPE_NUMBER:
                if (member->min == member->max)
                        jw_int(w, member->min);
                else
                        jw_cstr(w, is_optional ? "number (optional)" : "number");
                break;
        case SHAPE_BOOL: jw_cstr(w, "true|false"); break;
        default:
                if (member->words)
                        prompt_form_words(w, member);
                else
                        jw_cstr(w, is_optional ? "string (optional)" : "string");
        }
}

/* Of an object with several forms, all of them, as a list. */
static void prompt_form_object(JsonWriter *w, const Shape *shape) {
        if (shape->tag) {
                jw_begin_array(w);
                for (const ShapeVariant *variant = shape->variants; variant->word; variant++)
                        prompt_form_object(w, variant->shape);
                jw_end_array(w);
                return;
        }
        jw_begin_object(w);
        for (size_t i = 0; i < shape->n_members; i++) {
                jw_key(w, shape->members[i].name);
                prompt_form_value(w, &shape->members[i]);
        }
        jw_end_object(w);
}

static int prompt_add_form(Buf *out, const Shape *shape) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Json *json = NULL;

        prompt_form_object(&w, shape);
        if (w.failed || json_parse(&arena, text.data, text.n, NULL, &json, NULL))
                return error_origin(-ENOMEM);
        return error_trace(json_write_pretty(out, json, 2));
}

/* ---- what is to be done ---------------------------------------------------------------------- */

static int prompt_add(Buf *out, Str text) {
        int r = buf_reserve(out, text.n);

        for (size_t i = 0; !r && i < text.n; i++)
                if (text.data[i])
                        out->data[out->n++] = text.data[i];
        return r;
}

static int prompt_add_field(Buf *out, const char *name, Str value) {
        int r = buf_printf(out, "%s: ", name);

        r = r ? r : prompt_add(out, value);
        return r ? r : buf_append(out, "\n", 1);
}

static int prompt_add_list(Buf *out, const char *name, const Json *list) {
        int r = buf_printf(out, "\n%s:\n", name);

        json_each (item, list) {
                r = r ? r : buf_append_str(out, STR("- "));
                r = r ? r : prompt_add(out, json_str(item));
                r = r ? r : buf_append(out, "\n", 1);
        }
        return r;
}

static int prompt_add_refs(Buf *out, const Json *refs) {
        int r = buf_printf(out, "\ncontext_refs:\n");

        json_each (ref, refs) {
                Str description = json_text_of(ref, "description");

                r = r ? r : buf_printf(out, "- [" STR_FMT "] ", STR_ARG(json_text_of(ref, "kind")));
                r = r ? r : prompt_add(out, json_text_of(ref, "value"));
                if (description.n) {
                        r = r ? r : buf_append_str(out, STR(" ("));
                        r = r ? r : prompt_add(out, description);
                        r = r ? r : buf_append_str(out, STR(")"));
                }
                r = r ? r : buf_append(out, "\n", 1);
        }
        return r;
}

static int prompt_add_task(Buf *out, const Json *job) {
        bool beats = prompt_is_heartbeat(job);
        int r = prompt_add_field(out, "job_id", json_text_of(job, "job_id"));

        r = r ? r : prompt_add_field(out, "attempt_run_id", STR("RUNTIME_ATTEMPT_RUN_ID"));
        r = r ? r : prompt_add_field(out, "goal", json_text_of(job, "goal"));
        if (!beats)
                r = r ? r : prompt_add_field(out, "permission_level", json_text_of(job, "permission_level"));
        r = r ? r : prompt_add_list(out, "constraints", json_get(job, "constraints"));
        if (!beats)
                r = r ? r : prompt_add_list(out, "deliverables", json_get(job, "deliverables"));
        return r ? r : prompt_add_refs(out, json_get(job, "context_refs"));
}

static int prompt_add_repair(Buf *out, const PromptRepair *repair) {
        int r = buf_append_str(out, STR("\nvalidation_errors:\n"));

        r = r ? r : prompt_add(out, repair->errors);
        r = r ? r : buf_append_str(out, STR("\n\nprevious_output:\n"));
        r = r ? r : prompt_add(out, utf8_first(repair->output, PROMPT_OUTPUT_MAX));
        return r ? r : buf_append(out, "\n", 1);
}

static const char *prompt_opening(bool beats, const PromptRepair *repair) {
        if (!repair)
                return beats ? "Look at what is new for you and answer with one JSON object and nothing "
                               "else; it "
                               "must match HeartbeatWorkerReport.\n"
                               "Do not change anything yourself, and put no code fence around the JSON.\n\n"
                             : "Do the job below, then answer with one JSON object and nothing else; it "
                               "must match "
                               "ResultSpec.\n"
                               "Put no code fence and no other text around the JSON.\n\n";
        return repair->attempt == 2 ? "Your previous answer did not have its form. Repair it: answer with "
                                      "the corrected JSON "
                                      "object and nothing else.\n"
                                      "Keep what it says, and put no code fence around the JSON.\n\n"
                                    : "An answer to the job below did not have its form. Write what it says "
                                      "anew as one JSON "
                                      "object and nothing else.\n"
                                      "Do not do the job again, and put no code fence around the JSON.\n\n";
}

int prompt_write(Buf *out, const Json *job, const PromptRepair *repair) {
        bool beats = prompt_is_heartbeat(job);
        int r = buf_append_str(out, str_from(prompt_opening(beats, repair)));

        r = r ? r : prompt_add_task(out, job);
        r = r || !repair ? r : prompt_add_repair(out, repair);
        r = r ? r
              : buf_printf(out, "\n%s, as JSON:\n",
                           beats ? "HeartbeatWorkerReport (one of these two forms)" : "ResultSpec");
        r = r ? r : prompt_add_form(out, beats ? &shape_heartbeat_report : &shape_result);
        return r ? r : buf_append(out, "\n", 1);
}
