/* SPDX-License-Identifier: MIT */
#include "company/job/answer.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "core/shape.h"
#include "gen/shapes.h"

/* The objects that were found, in the order in which they count. */
typedef struct Finds {
        Arena *arena;
        Json *objects[ANSWER_OBJECTS_MAX];
        size_t n;
        size_t n_looked; /* values that were looked into, however they were reached */
        size_t n_memory; /* of the arena, before any */
} Finds;

/* ---- objects in a text ----------------------------------------------------------------------- */

static void finds_take(Finds *finds, Json *json, unsigned depth);

/* As others write it who are not strict: a mark of byte order before it, commas behind the last element. */
static Str finds_without_slips(Arena *arena, Str text) {
        char *copy = arena_alloc(arena, text.n + 1);
        bool in_string = false;
        size_t n = 0, i = str_starts(text, STR("\xef\xbb\xbf")) ? 3 : 0;

        for (; copy && i < text.n; i++) {
                char c = text.data[i];

                if (in_string && c == '\\' && i + 1 < text.n)
                        copy[n++] = text.data[i++];
                else if (c == '"')
                        in_string = !in_string;
                else if (!in_string && c == ',') {
                        size_t k = i + 1;

                        while (k < text.n && strchr(" \t\r\n", text.data[k]) && text.data[k])
                                k++;
                        if (k < text.n && (text.data[k] == '}' || text.data[k] == ']')) {
                                i = k - 1;
                                continue;
                        }
                }
                copy[n++] = text.data[i];
        }
        return copy ? (Str){copy, n} : STR_NULL;
}

static void finds_parse(Finds *finds, Str text, unsigned depth) {
        JsonLimits limits = {.n_values = ANSWER_VALUES_MAX, .is_lenient = true};
        Json *json = NULL;
        int r;

        text = str_trim(text);
        if (!text.n || finds->n_looked++ >= ANSWER_LOOKS_MAX ||
            finds->arena->n_total - finds->n_memory > ANSWER_MEMORY_MAX)
                return;
        r = json_parse(finds->arena, text.data, text.n, &limits, &json, NULL);
        if (r == JSON_E_SYNTAX) {
                text = finds_without_slips(finds->arena, text);
                r = text.n ? json_parse(finds->arena, text.data, text.n, &limits, &json, NULL) : r;
        }
        if (!r)
                finds_take(finds, json, depth);
}

static void finds_take_text(Finds *finds, Str text, unsigned depth) {
        Str trimmed = str_trim(text);

        if (trimmed.n && (trimmed.data[0] == '{' || trimmed.data[0] == '[' || trimmed.data[0] == '"'))
                finds_parse(finds, trimmed, depth);
}

/* What is wrapped comes before its wrapping. */
static void finds_take(Finds *finds, Json *json, unsigned depth) {
        static const char *const wraps[] = {"structured_output", "result", "response",
                                            "payload",           "data",   "output",
                                            "message",           "content"};

        if (finds->n_looked++ >= ANSWER_LOOKS_MAX)
                return;
        if (json_is(json, JSON_STRING) && depth)
                finds_take_text(finds, json_str(json), depth - 1);
        if (json_is(json, JSON_ARRAY) && depth)
                json_each (item, json)
                        finds_take(finds, item, depth - 1);
        if (!json_is(json, JSON_OBJECT))
                return;
        for (size_t i = 0; depth && i < ARRAY_SIZE(wraps); i++)
                if (json_get(json, wraps[i]))
                        finds_take(finds, json_get(json, wraps[i]), depth - 1);
        if (finds->n < ANSWER_OBJECTS_MAX)
                finds->objects[finds->n++] = json;
}

/* ---- candidates ------------------------------------------------------------------------------ */

