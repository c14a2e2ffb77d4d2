/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/call"

#include "core/call.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "core/principal/principal.h"
#include "core/record.h"
#include "core/request.h"

enum {
        CALL_SCRATCH_KEEP = 16 * 1024, /* of each buffer, in the pool */
        CALL_ENVELOPE_MAX =
                256, /* what a dialect writes around a result or error, without id, message and details */
        CALL_SLOW_MS = 50, /* a handler that holds the loop longer is named in the log */
};

Call *call_get(Daemon *daemon) {
        Call *call = daemon->free_calls;

        if (call)
                daemon->free_calls = call->next_free;
        else
                call = calloc(1, sizeof(*call));
        if (call)
                call->daemon = daemon;
        return call;
}

void call_let_go(Call *call) {
        CallHold *hold = call->holds;

        call->holds = NULL;
        for (; hold; hold = hold->next)
                hold->release(hold->object);
}

static void call_put(Call *call) {
        Daemon *daemon = call->daemon;
        Arena arena = call->arena;
        Buf scratch = call->scratch, details = call->details;

        call_let_go(call);
        arena_reset(&arena);
        if (scratch.cap > CALL_SCRATCH_KEEP)
                buf_deinit(&scratch);
        if (details.cap > CALL_SCRATCH_KEEP)
                buf_deinit(&details);
        scratch.n = details.n = 0;
        *call = (Call){
                .arena = arena, .scratch = scratch, .details = details, .next_free = daemon->free_calls};
        daemon->free_calls = call;
}

void call_pool_deinit(Daemon *daemon) {
        while (daemon->free_calls) {
                Call *call = daemon->free_calls;
                daemon->free_calls = call->next_free;
                arena_deinit(&call->arena);
                buf_deinit(&call->scratch);
                buf_deinit(&call->details);
                free(call);
        }
}

void call_orphan(Call *call) {
        call->client = NULL;
        call->out = &call->scratch;
        call->is_quiet = true;
        if (call->gone)
                call->gone(call);
}

Call *call_of_ours(Daemon *daemon, void (*over)(Call *call)) {
        Call *call = call_get(daemon);

        if (!call)
                return NULL;
        call_orphan(call);
        call->over = over;
        return call;
}

/* ---- for handlers ---------------------------------------------------------------------------- */

JsonWriter *call_result(Call *call) {
        bool has_room = !buf_reserve(call->out, CALL_ENVELOPE_MAX + call->id.n);

        call->has_result = true;
        call->mark = call->out->n;
        if (!call->is_quiet && has_room)
                call->client->dialect->begin_result(call, call->out);
        call->result_mark = call->out->n;
        call->writer = JSON_WRITER(call->out);
        call->writer.failed = !has_room;
        return &call->writer;
}

/* Into the connection itself: not into a batch, and nobody looks at the result once more. */
void call_give(Call *call, Buf *result) {
        JsonWriter *w = call_result(call);
        bool is_plain = call->client && !call->is_quiet && call->out == conn_out(call->client->conn) &&
                        call->client->dialect->gives && !call->daemon->recorder;

        if (!is_plain || w->failed)
                jw_raw(w, buf_str(result));
        else if (conn_give(call->client->conn, result))
                conn_abort(call->client->conn, "out of memory");
        else
                call->mark = call->result_mark = call->out->n;
}

int call_fail(Call *call, int error, const char *format, ...) {
        char text[512];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        call->error = error;
        call->message = arena_str(&call->arena, str_from(text));
        return error;
}

int call_fail_issues(Call *call, const Issues *issues) {
        issues_write(issues, call_details(call));
        return call_fail(call, CALL_E_INVALID_PARAMS, "Invalid params");
}

JsonWriter *call_details(Call *call) {
        call->details.n = 0;
        call->details_writer = JSON_WRITER(&call->details);
        return &call->details_writer;
}

void call_after(Call *call, void (*after)(Call *call)) {
        call->after = after;
}

int call_hold(Call *call, void *object, void (*release)(void *object)) {
        CallHold *hold = call->holds;

        while (hold && hold->object != object)
                hold = hold->next;
        if (hold) {
                release(object); /* it is held already */
                return 0;
        }
        hold = arena_alloc(&call->arena, sizeof(*hold));
        if (!hold) {
                release(object);
                return error_origin(-ENOMEM);
        }
        *hold = (CallHold){.next = call->holds, .object = object, .release = release};
        call->holds = hold;
        return 0;
}

Request *call_request(const Call *call) {
        for (CallHold *hold = call->holds; hold; hold = hold->next)
                if (hold->release == request_unref)
                        return hold->object;
        return NULL;
}

/* ---- the reply ------------------------------------------------------------------------------- */

static void fail_internally(Call *call, int r) {
        log_err(&call->daemon->log, call->op ? call->op->name : "-", "operation failed error=%d", -r);
        (void)call_fail(call, CALL_E_INTERNAL, "internal error: %s", strerror(-r));
}

/* Room for any envelope, so that writing it cannot fail half-way. */
static bool has_room(Call *call) {
        size_t n = CALL_ENVELOPE_MAX + call->id.n + call->message.n * 6 + call->details.n;

        if (!buf_reserve(call->out, n))
                return true;
        conn_abort(call->client->conn, "out of memory");
        return false;
}

