/* SPDX-License-Identifier: MIT */
/*
 * Batches: the elements are handled one after the other, a few per turn, and their replies leave together.
 * Each step waits in line (wire/turns.h), so that many batches at the same time share what a turn has.
 * While a batch is under way the client is held: no further line is looked at. The replies so far count as
 * output of the connection: when they are more than it may have, it is closed.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/daemon.h"
#include "core/request.h"
#include "dialect/jsonrpc/jsonrpc.h"

enum {
        BATCH_TURN = 64,      /* elements per turn … */
        BATCH_TURN_US = 2000, /* … or fewer, when they take so long */
        PUSHED_MAX = 8 << 20, /* bytes of notifications held back for one batch; then the client is closed */
};

typedef struct Batch {
        Client *client;
        Arena arena;
        Request *request; /* that the elements are of, if it was long; else they are in the arena */
        Json *next;       /* element not handled yet */
        Buf out;          /* "[" and the replies so far */
        Buf pushed;       /* notifications that came meanwhile: they follow the replies */
        bool is_stepping;
        Turn turn; /* for the next step */
} Batch;

static void batch_free(Batch *batch) {
        turns_leave(&batch->client->daemon->turns, &batch->turn);
        request_unref(batch->request);
        arena_deinit(&batch->arena);
        buf_deinit(&batch->out);
        buf_deinit(&batch->pushed);
        free(batch);
}

void jsonrpc_close(Client *client) {
        if (client->state)
                batch_free(client->state);
        client->state = NULL;
}

static void batch_end(Batch *batch) {
        Client *client = batch->client;

        client->state = NULL;
        (void)conn_set_held(client->conn, 0);
        if (batch->out.n > 1 && !buf_append_str(&batch->out, STR("]"))) {
                if (jsonrpc_of(client)->trace)
                        jsonrpc_of(client)->trace(client, "->", buf_str(&batch->out));
                client_end_message(client, &batch->out, 0);
                (void)conn_give(client->conn, &batch->out);
        }
        if (batch->pushed.n)
                (void)conn_write(client->conn, buf_str(&batch->pushed));
        batch_free(batch);
        client_release(client);
}

/* Not when the connection is closed: the batch goes with it. */
static bool batch_is_in_bounds(Batch *batch) {
        return conn_set_held(batch->client->conn, batch->out.cap + batch->pushed.cap);
}

static void batch_step(Batch *batch) {
        bool is_in_bounds = batch_is_in_bounds(batch);
        int64_t since_us = loop_real_us();

        batch->is_stepping = true;
        for (int i = 0; is_in_bounds && batch->next && !batch->client->call; i++) {
                Json *message = batch->next;
                if (i == BATCH_TURN || (i && loop_real_us() - since_us > BATCH_TURN_US)) {
                        turns_wait(&batch->client->daemon->turns, &batch->turn);
                        break;
                }
                batch->next = message->next;
                jsonrpc_handle(batch->client, message, &batch->out);
                is_in_bounds = batch_is_in_bounds(batch);
        }
        batch->is_stepping = false;
        if (is_in_bounds && !batch->next && !batch->client->call)
                batch_end(batch);
}

static void jsonrpc_batch_on_turn(Turn *turn) {
        Batch *batch = container_of(turn, Batch, turn);
        Turns *turns = &batch->client->daemon->turns;
        uint32_t peer = turn->peer;
        int64_t since_us = loop_real_us();

        batch_step(batch); /* which may be its end */
        turns_charge(turns, peer, since_us);
}

void jsonrpc_batch_replied(Client *client) {
        Batch *batch = client->state;

        if (!batch->is_stepping && !batch->turn.is_waiting)
                turns_wait(&client->daemon->turns, &batch->turn);
}

void jsonrpc_batch_push(Client *client, Str text) {
        Batch *batch = client->state;
        size_t mark = batch->pushed.n;

        if (mark + text.n > PUSHED_MAX || buf_append_str(&batch->pushed, text))
                conn_abort(client->conn, "slow reader");
        else
                client_end_message(client, &batch->pushed, mark);
}

/* The elements stay for longer than this turn: with their request, or with all that the envelope of this turn holds. */
static void batch_take(Batch *batch) {
        Client *client = batch->client;

        if (client->request)
                batch->request = request_ref(client->request);
        else {
                batch->arena = client->daemon->envelope;
                client->daemon->envelope = ARENA_NULL;
        }
}

void jsonrpc_batch(Client *client, const Json *json) {
        Batch *batch = calloc(1, sizeof(*batch));

        if (!batch) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        batch->client = client;
        batch->turn = (Turn){.peer = conn_turn_peer(client->conn), .run = jsonrpc_batch_on_turn};
        batch_take(batch);
        if (buf_append_str(&batch->out, STR("["))) {
                batch_free(batch);
                conn_abort(client->conn, "out of memory");
                return;
        }
        batch->next = json_first(json);
        client->state = batch;
        client_hold(client);
        turns_wait(&client->daemon->turns, &batch->turn);
}