static void finds_in_fences(Finds *finds, Str text) {
        const char *at = text.data, *end = text.data + text.n;

        for (size_t i = 0; i < ANSWER_SPANS_MAX && at && at < end; i++) {
                const char *open = memmem(at, (size_t)(end - at), "```", 3), *body, *close;

                body = open ? memchr(open, '\n', (size_t)(end - open)) : NULL;
                close = body ? memmem(body, (size_t)(end - body), "```", 3) : NULL;
                if (!close)
                        return;
                finds_parse(finds, (Str){body, (size_t)(close - body)}, ANSWER_WRAP_DEPTH);
                at = close + 3;
        }
}

/* Spans of balanced braces that lie in no other such span: one pass, in which a brace that is never closed spoils
 * nothing behind it. Strings count only inside of braces, and end with their line. */
typedef struct Spans {
        Str items[ANSWER_SPANS_MAX];        /* the last ones: number i lies at i % ANSWER_SPANS_MAX */
        size_t n, first;                    /* those from first to n are there */
        const char *open[ANSWER_DEPTH_MAX]; /* braces, the innermost ones, in the same way */
        size_t n_open, n_lost;              /* those before n_lost are not there any more */
} Spans;

/* Whether what stands behind a brace can be an object: its first name, or its end. Others are of prose and code. */
static bool spans_begins(Str rest) {
        size_t i = 0;

        while (i < rest.n && i < 256 &&
               (rest.data[i] == ' ' || (rest.data[i] >= '\t' && rest.data[i] <= '\r')))
                i++;
        return i < rest.n && (rest.data[i] == '"' || rest.data[i] == '}');
}

static void spans_open(Spans *spans, const char *at) {
        spans->open[spans->n_open++ % ANSWER_DEPTH_MAX] = at;
        if (spans->n_open > ANSWER_DEPTH_MAX)
                spans->n_lost = MAX(spans->n_lost, spans->n_open - ANSWER_DEPTH_MAX);
}

static void spans_close(Spans *spans, const char *at) {
        const char *open;

        if (!spans->n_open)
                return;
        if (--spans->n_open < spans->n_lost) {
                spans->n_lost = spans->n_open;
                return;
        }
        open = spans->open[spans->n_open % ANSWER_DEPTH_MAX];
        while (spans->n > spans->first && spans->items[(spans->n - 1) % ANSWER_SPANS_MAX].data > open)
                spans->n--;
        spans->items[spans->n++ % ANSWER_SPANS_MAX] = (Str){open, (size_t)(at + 1 - open)};
        spans->first = MAX(spans->first, spans->n - MIN(spans->n, (size_t)ANSWER_SPANS_MAX));
}

static void spans_find(Spans *spans, Str text) {
        bool in_string = false;

        for (size_t i = 0; i < text.n; i++) {
                char c = text.data[i];

                if (in_string && c == '\\')
                        i++;
                else if (c == '\n' || (c == '"' && spans->n_open))
                        in_string = c == '"' && !in_string;
                else if (in_string)
                        continue;
                else if (c == '{' && spans_begins((Str){text.data + i + 1, text.n - i - 1}))
                        spans_open(spans, text.data + i);
                else if (c == '}')
                        spans_close(spans, text.data + i);
        }
}

static void finds_in_spans(Finds *finds, Str text) {
        Spans *spans = arena_alloc(finds->arena, sizeof(*spans));

        if (!spans)
                return;
        *spans = (Spans){0};
        spans_find(spans, text);
        for (size_t i = spans->first; i < spans->n; i++)
                finds_parse(finds, spans->items[i % ANSWER_SPANS_MAX], ANSWER_WRAP_DEPTH);
}

/* ---- the one that is meant ------------------------------------------------------------------- */

static bool finds_has(const Json *object, const char *a, const char *b) {
        return json_get(object, a) && json_get(object, b);
}

static bool finds_looks_right(const Json *object) {
        return str_is(json_text_of(object, "type"), "result") || finds_has(object, "status", "summary") ||
               finds_has(object, "job_id", "attempt_run_id") ||
               (finds_has(object, "files_changed", "commands_run") && json_get(object, "artifacts"));
}

static Json *finds_choose(const Finds *finds, bool is_heartbeat) {
        for (size_t i = 0; !is_heartbeat && i < finds->n; i++)
                if (finds_looks_right(finds->objects[i]))
                        return finds->objects[i];
        return finds->n ? finds->objects[0] : NULL;
}

