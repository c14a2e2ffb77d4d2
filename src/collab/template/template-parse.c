/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/json/yaml.h"
#include "collab/actor/actor.h"
#include "collab/template/template.h"

static const char KIND[] = "cccc.group_template";

static const char *const runners[] = {"pty", "headless", NULL};
static const char *const submits[] = {"enter", "newline", "none", NULL};
static const char *const runtimes[] = {"codex",   "amp",    "auggie",   "claude",  "cursor",
                                       "droid",   "gemini", "kilocode", "neovate", "opencode",
                                       "copilot", "custom", NULL};

int template_complain(char why[TEMPLATE_WHY_MAX], const char *format, ...) {
        va_list list;

        va_start(list, format);
        vsnprintf(why, TEMPLATE_WHY_MAX, format, list);
        va_end(list);
        return TEMPLATE_E_INVALID;
}

Str template_text(const Json *value) {
        bool truth;

        if (json_is(value, JSON_NUMBER))
                return (Str){value->text, value->n};
        if (json_bool(value, &truth))
                return truth ? STR("true") : STR("false");
        return json_str(value);
}

bool template_bool(const Json *value, bool *ret) {
        static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "n", "y", "0", "1"};
        Str s = str_trim(template_text(value));

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (s.n == strlen(words[i]) && !strncasecmp(s.data, words[i], s.n)) {
                        *ret = i % 2;
                        return true;
                }
        return false;
}

/* ---- actors ---------------------------------------------------------------------------------- */

/* A text, or nothing at all: nothing else is turned into one. */
static int template_parse_read_text(Str *ret, const Json *object, const char *key,
                                    char why[TEMPLATE_WHY_MAX]) {
        const Json *value = json_get(object, key);

        *ret = value ? json_str(value) : STR("");
        return !value || json_is(value, JSON_STRING) ? 0 : template_complain(why, "%s must be a text", key);
}

/* One of the words; the first when the key is not there. */
static int template_parse_read_word(Str *ret, const Json *actor, const char *key, const char *const words[],
                                    Str id, char why[TEMPLATE_WHY_MAX]) {
        const Json *value = json_get(actor, key);
        Str s = str_trim(template_text(value));

        if (!value) {
                *ret = str_from(words[0]);
                return 0;
        }
        for (; *words; words++)
                if (str_is(s, *words)) {
                        *ret = str_from(*words);
                        return 0;
                }
        return template_complain(why, "actor " STR_FMT ": invalid %s: " STR_FMT, STR_ARG(id), key,
                                 STR_ARG(s));
}

static int read_list(TemplateActor *actor, Arena *arena, char why[TEMPLATE_WHY_MAX]) {
        actor->command = json_new(arena, JSON_ARRAY);
        if (!actor->command)
                return error_origin(-ENOMEM);
        json_each (item, actor->given) {
                if (!json_is(item, JSON_STRING))
                        return template_complain(why, "actor " STR_FMT ": command must be a list of strings",
                                                 STR_ARG(actor->id));
                if (json_push(actor->command, json_new_str(arena, json_str(item))))
                        return error_origin(-ENOMEM);
        }
        return 0;
}

static int read_command(TemplateActor *actor, Arena *arena, const Json *given, char why[TEMPLATE_WHY_MAX]) {
        int r;

        actor->given = given ? given : json_new(arena, JSON_ARRAY);
        if (!actor->given)
                return error_origin(-ENOMEM);
        if (json_is(actor->given, JSON_ARRAY))
                return read_list(actor, arena, why);
        if (!json_is(actor->given, JSON_STRING))
                return template_complain(why, "actor " STR_FMT ": command must be a list or a string",
                                         STR_ARG(actor->id));
        actor->command = template_words(arena, json_str(actor->given), &r);
        if (r > 0)
                return template_complain(why, "actor " STR_FMT ": command has an open quote",
                                         STR_ARG(actor->id));
        return error_trace(r);
}

static int template_parse_read_actor(TemplateActor *ret, Arena *arena, const Json *given,
                                     char why[TEMPLATE_WHY_MAX]) {
        Str title;
        int r;

        if (!json_is(given, JSON_OBJECT))
                return template_complain(why, "actors must be a list of mappings");
        r = template_parse_read_text(&title, given, "title", why);
        if (r)
                return r;
        *ret = (TemplateActor){
                .id = str_trim(json_str(json_get(given, json_get(given, "id") ? "id" : "actor_id"))),
                .title = title,
                .is_enabled = true};
        if (!ret->id.n)
                return template_complain(why, "an actor has no id");
        if (json_get(given, "enabled") && !template_bool(json_get(given, "enabled"), &ret->is_enabled))
                return template_complain(why, "actor " STR_FMT ": enabled must be true or false",
                                         STR_ARG(ret->id));
        r = template_parse_read_word(&ret->runtime, given, "runtime", runtimes, ret->id, why);
        if (!r)
                r = template_parse_read_word(&ret->runner, given, "runner", runners, ret->id, why);
        if (!r)
                r = template_parse_read_word(&ret->submit, given, "submit", submits, ret->id, why);
        return r ? r : read_command(ret, arena, json_get(given, "command"), why);
}

