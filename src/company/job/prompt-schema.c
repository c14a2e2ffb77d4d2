/* SPDX-License-Identifier: MIT */
/* The schema of an answer, made from the shape that judges it. Actions of heartbeat reports are left open: their kinds are
 * judged afterwards, and programs that take schemas take few of their forms. */
#include <errno.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "company/job/prompt.h"
#include "core/shape.h"
#include "gen/shapes.h"

/* Members that have one value in this answer. */
typedef struct SchemaFixed {
        Str job_id, run_id;
} SchemaFixed;

static void schema_object(JsonWriter *w, const Shape *shape, const SchemaFixed *fixed);

static void schema_words(JsonWriter *w, const ShapeMember *member) {
        if (!member->words[1]) {
                jw_field_cstr(w, "const", member->words[0]);
                return;
        }
        jw_key(w, "enum");
        jw_begin_array(w);
        for (const char *const *word = member->words; *word; word++)
                jw_cstr(w, *word);
        jw_end_array(w);
}

static void schema_number(JsonWriter *w, const ShapeMember *member) {
        const char *type = member->type == SHAPE_INT ? "integer" : "number";

        if (member->flags & SHAPE_NULLABLE) {
                jw_key(w, "type");
                jw_begin_array(w);
                jw_cstr(w, type);
                jw_cstr(w, "null");
                jw_end_array(w);
        } else
                jw_field_cstr(w, "type", type);
        if (member->min == member->max)
                jw_field_int(w, "const", member->min);
}

/* An action, whatever its kind. */
static void schema_action(JsonWriter *w) {
        static const char *const names[] = {"kind", "idempotency_key", "risk", "needs_approval"};

        jw_field_cstr(w, "type", "object");
        jw_field_bool(w, "additionalProperties", true);
        jw_key(w, "required");
        jw_begin_array(w);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                jw_cstr(w, names[i]);
        jw_end_array(w);
        jw_key(w, "properties");
        jw_begin_object(w);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                jw_key(w, names[i]);
                jw_begin_object(w);
                jw_field_cstr(w, "type", i == 3 ? "boolean" : "string");
                jw_end_object(w);
        }
        jw_end_object(w);
}

static void schema_value(JsonWriter *w, const ShapeMember *member, const SchemaFixed *fixed) {
        Str one = !member->name || !fixed                            ? STR_NULL
                  : str_is(str_from(member->name), "job_id")         ? fixed->job_id
                  : str_is(str_from(member->name), "attempt_run_id") ? fixed->run_id
                                                                     : STR_NULL;

        jw_begin_object(w);
        switch ((ShapeType)member->type) {
        case SHAPE_OBJECT:
                if (member->shape->tag)
                        schema_action(w);
                else
                        schema_object(w, member->shape, NULL);
                break;
        case SHAPE_ARRAY:
                jw_field_cstr(w, "type", "array");
                jw_key(w, "items");
                schema_value(w, member->items, NULL);
                break;
        case SHAPE_INT:
        case SHAPE_NUMBER: schema_number(w, member); break;
        case SHAPE_BOOL: jw_field_cstr(w, "type", "boolean"); break;
        case SHAPE_STRING:
        case SHAPE_TIME:
                jw_field_cstr(w, "type", "string");
                if (one.n)
                        jw_field_str(w, "const", one);
                else if (member->words)
                        schema_words(w, member);
                break;
        default: break; /* anything */
        }
        jw_end_object(w);
}

static void schema_object(JsonWriter *w, const Shape *shape, const SchemaFixed *fixed) {
        jw_field_cstr(w, "type", "object");
        jw_field_bool(w, "additionalProperties", !shape->is_strict);
        jw_key(w, "required");
        jw_begin_array(w);
        for (size_t i = 0; i < shape->n_members; i++)
                if (!(shape->members[i].flags & SHAPE_OPTIONAL))
                        jw_cstr(w, shape->members[i].name);
        jw_end_array(w);
        jw_key(w, "properties");
        jw_begin_object(w);
        for (size_t i = 0; i < shape->n_members; i++) {
                jw_key(w, shape->members[i].name);
                schema_value(w, &shape->members[i], fixed);
        }
        jw_end_object(w);
}

int prompt_schema(Buf *out, const Json *job, Str run_id) {
        SchemaFixed fixed = {json_text_of(job, "job_id"), run_id};
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        if (prompt_is_heartbeat(job)) {
                jw_key(&w, "oneOf");
                jw_begin_array(&w);
                for (const ShapeVariant *variant = shape_heartbeat_report.variants; variant->word;
                     variant++) {
                        jw_begin_object(&w);
                        schema_object(&w, variant->shape, NULL);
                        jw_end_object(&w);
                }
                jw_end_array(&w);
        } else
                schema_object(&w, &shape_result, &fixed);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}