static void call_write_reply(Call *call) {
        const Dialect *dialect = call->client->dialect;

        if (!call->error && !call->has_result) {
                JsonWriter *w = call_result(call);
                jw_begin_object(w);
                jw_end_object(w);
        }
        if (call->error && call->has_result)
                call->out->n = call->mark; /* a result begun in vain */
        else if (call->error)
                call->mark = call->out->n;
        if (call->daemon->recorder && !call->is_long)
                record_call(call->daemon->recorder, call);
        if (!has_room(call))
                return;
        if (call->error)
                dialect->write_error(call, call->out);
        else
                dialect->end_result(call, call->out);
}

static void call_done(Call *call, int r) {
        Client *client = call->client;
        void (*after)(Call *) = call->after;

        if (r < 0)
                fail_internally(call, r);
        if (!call->error && call->has_result && call->writer.failed)
                fail_internally(call, -ENOMEM);
        if (client && !call->is_quiet)
                call_write_reply(call);
        if (after && client && !call->error)
                after(call);
        if (client) {
                client->call = NULL;
                if (call->is_later) {
                        conn_set_waiting(client->conn, 0);
                        client_release(client);
                        conn_flush_soon(client->conn);
                }
                if (client->dialect->replied)
                        client->dialect->replied(client);
                if (client->is_leaving)
                        client_leave(client, "leaving");
        }
        if (call->over)
                call->over(call);
        call_put(call);
}

void call_finish(Call *call, int r) {
        if (call->op)
                loop_mark(call->daemon->loop, call->op->name);
        call_done(call, r);
}

typedef struct CallWork { /* in the call's arena */
        Call *call;
        CallRunFn run;
        CallThenFn then;
        const Carry *carry;
} CallWork;

static void call_work_run(void *user) {
        CallWork *work = user;

        work->run(work->carry);
}

static void call_work_done(void *user) {
        CallWork *work = user;
        Call *call = work->call;
        int r = work->then(call, work->carry);

        if (r != CALL_LATER)
                call_finish(call, r);
}

int call_work_queue(const Call *call, const char *what, void (*run)(void *user), void (*done)(void *user),
                    void *user) {
        Loop *loop = call->daemon->loop;

        return call_request(call) ? loop_work_heavy_as(loop, what, run, done, user)
                                  : loop_work_as(loop, what, run, done, user);
}

int call_work(Call *call, CallRunFn run, CallThenFn then, const Carry *carry) {
        CallWork *work = arena_alloc(&call->arena, sizeof(*work));

        if (!work)
                return error_origin(-ENOMEM);
        *work = (CallWork){.call = call, .run = run, .then = then, .carry = carry};
        return call_work_queue(call, call->op ? call->op->name : "call", call_work_run, call_work_done, work)
                       ? error_origin(-ENOMEM)
                       : CALL_LATER;
}

/* Of a long frame a worker has done it already. */
static int call_decode(Call *call, const Json *args, void **ret, OpFault *reterr) {
        Request *request = call->client->request;

        if (request && request_has_args(request, call->op, args)) {
                *ret = request->decoded;
                *reterr = request->decode_fault;
                return request->decode_r ? request->decode_r
                                         : call_hold(call, request_ref(request), request_unref);
        }
        *ret = arena_alloc(&call->arena, call->op->args_size);
        if (!*ret)
                return error_origin(-ENOMEM);
        return op_decode(call->op, call->ops->convention, args, &call->arena, *ret, reterr);
}

/* What waits until it is known who calls; in the call's arena. */
typedef struct CallEntry {
        Carry carry;
        void *decoded;
        bool says_by;
} CallEntry;

static int call_enter(Call *call, const Carry *carry) {
        const CallEntry *entry = container_of(carry, CallEntry, carry);
        int r = call->client ? principal_check(call) : -ECANCELED; /* who has gone is nobody */

        if (!r)
                r = principal_check_args(call, entry->says_by, entry->decoded);
        return r ? r : call->op->run(call, entry->decoded);
}

static int decode_and_run(Call *call, const Json *args) {
        CallEntry *entry;
        OpFault fault;
        void *decoded;
        int verdict = principal_check(call), r;

        if (verdict && verdict != CALL_LATER)
                return verdict;
        r = call_decode(call, args, &decoded, &fault);
        if (r == OP_E_FIELD)
                return fault.field ? call_fail(call, CALL_E_INVALID_PARAMS, "%s %s", fault.field, fault.what)
                                   : call_fail_issues(call, &fault.issues);
        if (!r && verdict != CALL_LATER)
                r = principal_check_args(call, principal_says_by(args), decoded);
        if (r || verdict != CALL_LATER)
                return r ? r : call->op->run(call, decoded);
        entry = arena_alloc(&call->arena, sizeof(*entry));
        if (!entry)
                return error_origin(-ENOMEM);
        *entry = (CallEntry){.decoded = decoded, .says_by = principal_says_by(args)};
        return principal_settle(call, call_enter, &entry->carry);
}

void call_run(Call *call, const Json *args) {
        const char *name = call->op->name;
        Daemon *daemon = call->daemon;
        int64_t since_us = loop_real_us();
        int r = decode_and_run(call, args);

        if (r == CALL_LATER) {
                call->is_later = true;
                if (call->client) {
                        client_hold(call->client);
                        conn_set_waiting(call->client->conn, call->arena.n_total);
                }
        } else
                call_done(call, r);
        since_us = loop_real_us() - since_us;
        loop_note(daemon->loop, "call", name, since_us);
        if (since_us / 1000 > CALL_SLOW_MS)
                log_warning(&daemon->log, name, "held the loop ms=%lld", (long long)since_us / 1000);
}
