/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/long-reply"

#include "core/long-reply.h"

#include <errno.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/dialect.h"

struct LongReply { /* in the call's arena */
        Call *call;
        Spool spool;
        uint64_t at;     /* bytes of it that were read */
        Buf piece;       /* the last ones */
        int r;           /* of reading them */
        bool is_reading; /* a worker has it */
};

/* Half a reply cannot be taken back: the connection ends with it. */
static void long_reply_break(LongReply *reply) {
        Call *call = reply->call;

        log_err(&call->daemon->log, call->op->name, "a long reply broke off error=%d", -reply->r);
        conn_abort(call->client->conn, "a long reply broke off");
        call->is_quiet = true;
}

static void long_reply_over(LongReply *reply) {
        Call *call = reply->call;
        Client *client = call->client;

        call->daemon->n_long_bytes -= reply->spool.n_kept;
        spool_deinit(&reply->spool);
        buf_deinit(&reply->piece);
        if (client) {
                client->reply = NULL;
                if (reply->r)
                        long_reply_break(reply);
                conn_want_drained(client->conn); /* others may push again */
        }
        call->mark = call->result_mark = call->out->n;
        call_finish(call, 0);
}

static void long_reply_run(void *user) {
        LongReply *reply = user;

        reply->r = spool_read(&reply->spool, &reply->at, &reply->piece);
}

static void long_reply_read(LongReply *reply);

static void long_reply_done(void *user) {
        LongReply *reply = user;
        Client *client = reply->call->client;

        reply->is_reading = false;
        if (client && !reply->r)
                reply->r = conn_give(client->conn, &reply->piece);
        reply->piece.n = 0;
        if (!client || reply->r || reply->at == reply->spool.n_kept)
                long_reply_over(reply);
        else
                conn_want_drained(client->conn);
}

static void long_reply_read(LongReply *reply) {
        Daemon *daemon = reply->call->daemon;

        reply->is_reading = true;
        if (!loop_work(daemon->loop, long_reply_run, long_reply_done, reply))
                return;
        reply->is_reading = false;
        reply->r = error_origin(-ENOMEM);
        long_reply_over(reply);
}

void long_reply_on_drained(LongReply *reply) {
        if (reply->is_reading)
                return;
        if (conn_is_deaf(reply->call->client->conn))
                long_reply_over(reply); /* nobody takes the rest; what was said behind it is handled */
        else
                long_reply_read(reply);
}

void long_reply_leave(LongReply *reply) {
        if (!reply->is_reading)
                long_reply_over(reply);
}

static int long_reply_begin(Call *call, Spool *spool) {
        LongReply *reply = arena_alloc(&call->arena, sizeof(*reply));

        if (!reply)
                return error_origin(-ENOMEM);
        *reply = (LongReply){.call = call, .spool = *spool};
        reply->spool.w.out = &reply->spool.text;
        *spool = (Spool){.fd = -1};
        call->daemon->n_long_bytes += reply->spool.n_kept;
        call->client->reply = reply;
        call->is_long = true;
        (void)call_result(call);
        call_let_go(call);
        conn_set_waiting(call->client->conn, call->arena.n_total);
        conn_want_drained(call->client->conn);
        return CALL_LATER;
}

int long_reply_send(Call *call, Spool *spool) {
        Client *client = call->client;
        int r = 0;

        if (client && !call->is_quiet && (client->channel || call->out != conn_out(client->conn)))
                r = call_fail(call, CALL_E_TOO_LARGE, "the result has %llu bytes: not %s",
                              (unsigned long long)spool->n_kept,
                              client->channel ? "over a WebSocket" : "in a batch");
        else if (client && !call->is_quiet &&
                 call->daemon->n_long_bytes + spool->n_kept > (uint64_t)LONG_REPLIES_GIB_MAX << 30)
                r = call_fail(call, CALL_E_INTERNAL, "too much waits for clients that do not read");
        else if (client && !call->is_quiet)
                r = long_reply_begin(call, spool);
        spool_deinit(spool);
        return r;
}
