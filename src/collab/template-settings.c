/* SPDX-License-Identifier: MIT */
/*
 * The settings of a template: one row for each says how it is called there, where it stands in group.yaml,
 * what it may be and what it is by default.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"
#include "collab/template.h"

typedef enum Kind { KIND_INT, KIND_BOOL, KIND_LINES, KIND_WORD } Kind;

enum { LINES_MIN = 1, LINES_MAX = 80 };

static const struct {
        const char *key;
        const char *section, *member; /* in group.yaml */
        Kind kind;
        int64_t initial;
        const char *words[4]; /* the first is the default */
} settings_table[] = {
        {"default_send_to", "messaging", "default_send_to", KIND_WORD, 0, {"foreman", "broadcast"}},
        {"nudge_after_seconds", "automation", "nudge_after_seconds", KIND_INT, 300, {0}},
        {"actor_idle_timeout_seconds", "automation", "actor_idle_timeout_seconds", KIND_INT, 600, {0}},
        {"keepalive_delay_seconds", "automation", "keepalive_delay_seconds", KIND_INT, 120, {0}},
        {"keepalive_max_per_actor", "automation", "keepalive_max_per_actor", KIND_INT, 3, {0}},
        {"silence_timeout_seconds", "automation", "silence_timeout_seconds", KIND_INT, 600, {0}},
        {"help_nudge_interval_seconds", "automation", "help_nudge_interval_seconds", KIND_INT, 600, {0}},
        {"help_nudge_min_messages", "automation", "help_nudge_min_messages", KIND_INT, 10, {0}},
        {"min_interval_seconds", "delivery", "min_interval_seconds", KIND_INT, 0, {0}},
        {"standup_interval_seconds", "automation", "standup_interval_seconds", KIND_INT, 900, {0}},
        {"terminal_transcript_visibility",
         "terminal_transcript",
         "visibility",
         KIND_WORD,
         0,
         {"foreman", "off", "all"}},
        {"terminal_transcript_notify_tail", "terminal_transcript", "notify_tail", KIND_BOOL, true, {0}},
        {"terminal_transcript_notify_lines", "terminal_transcript", "notify_lines", KIND_LINES, 20, {0}},
};

static Json *make_default(Arena *arena, size_t i) {
        switch (settings_table[i].kind) {
        case KIND_BOOL: return json_new_bool(arena, settings_table[i].initial);
        case KIND_WORD: return json_new_str(arena, str_from(settings_table[i].words[0]));
        default: return json_new_int(arena, settings_table[i].initial);
        }
}

bool template_int(const Json *value, int64_t *ret) {
        Str s = str_trim(json_str(value));
        char text[24], *end;

        if (json_int64(value, ret))
                return true;
        if (!s.n || s.n >= sizeof(text))
                return false;
        memcpy(text, s.data, s.n);
        text[s.n] = 0;
        errno = 0;
        *ret = strtoll(text, &end, 10);
        return !errno && !*end;
}

static Json *template_settings_read_word(Arena *arena, size_t i, const Json *value) {
        Str s = str_trim(json_str(value));

        for (const char *const *word = settings_table[i].words; *word; word++)
                if (str_is(s, *word))
                        return json_new_str(arena, s);
        return NULL;
}

/* NULL: it does not fit, or there is no memory. */
static Json *template_settings_read_value(Arena *arena, size_t i, const Json *value) {
        int64_t n;
        bool truth;

        switch (settings_table[i].kind) {
        case KIND_BOOL: return template_bool(value, &truth) ? json_new_bool(arena, truth) : NULL;
        case KIND_WORD: return template_settings_read_word(arena, i, value);
        default: return template_int(value, &n) ? json_new_int(arena, n) : NULL;
        }
}

int template_read_settings(Json **ret, Arena *arena, const Json *given, char why[TEMPLATE_WHY_MAX]) {
        Json *settings = json_new(arena, JSON_OBJECT);

        if (!settings)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < ARRAY_SIZE(settings_table); i++) {
                const Json *value = json_get(given, settings_table[i].key);
                Json *taken = value ? template_settings_read_value(arena, i, value) : make_default(arena, i);
                if (value && !taken)
                        return template_complain(why, "settings.%s does not fit", settings_table[i].key);
                if (json_set(arena, settings, str_from(settings_table[i].key), taken))
                        return error_origin(-ENOMEM);
        }
        *ret = settings;
        return 0;
}

static int64_t bound(size_t i, int64_t n) {
        return settings_table[i].kind == KIND_LINES ? MIN(MAX(n, LINES_MIN), LINES_MAX) : MAX(n, 0);
}

int template_bound_settings(Template *template, Arena *arena) {
        for (size_t i = 0; i < ARRAY_SIZE(settings_table); i++) {
                Str key = str_from(settings_table[i].key);
                int64_t n;

                if (json_int64(json_get_str(template->settings, key), &n) &&
                    json_set(arena, template->settings, key, json_new_int(arena, bound(i, n))))
                        return error_origin(-ENOMEM);
        }
        return 0;
}

Json *template_group_settings(Arena *arena, const Json *group) {
        Json *settings = json_new(arena, JSON_OBJECT);

        for (size_t i = 0; settings && i < ARRAY_SIZE(settings_table); i++) {
                const Json *value =
                        json_get(json_get(group, settings_table[i].section), settings_table[i].member);
                Json *taken = value ? template_settings_read_value(arena, i, value) : NULL;
                int64_t n;
                if (settings_table[i].kind == KIND_LINES && json_int64(taken, &n))
                        taken = json_new_int(arena, bound(i, n));
                if (json_set(arena, settings, str_from(settings_table[i].key),
                             taken ? taken : make_default(arena, i)))
                        return NULL;
        }
        return settings;
}
