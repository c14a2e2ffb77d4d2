/* SPDX-License-Identifier: MIT */
#include "collab/group/lines.h"

#include <errno.h>

#include "base/error.h"

enum { TRIES_MAX = 8 }; /* rewrites that come one after the other: give up */

/* One wait of a call; in its arena. */
typedef struct Wait {
        Call *call;
        Group *group;
        LinesFn fn;
        GroupFn again;
        const Carry *theirs; /* of who reads */
        Carry carry;
        LedgerRead read;
        LedgerChange barrier;
} Wait;

static Wait *lines_new_wait(Call *call, Group *group, GroupFn again, const Carry *theirs) {
        Wait *wait = arena_alloc(&call->arena, sizeof(*wait));

        if (wait)
                *wait = (Wait){.call = call, .group = group_ref(group), .again = again, .theirs = theirs};
        return wait;
}

/* Goes on with a call that waited. */
static void lines_resume(Wait *wait, int r) {
        Group *group = wait->group;

        if (r != CALL_LATER)
                call_finish(wait->call, r);
        group_unref(group);
}

/* ---- reading --------------------------------------------------------------------------------- */

static int lines_use(_unused_ Call *call, Group *group, const Carry *carry) {
        Wait *wait = container_of(carry, Wait, carry);
        int r = wait->fn(wait->call, group, &wait->read, wait->theirs);

        ledger_read_deinit(&wait->read);
        return r;
}

static int lines_use_read(Wait *wait) {
        return group_run(wait->call, wait->group, lines_use, &wait->carry);
}

static void lines_on_read(LedgerRead *read, int r) {
        Wait *wait = container_of(read, Wait, read);

        if (!r) {
                lines_resume(wait, lines_use_read(wait));
                return;
        }
        ledger_read_deinit(read);
        lines_resume(wait, r == -ESTALE ? group_run(wait->call, wait->group, wait->again, wait->theirs) : r);
}

int lines_read(Call *call, Group *group, const uint64_t *positions, size_t n, LinesFn fn, GroupFn again,
               const Carry *carry) {
        Wait *wait = lines_new_wait(call, group, again, carry);
        int r;

        if (!wait)
                return error_origin(-ENOMEM);
        wait->fn = fn;
        wait->read.done = lines_on_read;
        r = ledger_read(group->ledger, &wait->read, positions, n);
        if (r == LEDGER_LATER)
                return CALL_LATER;
        r = r ? error_trace(r) : lines_use_read(wait);
        group_unref(group);
        return r;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static void lines_on_settled(LedgerChange *barrier, _unused_ int r) {
        Wait *wait = container_of(barrier, Wait, barrier);

        lines_resume(wait, group_run(wait->call, wait->group, wait->again, wait->theirs));
}

int lines_wait(Call *call, Group *group, GroupFn again, const Carry *carry) {
        Wait *wait = lines_new_wait(call, group, again, carry);
        int r;

        if (!wait)
                return error_origin(-ENOMEM);
        ledger_change_init(&wait->barrier, group->ledger, lines_on_settled);
        r = ledger_change_commit(&wait->barrier);
        if (!r)
                return CALL_LATER;
        ledger_change_deinit(&wait->barrier);
        group_unref(group);
        return error_trace(r);
}

/* ---- one event ------------------------------------------------------------------------------- */

typedef struct Find {
        Str id;
        EventFn fn;
        const Carry *theirs;
        Carry carry;
        unsigned n_tries;
} Find;

static int lines_not_found(Call *call, Str id) {
        return call_fail(call, CALL_E_EVENT_NOT_FOUND, "event not found: " STR_FMT, STR_ARG(id));
}

static int got_line(Call *call, Group *group, const LedgerRead *lines, const Carry *carry) {
        const Find *find = container_of(carry, Find, carry);
        Str line = arena_str(&call->arena, ledger_read_line(lines, 0));
        Json *event;
        int r = line.data ? json_parse(&call->arena, line.data, line.n, NULL, &event, NULL) : -ENOMEM;

        if (r)
                return r < 0 ? error_trace(r) : lines_not_found(call, find->id);
        return find->fn(call, group, event, find->theirs);
}

static int lines_look(Call *call, Group *group, const Carry *carry) {
        Find *find = container_of(carry, Find, carry);
        uint64_t position;
        int r = ledger_find_id(group->ledger, find->id, &position);

        if (r == LEDGER_E_NOT_FOUND || ++find->n_tries > TRIES_MAX)
                return lines_not_found(call, find->id);
        if (r == LEDGER_E_PENDING)
                return lines_wait(call, group, lines_look, &find->carry);
        return r ? error_fold(r) : lines_read(call, group, &position, 1, got_line, lines_look, &find->carry);
}

int event_find(Call *call, Group *group, Str id, EventFn fn, const Carry *carry) {
        Find *find = arena_alloc(&call->arena, sizeof(*find));

        if (!find)
                return error_origin(-ENOMEM);
        *find = (Find){.id = id, .fn = fn, .theirs = carry};
        return lines_look(call, group, &find->carry);
}
