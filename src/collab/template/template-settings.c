/* SPDX-License-Identifier: MIT */
/* The settings of a template, by the table of collab/group/settings.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"
#include "collab/group/settings.h"
#include "collab/template/template.h"

static Json *make_default(Arena *arena, const Setting *setting) {
        switch (setting->type) {
        case SETTING_TRUTH: return json_new_bool(arena, setting->initial);
        case SETTING_WORD: return json_new_str(arena, str_from(setting->words[setting->initial]));
        default: return json_new_int(arena, setting->initial);
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

/* NULL: it does not fit, or there is no memory. */
static Json *template_settings_read_value(Arena *arena, const Setting *setting, const Json *value) {
        Str word = str_trim(json_str(value));
        bool truth;
        int64_t n;

        switch (setting->type) {
        case SETTING_TRUTH: return template_bool(value, &truth) ? json_new_bool(arena, truth) : NULL;
        case SETTING_WORD:
                return settings_word_number(setting, word, false) < 0 ? NULL : json_new_str(arena, word);
        default: return template_int(value, &n) ? json_new_int(arena, n) : NULL;
        }
}

int template_read_settings(Json **ret, Arena *arena, const Json *given, char why[TEMPLATE_WHY_MAX]) {
        Json *settings = json_new(arena, JSON_OBJECT);
        const Setting *setting;

        if (!settings)
                return error_origin(-ENOMEM);
        for (size_t i = 0; (setting = settings_in_template(i)); i++) {
                const Json *value = json_get(given, setting->key);
                Json *taken = value ? template_settings_read_value(arena, setting, value)
                                    : make_default(arena, setting);

                if (value && !taken)
                        return template_complain(why, "settings.%s does not fit", setting->key);
                if (json_set(arena, settings, str_from(setting->key), taken))
                        return error_origin(-ENOMEM);
        }
        *ret = settings;
        return 0;
}

/* Nothing negative is stored, and lines only within their bounds. */
static int64_t template_settings_bound(const Setting *setting, int64_t n) {
        return setting->is_lenient ? settings_bounded(setting, n) : MAX(n, 0);
}

int template_bound_settings(Template *template, Arena *arena) {
        const Setting *setting;

        for (size_t i = 0; (setting = settings_in_template(i)); i++) {
                Str key = str_from(setting->key);
                int64_t n;

                if (json_int64(json_get_str(template->settings, key), &n) &&
                    json_set(arena, template->settings, key,
                             json_new_int(arena, template_settings_bound(setting, n))))
                        return error_origin(-ENOMEM);
        }
        return 0;
}

Json *template_group_settings(Arena *arena, const Json *group) {
        Json *settings = json_new(arena, JSON_OBJECT);
        const Setting *setting;

        for (size_t i = 0; settings && (setting = settings_in_template(i)); i++) {
                const Json *value = json_get(json_get(group, setting->section), setting->member);
                Json *taken = value ? template_settings_read_value(arena, setting, value) : NULL;
                int64_t n;

                if (setting->is_lenient && json_int64(taken, &n))
                        taken = json_new_int(arena, settings_bounded(setting, n));
                if (json_set(arena, settings, str_from(setting->key),
                             taken ? taken : make_default(arena, setting)))
                        return NULL;
        }
        return settings;
}
