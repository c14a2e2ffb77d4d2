/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/macro.h"
#include "cli/setup/setup-edit.h"

static const char setup_json_name[] = "\"muster\"";

typedef struct SetupJson {
        const SetupEdit *edit;
        Str text;
        Json *root, *servers, *entry; /* the last two: NULL, there is none */
} SetupJson;

static int setup_json_complain(char what[SETUP_WHAT_MAX], const char *why) {
        snprintf(what, SETUP_WHAT_MAX, "%s", why);
        return SETUP_E_BROKEN;
}

/* Only one of a name: of two nobody knows which one counts. */
static int setup_json_find(Json *object, const char *key, Json **ret) {
        *ret = NULL;
        json_each (member, object)
                if (str_is(json_key(member), key)) {
                        if (*ret)
                                return SETUP_E_BROKEN;
                        *ret = member;
                }
        return 0;
}

static bool setup_json_is_muster(Str command) {
        return str_is(command, "muster") ||
               (command.n > 7 && !memcmp(command.data + command.n - 7, "/muster", 7));
}

/* Ours runs `muster mcp`, in one of the two ways of writing it. */
static bool setup_json_is_ours(const Json *entry) {
        const Json *command = json_get(entry, "command"), *first = json_first(command),
                   *args = json_first(json_get(entry, "args"));

        if (json_is(command, JSON_ARRAY))
                return first && setup_json_is_muster(json_str(first)) &&
                       str_is(json_str(first->next), "mcp");
        return setup_json_is_muster(json_str(command)) && str_is(json_str(args), "mcp");
}

