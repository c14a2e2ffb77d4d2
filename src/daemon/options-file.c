/* SPDX-License-Identifier: MIT */
/*
 * muster.toml: tables of settings. A key that is not in the option table, or has the wrong type, is an error
 * that names the file, the line and the key: a setting that is silently ignored would be worse than a daemon
 * that does not start.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/place.h"
#include "base/json/toml.h"
#include "daemon/options-table.h"

enum { CONFIG_MAX = 1 << 20 };

typedef struct File {
        const char *path;
        Str text;
        Arena arena;
} File;

static const Option *options_file_find_key(Str table, Str name) {
        char key[128];
        int n = snprintf(key, sizeof(key), STR_FMT "." STR_FMT, STR_ARG(table), STR_ARG(name));

        for (size_t i = 0; n > 0 && (size_t)n < sizeof(key) && i < n_option_table; i++)
                if (option_table[i].key && !strcmp(option_table[i].key, key))
                        return &option_table[i];
        return NULL;
}

/* Whether a line begins with word, behind brackets and quotes. */
static bool line_names(Str line, Str word) {
        line = str_trim(line);
        while (line.n && strchr("[\"'", line.data[0]))
                line.data++, line.n--;
        return word.n && str_starts(line, word);
}

/* The line that a key of a table stands on, from 1: the first that begins with it behind the table's own
 * line. The tree does not keep lines. */
static size_t options_file_line_of(Str text, Str table, Str key) {
        bool in_table = !table.n;
        size_t line = 1;

        for (; text.n; line++) {
                const char *end = memchr(text.data, '\n', text.n);
                size_t n = end ? (size_t)(end - text.data) : text.n;
                Str here = {text.data, n};

                if (in_table && line_names(here, key))
                        return line;
                if (table.n && line_names(here, table)) {
                        in_table = true;
                        if (key.data && memmem(here.data, here.n, key.data, key.n) &&
                            memchr(here.data, '=', here.n))
                                return line; /* table.key = … or table = {key = …} */
                }
                text = end ? (Str){end + 1, text.n - n - 1} : STR_NULL;
        }
        return line;
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

/* A string where the setting is text, a number where it is one: what a reader of the file would expect. */
static bool options_file_fits(const Option *option, const Json *value) {
        switch (option->type) {
        case OPTION_INT: return json_is(value, JSON_NUMBER);
        case OPTION_BOOL: return json_is(value, JSON_BOOL);
        case OPTION_LIST: return json_is(value, JSON_STRING);
        case OPTION_STRING:
        default: return !json_is(value, JSON_ARRAY) && !json_is(value, JSON_OBJECT);
        }
}

static int set_value(Config *config, File *file, const Option *option, const Json *value, bool *is_first,
                     const char *source, char reterr[OPTIONS_FAULT_MAX]) {
        const char *text = options_file_fits(option, value) ? scalar_text(&file->arena, value) : NULL;

        if (text)
                return option_set(config, option, text, is_first, source, reterr);
        snprintf(reterr, OPTIONS_FAULT_MAX, "%s: wrong type of value", source);
        return OPTIONS_E_USAGE;
}

static int apply_key(Config *config, File *file, Str table, const Json *value,
                     char reterr[OPTIONS_FAULT_MAX]) {
        const Option *option = options_file_find_key(table, json_key(value));
        bool is_first = true;
        char source[256];
        int r = 0;

        snprintf(source, sizeof(source), "%s:%zu: " STR_FMT "%s" STR_FMT, file->path,
                 options_file_line_of(file->text, table, json_key(value)), STR_ARG(table),
                 table.n ? "." : "", STR_ARG(json_key(value)));
        if (!option) {
                snprintf(reterr, OPTIONS_FAULT_MAX, "%s: no such setting", source);
                return OPTIONS_E_USAGE;
        }
        if (option->type != OPTION_LIST || !json_is(value, JSON_ARRAY))
                return set_value(config, file, option, value, &is_first, source, reterr);
        json_each (item, value) {
                r = set_value(config, file, option, item, &is_first, source, reterr);
                if (r)
                        break;
        }
        return r;
}

/* [cli] is for muster(1), which reads it itself; what is not known there is a mistake here, too. */
static int check_cli_key(File *file, const Json *value, char reterr[OPTIONS_FAULT_MAX]) {
        bool is_known = str_is(json_key(value), "detach_keys");

        if (is_known && json_is(value, JSON_STRING))
                return 0;
        snprintf(reterr, OPTIONS_FAULT_MAX, "%s:%zu: cli." STR_FMT ": %s", file->path,
                 options_file_line_of(file->text, STR("cli"), json_key(value)), STR_ARG(json_key(value)),
                 is_known ? "wrong type of value" : "no such setting");
        return OPTIONS_E_USAGE;
}

static int apply_table(Config *config, File *file, const Json *table, char reterr[OPTIONS_FAULT_MAX]) {
        if (!json_is(table, JSON_OBJECT))
                return apply_key(config, file, STR_NULL, table, reterr);
        json_each (value, table) {
                int r = str_is(json_key(table), "cli")
                                ? check_cli_key(file, value, reterr)
                                : apply_key(config, file, json_key(table), value, reterr);

                if (r)
                        return r;
        }
        return 0;
}

static int options_file_apply(Config *config, File *file, char reterr[OPTIONS_FAULT_MAX]) {
        TomlFault fault;
        Json *json;
        int r = toml_parse_text(&file->arena, file->text, &json, &fault);

        if (r == TOML_E_SYNTAX) {
                snprintf(reterr, OPTIONS_FAULT_MAX, "%s:%zu:%zu: %s", file->path, fault.line, fault.column,
                         fault.what);
                return OPTIONS_E_USAGE;
        }
        if (r)
                return error_fold(r);
        json_each (table, json) {
                r = apply_table(config, file, table, reterr);
                if (r)
                        return r;
        }
        return 0;
}

int options_load_file(Config *config, char reterr[OPTIONS_FAULT_MAX]) {
        _cleanup_(freep) char *path =
                config->config_file ? path_expand(config->config_file) : place_config();
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        File file = {.path = path};
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
        file.text = buf_str(&text);
        r = options_file_apply(config, &file, reterr);
        arena_deinit(&file.arena);
        return r;
}
