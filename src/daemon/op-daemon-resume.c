/* SPDX-License-Identifier: MIT */
/*
 * daemon.resume: what `muster up` says to a daemon whose agents were stopped. The mark is removed before
 * anything is started and before the answer leaves.
 */
#include <errno.h>

#include "base/error.h"
#include "collab/actor/autostart.h"
#include "core/daemon.h"
#include "gen/native-ops.h"

typedef struct Resume {
        Carry carry;
        const char *home; /* in the call's arena, as all of it */
        int r;
} Resume;

static void resume_answer(Call *call, bool was_on) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "resumed", was_on);
        jw_end_object(w);
}

static void resume_write(const Carry *carry) {
        Resume *self = container_of(carry, Resume, carry);

        self->r = standstill_remove(self->home);
}

static int resume_written(Call *call, const Carry *carry) {
        Resume *self = container_of(carry, Resume, carry);
        Daemon *daemon = call->daemon;
        bool was_on = daemon->standstill.is_on;
        int r = self->r;

        if (!r) {
                standstill_deinit(&daemon->standstill);
                if (was_on && daemon->collab && !daemon->is_stopping)
                        r = autostart_begin(daemon->collab);
        }
        if (!r)
                resume_answer(call, was_on);
        return r;
}

int op_native_daemon_resume(Call *call, _unused_ const NativeDaemonResumeArgs *args) {
        Resume *self;

        if (!call->daemon->standstill.is_on) {
                resume_answer(call, false);
                return 0;
        }
        self = arena_alloc(&call->arena, sizeof(*self));
        if (!self)
                return error_origin(-ENOMEM);
        *self = (Resume){.home = arena_str(&call->arena, str_from(call->daemon->home)).data};
        return self->home ? call_work(call, resume_write, resume_written, &self->carry)
                          : error_origin(-ENOMEM);
}
