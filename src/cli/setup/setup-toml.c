/* SPDX-License-Identifier: MIT */
/*
 * At the end of a TOML file a table can always be added. It stands between two comments, by which it is found again: what a
 * comment says about the end of the text before it makes it possible to take out exactly what was put in.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/toml.h"
#include "base/macro.h"
#include "cli/setup/setup-edit.h"

#define SETUP_TOML_END "# end of what muster setup has added\n"

static const char setup_toml_begin[] = "# added by muster setup\n",
                  setup_toml_joined[] = "# added by muster setup, with the line break before it\n";

static int setup_toml_complain(char what[SETUP_WHAT_MAX], const char *why) {
        snprintf(what, SETUP_WHAT_MAX, "%s", why);
        return SETUP_E_BROKEN;
}

static int setup_toml_parse(Arena *arena, Str text, Json **ret, char what[SETUP_WHAT_MAX]) {
        TomlFault fault;
        int r = toml_parse_text(arena, text, ret, &fault);

        if (r > 0) {
                snprintf(what, SETUP_WHAT_MAX, "line %zu: %s", fault.line, fault.what);
                return SETUP_E_BROKEN;
        }
        return error_trace(r);
}

/* Where a line with these words begins; NULL: there is none. */
static const char *setup_toml_line(Str text, const char *words) {
        const char *at = text.data, *end = text.data + text.n;
        size_t n = strlen(words);

        while (at < end) {
                const char *next = memchr(at, '\n', (size_t)(end - at));

                if ((size_t)(end - at) >= n && !memcmp(at, words, n))
                        return at;
                if (!next)
                        break;
                at = next + 1;
        }
        return NULL;
}

typedef enum SetupPart { SETUP_PART_NONE, SETUP_PART_PLAIN, SETUP_PART_JOINED } SetupPart;

/* The text with our part of it taken out, if it has one. The line break before it goes only if it does not end a line that others
 * have written something behind. */
static int setup_toml_without(Str text, Buf *out, SetupPart *ret, char what[SETUP_WHAT_MAX]) {
        const char *joined = setup_toml_line(text, setup_toml_joined),
                   *from = joined ? joined : setup_toml_line(text, setup_toml_begin), *to;
        int r;

        *ret = joined ? SETUP_PART_JOINED : from ? SETUP_PART_PLAIN : SETUP_PART_NONE;
        if (!from)
                return error_trace(buf_append_str(out, text));
        to = setup_toml_line((Str){from, text.n - (size_t)(from - text.data)}, SETUP_TOML_END);
        if (!to)
                return setup_toml_complain(what, "the end of what was added is missing: remove it by hand");
        to += strlen(SETUP_TOML_END);
        if (joined && from > text.data && to == text.data + text.n)
                from--;
        r = buf_append(out, text.data, (size_t)(from - text.data));
        return error_trace(r ? r : buf_append(out, to, text.n - (size_t)(to - text.data)));
}

static int setup_toml_put(const SetupEdit *edit, bool has_file, Buf *out) {
        bool is_joined = has_file && (!out->n || out->data[out->n - 1] != '\n');

        return error_trace(buf_printf(out, "%s%s" STR_FMT SETUP_TOML_END, is_joined ? "\n" : "",
                                      is_joined ? setup_toml_joined : setup_toml_begin,
                                      STR_ARG(edit->entry)));
}

int setup_toml(const SetupEdit *edit, Str text, Buf *out, char what[SETUP_WHAT_MAX]) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str before = text.data ? text : STR("");
        Json *json = NULL;
        SetupPart part;
        int r = setup_toml_parse(&arena, before, &json, what);

        r = r ? r : setup_toml_without(before, out, &part, what);
        r = r ? r : setup_toml_parse(&arena, buf_str(out), &json, what);
        if (r)
                return r;
        if (json_get(json_get(json, "mcp_servers"), "muster"))
                return SETUP_E_OTHER;
        if (edit->is_removal)
                return part == SETUP_PART_NONE               ? SETUP_E_SAME
                       : out->n || part == SETUP_PART_JOINED ? 0
                                                             : SETUP_E_GONE;
        r = setup_toml_put(edit, text.data && part != SETUP_PART_PLAIN, out);
        r = r ? r : setup_toml_parse(&arena, buf_str(out), &json, what);
        return !r && str_eq(buf_str(out), before) ? SETUP_E_SAME : r;
}
