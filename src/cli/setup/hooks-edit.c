/* SPDX-License-Identifier: MIT */
/*
 * Comments are blanked in a copy of the same length, which is parsed: where a value stands there, it stands in the text. What is added
 * goes directly behind an opening brace or bracket, in one way of writing it, so that it is found again and taken out whole:
 *
 *   {⟨\n  "hooks" : {…},⟩ …         there were no hooks
 *   "hooks": {⟨\n    "Stop" : […],⟩  … none of this event
 *   "Stop": [⟨{…}, ⟩                 … others of this event, or an empty list
 *
 * The blank before the colon is our mark: it tells a member that we have added from one that was there and empty. In a file that
 * somebody has written anew there is none; then whatever holds nothing but ours is taken for ours.
 */
#include "cli/setup/hooks-edit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/json/json.h"
#include "base/macro.h"
#include "core/agents/hook.h"

enum { HOOKS_CUTS_MAX = 64 };

/* A run of bytes of the text that is replaced. */
typedef struct HooksCut {
        size_t at, n;
        Str with;
} HooksCut;

typedef struct HooksText {
        Arena arena;
        Str text;
        char *plain; /* the same, without comments */
        Json *root, *hooks;
        HooksCut cuts[HOOKS_CUTS_MAX];
        size_t n_cuts;
        char *what;
} HooksText;

