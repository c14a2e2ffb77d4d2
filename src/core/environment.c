/* SPDX-License-Identifier: MIT */
#include "core/environment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"

enum { FILE_MAX = 4 << 20 };

static bool environment_line_is(const char *line, const char *name, size_t n) {
        return !strncmp(line, name, n) && line[n] == '=';
}

/* NAME=VALUE */
static int environment_put_line(StrVec *env, const char *line) {
        size_t n = strcspn(line, "=");

        for (size_t i = 0; i < env->n; i++)
                if (environment_line_is(env->items[i], line, n)) {
                        char *copy = strdup(line);

                        if (!copy)
                                return error_origin(-ENOMEM);
                        free(env->items[i]);
                        env->items[i] = copy;
                        return 0;
                }
        return error_trace(strvec_push(env, line));
}

static int environment_put_str(StrVec *env, Str name, Str value) {
        _cleanup_(freep) char *line = NULL;

        if (asprintf(&line, STR_FMT "=" STR_FMT, STR_ARG(name), STR_ARG(value)) < 0) {
                line = NULL;
                return error_origin(-ENOMEM);
        }
        return error_trace(environment_put_line(env, line));
}

int environment_put(StrVec *env, const char *name, const char *value) {
        return value ? error_trace(environment_put_str(env, str_from(name), str_from(value))) : 0;
}

int environment_put_all(StrVec *env, const StrVec *more) {
        int r = 0;

        for (size_t i = 0; !r && i < more->n; i++)
                r = environment_put_line(env, more->items[i]);
        return error_trace(r);
}

static bool path_has(const char *path, const char *folder, size_t n) {
        for (const char *at = path; *at; at += strcspn(at, ":"), at += *at == ':')
                if (strcspn(at, ":") == n && !memcmp(at, folder, n))
                        return true;
        return false;
}

/* The folders of `first`, then those of `rest` that it does not have. */
static int path_append(const char *first, const char *rest, Buf *out) {
        int r = buf_append_str(out, str_from(first));

        for (const char *at = rest; !r && *at; at += *at == ':') {
                size_t n = strcspn(at, ":");

                if (n && !path_has(first, at, n))
                        r = buf_printf(out, "%s%.*s", out->n ? ":" : "", (int)n, at);
                at += n;
        }
        return error_trace(r);
}

int environment_put_caller(StrVec *env, const StrVec *caller) {
        const char *theirs = environment_get(caller, "PATH"), *ours = environment_get(env, "PATH");
        _cleanup_(buf_deinit) Buf path = BUF_NULL;
        int r = theirs && ours ? path_append(theirs, ours, &path) : 0;

        r = r ? r : environment_put_all(env, caller);
        return error_trace(r || !path.n ? r : environment_put_str(env, STR("PATH"), buf_str(&path)));
}

const char *environment_get(const StrVec *env, const char *name) {
        size_t n = strlen(name);

        for (size_t i = 0; i < env->n; i++)
                if (environment_line_is(env->items[i], name, n))
                        return env->items[i] + n + 1;
        return NULL;
}

bool environment_remove(StrVec *env, const char *name) {
        size_t n = strlen(name);

        for (size_t i = 0; i < env->n; i++)
                if (environment_line_is(env->items[i], name, n)) {
                        free(env->items[i]);
                        memmove(env->items + i, env->items + i + 1, (env->n - i - 1) * sizeof(*env->items));
                        env->n--;
                        return true;
                }
        return false;
}

bool environment_is_name(Str name) {
        return name.n && !memchr(name.data, '=', name.n) && !memchr(name.data, 0, name.n);
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static bool environment_fits(const Json *object) {
        size_t n_bytes = 0;

        if (!json_is(object, JSON_OBJECT) || json_count(object) > ENVIRONMENT_NAMES_MAX)
                return false;
        json_each (member, object) {
                Str value = json_str(member);

                if (!json_is(member, JSON_STRING) || !environment_is_name(json_key(member)) ||
                    (value.n && memchr(value.data, 0, value.n)))
                        return false;
                n_bytes += json_key(member).n + value.n + 2;
        }
        return n_bytes <= ENVIRONMENT_BYTES_MAX;
}

int environment_put_json(StrVec *env, const Json *object) {
        int r = 0;

        if (!object)
                return 0;
        if (!environment_fits(object))
                return ENVIRONMENT_E_UNFIT;
        json_each (member, object)
                if (!r)
                        r = environment_put_str(env, json_key(member), json_str(member));
        return error_trace(r);
}

void environment_write(JsonWriter *w, const char *key, const StrVec *env) {
        if (key)
                jw_key(w, key);
        jw_begin_object(w);
        for (size_t i = 0; i < env->n; i++) {
                const char *line = env->items[i];
                size_t n = strcspn(line, "=");

                jw_key_str(w, (Str){line, n});
                jw_str(w, str_from(line + n + 1));
        }
        jw_end_object(w);
}

/* ---- the daemon's own ------------------------------------------------------------------------ */

static char *environment_path(const char *home) {
        return path_join(home, "environment.json");
}

int environment_load(StrVec *env, const char *home) {
        _cleanup_(freep) char *path = environment_path(home);
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;
        int r = path ? file_read(path, FILE_MAX, &text) : -ENOMEM;

        if (r == FILE_E_MISSING)
                return 0;
        if (r > 0)
                return ENVIRONMENT_E_UNFIT;
        if (!r && json_parse(&arena, text.data, text.n, NULL, &json, NULL))
                return ENVIRONMENT_E_UNFIT;
        return r ? error_trace(r) : environment_put_json(env, json);
}

int environment_store(const char *home, Str text) {
        _cleanup_(freep) char *path = environment_path(home);

        return path ? error_trace(file_replace(path, text, 0600, FILE_DURABLE)) : error_origin(-ENOMEM);
}

int environment_text(const StrVec *env, Buf *out) {
        JsonWriter w = JSON_WRITER(out);

        environment_write(&w, NULL, env);
        return w.failed ? error_origin(-ENOMEM) : 0;
}