static int read_actors(Template *ret, Arena *arena, const Json *given, char why[TEMPLATE_WHY_MAX]) {
        int r = 0;

        if (given && !json_is(given, JSON_ARRAY))
                return template_complain(why, "actors must be a list");
        if (json_count(given) > TEMPLATE_ACTORS_MAX)
                return template_complain(why, "more than %d actors", TEMPLATE_ACTORS_MAX);
        ret->actors = arena_alloc(arena, json_count(given) * sizeof(TemplateActor));
        if (!ret->actors)
                return error_origin(-ENOMEM);
        json_each (item, given) {
                r = template_parse_read_actor(&ret->actors[ret->n_actors++], arena, item, why);
                if (r)
                        break;
        }
        return r;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int read_prompts(Template *ret, const Json *given, char why[TEMPLATE_WHY_MAX]) {
        if (given && !json_is(given, JSON_OBJECT))
                return template_complain(why, "prompts must be a mapping");
        for (TemplatePrompt i = 0; i < _TEMPLATE_PROMPTS; i++) {
                const Json *value = json_get(given, template_prompt_name(i));
                bool is_given = value && !json_is(value, JSON_NULL);

                if (is_given && !json_is(value, JSON_STRING))
                        return template_complain(why, "prompts.%s must be a text", template_prompt_name(i));
                ret->prompts[i] = !is_given ? STR_NULL : json_str(value).n ? json_str(value) : STR("");
        }
        return 0;
}

static int check_top(const Json *json, char why[TEMPLATE_WHY_MAX]) {
        const Json *kind = json_get(json, "kind"), *settings = json_get(json, "settings");

        if (!json_is(json, JSON_OBJECT))
                return template_complain(why, "template must be a mapping (YAML object)");
        if (kind && !str_is(str_trim(json_str(kind)), KIND))
                return template_complain(why, "kind must be %s", KIND);
        if (settings && !json_is(settings, JSON_OBJECT))
                return template_complain(why, "settings must be a mapping");
        return 0;
}

/* What is only told. */
static int read_labels(Template *ret, const Json *json, char why[TEMPLATE_WHY_MAX]) {
        int r = 0;

        ret->v = 1;
        if (json_get(json, "v") && !template_int(json_get(json, "v"), &ret->v))
                r = template_complain(why, "v must be a number");
        if (!r)
                r = template_parse_read_text(&ret->title, json, "title", why);
        if (!r)
                r = template_parse_read_text(&ret->topic, json, "topic", why);
        if (!r)
                r = template_parse_read_text(&ret->exported_at, json, "exported_at", why);
        return r ? r : template_parse_read_text(&ret->cccc_version, json, "cccc_version", why);
}

static int parse_yaml(Arena *arena, Str text, Json **ret, char why[TEMPLATE_WHY_MAX]) {
        YamlFault fault = {0};
        int r = yaml_parse(arena, text, ret, &fault);

        if (r > 0)
                return template_complain(why, "template is not YAML: line %zu, column %zu: %s", fault.line,
                                         fault.column, fault.what);
        return error_trace(r);
}

int template_parse(Template *ret, Arena *arena, Str text, char why[TEMPLATE_WHY_MAX]) {
        Json *json = NULL;
        int r;

        r = parse_yaml(arena, str_trim(text), &json, why);
        if (!r)
                r = check_top(json, why);
        if (r)
                return r;
        *ret = (Template){0};
        r = read_labels(ret, json, why);
        if (!r)
                r = read_actors(ret, arena, json_get(json, "actors"), why);
        if (!r)
                r = template_read_settings(&ret->settings, arena, json_get(json, "settings"), why);
        return r ? r : read_prompts(ret, json_get(json, "prompts"), why);
}

static int check_actor(const TemplateActor *actor, char why[TEMPLATE_WHY_MAX]) {
        const char *fault = actor_id_fault(actor->id);

        if (fault)
                return template_complain(why, "invalid actor id: " STR_FMT " (%s)", STR_ARG(actor->id),
                                         fault);
        if (actor_id_is_reserved(actor->id))
                return template_complain(why, "reserved actor id: " STR_FMT, STR_ARG(actor->id));
        if (str_is(actor->runtime, "custom") && str_is(actor->runner, "pty") && !json_count(actor->command))
                return template_complain(why, "actor " STR_FMT ": a custom runtime needs a command",
                                         STR_ARG(actor->id));
        return 0;
}

int template_check(const Template *template, char why[TEMPLATE_WHY_MAX]) {
        for (size_t i = 0; i < template->n_actors; i++) {
                const TemplateActor *actor = &template->actors[i];
                int r;

                if (template_find(template, actor->id) != actor)
                        return template_complain(why, "duplicate actor id: " STR_FMT, STR_ARG(actor->id));
                r = check_actor(actor, why);
                if (r)
                        return r;
        }
        return 0;
}
