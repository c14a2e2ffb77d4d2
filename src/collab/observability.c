/* SPDX-License-Identifier: MIT */
#include "collab/observability.h"

#include <ctype.h>
#include <errno.h>
#include <strings.h>

#include "base/error.h"
#include "base/file.h"
#include "base/yaml.h"
#include "collab/patch.h"

#define COMPONENTS "[\"daemon\",\"web\",\"delivery\",\"im\",\"pty\",\"mcp\"]"

enum { SETTINGS_MAX = 1 << 20, SCROLLBACK_MIN = 1000, SCROLLBACK_MAX = 200000 };

/* ---- rules: each gives the value to take, or NULL to leave the old one ----------------------- */

static bool observability_is_word(Str s, const char *const words[]) {
        for (; *words; words++)
                if (s.n == strlen(*words) && !strncasecmp(s.data, *words, s.n))
                        return true;
        return false;
}

static Json *rule_bool(Arena *arena, const Json *value) {
        static const char *const yes[] = {"true", "yes", "y", "on", "1", NULL};
        static const char *const no[] = {"false", "no", "n", "off", "0", NULL};
        Str s = json_is(value, JSON_NUMBER) ? (Str){value->text, value->n} : str_trim(json_str(value));
        bool truth;

        if (json_bool(value, &truth))
                return json_new_bool(arena, truth);
        if (observability_is_word(s, yes))
                return json_new_bool(arena, true);
        if (observability_is_word(s, no))
                return json_new_bool(arena, false);
        return NULL;
}

static Json *rule_level(Arena *arena, const Json *value) {
        Str s = str_trim(json_str(value));
        Str copy = s.n ? arena_str(arena, s) : STR_NULL;

        for (size_t i = 0; i < copy.n; i++)
                ((char *)copy.data)[i] = (char)toupper((unsigned char)copy.data[i]);
        return copy.n ? json_new_str(arena, copy) : NULL;
}

/* An empty list is the way back to the usual ones. */
static Json *rule_components(Arena *arena, const Json *value) {
        Json *list = json_is(value, JSON_ARRAY) ? json_new(arena, JSON_ARRAY) : NULL, *usual = NULL;

        json_each (item, list ? value : NULL) {
                Str s = str_trim(json_str(item));
                if (s.n && json_push(list, json_new_str(arena, s)))
                        return NULL;
        }
        if (list && !json_count(list) &&
            !json_parse(arena, COMPONENTS, strlen(COMPONENTS), NULL, &usual, NULL))
                return usual;
        return list;
}

static Json *rule_bytes(Arena *arena, const Json *value) {
        int64_t n;

        return patch_int(value, &n) ? json_new_int(arena, MAX(n, 0)) : NULL;
}

static Json *rule_lines(Arena *arena, const Json *value) {
        int64_t n;

        if (!patch_int(value, &n))
                return NULL;
        return json_new_int(arena, n < SCROLLBACK_MIN   ? SCROLLBACK_MIN
                                   : n > SCROLLBACK_MAX ? SCROLLBACK_MAX
                                                        : n);
}

/* ---- the table: where each setting stands, its default (JSON text) and its rule -------------- */

static const struct {
        const char *section; /* NULL: top level */
        const char *key;
        const char *initial;
        Json *(*rule)(Arena *arena, const Json *value);
} settings_table[] = {
        {NULL, "developer_mode", "false", rule_bool},
        {NULL, "log_level", "\"INFO\"", rule_level},
        {NULL, "components", COMPONENTS, rule_components},
        {"terminal_transcript", "enabled", "false", rule_bool},
        {"terminal_transcript", "per_actor_bytes", "10485760", rule_bytes},
        {"terminal_transcript", "persist", "false", rule_bool},
        {"terminal_transcript", "strip_ansi", "true", rule_bool},
        {"terminal_ui", "scrollback_lines", "8000", rule_lines},
};

static Json *section_of(Arena *arena, Json *settings, const char *name) {
        Json *section = name ? json_get(settings, name) : settings;

        if (section)
                return section;
        section = json_new(arena, JSON_OBJECT);
        return json_set(arena, settings, str_from(name), section) ? NULL : section;
}

/* Lays patch (may be NULL) over settings made by observability_read(). 0 or -ENOMEM. */
static int observability_patch(Arena *arena, Json *settings, const Json *patch) {
        for (size_t i = 0; i < ARRAY_SIZE(settings_table); i++) {
                const char *section = settings_table[i].section, *key = settings_table[i].key;
                const Json *given = json_get(section ? json_get(patch, section) : patch, key);
                Json *value = given ? settings_table[i].rule(arena, given) : NULL;
                if (value && json_set(arena, section_of(arena, settings, section), str_from(key), value))
                        return error_origin(-ENOMEM);
        }
        return 0;
}

/* The settings in force: defaults with what section (may be NULL or anything) says. NULL without memory. */
static Json *observability_read(Arena *arena, const Json *section) {
        Json *settings = json_new(arena, JSON_OBJECT);

        for (size_t i = 0; settings && i < ARRAY_SIZE(settings_table); i++) {
                const char *initial = settings_table[i].initial;
                Json *parent = section_of(arena, settings, settings_table[i].section), *value = NULL;
                if (!parent || json_parse(arena, initial, strlen(initial), NULL, &value, NULL) ||
                    json_set(arena, parent, str_from(settings_table[i].key), value))
                        return NULL;
        }
        return settings && !observability_patch(arena, settings, section) ? settings : NULL;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* A file that is missing, broken or no mapping reads as an empty one. */
static int read_document(Arena *arena, const char *path, Json **ret) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *document = NULL;
        int r;

        r = file_read(path, SETTINGS_MAX, &text);
        if (r < 0)
                return error_trace(r);
        if (!r) {
                r = yaml_parse(arena, arena_str(arena, buf_str(&text)), &document, NULL);
                if (r < 0)
                        return error_trace(r);
        }
        *ret = json_is(document, JSON_OBJECT) ? document : json_new(arena, JSON_OBJECT);
        return *ret ? 0 : error_origin(-ENOMEM);
}

/* Stores the settings into the file's own section, whose unknown keys stay. */
static int observability_store(Arena *arena, const char *path, Json *document, const Json *settings) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *section = json_get(document, "observability");
        int r;

        if (!json_is(section, JSON_OBJECT)) {
                section = json_new(arena, JSON_OBJECT);
                r = json_set(arena, document, STR("observability"), section);
                if (r)
                        return error_trace(r);
        }
        r = observability_patch(arena, section, settings);
        if (!r)
                r = yaml_write(&text, document);
        if (!r)
                r = file_replace(path, buf_str(&text), 0600, FILE_DURABLE);
        return error_fold(r);
}

int observability_load(Arena *arena, const char *path, const Json *patch, Json **ret) {
        Json *document, *settings;
        int r;

        r = read_document(arena, path, &document);
        if (r)
                return error_trace(r);
        settings = observability_read(arena, json_get(document, "observability"));
        if (!settings)
                return error_origin(-ENOMEM);
        if (json_count(patch)) {
                r = observability_patch(arena, settings, patch);
                if (!r)
                        r = observability_store(arena, path, document, settings);
        }
        *ret = settings;
        return error_trace(r);
}
