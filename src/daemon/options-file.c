/* SPDX-License-Identifier: MIT */
/*
 * muster.toml: tables of settings. A key that is not in the option table, or has the wrong type, is an error that names the
 * file and the key: a setting that is silently ignored would be worse than a daemon that does not start.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/place.h"
#include "base/toml.h"
#include "daemon/options-table.h"

enum { CONFIG_MAX = 1 << 20 };

static const Option *find_key(Str section, Str name) {
        char key[128];
        int n = snprintf(key, sizeof(key), STR_FMT "." STR_FMT, STR_ARG(section), STR_ARG(name));

        for (size_t i = 0; n > 0 && (size_t)n < sizeof(key) && i < n_option_table; i++)
                if (option_table[i].key && !strcmp(option_table[i].key, key))
                        return &option_table[i];
        return NULL;
}

/* The text of a scalar as the other layers would give it; NULL when it has none. */
static const char *scalar_text(Arena *arena, const Json *value) {
        bool truth;

        if (json_bool(value, &truth))
                return truth ? "yes" : "no";
        if (json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER))
                return arena_str(arena, (Str){value->text, value->n}).data;
        return NULL;
}

static int set_value(Config *config, Arena *arena, const Option *option, const Json *value, bool *is_first,
                     const char *source, char reterr[OPTIONS_FAULT_MAX]) {
        const char *text = scalar_text(arena, value);

        if (text)
                return option_set(config, option, text, is_first, source, reterr);
        if (option->type != OPTION_LIST || !json_is(value, JSON_ARRAY)) {
                snprintf(reterr, OPTIONS_FAULT_MAX, "%s: wrong type of value", source);
                return OPTIONS_E_USAGE;
        }
        json_each(item, value) {
                int r;
                text = scalar_text(arena, item);
                if (!text) {
                        snprintf(reterr, OPTIONS_FAULT_MAX, "%s: a list of strings expected", source);
                        return OPTIONS_E_USAGE;
                }
                r = option_set(config, option, text, is_first, source, reterr);
                if (r)
                        return r;
        }
        return 0;
}

static int apply_table(Config *config, Arena *arena, const char *path, const Json *table,
                       char reterr[OPTIONS_FAULT_MAX]) {
        json_each(value, table) {
                const Option *option = find_key(json_key(table), json_key(value));
                char source[256];
                bool is_first = true;
                int r;

                snprintf(source, sizeof(source), "%s: " STR_FMT "." STR_FMT, path, STR_ARG(json_key(table)),
                         STR_ARG(json_key(value)));
                if (!option) {
                        snprintf(reterr, OPTIONS_FAULT_MAX, "%s: no such setting", source);
                        return OPTIONS_E_USAGE;
                }
                r = set_value(config, arena, option, value, &is_first, source, reterr);
                if (r)
                        return r;
        }
        return 0;
}

static int apply(Config *config, Arena *arena, const char *path, Str text, char reterr[OPTIONS_FAULT_MAX]) {
        TomlFault fault;
        Json *json;
        int r = toml_parse_text(arena, text, &json, &fault);

        if (r == TOML_E_SYNTAX) {
                snprintf(reterr, OPTIONS_FAULT_MAX, "%s:%zu:%zu: %s", path, fault.line, fault.column, fault.what);
                return OPTIONS_E_USAGE;
        }
        if (r)
                return error_fold(r);
        json_each(table, json) {
                if (!json_is(table, JSON_OBJECT)) {
                        snprintf(reterr, OPTIONS_FAULT_MAX, "%s: " STR_FMT ": no such setting", path,
                                 STR_ARG(json_key(table)));
                        return OPTIONS_E_USAGE;
                }
                r = apply_table(config, arena, path, table, reterr);
                if (r)
                        return r;
        }
        return 0;
}

int options_load_file(Config *config, char reterr[OPTIONS_FAULT_MAX]) {
        _cleanup_(freep) char *path = config->config_file ? path_expand(config->config_file) : place_config();
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r;

        if (!path)
                return error_origin(-ENOMEM);
        r = file_read(path, CONFIG_MAX, &text);
        if (r == FILE_E_MISSING && !config->config_file)
                return 0;
        if (r) {
                snprintf(reterr, OPTIONS_FAULT_MAX, "%s: %s", path,
                         r == FILE_E_MISSING     ? "no such file"
                         : r == FILE_E_TOO_LARGE ? "too large"
                                                 : strerror(-r));
                return OPTIONS_E_USAGE;
        }
        return apply(config, &arena, path, buf_str(&text), reterr);
}
