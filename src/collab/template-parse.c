/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/yaml.h"
#include "collab/template.h"

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

static bool is_nothing(const Json *value) {
        return !value || json_is(value, JSON_NULL);
}

/* One of the words; the first when nothing is given. */
static int read_word(Str *ret, const Json *actor, const char *key, const char *const words[], Str id,
                     char why[TEMPLATE_WHY_MAX]) {
        const Json *value = json_get(actor, key);
        Str s = str_trim(template_text(value));

        if (is_nothing(value)) {
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
                if (is_nothing(item) || item->type >= JSON_ARRAY)
                        return template_complain(why, "actor " STR_FMT ": command must be a list of strings",
                                                 STR_ARG(actor->id));
                if (json_push(actor->command, json_new_str(arena, template_text(item))))
                        return error_origin(-ENOMEM);
        }
        return 0;
}

static int read_command(TemplateActor *actor, Arena *arena, const Json *given, char why[TEMPLATE_WHY_MAX]) {
        int r;

        actor->given = is_nothing(given) ? json_new(arena, JSON_ARRAY) : given;
        if (!actor->given)
                return error_origin(-ENOMEM);
        if (json_is(actor->given, JSON_ARRAY))
                return read_list(actor, arena, why);
        if (json_is(actor->given, JSON_OBJECT))
                return template_complain(why, "actor " STR_FMT ": command must be a list or a string",
                                         STR_ARG(actor->id));
        actor->command = template_words(arena, template_text(actor->given), &r);
        if (r > 0)
                return template_complain(why, "actor " STR_FMT ": command has an open quote",
                                         STR_ARG(actor->id));
        return error_trace(r);
}

static int read_actor(TemplateActor *ret, Arena *arena, const Json *given, char why[TEMPLATE_WHY_MAX]) {
        const Json *id = json_get(given, "id");
        int r;

        if (!json_is(given, JSON_OBJECT))
                return template_complain(why, "actors must be a list of mappings");
        *ret = (TemplateActor){
                .id = str_trim(template_text(is_nothing(id) ? json_get(given, "actor_id") : id)),
                .title = str_trim(template_text(json_get(given, "title"))),
                .is_enabled = true};
        if (!ret->id.n)
                return template_complain(why, "an actor has no id");
        if (!is_nothing(json_get(given, "enabled")) &&
            !template_bool(json_get(given, "enabled"), &ret->is_enabled))
                return template_complain(why, "actor " STR_FMT ": enabled must be true or false",
                                         STR_ARG(ret->id));
        r = read_word(&ret->runtime, given, "runtime", runtimes, ret->id, why);
        if (!r)
                r = read_word(&ret->runner, given, "runner", runners, ret->id, why);
        if (!r)
                r = read_word(&ret->submit, given, "submit", submits, ret->id, why);
        return r ? r : read_command(ret, arena, json_get(given, "command"), why);
}

static int read_actors(Template *ret, Arena *arena, const Json *given, char why[TEMPLATE_WHY_MAX]) {
        int r = 0;

        if (!is_nothing(given) && !json_is(given, JSON_ARRAY))
                return template_complain(why, "actors must be a list");
        if (json_count(given) > TEMPLATE_ACTORS_MAX)
                return template_complain(why, "more than %d actors", TEMPLATE_ACTORS_MAX);
        ret->actors = arena_alloc(arena, json_count(given) * sizeof(TemplateActor));
        if (!ret->actors)
                return error_origin(-ENOMEM);
        json_each (item, given) {
                r = read_actor(&ret->actors[ret->n_actors++], arena, item, why);
                if (r)
                        break;
        }
        return r;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int read_prompts(Template *ret, const Json *given, char why[TEMPLATE_WHY_MAX]) {
        if (!is_nothing(given) && !json_is(given, JSON_OBJECT))
                return template_complain(why, "prompts must be a mapping");
        for (TemplatePrompt i = 0; i < _TEMPLATE_PROMPTS; i++) {
                const Json *value = json_get(given, template_prompt_name(i));
                if (!is_nothing(value) && value->type >= JSON_ARRAY)
                        return template_complain(why, "prompts.%s must be a text", template_prompt_name(i));
                ret->prompts[i] = str_trim(template_text(value)).n ? template_text(value) : STR_NULL;
        }
        return 0;
}

static int check_top(const Json *json, char why[TEMPLATE_WHY_MAX]) {
        const Json *kind = json_get(json, "kind"), *settings = json_get(json, "settings");

        if (!json_is(json, JSON_OBJECT))
                return template_complain(why, "template must be a mapping (YAML object)");
        if (!is_nothing(kind) && !str_is(str_trim(json_str(kind)), KIND))
                return template_complain(why, "kind must be %s", KIND);
        if (!is_nothing(settings) && !json_is(settings, JSON_OBJECT))
                return template_complain(why, "settings must be a mapping");
        return 0;
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
        *ret = (Template){.title = template_text(json_get(json, "title")),
                          .topic = template_text(json_get(json, "topic")),
                          .exported_at = template_text(json_get(json, "exported_at")),
                          .cccc_version = template_text(json_get(json, "cccc_version"))};
        r = read_actors(ret, arena, json_get(json, "actors"), why);
        if (!r)
                r = template_read_settings(&ret->settings, arena, json_get(json, "settings"), why);
        return r ? r : read_prompts(ret, json_get(json, "prompts"), why);
}
