/* SPDX-License-Identifier: MIT */
#include "core/hello.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/environment.h"

Hello *hello_free(Hello *hello) {
        if (!hello)
                return NULL;
        free(hello->cwd);
        strvec_deinit(&hello->env);
        free(hello);
        return NULL;
}

static bool hello_has_nul(Str text) {
        return memchr(text.data, 0, text.n) != NULL;
}

static int hello_unfit(const char **why, const char *text) {
        *why = text;
        return HELLO_E_UNFIT;
}

static int hello_take_cwd(Hello *hello, const Json *value, const char **why) {
        Str path = json_str(value);

        if (!path.n || path.data[0] != '/' || hello_has_nul(path))
                return hello_unfit(why, "cwd is no absolute path");
        hello->cwd = str_dup(path);
        return hello->cwd ? 0 : error_origin(-ENOMEM);
}

/* The names of an object are unique, so each line can be pushed without looking for it. */
static int hello_push(StrVec *env, Str name, Str value) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        int r = buf_append_str(&line, name);

        if (!r)
                r = buf_append(&line, "=", 1);
        if (!r)
                r = buf_append_str(&line, value);
        if (!r && !buf_cstr(&line))
                r = -ENOMEM;
        return r ? error_trace(r) : error_trace(strvec_push(env, line.data));
}

static int hello_take_env(Hello *hello, const Json *value, const char **why) {
        if (!json_is(value, JSON_OBJECT) || json_count(value) > HELLO_NAMES_MAX)
                return hello_unfit(why, "env is no object of at most 4096 strings");
        hello->has_env = true;
        json_each (one, value) {
                Str name = json_key(one), text = json_str(one);
                int r;

                if (!json_is(one, JSON_STRING) || !environment_is_name(name) || hello_has_nul(text))
                        return hello_unfit(why, "env has a name or value that no environment can have");
                r = hello_push(&hello->env, name, text);
                if (r)
                        return error_trace(r);
        }
        return 0;
}

static int hello_take(Hello *hello, const Json *member, const char **why) {
        Str name = json_key(member);

        if (str_is(name, "cwd"))
                return hello_take_cwd(hello, member, why);
        if (str_is(name, "env"))
                return hello_take_env(hello, member, why);
        if (!str_is(name, "observe"))
                return hello_unfit(why, "a member is none of cwd, env, observe");
        return json_bool(member, &hello->observe) ? 0 : hello_unfit(why, "observe is no boolean");
}

static int hello_fill(Hello *hello, const Json *object, const char **why) {
        json_each (member, object) {
                int r = hello_take(hello, member, why);

                if (r)
                        return error_trace(r);
        }
        return 0;
}

int hello_new(Hello **ret, const Json *object, const char **why) {
        Hello *hello;
        int r;

        if (!json_is(object, JSON_OBJECT))
                return hello_unfit(why, "it is no JSON object");
        hello = calloc(1, sizeof(*hello));
        if (!hello)
                return error_origin(-ENOMEM);
        hello->observe = true;
        r = hello_fill(hello, object, why);
        *ret = r ? hello_free(hello) : hello;
        return error_trace(r);
}
