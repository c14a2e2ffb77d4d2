/* SPDX-License-Identifier: MIT */
#include "cli/call/value.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <strings.h>

#include "base/error.h"
#include "base/utf8.h"
#include "cli/print/nearest.h"

int args_wrong(Args *args, const char *format, ...) {
        va_list list;

        va_start(list, format);
        vsnprintf(args->why, sizeof(args->why), format, list);
        va_end(list);
        return VALUE_E_WRONG;
}

static int value_keep(Json *value, Json **ret) {
        *ret = value;
        return value ? 0 : error_origin(-ENOMEM);
}

/* ---- one value per type ---------------------------------------------------------------------- */

int value_from_json(Args *args, Str key, Str text, Json **ret) {
        JsonFault fault = {0};
        int r = json_parse(args->arena, text.data, text.n, NULL, ret, &fault);

        if (r < 0)
                return error_trace(r);
        return r ? args_wrong(args, STR_FMT " must be JSON: %s, at byte %zu", STR_ARG(key), fault.what,
                              fault.offset)
                 : 0;
}

static int from_word(Args *args, const OpDocParam *param, Str text, Json **ret) {
        _cleanup_(buf_deinit) Buf copy = BUF_NULL, known = BUF_NULL;
        Nearest nearest;

        if (buf_append_str(&copy, text) || !buf_cstr(&copy))
                return error_origin(-ENOMEM);
        nearest = NEAREST(copy.data);
        for (const char *const *word = param->words; *word; word++) {
                if (str_is(text, *word))
                        return value_keep(json_new_str(args->arena, text), ret);
                nearest_offer(&nearest, *word);
                (void)buf_printf(&known, "%s%s", known.n ? ", " : "", *word);
        }
        return args_wrong(args, "%s cannot be \"%s\"%s%s%s; it is one of: " STR_FMT, param->name, copy.data,
                          nearest.best ? " (did you mean " : "", nearest.best ? nearest.best : "",
                          nearest.best ? "?)" : "", STR_ARG(buf_str(&known)));
}

static int from_string(Args *args, const OpDocParam *param, Str text, Json **ret) {
        if (utf8_valid_prefix(text.data, text.n) != text.n)
                return args_wrong(args, "%s is not UTF-8", param->name);
        if (param->words)
                return from_word(args, param, text, ret);
        return value_keep(json_new_str(args->arena, text), ret);
}

static int from_bool(Args *args, const OpDocParam *param, Str text, Json **ret) {
        static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (text.n == strlen(words[i]) && !strncasecmp(text.data, words[i], text.n))
                        return value_keep(json_new_bool(args->arena, i & 1), ret);
        return args_wrong(args, "%s must be true or false, not \"" STR_FMT "\"", param->name, STR_ARG(text));
}

static int check_bounds(Args *args, const OpDocParam *param, const Json *value) {
        const Json *schema = openrpc_param_schema(args->method, str_from(param->name));
        double number, min, max;

        if (!json_double(value, &number))
                return args_wrong(args, "%s is too large", param->name);
        if (json_double(json_get(schema, "minimum"), &min) && number < min)
                return args_wrong(args, "%s must be at least %.17g", param->name, min);
        if (json_double(json_get(schema, "maximum"), &max) && number > max)
                return args_wrong(args, "%s must be at most %.17g", param->name, max);
        return 0;
}

static int from_number(Args *args, const OpDocParam *param, Str text, Json **ret) {
        bool is_int = !strcmp(param->type, "int");
        int64_t whole;

        if (json_parse(args->arena, text.data, text.n, NULL, ret, NULL) || !json_is(*ret, JSON_NUMBER) ||
            (is_int && memchr((*ret)->text, '.', (*ret)->n)) || (is_int && !json_int64(*ret, &whole)))
                return args_wrong(args, "%s must be %s, not \"" STR_FMT "\"", param->name,
                                  is_int ? "a whole number of at most 64 bits" : "a number", STR_ARG(text));
        if (is_int && value_keep(json_new_int(args->arena, whole), ret)) /* 1e3 becomes 1000 */
                return error_origin(-ENOMEM);
        return check_bounds(args, param, *ret);
}

static int from_container(Args *args, const OpDocParam *param, JsonType type, Str text, Json **ret) {
        int r = value_from_json(args, str_from(param->name), text, ret);

        if (!r && !json_is(*ret, type))
                return args_wrong(args, "%s must be a JSON %s, as in %s='%s'", param->name, param->type,
                                  param->name, type == JSON_ARRAY ? "[1, 2]" : "{\"a\": 1}");
        return r;
}

/* What is no JSON is a text. */
static int from_any(Args *args, const OpDocParam *param, Str text, Json **ret) {
        int r = json_parse(args->arena, text.data, text.n, NULL, ret, NULL);

        return r > 0 ? from_string(args, param, text, ret) : error_trace(r);
}

int value_from_text(Args *args, const OpDocParam *param, Str text, Json **ret) {
        const char *type = param->type;

        if (!strcmp(type, "string") || !strcmp(type, "strings"))
                return from_string(args, param, text, ret);
        text = str_trim(text);
        if (!strcmp(type, "bool"))
                return from_bool(args, param, text, ret);
        if (!strcmp(type, "int") || !strcmp(type, "number"))
                return from_number(args, param, text, ret);
        if (!strcmp(type, "object"))
                return from_container(args, param, JSON_OBJECT, text, ret);
        if (!strcmp(type, "array"))
                return from_container(args, param, JSON_ARRAY, text, ret);
        return from_any(args, param, text, ret);
}
