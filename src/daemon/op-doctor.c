/* SPDX-License-Identifier: MIT */
/*
 * doctor: the checks of `muster doctor`, for who has no shell on this machine. They are the command's: it is run as a child
 * beside the daemon, in the daemon's surroundings, and what it says is the answer. Two at a time (loop_work_slow()).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/strvec.h"
#include "collab/collab.h"
#include "core/daemon.h"
#include "core/exec.h"
#include "daemon/beside.h"
#include "gen/native-ops.h"

enum { DOCTOR_MS = 60000, DOCTOR_BYTES = 1 << 20, DOCTOR_STATUS_MAX = 1 /* errors were found */ };

typedef struct DoctorRun { /* in the call's arena */
        Call *call;
        char *program;
        StrVec env;
        ExecResult result;
        int r;
} DoctorRun;

static void doctor_run_release(void *object) {
        DoctorRun *self = object;

        free(self->program);
        strvec_deinit(&self->env);
        exec_result_deinit(&self->result);
}

static bool doctor_run_is_said(const char *entry) {
        return !strncmp(entry, "MUSTER_HOME=", 12) || !strncmp(entry, "CCCC_HOME=", 10);
}

static int doctor_run_say(StrVec *env, const char *name, const char *value) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        if (!value)
                return 0;
        if (buf_printf(&text, "%s=%s", name, value) || !buf_cstr(&text))
                return error_origin(-ENOMEM);
        return error_trace(strvec_push(env, text.data));
}

/* As the daemon was told by flags, too, which a child does not have. */
static int doctor_run_env(const Daemon *daemon, StrVec *env) {
        int r = 0;

        for (char *const *at = environ; *at && !r; at++)
                if (!doctor_run_is_said(*at))
                        r = strvec_push(env, *at);
        r = r ? r : doctor_run_say(env, "MUSTER_HOME", daemon->state_home);
        return error_trace(
                r ? r : doctor_run_say(env, "CCCC_HOME", daemon->collab ? daemon->collab->home : NULL));
}

static void doctor_run_child(void *user) {
        DoctorRun *self = user;
        char *argv[] = {self->program, "doctor", "--json", NULL};
        char **env = strvec_list(&self->env);
        ExecSpec spec = {.argv = argv, .env = env, .limit_ms = DOCTOR_MS, .n_max = DOCTOR_BYTES};

        self->r = env ? exec_run(&spec, &self->result) : error_origin(-ENOMEM);
        free(env);
}

static void doctor_run_write(const Json *said, JsonWriter *w, size_t *n_errors, size_t *n_warnings) {
        Str level = json_text_of(said, "level"), path = json_text_of(said, "path");

        *n_errors += str_is(level, "error");
        *n_warnings += str_is(level, "warning");
        jw_begin_object(w);
        jw_field_str(w, "name", json_text_of(said, "check"));
        jw_field_str(w, "state", level);
        jw_field_str(w, "text", json_text_of(said, "message"));
        if (path.n)
                jw_field_str(w, "path", path);
        jw_end_object(w);
}

static int doctor_run_tell(DoctorRun *self) {
        Call *call = self->call;
        JsonWriter *w = call_result(call);
        Str rest = buf_str(&self->result.out);
        size_t n_errors = 0, n_warnings = 0;

        jw_begin_object(w);
        jw_key(w, "checks");
        jw_begin_array(w);
        while (rest.n) {
                const char *end = memchr(rest.data, '\n', rest.n);
                size_t n = end ? (size_t)(end - rest.data) : rest.n;
                Json *said = NULL;

                if (n && !json_parse(&call->arena, rest.data, n, NULL, &said, NULL) &&
                    json_text_of(said, "check").n)
                        doctor_run_write(said, w, &n_errors, &n_warnings);
                rest = end ? (Str){end + 1, rest.n - n - 1} : STR_NULL;
        }
        jw_end_array(w);
        jw_field_uint(w, "errors", n_errors);
        jw_field_uint(w, "warnings", n_warnings);
        jw_end_object(w);
        return 0;
}

static void doctor_run_done(void *user) {
        DoctorRun *self = user;
        const ExecResult *result = &self->result;
        int r;

        if (self->r || !WIFEXITED(result->status) || WEXITSTATUS(result->status) > DOCTOR_STATUS_MAX)
                r = call_fail(self->call, CALL_E_UNAVAILABLE, "%s doctor: %s", self->program,
                              self->r ? strerror(-self->r) : "it failed");
        else
                r = doctor_run_tell(self);
        call_finish(self->call, r);
}

int op_native_doctor(Call *call, _unused_ const NativeDoctorArgs *args) {
        DoctorRun *self = arena_alloc(&call->arena, sizeof(*self));
        int r;

        if (!self)
                return error_origin(-ENOMEM);
        *self = (DoctorRun){.call = call, .result = EXEC_RESULT_NULL};
        if (call_hold(call, self, doctor_run_release))
                return error_origin(-ENOMEM);
        self->program = beside_find("muster");
        r = self->program ? doctor_run_env(call->daemon, &self->env) : error_origin(-ENOMEM);
        r = r ? r : loop_work_slow(call->daemon->loop, doctor_run_child, doctor_run_done, self);
        return r ? error_trace(r) : CALL_LATER;
}
