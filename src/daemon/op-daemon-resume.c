/* SPDX-License-Identifier: MIT */
/*
 * daemon.resume: what `muster up` says to a daemon whose agents were stopped. The mark is removed before
 * anything is started and before the answer leaves.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/autostart.h"
#include "core/daemon.h"
#include "gen/native-ops.h"

typedef struct Resume {
        Call *call;
        char *home;
        int r;
} Resume;

static void resume_answer(Call *call, bool was_on) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "resumed", was_on);
        jw_end_object(w);
}

static void resume_write(void *user) {
        Resume *self = user;

        self->r = standstill_remove(self->home);
}

static void resume_written(void *user) {
        Resume *self = user;
        Daemon *daemon = self->call->daemon;
        bool was_on = daemon->standstill.is_on;
        int r = self->r;

        if (!r) {
                standstill_deinit(&daemon->standstill);
                if (was_on && daemon->collab && !daemon->is_stopping)
                        r = autostart_begin(daemon->collab);
        }
        if (!r)
                resume_answer(self->call, was_on);
        call_finish(self->call, r);
        free(self->home);
        free(self);
}

int op_native_daemon_resume(Call *call, _unused_ const NativeDaemonResumeArgs *args) {
        Resume *self;
        int r;

        if (!call->daemon->standstill.is_on) {
                resume_answer(call, false);
                return 0;
        }
        self = calloc(1, sizeof(*self));
        if (!self)
                return error_origin(-ENOMEM);
        *self = (Resume){.call = call, .home = strdup(call->daemon->home)};
        r = self->home ? loop_work(call->daemon->loop, resume_write, resume_written, self) : -ENOMEM;
        if (r) {
                free(self->home);
                free(self);
                return error_trace(r);
        }
        return CALL_LATER;
}