static int setup_json_read(Arena *arena, SetupJson *self, char what[SETUP_WHAT_MAX]) {
        JsonFault fault = {.what = "no memory"};
        int r = json_parse(arena, self->text.data, self->text.n, NULL, &self->root, &fault);

        if (r < 0)
                return error_trace(r);
        if (r)
                return setup_json_complain(what, fault.what);
        if (!json_is(self->root, JSON_OBJECT))
                return setup_json_complain(what, "it is no JSON object");
        if (setup_json_find(self->root, self->edit->key, &self->servers) ||
            setup_json_find(self->servers, "muster", &self->entry))
                return setup_json_complain(what, "a name is there twice");
        if (self->servers && !json_is(self->servers, JSON_OBJECT))
                return setup_json_complain(what, "its list of servers is no object");
        return 0;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* What stands behind the brace of the servers: n_others of them follow. */
static int setup_json_put_entry(Buf *out, Str entry, size_t n_others) {
        return buf_printf(out, "\n    %s: " STR_FMT "%s", setup_json_name, STR_ARG(entry),
                          n_others ? "," : "\n  ");
}

/* What stands behind the first brace of all, if there were no servers. */
static int setup_json_put_servers(Buf *out, const char *key, Str entry, size_t n_others) {
        int r = buf_printf(out, "\n  \"%s\": {", key);

        r = r ? r : setup_json_put_entry(out, entry, 0);
        return r ? r : buf_append_str(out, n_others ? STR("},") : STR("}"));
}

/* A file of ours, in one line: so it differs from whatever had no servers before. */
static int setup_json_put_whole(Buf *out, const char *key, Str entry) {
        return buf_printf(out, "{\"%s\": {%s: " STR_FMT "}}\n", key, setup_json_name, STR_ARG(entry));
}

/* The text with n bytes from `at` on replaced. */
static int setup_json_splice(Buf *out, Str text, const char *at, size_t n, Str with) {
        size_t n_before = (size_t)(at - text.data);
        int r = buf_append(out, text.data, n_before);

        r = r ? r : buf_append_str(out, with);
        return error_trace(r ? r : buf_append(out, at + n, text.n - n_before - n));
}

/* ---- adding ---------------------------------------------------------------------------------- */

static int setup_json_add(const SetupJson *self, Buf *out) {
        const SetupEdit *edit = self->edit;
        _cleanup_(buf_deinit) Buf more = BUF_NULL;
        Str raw = json_raw(self->entry);
        int r;

        if (self->entry && str_eq(raw, edit->entry))
                return SETUP_E_SAME;
        if (self->entry)
                return setup_json_splice(out, self->text, raw.data, raw.n, edit->entry);
        r = self->servers ? setup_json_put_entry(&more, edit->entry, json_count(self->servers))
                          : setup_json_put_servers(&more, edit->key, edit->entry, json_count(self->root));
        if (r)
                return error_trace(r);
        raw = json_raw(self->servers ? self->servers : self->root);
        return setup_json_splice(out, self->text, raw.data + 1, 0, buf_str(&more));
}

/* ---- removing -------------------------------------------------------------------------------- */

static bool setup_json_stands(Str text, const char *at, Str words) {
        return words.n <= (size_t)(text.data + text.n - at) && !memcmp(at, words.data, words.n);
}

/* As it was added, so that nothing of it stays. SETUP_E_OTHER: it does not stand there in this way. */
static int setup_json_undo(const SetupJson *self, Buf *out) {
        _cleanup_(buf_deinit) Buf whole = BUF_NULL, servers = BUF_NULL, entry = BUF_NULL;
        Str root = json_raw(self->root), list = json_raw(self->servers), raw = json_raw(self->entry);
        size_t n_root = json_count(self->root) - 1, n_servers = json_count(self->servers) - 1;
        const char *key = self->edit->key;

        if (!root.data || !list.data || !raw.data)
                return SETUP_E_OTHER;
        if (setup_json_put_whole(&whole, key, raw) || setup_json_put_servers(&servers, key, raw, n_root) ||
            setup_json_put_entry(&entry, raw, n_servers))
                return error_origin(-ENOMEM);
        if (str_eq(self->text, buf_str(&whole)))
                return SETUP_E_GONE;
        if (!n_servers && setup_json_stands(self->text, root.data + 1, buf_str(&servers)))
                return setup_json_splice(out, self->text, root.data + 1, servers.n, STR_NULL);
        if (setup_json_stands(self->text, list.data + 1, buf_str(&entry)))
                return setup_json_splice(out, self->text, list.data + 1, entry.n, STR_NULL);
        return SETUP_E_OTHER;
}

static bool setup_json_is_blank(char c) {
        return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static const char *setup_json_back(const char *at) {
        while (setup_json_is_blank(at[-1]))
                at--;
        return at;
}

/* Somebody has written it anew: the member goes with one comma. Before it there is always the brace of the servers. */
static int setup_json_cut(const SetupJson *self, Buf *out, char what[SETUP_WHAT_MAX]) {
        Str raw = json_raw(self->entry), list = json_raw(self->servers),
            name = {setup_json_name, sizeof(setup_json_name) - 1};
        const char *from, *to, *next;

        if (!raw.data || !list.data)
                return setup_json_complain(what, "it cannot be found in the text");
        from = setup_json_back(raw.data);
        next = to = raw.data + raw.n;
        from = from[-1] == ':' ? setup_json_back(from - 1) : from;
        if (from - list.data <= (ptrdiff_t)name.n || memcmp(from - name.n, name.data, name.n) != 0)
                return setup_json_complain(what, "its name is written in an odd way: remove it by hand");
        from = setup_json_back(from - name.n);
        while (setup_json_is_blank(*next))
                next++;
        if (from[-1] == ',')
                from--;
        else if (*next == ',')
                to = next + 1;
        return setup_json_splice(out, self->text, from, (size_t)(to - from), STR_NULL);
}

static int setup_json_remove(const SetupJson *self, Buf *out, char what[SETUP_WHAT_MAX]) {
        int r;

        if (!self->entry)
                return SETUP_E_SAME;
        r = setup_json_undo(self, out);
        return r == SETUP_E_OTHER ? setup_json_cut(self, out, what) : r;
}

int setup_json(const SetupEdit *edit, Str text, Buf *out, char what[SETUP_WHAT_MAX]) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        SetupJson self = {.edit = edit, .text = text};
        Json *check = NULL;
        int r;

        if (!text.data)
                return edit->is_removal ? SETUP_E_SAME
                                        : error_trace(setup_json_put_whole(out, edit->key, edit->entry));
        r = setup_json_read(&arena, &self, what);
        if (r)
                return r;
        if (self.entry && !setup_json_is_ours(self.entry))
                return SETUP_E_OTHER;
        r = edit->is_removal ? setup_json_remove(&self, out, what) : setup_json_add(&self, out);
        if (!r && json_parse(&arena, out->data, out->n, NULL, &check, NULL))
                return setup_json_complain(what, "it would not be JSON any more");
        return r;
}
