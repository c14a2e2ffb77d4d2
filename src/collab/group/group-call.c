/* SPDX-License-Identifier: MIT */
/*
 * How a call gets to its group.
 *
 *   id checked ─► fresh? ─ no ─► load on a worker ─► (read) lines of others indexed ─► fn
 *                   └─ yes ────────────────────────────────┘      (edit) first in line ─┘
 *
 * A GroupCall is what waits. It outlives its call, whose arena is gone when it is answered; the number of
 * those that wait is bounded by the number of connections.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/group/group-work.h"

enum { TRIES_MAX = 8 }; /* documents that others change faster than we can write: give up */

/* ---- the end of a GroupCall ------------------------------------------------------------------ */

static void group_call_leave(GroupCall *wait) {
        Group *group = wait->group;

        free(wait);
        group_unref(group);
}

static int group_call_not_found(Call *call, Str id) {
        return call_fail(call, CALL_E_GROUP_NOT_FOUND, "group not found: " STR_FMT, STR_ARG(id));
}

/* Its document is gone, or cannot be read. */
static int miss(const GroupCall *wait) {
        return wait->lost ? wait->lost(wait->call, wait->carry)
                          : group_call_not_found(wait->call, str_from(wait->group->id));
}

/* Why a group that is there cannot be had. */
static int group_call_fail(const GroupCall *wait, int r) {
        if (r != -ETIMEDOUT || !wait->call)
                return r;
        return call_fail(wait->call, CALL_E_UNAVAILABLE,
                         "the ledger of group %s is locked by another program, which has not let go of it",
                         wait->group->id);
}

/* Ends a call that waited. Its GroupCall is gone then. */
static void group_call_answer(Call *call, int r) {
        if (call && r != CALL_LATER)
                call_finish(call, r);
}

static void release_doc(void *object) {
        group_doc_unref(object);
}

static void release_document(void *object) {
        document_unref(object);
}

static int group_hold(Call *call, Group *group) {
        int r = group->doc ? call_hold(call, group_doc_ref(group->doc), release_doc) : 0;

        if (!r && group->cursors)
                r = call_hold(call, document_ref(group->cursors), release_document);
        return error_trace(r);
}

int group_run(Call *call, Group *group, GroupFn fn, const Carry *carry) {
        int r = call ? group_hold(call, group) : 0;

        return r ? r : fn(call, group, carry);
}

/* ---- edits: one at a time -------------------------------------------------------------------- */

void group_edit_end(Group *group) {
        GroupCall *edit = group->edit;

        assert(edit && !group->is_entered);
        group->edit = NULL;
        lane_over(&group->edits);
        group_call_leave(edit);
}

/* The edit is over before its call is: the call's end takes the GroupCall with it. */
static void fail_edit(GroupCall *first, int r) {
        Call *call = first->call;

        r = call && r > 0 ? miss(first) : group_call_fail(first, r);
        group_edit_end(first->group);
        group_call_answer(call, r);
}

static void run_edit(GroupCall *first) {
        Group *group = first->group;
        Call *call = first->call;
        int r;

        group->is_entered = true;
        r = group_run(call, group, first->fn, first->carry);
        group->is_entered = false;
        if (r == CALL_LATER)
                return;
        group_edit_end(group);
        group_call_answer(call, r);
}

static void on_edit_settled(LedgerChange *barrier, _unused_ int r) {
        run_edit(container_of(barrier, GroupCall, barrier));
}

static void settle_edit(GroupCall *first) {
        int r;

        if (!ledger_check(first->group->ledger)) {
                run_edit(first);
                return;
        }
        ledger_change_init(&first->barrier, first->group->ledger, on_edit_settled);
        r = ledger_change_commit(&first->barrier);
        if (!r)
                return;
        ledger_change_deinit(&first->barrier);
        fail_edit(first, r);
}

static void on_edit_loaded(GroupCall *first, int r) {
        if (r)
                fail_edit(first, r);
        else
                settle_edit(first);
}

/* Documents may have changed while the edit waited for its turn. */
static void enter_edit(Group *group) {
        GroupCall *first = group->edit;
        int r;

        if (group_is_fresh(group, NULL)) {
                settle_edit(first);
                return;
        }
        first->loaded = on_edit_loaded;
        r = group_load(first);
        if (r)
                fail_edit(first, r);
}

static void group_edits_begin(Lane *lane) {
        Group *group = container_of(lane, Group, edits);

        group->edit = container_of(lane_take(lane), GroupCall, edit);
        enter_edit(group);
}

const LaneType group_edits = {.begin = group_edits_begin, .n_max = LANE_WAITING_MAX};

void group_edit_again(Group *group) {
        assert(group->edit);
        if (++group->edit->n_tries < TRIES_MAX)
                enter_edit(group);
        else
                fail_edit(group->edit, -EBUSY);
}

bool group_is_editing(const Group *group, const Call *call) {
        return group->is_entered || (call && group->edit && group->edit->call == call);
}

int group_edit(Group *group, GroupFn fn, const Carry *carry) {
        GroupCall *wait = calloc(1, sizeof(*wait));
        int r;

        if (!wait)
                return error_origin(-ENOMEM);
        *wait = (GroupCall){.group = group_ref(group), .fn = fn, .carry = carry};
        group->used_ms = loop_now_ms(group->collab->daemon->loop);
        r = lane_add(&group->edits, &wait->edit);
        if (r)
                group_call_leave(wait);
        return error_trace(r);
}

/* ---- reads ----------------------------------------------------------------------------------- */

