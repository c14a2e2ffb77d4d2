/* SPDX-License-Identifier: MIT */
#include "collab/template/template.h"

#include <errno.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/json/yaml.h"

static const struct {
        const char *name, *file;
} prompts_table[_TEMPLATE_PROMPTS] = {
        [TEMPLATE_PREAMBLE] = {"preamble", "CCCC_PREAMBLE.md"},
        [TEMPLATE_HELP] = {"help", "CCCC_HELP.md"},
        [TEMPLATE_STANDUP] = {"standup", "CCCC_STANDUP.md"},
};

const char *template_prompt_name(TemplatePrompt prompt) {
        return prompts_table[prompt].name;
}

const char *template_prompt_file(TemplatePrompt prompt) {
        return prompts_table[prompt].file;
}

const TemplateActor *template_find(const Template *template, Str id) {
        for (size_t i = 0; i < template->n_actors; i++)
                if (str_eq(template->actors[i].id, id))
                        return &template->actors[i];
        return NULL;
}

/* ---- what a group is ------------------------------------------------------------------------- */

static Str word_or(const Json *object, const char *key, const char *initial) {
        Str s = template_text(json_get(object, key));

        return s.n ? s : str_from(initial);
}

static int actor_of(TemplateActor *ret, Arena *arena, const Json *actor) {
        Json *none = json_new(arena, JSON_ARRAY), *command = json_get(actor, "command");
        bool is_enabled = true;

        if (!none)
                return error_origin(-ENOMEM);
        template_bool(json_get(actor, "enabled"), &is_enabled);
        *ret = (TemplateActor){.id = template_text(json_get(actor, "id")),
                               .title = template_text(json_get(actor, "title")),
                               .runtime = word_or(actor, "runtime", "codex"),
                               .runner = word_or(actor, "runner", "pty"),
                               .submit = word_or(actor, "submit", "enter"),
                               .command = json_is(command, JSON_ARRAY) ? command : none,
                               .is_enabled = is_enabled};
        ret->given = ret->command;
        return 0;
}

int template_of_group(Template *ret, Arena *arena, const Json *group, const Str prompts[_TEMPLATE_PROMPTS]) {
        const Json *actors = json_get(group, "actors");
        int r = 0;

        *ret = (Template){.title = template_text(json_get(group, "title")),
                          .topic = template_text(json_get(group, "topic")),
                          .actors = arena_alloc(arena, json_count(actors) * sizeof(TemplateActor)),
                          .settings = template_group_settings(arena, group)};
        for (TemplatePrompt i = 0; i < _TEMPLATE_PROMPTS; i++)
                ret->prompts[i] = prompts[i];
        if (!ret->actors || !ret->settings)
                return error_origin(-ENOMEM);
        json_each (actor, actors) {
                if (!template_text(json_get(actor, "id")).n)
                        continue;
                r = actor_of(&ret->actors[ret->n_actors++], arena, actor);
                if (r)
                        break;
        }
        return error_trace(r);
}

/* ---- export ---------------------------------------------------------------------------------- */

static int template_set_text(Arena *arena, Json *object, const char *key, Str text) {
        return error_trace(json_set(arena, object, str_from(key), json_new_str(arena, text)));
}

static int export_actor(Arena *arena, Json *list, const TemplateActor *actor) {
        Json *entry = json_new(arena, JSON_OBJECT);
        int r;

        r = entry ? template_set_text(arena, entry, "id", actor->id) : error_origin(-ENOMEM);
        if (!r)
                r = template_set_text(arena, entry, "title", actor->title);
        if (!r)
                r = template_set_text(arena, entry, "runtime", actor->runtime);
        if (!r)
                r = template_set_text(arena, entry, "runner", actor->runner);
        if (!r)
                r = json_set(arena, entry, STR("command"), json_clone(arena, actor->command));
        if (!r)
                r = template_set_text(arena, entry, "submit", actor->submit);
        if (!r)
                r = json_set(arena, entry, STR("enabled"), json_new_bool(arena, actor->is_enabled));
        return error_trace(r ? r : json_push(list, entry));
}

static int export_actors(const Template *template, Arena *arena, Json *json) {
        Json *list = json_new(arena, JSON_ARRAY);
        int r;

        r = json_set(arena, json, STR("actors"), list);
        for (size_t i = 0; !r && i < template->n_actors; i++)
                r = export_actor(arena, list, &template->actors[i]);
        return error_trace(r);
}

