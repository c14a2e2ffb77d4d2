/* SPDX-License-Identifier: MIT */
#include "collab/message/recipients.h"

#include <errno.h>

#include "base/error.h"
#include "collab/group/group-doc.h"
#include "collab/unicode.h"

static bool list_has(const StrList *list, Str item) {
        for (size_t i = 0; i < list->n; i++)
                if (str_eq(list->items[i], item))
                        return true;
        return false;
}

/* room: how many the list may still get at most, this one included. */
static int list_add(Arena *arena, StrList *list, size_t room, Str item) {
        if (list_has(list, item))
                return 0;
        if (!list->items)
                list->items = arena_alloc(arena, room * sizeof(Str));
        if (!list->items)
                return error_origin(-ENOMEM);
        list->items[list->n++] = item;
        return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static const ActorView *recipients_by_id(const GroupDoc *doc, Str id) {
        for (size_t i = 0; i < doc->n_actors; i++)
                if (str_eq(doc->actors[i].id, id))
                        return &doc->actors[i];
        return NULL;
}

static int by_title(const GroupDoc *doc, Str title, const ActorView **ret) {
        const ActorView *found = NULL;

        for (size_t i = 0; i < doc->n_actors; i++) {
                if (!unicode_equal_folded(str_trim(doc->actors[i].title), title))
                        continue;
                if (found)
                        return RECIPIENTS_E_AMBIGUOUS;
                found = &doc->actors[i];
        }
        *ret = found;
        return found ? 0 : RECIPIENTS_E_UNKNOWN;
}

static bool is_crowd(Str token) {
        return str_is(token, "@all") || str_is(token, "@peers") || str_is(token, "@foreman");
}

static Str without_at(Str token) {
        return token.n && token.data[0] == '@' ? str_trim((Str){token.data + 1, token.n - 1}) : token;
}

/* token is trimmed and more than an @. */
static int resolve_one(const GroupDoc *doc, Str token, Str *ret) {
        Str name = without_at(token);
        const ActorView *actor = recipients_by_id(doc, name);
        int r;

        *ret = is_crowd(token) ? token : STR("user");
        if (is_crowd(token) || str_is(token, "user") || str_is(token, "@user"))
                return 0;
        r = actor ? 0 : by_title(doc, name, &actor);
        if (!r)
                *ret = actor->id;
        return r;
}

int recipients_resolve(Arena *arena, const GroupDoc *doc, const StrList *tokens, StrList *ret, Str *reterr) {
        *ret = (StrList){0};
        for (size_t i = 0; i < tokens->n; i++) {
                Str token = str_trim(tokens->items[i]), name;
                int r;

                if (!without_at(token).n)
                        continue;
                *reterr = token;
                r = resolve_one(doc, token, &name);
                if (!r)
                        r = list_add(arena, ret, tokens->n - i, name);
                if (r)
                        return error_trace(r);
        }
        return 0;
}

/* ---- mentions -------------------------------------------------------------------------------- */

/* The word at the front: a letter, digit or _, then also -. */
static Str recipients_take_word(Str *text) {
        Str at = *text, rest = at;

        while (rest.n) {
                Str next = rest;
                uint32_t c = unicode_take(&next);

                if (!unicode_is_word(c) && (c != '-' || rest.data == at.data))
                        break;
                rest = next;
        }
        *text = rest;
        return (Str){at.data, at.n - rest.n};
}

static bool mention_of(const GroupDoc *doc, Str word, Str *ret) {
        const ActorView *actor = recipients_by_id(doc, word);

        if (actor)
                *ret = actor->id;
        else if (str_is(word, "all"))
                *ret = STR("@all");
        else if (str_is(word, "peers"))
                *ret = STR("@peers");
        else if (str_is(word, "foreman"))
                *ret = STR("@foreman");
        else
                return false;
        return true;
}

int recipients_mentioned(Arena *arena, const GroupDoc *doc, Str text, StrList *ret) {
        const char *at;

        *ret = (StrList){0};
        while (text.n && (at = memchr(text.data, '@', text.n))) {
                Str name;

                text = (Str){at + 1, text.n - (size_t)(at + 1 - text.data)};
                if (mention_of(doc, recipients_take_word(&text), &name)) {
                        int r = list_add(arena, ret, doc->n_actors + 3, name);

                        if (r)
                                return error_trace(r);
                }
        }
        return 0;
}

int recipients_default(Arena *arena, const GroupDoc *doc, StrList *ret) {
        *ret = (StrList){0};
        return doc->settings.is_broadcast ? 0 : error_trace(list_add(arena, ret, 1, STR("@foreman")));
}

/* ---- who sees it ----------------------------------------------------------------------------- */

bool recipients_include(const GroupDoc *doc, const StrList *to, Str name) {
        return !to->n || list_has(to, STR("@all")) || list_has(to, name) ||
               list_has(to, group_is_foreman(doc, name) ? STR("@foreman") : STR("@peers"));
}

static bool is_for_user_only(const StrList *to) {
        for (size_t i = 0; i < to->n; i++)
                if (!str_is(to->items[i], "user"))
                        return false;
        return to->n > 0;
}

bool recipients_have_reader(const GroupDoc *doc, const StrList *to, Str by) {
        if (is_for_user_only(to))
                return true;
        for (size_t i = 0; i < doc->n_actors; i++)
                if (doc->actors[i].is_enabled && !str_eq(doc->actors[i].id, by) &&
                    recipients_include(doc, to, doc->actors[i].id))
                        return true;
        return false;
}

bool recipients_may_include(const Json *event, Str actor) {
        const Json *data = json_get(event, "data"), *to = json_get(data, "to");
        Str target = json_text_of(data, "target_actor_id");

        if (str_eq(json_text_of(event, "by"), actor) || (target.n && !str_eq(target, actor)))
                return false;
        json_each (item, to) {
                Str name = json_str(item);

                if (str_eq(name, actor) || (str_starts(name, STR("@")) && !str_is(name, "@user")))
                        return true;
        }
        return !json_count(to);
}