static int hooks_complain(HooksText *self, const char *why) {
        snprintf(self->what, SETUP_WHAT_MAX, "%s", why);
        return SETUP_E_BROKEN;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Where the comment that begins here ends; at: there is none. */
static size_t hooks_comment(Str text, size_t at) {
        bool is_long = at + 1 < text.n && text.data[at] == '/' && text.data[at + 1] == '*';

        if (at + 1 >= text.n || text.data[at] != '/' || (text.data[at + 1] != '/' && !is_long))
                return at;
        for (size_t i = at + 2; i < text.n; i++) {
                if (!is_long && text.data[i] == '\n')
                        return i;
                if (is_long && text.data[i] == '/' && text.data[i - 1] == '*' && i > at + 2)
                        return i + 1;
        }
        return text.n;
}

static void hooks_blank(char *from, char *to) {
        for (; from < to; from++)
                if (*from != '\n')
                        *from = ' ';
}

/* A comma before a closing brace is one too many. */
static void hooks_blank_comma(char *plain, char *close) {
        while (close > plain && strchr(" \t\r\n", close[-1]))
                close--;
        if (close > plain && close[-1] == ',')
                close[-1] = ' ';
}

static void hooks_plain(Str text, char *plain) {
        bool is_text = false;

        memcpy(plain, text.data, text.n);
        for (size_t i = 0; i < text.n; i++) {
                size_t end = is_text ? i : hooks_comment(text, i);

                if (end > i) {
                        hooks_blank(plain + i, plain + end);
                        i = end - 1;
                } else if (is_text && text.data[i] == '\\')
                        i++;
                else if (text.data[i] == '"')
                        is_text = !is_text;
                else if (!is_text && (text.data[i] == '}' || text.data[i] == ']'))
                        hooks_blank_comma(plain, plain + i);
        }
}

static int hooks_read(HooksText *self, Str text, char *what) {
        JsonFault fault = {.what = "no memory"};
        int r;

        *self = (HooksText){.text = text, .what = what};
        self->plain = arena_alloc(&self->arena, text.n + 1);
        if (!self->plain)
                return error_origin(-ENOMEM);
        hooks_plain(text, self->plain);
        self->plain[text.n] = '\0';
        r = json_parse(&self->arena, self->plain, text.n, NULL, &self->root, &fault);
        if (r)
                return r < 0 ? error_trace(r) : hooks_complain(self, fault.what);
        if (!json_is(self->root, JSON_OBJECT))
                return hooks_complain(self, "it is no JSON object");
        self->hooks = json_get(self->root, "hooks");
        if (self->hooks && !json_is(self->hooks, JSON_OBJECT))
                return hooks_complain(self, "its hooks are no object");
        json_each (event, self->hooks)
                if (!json_is(event, JSON_ARRAY))
                        return hooks_complain(self, "the hooks of an event are no list");
        return 0;
}

static size_t hooks_at(const HooksText *self, const Json *value) {
        return (size_t)(json_raw(value).data - self->plain);
}

/* ---- writing --------------------------------------------------------------------------------- */

static int hooks_cut(HooksText *self, size_t at, size_t n, Str with) {
        if (self->n_cuts == HOOKS_CUTS_MAX)
                return hooks_complain(self, "there is too much of ours: remove it by hand");
        self->cuts[self->n_cuts++] = (HooksCut){at, n, with};
        return 0;
}

static int hooks_write(HooksText *self, Buf *out) {
        size_t at = 0;
        int r = 0;

        while (!r && self->n_cuts) {
                size_t first = 0;

                for (size_t i = 1; i < self->n_cuts; i++)
                        if (self->cuts[i].at < self->cuts[first].at)
                                first = i;
                r = buf_append(out, self->text.data + at, self->cuts[first].at - at);
                r = r ? r : buf_append_str(out, self->cuts[first].with);
                at = self->cuts[first].at + self->cuts[first].n;
                self->cuts[first] = self->cuts[--self->n_cuts];
        }
        return error_trace(r ? r : buf_append(out, self->text.data + at, self->text.n - at));
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* "Event": [our group] of all that the hooks lack, in the order of hook_events(). */
static int hooks_put_missing(const HookConfig *config, const Json *hooks, Buf *out) {
        bool is_first = true;
        int r = 0;

        for (const char *const *event = hook_events(str_from(config->runtime)); !r && *event; event++) {
                if (json_get(hooks, *event))
                        continue;
                r = buf_printf(out, "%s\n    \"%s\" : ", is_first ? "" : ",", *event);
                r = r ? r : hook_config_event(config, *event, out);
                is_first = false;
        }
        return error_trace(r);
}

/* Our group alone, without the brackets around it. */
static int hooks_put_group(const HookConfig *config, const char *event, size_t n_others, Buf *out) {
        _cleanup_(buf_deinit) Buf list = BUF_NULL;
        int r = hook_config_event(config, event, &list);

        r = r ? r : buf_append(out, list.data + 1, list.n - 2);
        return error_trace(r || !n_others ? r : buf_append_str(out, STR(", ")));
}

static int hooks_insert(HooksText *self, const Json *container, const Buf *text) {
        Str copy = arena_str(&self->arena, buf_str(text));

        return copy.data ? hooks_cut(self, hooks_at(self, container) + 1, 0, copy) : error_origin(-ENOMEM);
}

static int hooks_add_events(HooksText *self, const HookConfig *config) {
        _cleanup_(buf_deinit) Buf missing = BUF_NULL;
        int r = hooks_put_missing(config, self->hooks, &missing);

        if (!r && missing.n) {
                r = json_count(self->hooks) ? buf_append_str(&missing, STR(",")) : 0;
                r = r ? r : hooks_insert(self, self->hooks, &missing);
        }
        for (const char *const *event = hook_events(str_from(config->runtime)); !r && *event; event++) {
                const Json *list = json_get(self->hooks, *event);
                _cleanup_(buf_deinit) Buf group = BUF_NULL;

                r = list ? hooks_put_group(config, *event, json_count(list), &group) : 0;
                r = r || !list ? r : hooks_insert(self, list, &group);
        }
        return r;
}

static int hooks_add_all(HooksText *self, const HookConfig *config) {
        _cleanup_(buf_deinit) Buf all = BUF_NULL;
        int r = buf_append_str(&all, STR("\n  \"hooks\" : {"));

        r = r ? r : hooks_put_missing(config, NULL, &all);
        r = r ? r : buf_append_str(&all, json_count(self->root) ? STR("\n  },") : STR("\n  }"));
        return r ? error_trace(r) : hooks_insert(self, self->root, &all);
}

/* ---- removing -------------------------------------------------------------------------------- */

/* Ours runs muster-hook, for this program. */
static bool hooks_is_ours(const Json *group, const char *runtime) {
        Str command = json_text_of(json_first(json_get(group, "hooks")), "command");
        char word[64];
        int n = snprintf(word, sizeof(word), "' '%s' '", runtime);

        if (json_count(json_get(group, "hooks")) != 1 || !command.data || n < 0 || (size_t)n >= sizeof(word))
                return false;
        return memmem(command.data, command.n, "/muster-hook' '", 15) &&
               memmem(command.data, command.n, word, (size_t)n);
}

static bool hooks_is_all_ours(const Json *list, const char *runtime) {
        json_each (group, list)
                if (!hooks_is_ours(group, runtime))
                        return false;
        return json_count(list);
}

static bool hooks_is_blank(char c) {
        return c && strchr(" \t\r\n", c);
}

/* Cuts a value of a list or an object, whose bytes begin at `from`, with one comma: the one behind it, or, where all that follows goes
 * and something before stays, the one before it. */
static int hooks_cut_one(HooksText *self, size_t from, const Json *value, bool takes_next) {
        size_t to = hooks_at(self, value) + json_raw(value).n, next = to, before = from;

        while (hooks_is_blank(self->plain[next]))
                next++;
        while (before && hooks_is_blank(self->plain[before - 1]))
                before--;
        if (takes_next && self->plain[next] == ',') {
                to = next + 1;
                if (self->plain[hooks_at(self, value) - 1] == '[' && self->text.data[to] == ' ')
                        to++; /* as we write it */
        } else if (!takes_next && before && self->plain[before - 1] == ',')
                from = before - 1;
        return hooks_cut(self, from, to - from, STR_NULL);
}

/* Where a member begins, with the line break and blanks before its name as we write them. */
static size_t hooks_member_at(const HooksText *self, const Json *member, const char *indent) {
        size_t at = hooks_at(self, member), n = strlen(indent);

        while (at && self->plain[at - 1] != ':')
                at--;
        at = at ? at - 1 : 0;
        while (at && hooks_is_blank(self->plain[at - 1]))
                at--;
        at -= MIN(at, json_key(member).n + 2); /* names of ours need no escapes */
        if (at >= n && !memcmp(self->text.data + at - n, indent, n))
                at -= n;
        return at;
}

/* Whether its name has our mark behind it. */
static bool hooks_is_marked(const HooksText *self, const Json *member) {
        size_t at = hooks_at(self, member);

        return at >= 4 && !memcmp(self->text.data + at - 4, "\" : ", 4);
}

static bool hooks_has_marks(const HooksText *self) {
        json_each (list, self->hooks)
                if (hooks_is_marked(self, list))
                        return true;
        return self->hooks && hooks_is_marked(self, self->hooks);
}

typedef bool (*HooksGoes)(const HooksText *self, const Json *value, const char *runtime);

/* See hooks_cut_one(). */
static bool hooks_takes_next(const HooksText *self, const Json *parent, const Json *value, HooksGoes goes,
                             const char *runtime) {
        bool is_behind = false, stays_before = false;

        json_each (one, parent) {
                if (one == value)
                        is_behind = true;
                else if (is_behind && !goes(self, one, runtime))
                        return true;
                else if (!is_behind && !goes(self, one, runtime))
                        stays_before = true;
        }
        return !stays_before;
}

static bool hooks_group_goes(_unused_ const HooksText *self, const Json *group, const char *runtime) {
        return hooks_is_ours(group, runtime);
}

static bool hooks_event_goes(const HooksText *self, const Json *list, const char *runtime) {
        return hooks_is_all_ours(list, runtime) && (!hooks_has_marks(self) || hooks_is_marked(self, list));
}

static bool hooks_nothing_goes(_unused_ const HooksText *self, _unused_ const Json *value,
                               _unused_ const char *runtime) {
        return false;
}

static int hooks_remove_events(HooksText *self, const char *runtime, bool *ret_is_empty) {
        size_t n_left = json_count(self->hooks);
        int r = 0;

        json_each (list, self->hooks) {
                if (r)
                        break;
                if (hooks_event_goes(self, list, runtime)) {
                        r = hooks_cut_one(
                                self, hooks_member_at(self, list, "\n    "), list,
                                hooks_takes_next(self, self->hooks, list, hooks_event_goes, runtime));
                        n_left--;
                        continue;
                }
                json_each (group, list)
                        if (!r && hooks_is_ours(group, runtime))
                                r = hooks_cut_one(
                                        self, hooks_at(self, group), group,
                                        hooks_takes_next(self, list, group, hooks_group_goes, runtime));
        }
        *ret_is_empty = !n_left;
        return r;
}

static int hooks_remove_all(HooksText *self, const char *runtime, Buf *out) {
        bool is_empty = false;
        int r = self->hooks ? hooks_remove_events(self, runtime, &is_empty) : 0;

        if (r || !self->n_cuts)
                return r ? r : SETUP_E_SAME;
        if (is_empty && (hooks_is_marked(self, self->hooks) || !hooks_has_marks(self))) {
                self->n_cuts = 0;
                r = hooks_cut_one(
                        self, hooks_member_at(self, self->hooks, "\n  "), self->hooks,
                        hooks_takes_next(self, self->root, self->hooks, hooks_nothing_goes, runtime));
        }
        return r ? r : hooks_write(self, out);
}

/* ---- both ------------------------------------------------------------------------------------ */

static void hooks_deinit(HooksText *self) {
        arena_deinit(&self->arena);
}

int hooks_remove(const char *runtime, Str text, Buf *out, char what[SETUP_WHAT_MAX]) {
        _cleanup_(hooks_deinit) HooksText self = {0}, check = {0};
        int r = text.data ? hooks_read(&self, text, what) : SETUP_E_SAME;

        r = r ? r : hooks_remove_all(&self, runtime, out);
        if (!r)
                r = hooks_read(&check, buf_str(out), what);
        return !r && str_eq(buf_str(out), STR("{}\n")) ? SETUP_E_GONE : r;
}

int hooks_add(const HookConfig *config, Str text, Buf *out, char what[SETUP_WHAT_MAX]) {
        _cleanup_(hooks_deinit) HooksText self = {0}, check = {0};
        _cleanup_(buf_deinit) Buf without = BUF_NULL;
        Str before = text.data ? text : STR("{}\n");
        int r = hooks_remove(config->runtime, before, &without, what);

        if (r && r != SETUP_E_SAME && r != SETUP_E_GONE)
                return r;
        r = hooks_read(&self, r == SETUP_E_SAME ? before : buf_str(&without), what);
        r = r ? r : self.hooks ? hooks_add_events(&self, config) : hooks_add_all(&self, config);
        r = r ? r : hooks_write(&self, out);
        r = r ? r : hooks_read(&check, buf_str(out), what);
        return !r && str_eq(buf_str(out), text) ? SETUP_E_SAME : r;
}
