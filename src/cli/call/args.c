/* SPDX-License-Identifier: MIT */
#include "cli/call/args.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/call/value.h"
#include "cli/print/nearest.h"

int args_init(Args *args, Arena *arena, const OpDoc *doc, const Json *method) {
        *args = (Args){.arena = arena, .doc = doc, .method = method, .object = json_new(arena, JSON_OBJECT)};
        return args->object ? 0 : error_origin(-ENOMEM);
}

/* ---- words that do not fit ------------------------------------------------------------------- */

static int refuse_key(Args *args, const char *key) {
        _cleanup_(buf_deinit) Buf known = BUF_NULL;
        Nearest nearest = NEAREST(key);

        for (size_t i = 0; i < args->doc->n_params; i++) {
                nearest_offer(&nearest, args->doc->params[i].name);
                (void)buf_printf(&known, "%s%s", i ? ", " : "", args->doc->params[i].name);
        }
        if (!known.n)
                return args_wrong(args, "takes no parameters, so no %s", key);
        return args_wrong(args, "there is no parameter %s%s%s%s; known: " STR_FMT, key,
                          nearest.best ? " (did you mean " : "", nearest.best ? nearest.best : "",
                          nearest.best ? "?)" : "", STR_ARG(buf_str(&known)));
}

/* ---- where a value comes from ---------------------------------------------------------------- */

enum { READ_STEP = 64 * 1024 };

static int args_read_all(int fd, Buf *out) {
        for (;;) {
                int r = buf_reserve(out, READ_STEP);
                ssize_t n;

                if (r)
                        return error_trace(r);
                n = read(fd, out->data + out->n, out->cap - out->n);
                if (n == 0)
                        return 0;
                if (n < 0 && errno != EINTR)
                        return error_origin(-errno);
                out->n += (size_t)MAX(n, (ssize_t)0);
        }
}

/* Blocks: the file may be a pipe, as in key=@<(command). */
static int read_file(const char *path, Buf *out) {
        _cleanup_(closep) int fd = -1;

        if (!strcmp(path, "-"))
                return error_trace(args_read_all(STDIN_FILENO, out));
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        return fd < 0 ? error_origin(-errno) : error_trace(args_read_all(fd, out));
}

static int args_read_value(Args *args, const char *path, Str *ret) {
        _cleanup_(buf_deinit) Buf content = BUF_NULL;
        int r = read_file(path, &content);

        if (r == -ENOMEM)
                return error_trace(r);
        if (r)
                return args_wrong(args, "cannot read %s: %s (a text that begins with @ is written with @@)",
                                  path, strerror(-r));
        *ret = arena_str(args->arena, buf_str(&content));
        return ret->data ? 0 : error_origin(-ENOMEM);
}

static int value_text(Args *args, const char *text, Str *ret) {
        if (text[0] == '@' && text[1] == '@')
                text++;
        else if (text[0] == '@')
                return args_read_value(args, text + 1, ret);
        *ret = str_from(text);
        return 0;
}

/* ---- adding ---------------------------------------------------------------------------------- */

/* A list grows by one item, everything else may be given once. */
static int add_value(Args *args, const OpDocParam *param, Json *value, bool is_item) {
        Str key = str_from(param->name);
        Json *there = json_get_str(args->object, key);

        if (!is_item) {
                if (there)
                        return args_wrong(args, "%s is given twice", param->name);
                return error_trace(json_set(args->arena, args->object, key, value));
        }
        if (there && !json_is(there, JSON_ARRAY))
                return args_wrong(args, "%s is given twice", param->name);
        if (!there) {
                int r = json_set(args->arena, args->object, key, there = json_new(args->arena, JSON_ARRAY));

                if (r)
                        return error_trace(r);
        }
        return error_trace(json_push(there, value));
}

static int args_add_word(Args *args, const OpDocParam *param, const char *text, bool is_json) {
        bool is_item = !is_json && !strcmp(param->type, "strings");
        Json *value = NULL;
        Str content = STR_NULL;
        int r = value_text(args, text, &content);

        if (r)
                return r;
        r = is_json ? value_from_json(args, str_from(param->name), content, &value)
                    : value_from_text(args, param, content, &value);
        return r ? r : add_value(args, param, value, is_item);
}

int args_add(Args *args, const char *word) {
        const char *equals = strchr(word, '=');
        bool is_json = equals && equals > word && equals[-1] == ':';
        const OpDocParam *param;
        Str key;

        if (!equals || equals == word + is_json)
                return args_wrong(args, "\"%s\" is not of the form key=value", word);
        key = arena_str(args->arena, (Str){word, (size_t)(equals - word) - is_json});
        if (!key.data)
                return error_origin(-ENOMEM);
        param = opdoc_param(args->doc, key);
        return param ? args_add_word(args, param, equals + 1, is_json) : refuse_key(args, key.data);
}

int args_check(Args *args) {
        _cleanup_(buf_deinit) Buf missing = BUF_NULL;

        for (size_t i = 0; i < args->doc->n_params; i++) {
                const OpDocParam *param = &args->doc->params[i];

                if (param->required && !json_get(args->object, param->name))
                        (void)buf_printf(&missing, "%s%s (%s)", missing.n ? ", " : "", param->name,
                                         param->type);
        }
        return missing.n ? args_wrong(args, "missing: " STR_FMT, STR_ARG(buf_str(&missing))) : 0;
}
