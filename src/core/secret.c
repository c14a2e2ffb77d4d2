/* SPDX-License-Identifier: MIT */
#include "core/secret.h"

#include <string.h>
#include <strings.h>

#include "base/macro.h"

/* ---- names ----------------------------------------------------------------------------------- */

static bool secret_has_at(Str name, size_t at, const char *word) {
        size_t n = strlen(word);

        return n && name.n - at >= n && !strncasecmp(name.data + at, word, n);
}

/* Words that only begin like one. */
static bool secret_is_harmless_at(Str name, size_t at) {
        return secret_has_at(name, at, "keyboard") || secret_has_at(name, at, "keymap") ||
               (secret_has_at(name, at, "author") && !secret_has_at(name, at, "authori"));
}

static bool secret_is_at(const Config *config, Str name, size_t at) {
        static const char *const words[] = {"key",        "token", "secret", "passw",
                                            "credential", "auth",  "cookie"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (secret_has_at(name, at, words[i]))
                        return !secret_is_harmless_at(name, at);
        for (size_t i = 0; config && i < config->secret_names.n; i++)
                if (secret_has_at(name, at, config->secret_names.items[i]))
                        return true;
        return false;
}

bool secret_is_name(const Config *config, Str name) {
        if (str_is(name, "SSH_AUTH_SOCK"))
                return false;
        for (size_t at = 0; at < name.n; at++)
                if (secret_is_at(config, name, at))
                        return true;
        return false;
}

/* ---- environments ---------------------------------------------------------------------------- */

static bool secret_is_hidden(const Config *config, const Json *member) {
        return json_str(member).n && secret_is_name(config, json_key(member));
}

void secret_write_env(const Config *config, JsonWriter *w, const Json *env) {
        jw_begin_object(w);
        json_each (member, env) {
                jw_key_str(w, json_key(member));
                if (secret_is_hidden(config, member))
                        jw_cstr(w, SECRET_MARK);
                else
                        jw_value(w, member);
        }
        jw_end_object(w);
}

Json *secret_redact_env(const Config *config, Arena *arena, const Json *env) {
        Json *shown = json_is(env, JSON_OBJECT) ? json_new(arena, JSON_OBJECT) : json_clone(arena, env);

        if (!json_is(env, JSON_OBJECT))
                return shown;
        json_each (member, env) {
                Json *value = secret_is_hidden(config, member) ? json_new_str(arena, STR(SECRET_MARK))
                                                               : json_clone(arena, member);

                if (!shown || !value || json_add(arena, shown, json_key(member), value))
                        return NULL;
        }
        return shown;
}

Json *secret_restore_env(const Config *config, Arena *arena, const Json *given, const Json *stored) {
        Json *env = json_new(arena, JSON_OBJECT);

        json_each (member, given) {
                bool is_marked =
                        str_is(json_str(member), SECRET_MARK) && secret_is_name(config, json_key(member));
                const Json *value = is_marked ? json_get_str(stored, json_key(member)) : member;
                Json *copy = value ? json_clone(arena, value) : NULL;

                if (value && (!env || !copy || json_add(arena, env, json_key(member), copy)))
                        return NULL;
        }
        return env;
}

bool secret_redact_event(const Config *config, Arena *arena, Str line, Json **ret) {
        static const char *const holders[] = {"actor", "patch"};

        *ret = NULL;
        if (!line.n || !memmem(line.data, line.n, "\"env\"", 5) ||
            json_parse(arena, line.data, line.n, NULL, ret, NULL))
                return false;
        for (size_t i = 0; i < ARRAY_SIZE(holders); i++) {
                Json *holder = json_get(json_get(*ret, "data"), holders[i]), *env = json_get(holder, "env");

                if (!json_is(holder, JSON_OBJECT) || !env)
                        continue;
                env = secret_redact_env(config, arena, env);
                if (!env || json_set(arena, holder, STR("env"), env)) {
                        *ret = NULL;
                        return true;
                }
        }
        return true;
}
