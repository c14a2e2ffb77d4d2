/* SPDX-License-Identifier: MIT */
#include "cli/link/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/place.h"
#include "base/json/toml.h"
#include "cli/print/report.h"

enum { SETTINGS_MAX = 1 << 20 };

static char *settings_path(void) {
        const char *named = getenv("MUSTER_CONFIG");

        return named && *named ? path_expand(named) : place_config();
}

static char *settings_find(Arena *arena, const char *path, Str text, const char *table, const char *key) {
        TomlFault fault;
        Json *json;
        Str value;

        if (toml_parse_text(arena, text, &json, &fault)) {
                advise("%s:%zu:%zu: %s; what it sets does not count", path, fault.line, fault.column,
                       fault.what);
                return NULL;
        }
        value = json_str(json_get(json_get(json, table), key));
        return value.data ? str_dup(value) : NULL;
}

char *settings_text(const char *table, const char *key) {
        _cleanup_(freep) char *path = settings_path();
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Arena arena = ARENA_NULL;
        char *value;
        int r = path ? file_read(path, SETTINGS_MAX, &text) : FILE_E_MISSING;

        if (r == FILE_E_MISSING)
                return NULL;
        if (r) {
                advise("%s: %s; what it sets does not count", path,
                       r == FILE_E_TOO_LARGE ? "too large" : strerror(-r));
                return NULL;
        }
        value = settings_find(&arena, path, buf_str(&text), table, key);
        arena_deinit(&arena);
        return value;
}
