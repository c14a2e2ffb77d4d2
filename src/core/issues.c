/* SPDX-License-Identifier: MIT */
#include "core/issues.h"

#include <stdarg.h>
#include <stdio.h>

const char *issue_code_name(IssueCode code) {
        static const char *const names[] = {
                [ISSUE_INVALID_TYPE] = "invalid_type",
                [ISSUE_INVALID_ENUM] = "invalid_enum_value",
                [ISSUE_TOO_SMALL] = "too_small",
                [ISSUE_TOO_BIG] = "too_big",
                [ISSUE_UNKNOWN_KEYS] = "unrecognized_keys",
                [ISSUE_INVALID_TEXT] = "invalid_string",
                [ISSUE_CUSTOM] = "custom",
        };

        return names[code];
}

enum {
        ISSUE_STEPS_MAX = 16,    /* steps of a way that are told; those next to the value are left out */
        ISSUE_MESSAGE_MAX = 256, /* bytes of a text */
};

/* The chain leads upwards, the path downwards. */
static void issue_write_path(JsonWriter *w, const IssueStep *at) {
        const IssueStep *steps[ISSUE_STEPS_MAX];
        size_t n = 0, n_all = 0;

        for (const IssueStep *step = at; step; step = step->up)
                n_all++;
        for (; at; at = at->up, n_all--)
                if (n_all <= ISSUE_STEPS_MAX)
                        steps[n++] = at;
        jw_begin_array(w);
        while (n--)
                if (steps[n]->key.data)
                        jw_str(w, steps[n]->key);
                else
                        jw_uint(w, steps[n]->index);
        jw_end_array(w);
}

static Str issue_path(Arena *arena, const IssueStep *at) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Str path = STR_NULL;

        issue_write_path(&w, at);
        if (!w.failed)
                path = arena_str(arena, buf_str(&text));
        buf_deinit(&text);
        return path;
}

void issues_add(Issues *issues, IssueCode code, const IssueStep *at, const char *format, ...) {
        char text[ISSUE_MESSAGE_MAX];
        Issue *issue;
        va_list ap;

        if (issues->n++ >= ISSUES_MAX)
                return;
        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        issue = arena_alloc(issues->arena, sizeof(*issue));
        if (issue)
                *issue = (Issue){.code = code,
                                 .path = issue_path(issues->arena, at),
                                 .message = arena_str(issues->arena, str_from(text))};
        if (!issue || !issue->path.data || !issue->message.data) {
                issues->is_failed = true;
                return;
        }
        if (issues->last)
                issues->last->next = issue;
        else
                issues->first = issue;
        issues->last = issue;
}

void issues_write(const Issues *issues, JsonWriter *w) {
        jw_begin_array(w);
        for (const Issue *issue = issues->first; issue; issue = issue->next) {
                jw_begin_object(w);
                jw_field_cstr(w, "code", issue_code_name(issue->code));
                jw_key(w, "path");
                jw_raw(w, issue->path);
                jw_field_str(w, "message", issue->message);
                jw_end_object(w);
        }
        jw_end_array(w);
}

Str issues_text(const Issues *issues) {
        const Issue *issue = issues->first;
        Json *path = NULL;
        Str text = STR(""), more;

        if (!issue || json_parse(issues->arena, issue->path.data, issue->path.n, NULL, &path, NULL))
                return text;
        json_each (step, path) {
                Str word = json_is(step, JSON_STRING) ? json_str(step) : (Str){step->text, step->n};

                more = arena_printf(issues->arena, STR_FMT "%s" STR_FMT, STR_ARG(text), text.n ? "." : "",
                                    STR_ARG(word));
                text = more.data ? more : text;
        }
        more = arena_printf(issues->arena, STR_FMT "%s" STR_FMT, STR_ARG(text), text.n ? " " : "",
                            STR_ARG(issue->message));
        return more.data ? more : text;
}