static int answer_complete(Arena *arena, const AnswerOf *of, Json *result) {
        const struct {
                const char *key;
                Json *value;
        } fill[] = {
                {"schema_version", json_new_int(arena, 1)},
                {"type", json_new_str(arena, STR("result"))},
                {"job_id", json_new_str(arena, of->job_id)},
                {"attempt_run_id", json_new_str(arena, of->run_id)},
        };
        int r = 0;

        for (size_t i = 0; !r && i < ARRAY_SIZE(fill); i++)
                if (!json_get(result, fill[i].key))
                        r = json_set(arena, result, str_from(fill[i].key), fill[i].value);
        return error_trace(r);
}

/* What a report that says that all is well must not have. */
static bool answer_contradicts(const Json *report) {
        return str_is(json_text_of(report, "status"), "ok") && json_count(json_get(report, "actions"));
}

static Str answer_issues(Arena *arena, const Issues *issues) {
        Str text = STR("");

        for (const Issue *issue = issues->first; issue && text.n < 2000; issue = issue->next)
                text = arena_printf(arena, STR_FMT "%s" STR_FMT " " STR_FMT, STR_ARG(text),
                                    text.n ? "; " : "", STR_ARG(issue->path), STR_ARG(issue->message));
        return text;
}

static int answer_judge(Arena *arena, const AnswerOf *of, Json *value, Answer *ret) {
        const Shape *shape = of->is_heartbeat ? &shape_heartbeat_report : &shape_result;
        Issues issues = ISSUES(arena);
        int r = of->is_heartbeat ? 0 : answer_complete(arena, of, value);

        if (r)
                return error_trace(r);
        shape_check(shape, value, NULL, &issues);
        if (of->is_heartbeat && !issues.n && answer_contradicts(value))
                issues_add(&issues, ISSUE_CUSTOM, &(IssueStep){.key = STR("actions")},
                           "must be empty when the status is ok");
        *ret = (Answer){0};
        if (issues.n) {
                ret->code = of->is_heartbeat ? "heartbeat_report_schema_invalid" : "result_schema_invalid";
                ret->message = answer_issues(arena, &issues);
        } else if (!of->is_heartbeat && !str_eq(json_text_of(value, "job_id"), of->job_id)) {
                ret->code = "result_job_id_mismatch";
                ret->message = arena_printf(arena, "job_id is " STR_FMT ", not " STR_FMT,
                                            STR_ARG(json_text_of(value, "job_id")), STR_ARG(of->job_id));
        } else {
                ret->value = shape_ordered(arena, shape, value);
                if (!ret->value)
                        return error_origin(-ENOMEM);
        }
        return 0;
}

static int answer_find_in(Arena *arena, const AnswerOf *of, Str text, Answer *ret) {
        Finds *finds = arena_alloc(arena, sizeof(*finds));
        Json *value;

        if (!finds)
                return error_origin(-ENOMEM);
        finds->arena = arena;
        finds->n = finds->n_looked = 0;
        finds->n_memory = arena->n_total;
        finds_parse(finds, text, ANSWER_WRAP_DEPTH);
        finds_in_fences(finds, text);
        finds_in_spans(finds, text);
        value = finds_choose(finds, of->is_heartbeat);
        if (value)
                return error_trace(answer_judge(arena, of, value, ret));
        *ret = (Answer){.code = of->is_heartbeat ? "heartbeat_report_unparseable" : "result_unparseable",
                        .message = STR("Unable to parse worker output as JSON")};
        return 0;
}

int answer_find(Arena *arena, const AnswerOf *of, Str text, Str output, Answer *ret) {
        Answer other;
        int r = answer_find_in(arena, of, answer_end_of(text), ret);

        if (r || ret->value || str_eq(text, output))
                return error_trace(r);
        r = answer_find_in(arena, of, answer_end_of(output), &other);
        if (!r && other.value)
                *ret = other;
        return error_trace(r);
}
