/* SPDX-License-Identifier: MIT */
#include "collab/debug.h"

#include <errno.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/observability.h"
#include "collab/permissions.h"

struct Debug { /* in the call's arena */
        Call *call;
        Str group_id, by;
        DebugFn fn;
        const void *args;
        Arena arena; /* of the settings */
        Json *settings;
        int r;
};

static int run_fn(Debug *self, Group *group) {
        return self->fn(self->call, group, self->settings, self->args);
}

static int with_group(Call *call, Group *group, const void *user) {
        Debug *self = (Debug *)user;
        int r = group_require(call, group->doc, self->by, RIGHT_FOREMAN, STR_NULL, "debug",
                              CALL_E_PERMISSION_DENIED);

        return r ? r : run_fn(self, group);
}

/* The settings move to the call's arena: fn may answer later. */
static int debug_go_on(Debug *self) {
        bool is_developer = false;

        if (self->r)
                return self->r;
        self->settings = json_clone(&self->call->arena, self->settings);
        if (!self->settings)
                return error_origin(-ENOMEM);
        json_bool(json_get(self->settings, "developer_mode"), &is_developer);
        if (!is_developer)
                return call_fail(self->call, CALL_E_DEVELOPER_MODE_REQUIRED, "developer mode is disabled");
        return self->group_id.n ? collab_read(self->call, self->group_id, with_group, self)
                                : run_fn(self, NULL); /* roles are those of a group */
}

static void debug_run(void *user) {
        Debug *self = user;
        Collab *collab = self->call->daemon->collab;

        pthread_mutex_lock(&collab->settings_lock);
        self->r = observability_load(&self->arena, collab->settings_path, NULL, &self->settings);
        pthread_mutex_unlock(&collab->settings_lock);
}

static void debug_done(void *user) {
        Debug *self = user;
        Call *call = self->call;
        Arena arena = self->arena;
        int r = debug_go_on(self);

        arena_deinit(&arena);
        if (r != CALL_LATER)
                call_finish(call, r);
}

int debug_call(Call *call, Str group_id, Str by, DebugFn fn, const void *args) {
        Debug *self = arena_alloc(&call->arena, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        *self = (Debug){.call = call, .group_id = group_id, .by = by, .fn = fn, .args = args};
        return loop_work(call->daemon->loop, debug_run, debug_done, self) ? error_origin(-ENOMEM)
                                                                          : CALL_LATER;
}
