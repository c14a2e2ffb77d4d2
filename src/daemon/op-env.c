/* SPDX-License-Identifier: MIT */
/*
 * env.show, env.set, env.unset: what the daemon gives to every process that it hosts. The file is written
 * before the list in memory changes and the answer leaves. Values of secrets are shown only to who asks.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/secret.h"
#include "gen/native-ops.h"

typedef struct EnvChange {
        Call *call;
        StrVec env; /* as it is to be */
        char *home;
        Buf text;
        int r;
} EnvChange;

static void env_answer(Call *call, const StrVec *env, bool reveals) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "env");
        jw_begin_object(w);
        for (size_t i = 0; i < env->n; i++) {
                Str line = str_from(env->items[i]), name = {line.data, strcspn(line.data, "=")};

                jw_key_str(w, name);
                if (reveals || !secret_is_name(&call->daemon->config, name))
                        jw_str(w, (Str){line.data + name.n + 1, line.n - name.n - 1});
                else
                        jw_null(w);
        }
        jw_end_object(w);
        jw_end_object(w);
}

static void env_change_free(EnvChange *self) {
        strvec_deinit(&self->env);
        free(self->home);
        buf_deinit(&self->text);
        free(self);
}

static void env_change_write(void *user) {
        EnvChange *self = user;

        self->r = environment_store(self->home, buf_str(&self->text));
}

static void env_change_written(void *user) {
        EnvChange *self = user;
        Daemon *daemon = self->call->daemon;

        daemon->is_env_changing = false;
        if (!self->r) {
                strvec_deinit(&daemon->env);
                daemon->env = self->env;
                self->env = (StrVec){0};
                env_answer(self->call, &daemon->env, false);
        }
        call_finish(self->call, self->r);
        env_change_free(self);
}

/* value NULL: it goes. */
static int env_change_begin(EnvChange *self, Str name, Str value) {
        int r = environment_put_all(&self->env, &self->call->daemon->env);

        self->home = strdup(self->call->daemon->home);
        if (!r && value.data)
                r = environment_put(&self->env, name.data, value.data);
        else if (!r)
                (void)environment_remove(&self->env, name.data);
        r = r ? r : environment_text(&self->env, &self->text);
        if (!r && !self->home)
                r = -ENOMEM;
        return error_trace(
                r ? r : loop_work(self->call->daemon->loop, env_change_write, env_change_written, self));
}

static int env_change(Call *call, Str name, Str value) {
        EnvChange *self;
        int r;

        if (!environment_is_name(name))
                return call_fail(call, CALL_E_INVALID_PARAMS, "name: no '=' and no NUL, please");
        if (value.n && memchr(value.data, 0, value.n))
                return call_fail(call, CALL_E_INVALID_PARAMS, "value: holds a NUL");
        if (call->daemon->is_env_changing)
                return call_fail(call, CALL_E_INVALID_REQUEST, "another change is being written; try again");
        if (value.data && call->daemon->env.n >= ENVIRONMENT_NAMES_MAX)
                return call_fail(call, CALL_E_INVALID_PARAMS, "there are %d variables already",
                                 ENVIRONMENT_NAMES_MAX);
        self = calloc(1, sizeof(*self));
        if (!self)
                return error_origin(-ENOMEM);
        self->call = call;
        r = env_change_begin(self, name, value);
        if (r) {
                env_change_free(self);
                return error_trace(r);
        }
        call->daemon->is_env_changing = true;
        return CALL_LATER;
}

int op_native_env_show(Call *call, const NativeEnvShowArgs *args) {
        env_answer(call, &call->daemon->env, args->reveal);
        return 0;
}

int op_native_env_set(Call *call, const NativeEnvSetArgs *args) {
        return env_change(call, args->name, args->value.data ? args->value : STR(""));
}

int op_native_env_unset(Call *call, const NativeEnvUnsetArgs *args) {
        return env_change(call, args->name, STR_NULL);
}
