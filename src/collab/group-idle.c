/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/group"

#include "collab/group-idle.h"

#include "base/error.h"
#include "collab/collab.h"

/* A reference that is not the table's belongs to a call, an edit, a stream or a step on a worker. */
static bool is_held(const Group *group) {
        return group->n_refs > 1 || group->is_loading || group->is_deleting || group->edits ||
               group->waiting || group->touched_us;
}

static bool group_idle_is_busy(const Group *group) {
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->group_is_busy && (*part)->group_is_busy(group))
                        return true;
        return group_is_running(group);
}

static void group_idle_on_closed(void *user) {
        Group *group = user;

        group_reopen(group);
        group_unref(group);
}

/* It stays in the table until its ledger is closed, so that no second one is opened beside it. */
static void close_group(Group *group) {
        log_info(&group->collab->daemon->log, group->id, "closed: nobody uses it");
        group->is_loading = true;
        group_ref(group);
        for (const CollabPart *const *part = collab_parts; *part; part++)
                if ((*part)->group_closed)
                        (*part)->group_closed(group);
        ledger_close(steal(&group->ledger), group_idle_on_closed, group);
}

static void group_idle_look(Group *group) {
        if (loop_now_ms(group->collab->daemon->loop) - group->used_ms < GROUP_IDLE_MS || is_held(group) ||
            group_idle_is_busy(group))
                return;
        if (group->ledger)
                close_group(group);
        else /* only its document was asked for */
                group_forget(group);
}

static int group_idle_started(Collab *collab) {
        return error_trace(group_look_start(&collab->idle, collab, GROUP_LOOK_MS, group_idle_look));
}

static int group_idle_opened(Group *group) {
        return error_trace(group_look_wake(&group->collab->idle));
}

static void group_idle_stopping(Collab *collab) {
        group_look_stop(&collab->idle);
}

const CollabPart group_idle_part = {
        .name = "idle",
        .started = group_idle_started,
        .stopping = group_idle_stopping,
        .closed = group_idle_stopping,
        .group_opened = group_idle_opened,
};
