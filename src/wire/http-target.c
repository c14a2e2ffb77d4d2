/* SPDX-License-Identifier: MIT */
#include "wire/http-target.h"

#include <errno.h>
#include <stdarg.h>

#include "base/error.h"
#include "base/id.h"
#include "base/utf8.h"

static const char *const target_faults[_HTTP_TARGET_E_N] = {
        [HTTP_TARGET_E_FORM] = "not a path of this server",
        [HTTP_TARGET_E_PERCENT] = "a percent sign without two hex digits",
        [HTTP_TARGET_E_CONTROL] = "control characters in the address",
        [HTTP_TARGET_E_SLASH] = "an encoded slash in the path",
        [HTTP_TARGET_E_DOTS] = "dots for a path segment",
        [HTTP_TARGET_E_EMPTY] = "an empty path segment",
        [HTTP_TARGET_E_UTF8] = "the address is not UTF-8",
        [HTTP_TARGET_E_LONG] = "too many parts in the address",
        [HTTP_TARGET_E_TWICE] = "a query member that is there twice",
};

const char *http_target_reason(int condition) {
        return condition > 0 && condition < _HTTP_TARGET_E_N ? target_faults[condition] : "internal error";
}

/* ---- decoding -------------------------------------------------------------------------------- */

static int target_check_text(Str text) {
        int32_t code;

        for (size_t at = 0; at < text.n;) {
                at += utf8_next((Str){text.data + at, text.n - at}, &code);
                if (code == UTF8_WRONG)
                        return HTTP_TARGET_E_UTF8;
                if (code < 0x20 || (code >= 0x7f && code <= 0x9f))
                        return HTTP_TARGET_E_CONTROL;
        }
        return 0;
}

/* Printable ASCII that stands for itself: nothing of it is to be decoded, nor looked at once more. */
static bool target_is_plain(Str raw) {
        static const bool is_char[256] = {
                ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true,
                ['-'] = true,         ['.'] = true,         ['_'] = true,
        };

        for (size_t i = 0; i < raw.n; i++)
                if (!is_char[(unsigned char)raw.data[i]])
                        return false;
        return true;
}

static int target_decode(Arena *arena, Str raw, bool plus_is_blank, Str *ret) {
        char *out;
        size_t n = 0;

        if (target_is_plain(raw)) {
                *ret = arena_str(arena, raw);
                return ret->data ? 0 : error_origin(-ENOMEM);
        }
        out = arena_alloc(arena, raw.n + 1);
        if (!out)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < raw.n; i++) {
                char c = raw.data[i];

                if (c <= ' ' || c > '~' || c == '#')
                        return HTTP_TARGET_E_FORM;
                if (c == '%') {
                        int high = i + 2 < raw.n ? hex_value(raw.data[i + 1]) : -1;
                        int low = i + 2 < raw.n ? hex_value(raw.data[i + 2]) : -1;

                        if (high < 0 || low < 0)
                                return HTTP_TARGET_E_PERCENT;
                        c = (char)(high << 4 | low);
                        i += 2;
                } else if (c == '+' && plus_is_blank) {
                        c = ' ';
                }
                out[n++] = c;
        }
        out[n] = '\0';
        *ret = (Str){out, n};
        return target_check_text(*ret);
}

/* Takes what stands before the next `end`; false: nothing is left. */
static bool target_take(Str *rest, char end, Str *ret) {
        const char *at;
        size_t n;

        if (!rest->data)
                return false;
        at = memchr(rest->data, end, rest->n);
        n = at ? (size_t)(at - rest->data) : rest->n;
        *ret = (Str){rest->data, n};
        *rest = at ? (Str){at + 1, rest->n - n - 1} : STR_NULL;
        return true;
}

/* ---- path and query -------------------------------------------------------------------------- */

static int target_push_segment(Arena *arena, HttpTarget *target, Str raw) {
        Str segment;
        int r;

        if (!raw.n)
                return HTTP_TARGET_E_EMPTY;
        if (target->n_segments == HTTP_SEGMENTS_MAX)
                return HTTP_TARGET_E_LONG;
        r = target_decode(arena, raw, false, &segment);
        if (r)
                return error_trace(r);
        if (memchr(segment.data, '/', segment.n) || memchr(segment.data, '\\', segment.n))
                return HTTP_TARGET_E_SLASH;
        if (str_is(segment, ".") || str_is(segment, ".."))
                return HTTP_TARGET_E_DOTS;
        target->segments[target->n_segments++] = segment;
        return 0;
}

static int target_parse_path(Arena *arena, HttpTarget *target) {
        Str rest = {target->path.data + 1, target->path.n - 1}, raw;
        int r;

        while (target_take(&rest, '/', &raw)) {
                if (!raw.n && !rest.data) { /* behind the last slash */
                        target->is_folder = target->n_segments;
                        return 0;
                }
                r = target_push_segment(arena, target, raw);
                if (r)
                        return error_trace(r);
        }
        return 0;
}

static int target_push_member(Arena *arena, HttpTarget *target, Str raw) {
        HttpMember member = {0};
        Str part, value;
        int r;

        if (target->n_members == HTTP_MEMBERS_MAX)
                return HTTP_TARGET_E_LONG;
        (void)target_take(&raw, '=', &part);
        r = target_decode(arena, part, true, &member.name);
        if (!r)
                r = target_decode(arena, raw, true, &member.value);
        if (r)
                return error_trace(r);
        if (http_target_find(target, member.name, &value))
                return HTTP_TARGET_E_TWICE;
        target->members[target->n_members++] = member;
        return 0;
}

static int target_parse_query(Arena *arena, HttpTarget *target, Str query) {
        Str raw;
        int r;

        while (target_take(&query, '&', &raw)) {
                if (!raw.n)
                        continue;
                r = target_push_member(arena, target, raw);
                if (r)
                        return error_trace(r);
        }
        return 0;
}

int http_target_parse(Arena *arena, Str target, HttpTarget *ret) {
        int r;

        memset(ret, 0, offsetof(HttpTarget, segments));
        if (!target.n || target.data[0] != '/')
                return HTTP_TARGET_E_FORM;
        (void)target_take(&target, '?', &ret->path);
        r = target_parse_path(arena, ret);
        if (!r)
                r = target_parse_query(arena, ret, target);
        return error_trace(r);
}

bool http_target_find(const HttpTarget *target, Str name, Str *ret) {
        for (size_t i = 0; i < target->n_members; i++) {
                if (!str_eq(target->members[i].name, name))
                        continue;
                *ret = target->members[i].value;
                return true;
        }
        return false;
}

bool http_target_is(const HttpTarget *target, ...) {
        bool is_same = true;
        const char *name;
        size_t n = 0;
        va_list names;

        va_start(names, target);
        while (is_same && (name = va_arg(names, const char *)))
                is_same = n < target->n_segments &&
                          (!strcmp(name, "*") || str_is(target->segments[n], name)) && ++n;
        va_end(names);
        return is_same && n == target->n_segments;
}
