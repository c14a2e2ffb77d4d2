/* SPDX-License-Identifier: MIT */
#include "core/fleet/inner.h"

#include <errno.h>

#include "base/error.h"
#include "core/daemon.h"

/* On the stack of who has begun it, while the handler has not returned: what it says then. */
typedef struct InnerNow {
        bool is_over;
        int r;
} InnerNow;

typedef struct Inner { /* in the outer call's arena */
        Carry carry;
        Call *outer;
        InnerThen then;
        const Carry *what;
        InnerNow *now; /* NULL: the handler has returned, and what follows comes later */
} Inner;

/* The outer call, and this with it, may be over when then() has returned. */
static void inner_over(Call *call) {
        const Inner *inner = (const Inner *)container_of(call->above, Inner, carry);
        InnerNow *now = inner->now;
        Call *outer = inner->outer;
        int r = inner->then(outer, call, inner->what);

        if (now)
                *now = (InnerNow){.is_over = true, .r = r};
        else if (r != CALL_LATER)
                call_finish(outer, r);
}

int call_inner(Call *call, InnerRun run, InnerThen then, const Carry *carry) {
        Inner *inner = arena_alloc(&call->arena, sizeof(*inner));
        Call *own = inner ? call_of_ours(call->daemon, inner_over) : NULL;
        InnerNow now = {0};
        int r;

        if (!own)
                return error_origin(-ENOMEM);
        *inner = (Inner){.outer = call, .then = then, .what = carry, .now = &now};
        own->op = call->op;
        own->above = &inner->carry;
        r = run(own, carry);
        if (r != CALL_LATER)
                call_finish(own, r);
        if (now.is_over)
                return now.r;
        own->is_later = true;
        inner->now = NULL;
        return CALL_LATER;
}

Str inner_result(const Call *inner) {
        return inner->has_result
                       ? (Str){inner->out->data + inner->result_mark, inner->out->n - inner->result_mark}
                       : STR_NULL;
}

int inner_fail(Call *call, const Call *inner) {
        bool is_known = native_has_error(inner->error);

        if (!is_known) {
                JsonWriter *w = call_details(call);

                jw_begin_object(w);
                jw_field_cstr(w, "condition", call_error_name(inner->error));
                jw_end_object(w);
        }
        return call_fail(call, is_known ? inner->error : CALL_E_OWNER_REFUSED, STR_FMT,
                         STR_ARG(inner->message));
}