static int export_prompts(const Template *template, Arena *arena, Json *json) {
        Json *prompts = json_new(arena, JSON_OBJECT);
        int r = prompts ? 0 : error_origin(-ENOMEM);

        for (TemplatePrompt i = 0; !r && i < _TEMPLATE_PROMPTS; i++)
                if (template->prompts[i].data)
                        r = template_set_text(arena, prompts, template_prompt_name(i), template->prompts[i]);
        if (!r && json_count(prompts))
                r = json_set(arena, json, STR("prompts"), prompts);
        return error_trace(r);
}

int template_export(const Template *template, Arena *arena, Buf *out) {
        Json *json = json_new(arena, JSON_OBJECT);
        int r;

        r = json ? template_set_text(arena, json, "kind", STR("cccc.group_template"))
                 : error_origin(-ENOMEM);
        if (!r)
                r = json_set(arena, json, STR("v"), json_new_int(arena, 1));
        if (!r)
                r = template_set_text(arena, json, "title", template->title);
        if (!r)
                r = template_set_text(arena, json, "topic", template->topic);
        if (!r)
                r = template_set_text(arena, json, "exported_at", template->exported_at);
        if (!r)
                r = template_set_text(arena, json, "cccc_version", template->cccc_version);
        if (!r)
                r = export_actors(template, arena, json);
        if (!r)
                r = json_set(arena, json, STR("settings"), json_clone(arena, template->settings));
        if (!r)
                r = export_prompts(template, arena, json);
        r = error_fold(r ? r : yaml_write(out, json));
        /* Who reads it takes the blanks around it away: not those of a prompt at the end. */
        return error_trace(r || !json_get(json, "prompts") ? r : buf_append_str(out, STR("...\n")));
}

/* Runs of anything but letters and digits become one dash. */
static size_t slug(Str title, char *out) {
        size_t n = 0;

        for (size_t i = 0; i < title.n; i++) {
                char c = title.data[i];
                bool is_upper = c >= 'A' && c <= 'Z';
                if (is_upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
                        out[n++] = (char)(is_upper ? c - 'A' + 'a' : c);
                else if (n && out[n - 1] != '-')
                        out[n++] = '-';
        }
        return n && out[n - 1] == '-' ? n - 1 : n;
}

Str template_filename(Arena *arena, Str title) {
        enum { TITLE_MAX = 100 };
        char text[TITLE_MAX];
        size_t n = slug((Str){title.data, MIN(title.n, sizeof(text))}, text);

        return arena_printf(arena, "cccc-group-template--%.*s.yaml", n ? (int)n : 5, n ? text : "group");
}

/*
 * A command line cut into words as a shell would, without expanding anything: blanks part words, '…' is
 * literal, "…" knows \" and \\, a backslash outside takes the next character as it is.
 */
typedef struct Words {
        Arena *arena;
        Str text;
        size_t at;
        Json *list;
        Buf word;
        bool is_word; /* a word has begun: it may be empty, as in '' */
} Words;

static bool template_words_is_blank(char c) {
        return c == ' ' || (c >= '\t' && c <= '\r');
}

static int end_word(Words *words) {
        int r = 0;

        if (words->is_word)
                r = json_push(words->list, json_new_str(words->arena, buf_str(&words->word)));
        words->word.n = 0;
        words->is_word = false;
        return error_trace(r);
}

/* Up to the closing quote; TEMPLATE_E_INVALID when there is none. */
static int take_quoted(Words *words, char quote) {
        for (words->is_word = true; words->at < words->text.n; words->at++) {
                const char *c = words->text.data + words->at;
                if (*c == quote) {
                        words->at++;
                        return 0;
                }
                if (quote == '"' && *c == '\\' && words->at + 1 < words->text.n &&
                    (c[1] == '"' || c[1] == '\\'))
                        words->at++, c++;
                if (buf_append(&words->word, c, 1))
                        return error_origin(-ENOMEM);
        }
        return TEMPLATE_E_INVALID;
}

static int take_plain(Words *words, char c) {
        if (c == '\\') {
                if (words->at == words->text.n)
                        return TEMPLATE_E_INVALID;
                c = words->text.data[words->at++];
        }
        words->is_word = true;
        return error_trace(buf_append(&words->word, &c, 1));
}

static int template_words_take(Words *words) {
        char c = words->text.data[words->at++];

        if (template_words_is_blank(c))
                return end_word(words);
        return c == '\'' || c == '"' ? take_quoted(words, c) : take_plain(words, c);
}

Json *template_words(Arena *arena, Str text, int *r) {
        Words words = {.arena = arena, .text = text, .list = json_new(arena, JSON_ARRAY)};

        *r = words.list ? 0 : error_origin(-ENOMEM);
        while (!*r && words.at < text.n)
                *r = template_words_take(&words);
        if (!*r)
                *r = end_word(&words);
        buf_deinit(&words.word);
        return *r ? NULL : words.list;
}
