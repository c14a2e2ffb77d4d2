/* SPDX-License-Identifier: MIT */
#include "core/fleet/inner.h"

#include <errno.h>

#include "base/error.h"
#include "core/daemon.h"

typedef struct Inner { /* in the outer call's arena */
        Carry carry;
        Call *outer;
        InnerThen then;
        const Carry *what;
        bool is_running; /* the handler has not returned yet: it gives r back */
        int r;
} Inner;

static void inner_over(Call *call) {
        Inner *inner = (Inner *)container_of(call->target, Inner, carry);

        inner->r = inner->then(inner->outer, call, inner->what);
        if (!inner->is_running && inner->r != CALL_LATER)
                call_finish(inner->outer, inner->r);
}

int call_inner(Call *call, InnerRun run, InnerThen then, const Carry *carry) {
        Inner *inner = arena_alloc(&call->arena, sizeof(*inner));
        Call *own = inner ? call_of_ours(call->daemon, inner_over) : NULL;
        int r;

        if (!own)
                return error_origin(-ENOMEM);
        *inner = (Inner){.outer = call, .then = then, .what = carry, .is_running = true};
        own->op = call->op;
        own->target = &inner->carry;
        r = run(own, carry);
        if (r == CALL_LATER) {
                own->is_later = true;
                inner->is_running = false;
                return CALL_LATER;
        }
        call_finish(own, r);
        return inner->r;
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