static void group_call_on_settled(LedgerChange *barrier, _unused_ int r) {
        GroupCall *wait = container_of(barrier, GroupCall, barrier);
        Call *call = wait->call;
        int result = group_run(call, wait->group, wait->fn, wait->carry);

        group_call_leave(wait);
        group_call_answer(call, result);
}

static int settle_read(GroupCall *wait) {
        int r;

        ledger_change_init(&wait->barrier, wait->group->ledger, group_call_on_settled);
        r = ledger_change_commit(&wait->barrier);
        if (!r)
                return CALL_LATER;
        ledger_change_deinit(&wait->barrier);
        return error_trace(r);
}

/* ---- a call and its group -------------------------------------------------------------------- */

/* Everything is loaded. True: wait is still needed. False: *ret is the handler's value. */
static bool group_call_enter(GroupCall *wait, int *ret) {
        if (wait->is_read && ledger_check(wait->group->ledger)) {
                *ret = settle_read(wait);
                return *ret == CALL_LATER;
        }
        *ret = group_run(wait->call, wait->group, wait->fn, wait->carry);
        return false;
}

static void on_loaded(GroupCall *wait, int r) {
        Call *call = wait->call;

        if (r)
                r = r > 0 ? miss(wait) : group_call_fail(wait, r);
        else if (group_call_enter(wait, &r))
                return;
        group_call_leave(wait);
        group_call_answer(call, r);
}

/* Finds the group without touching more than its inode; a group whose file is gone leaves the table. *ret is
 * NULL then. */
static int find_group(Call *call, Str id, Group **ret, FileIdentity *identity) {
        Collab *collab = call->daemon->collab;
        Group *group = NULL;
        int r;

        *ret = NULL;
        if (!collab)
                return call_fail(call, CALL_E_UNAVAILABLE, "this daemon serves no CCCC home");
        if (!id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!group_id_is_valid(id))
                return 0;
        r = group_get(collab, id, &group);
        if (!r)
                r = file_identify(group->doc_path, identity);
        if (r)
                return error_trace(r);
        if (identity->ino && !group->is_deleting)
                *ret = group;
        else if (!group_is_loading(group) && lane_is_idle(&group->loads) && lane_is_idle(&group->edits))
                group_forget(group);
        return 0;
}

static GroupCall *group_call_new_wait(Call *call, Group *group, GroupFn fn, const Carry *carry) {
        GroupCall *wait = malloc(sizeof(*wait));

        if (wait)
                *wait = (GroupCall){.group = group_ref(group),
                                    .call = call,
                                    .fn = fn,
                                    .carry = carry,
                                    .loaded = on_loaded};
        return wait;
}

int collab_target(Call *call, Str group_id, GroupAccess access, GroupFn fn, GroupLostFn lost,
                  const Carry *carry) {
        GroupCall *wait;
        Group *group = NULL;
        FileIdentity identity;
        int r = find_group(call, group_id, &group, &identity);

        if (r)
                return r;
        if (!group)
                return lost ? lost(call, carry) : group_call_not_found(call, group_id);
        wait = group_call_new_wait(call, group, fn, carry);
        if (!wait)
                return error_origin(-ENOMEM);
        wait->lost = lost;
        group->used_ms = loop_now_ms(call->daemon->loop);
        wait->is_read = access == GROUP_READ;
        if (access == GROUP_EDIT || !group_is_fresh(group, &identity)) {
                r = access == GROUP_EDIT ? lane_add(&group->edits, &wait->edit) : group_load(wait);
                if (!r)
                        return CALL_LATER;
        } else if (group_call_enter(wait, &r))
                return CALL_LATER;
        group_call_leave(wait);
        return r;
}

int collab_call(Call *call, Str group_id, GroupFn fn, const Carry *carry) {
        return collab_target(call, group_id, GROUP_CALL, fn, NULL, carry);
}

int collab_read(Call *call, Str group_id, GroupFn fn, const Carry *carry) {
        return collab_target(call, group_id, GROUP_READ, fn, NULL, carry);
}

int collab_edit(Call *call, Str group_id, GroupFn fn, const Carry *carry) {
        return collab_target(call, group_id, GROUP_EDIT, fn, NULL, carry);
}

typedef struct WorkJob {
        Call *call;
        Group *group;
        GroupWorkFn run;
        GroupFn then;
        const Carry *carry;
        bool is_edit;
        int r;
} WorkJob;

static void group_work_run(void *user) {
        WorkJob *job = user;

        job->r = job->run(job->group, job->carry);
}

static void group_work_done(void *user) {
        WorkJob *job = user;
        Group *group = job->group;
        int r = job->r ? job->r : group_run(job->call, group, job->then, job->carry);

        if (r != CALL_LATER) {
                if (job->is_edit)
                        group_edit_end(group); /* before the call ends, which its place belongs to */
                if (job->call)
                        call_finish(job->call, r);
        }
        group_unref(group);
        free(job);
}

int group_work(Call *call, Group *group, GroupWorkFn fn, GroupFn then, const Carry *carry) {
        WorkJob *job = calloc(1, sizeof(*job));

        if (job) {
                *job = (WorkJob){.call = call,
                                 .group = group_ref(group),
                                 .run = fn,
                                 .then = then,
                                 .carry = carry,
                                 .is_edit = group_is_editing(group, call)};
                if (!(call ? call_work_queue(call, "group_work", group_work_run, group_work_done, job)
                           : loop_work(group->collab->daemon->loop, group_work_run, group_work_done, job)))
                        return CALL_LATER;
                group_unref(group);
        }
        free(job);
        return error_origin(-ENOMEM);
}
