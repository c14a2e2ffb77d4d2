/* SPDX-License-Identifier: MIT */
/*
 * After term_attach a connection carries one terminal, bytes as they are: the backlog, then live output;
 * what the client sends is typed. Only the client that came first types. What the others send waits in
 * their sockets until it is their turn; who only looks has no turn, and what he sends is dropped. A client
 * that does not keep up is cut off.
 */
#include <stdlib.h>

#include "core/daemon.h"
#include "core/host/host.h"
#include "dialect/cccc/cccc.h"

enum {
        TERM_FRAME_MAX = 64 << 10,
        TERM_QUEUE_MIN = 8 << 20, /* bytes that may wait for one client, more when the backlog is large */
        TERM_QUEUE_MORE = 2 << 20,
};

typedef struct CcccTerm {
        Client *client;
        Seat seat;
        Viewer viewer;
        size_t n_queue_max;
        bool is_waiting; /* held: it is not the writer */
        bool is_full;    /* held: the process does not read */
} CcccTerm;

static void cccc_term_on_output(Viewer *viewer, HostOutput *output) {
        CcccTerm *self = container_of(viewer, CcccTerm, viewer);
        Conn *conn = self->client->conn;
        Chunk *chunk;

        if (conn_pending(conn) > self->n_queue_max) {
                conn_abort(conn, "does not keep up with its terminal");
                return;
        }
        chunk = output_framed(output, chunk_new);
        if (!chunk || conn_write_chunk(conn, chunk))
                conn_abort(conn, "out of memory");
}

static void cccc_term_on_room(Viewer *viewer) {
        CcccTerm *self = container_of(viewer, CcccTerm, viewer);

        if (!self->is_full)
                return;
        self->is_full = false;
        client_release(self->client);
}

static void cccc_term_on_promoted(Seat *seat) {
        CcccTerm *self = container_of(seat, CcccTerm, seat);

        host_resize(seat->hosted, seat->hosted->said_cols, seat->hosted->said_rows);
        if (!self->is_waiting)
                return;
        self->is_waiting = false;
        client_release(self->client);
}

static void cccc_term_on_ended(Viewer *viewer) {
        CcccTerm *self = container_of(viewer, CcccTerm, viewer);

        viewer_detach(viewer);
        conn_finish(self->client->conn, "the terminal has ended");
}

static void cccc_term_on_frame(Client *client, Str bytes) {
        CcccTerm *self = client->state;

        if (!self->seat.hosted)
                return;
        if (host_write(self->seat.hosted, bytes) == HOST_E_FULL && !self->is_full) {
                self->is_full = true;
                client_hold(client);
        }
}

static void cccc_term_on_eof(Client *client, _unused_ Str rest) {
        conn_finish(client->conn, "end of stream");
}

static void cccc_term_on_oversize(Client *client) {
        conn_finish(client->conn, "frame too large");
}

static void cccc_term_on_close(Client *client) {
        CcccTerm *self = client->state;

        viewer_detach(&self->viewer);
        seat_leave(&self->seat);
        free(self);
        client->state = NULL;
}

static const Dialect cccc_term_dialect = {
        .name = "cccc",
        .framing = {.kind = FRAMING_RAW, .n_max = TERM_FRAME_MAX},
        .frame = cccc_term_on_frame,
        .eof = cccc_term_on_eof,
        .oversize = cccc_term_on_oversize,
        .close = cccc_term_on_close,
};

/* The contract's bound alone decides, so that the longest backlog can be sent. */
static void cccc_term_set_limits(const CcccTerm *self) {
        ConnLimits limits = self->client->endpoint->type->limits;

        limits.hard_limit = 2 * self->n_queue_max;
        conn_set_limits(self->client->conn, &limits);
}

void cccc_term_stream(Client *client, const StreamTarget *target) {
        CcccTerm *self = calloc(1, sizeof(*self));
        Hosted *hosted = target->hosted;
        Str backlog = hosted_scrollback(hosted, SIZE_MAX);

        if (!self) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        *self = (CcccTerm){
                .client = client,
                .seat = {.by = principal_name(principal_of(client)), .promoted = cccc_term_on_promoted},
                .viewer = {.output = cccc_term_on_output,
                           .room = cccc_term_on_room,
                           .ended = cccc_term_on_ended},
                .n_queue_max = MAX((size_t)TERM_QUEUE_MIN,
                                   backlog.n + MAX((size_t)TERM_QUEUE_MORE, backlog.n / 8))};
        client->state = self;
        client_switch(client, &cccc_term_dialect, client->endpoint, STR_NULL);
        cccc_term_set_limits(self);
        conn_end_with_peer(client->conn);
        if (backlog.n && conn_write(client->conn, backlog)) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        viewer_attach(&self->viewer, hosted);
        if (target->is_read_only)
                return;
        seat_take(&self->seat, hosted);
        self->is_waiting = !seat_is_writer(&self->seat);
        if (self->is_waiting)
                client_hold(client);
}
