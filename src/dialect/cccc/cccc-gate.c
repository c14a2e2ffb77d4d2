/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "cccc/gate"

#include "dialect/cccc/cccc-gate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/place.h"
#include "core/daemon.h"
#include "dialect/cccc/cccc.h"

typedef struct CcccGate {
        char *path;
        char token[CCCC_TOKEN_MAX + 1];
        size_t n_token;     /* 0: there is none */
        bool is_remote;     /* without a token, other machines may connect */
        bool is_shut;       /* there is one that cannot be used: none may */
        unsigned n_waiting; /* connections that have not said it */
} CcccGate;

static const Dialect cccc_gate_dialect;

/* ---- the file -------------------------------------------------------------------------------- */

/* Why it cannot be used; NULL: it can, or there is none (n is 0 then). */
static const char *cccc_gate_read(const char *path, char out[CCCC_TOKEN_MAX + 1], size_t *ret_n) {
        _cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        char text[CCCC_TOKEN_MAX + 64];
        struct stat st;
        ssize_t n;
        Str word;

        *ret_n = 0;
        if (fd < 0)
                return errno == ENOENT ? NULL : errno == ELOOP ? "is a symbolic link" : "cannot be opened";
        if (fstat(fd, &st) || !S_ISREG(st.st_mode))
                return "is not a file";
        if (st.st_uid != geteuid() || (st.st_mode & 077))
                return "can be read by others; chmod 600 it, or make a new one with muster token new";
        n = read(fd, text, sizeof(text));
        if (n < 0)
                return "cannot be read";
        word = str_trim((Str){text, (size_t)n});
        if (word.n < CCCC_TOKEN_MIN || word.n > CCCC_TOKEN_MAX)
                return "has no token of 16 to 1024 characters; make one with muster token new";
        for (size_t i = 0; i < word.n; i++)
                if (word.data[i] <= ' ' || word.data[i] > '~')
                        return "has more than one word of plain ASCII in it";
        memcpy(out, word.data, word.n);
        *ret_n = word.n;
        return NULL;
}

static bool cccc_gate_is_concerned(const Client *client) {
        const ConnPeer *peer = conn_peer(client->conn);

        return peer->is_remote && (!peer->is_local_tcp || client->has_token);
}

/* What they were let in by does not hold any more. */
static void cccc_gate_dismiss(const Endpoint *endpoint) {
        for (Client *client = LIST_FIRST(&endpoint->clients); client; client = LIST_NEXT(client, link))
                if (cccc_gate_is_concerned(client))
                        client_leave(client, "the token has changed");
}

static void cccc_gate_warn(Endpoint *endpoint, const CcccGate *gate, const char *wrong) {
        if (wrong)
                endpoint_warn(endpoint, "%s %s: other machines are refused", gate->path, wrong);
        else if (gate->is_remote && !gate->n_token)
                endpoint_warn(endpoint, "other machines may do everything here, without a token; muster "
                                        "token new asks for one");
        else
                endpoint_warn(endpoint, NULL);
}

void cccc_gate_renew(Endpoint *endpoint) {
        CcccGate *gate = endpoint->context;
        char token[CCCC_TOKEN_MAX + 1] = "";
        const char *wrong;
        bool is_new;
        size_t n;

        if (!gate)
                return;
        wrong = cccc_gate_read(gate->path, token, &n);
        is_new =
                n != gate->n_token || memcmp(token, gate->token, n) != 0 || gate->is_shut != (wrong != NULL);
        gate->is_shut = wrong != NULL;
        memcpy(gate->token, token, sizeof(token));
        gate->n_token = n;
        explicit_bzero(token, sizeof(token));
        if (is_new)
                cccc_gate_dismiss(endpoint);
        cccc_gate_warn(endpoint, gate, wrong);
}

int cccc_gate_load(Endpoint *endpoint, bool is_remote) {
        CcccGate *gate = endpoint->context;

        if (!gate) {
                gate = calloc(1, sizeof(*gate));
                if (!gate)
                        return error_origin(-ENOMEM);
                gate->path = path_join(endpoint->daemon->state_home, PLACE_TOKEN);
                if (!gate->path) {
                        free(gate);
                        return error_origin(-ENOMEM);
                }
                endpoint->context = gate;
        }
        gate->is_remote = is_remote;
        cccc_gate_renew(endpoint);
        return 0;
}

void cccc_gate_free(Endpoint *endpoint) {
        CcccGate *gate = endpoint->context;

        if (!gate)
                return;
        explicit_bzero(gate->token, sizeof(gate->token));
        free(gate->path);
        free(gate);
        endpoint->context = NULL;
}

/* ---- who comes ------------------------------------------------------------------------------- */

static void cccc_gate_refuse(Endpoint *endpoint, const ConnPeer *peer, const char *why) {
        char address[ADDRESS_TEXT_MAX];

        address_text(&peer->ip, address);
        endpoint->n_refused++;
        log_warning(&endpoint->daemon->log, "cccc", "connection of another machine refused address=%s: %s",
                    address, why);
}

bool cccc_gate_admit(Endpoint *endpoint, const ConnPeer *peer) {
        const CcccGate *gate = endpoint->context;
        const char *why = NULL;

        if (!gate || gate->is_shut)
                why = "the token cannot be used";
        else if (!gate->n_token && !gate->is_remote)
                why = "neither a token nor cccc.allow_remote";
        else if (gate->n_waiting >= CCCC_GATE_WAITING)
                why = "too many that have not said the token";
        if (why)
                cccc_gate_refuse(endpoint, peer, why);
        return !why;
}

const Dialect *cccc_gate_greet(Endpoint *endpoint, const ConnPeer *peer, ConnLimits *limits) {
        CcccGate *gate = endpoint->context;

        if (!peer->is_remote || peer->is_local_tcp || !gate || !gate->n_token)
                return &cccc_dialect;
        gate->n_waiting++;
        limits->handshake_ms = MIN(limits->handshake_ms, CCCC_GATE_MS);
        return &cccc_gate_dialect;
}

/* ---- what it says ---------------------------------------------------------------------------- */

/* How long it takes tells nothing but the length. */
static bool cccc_gate_is_token(const CcccGate *gate, Str said) {
        volatile unsigned char wrong = said.n != gate->n_token;

        for (size_t i = 0; i < gate->n_token; i++)
                wrong |= (unsigned char)(gate->token[i] ^ (i < said.n ? said.data[i] : 0));
        return gate->n_token && !wrong;
}

static bool cccc_gate_is_right(const CcccGate *gate, const Json *json) {
        return json_is(json, JSON_OBJECT) && json_count(json) == 1 &&
               json_is(json_get(json, "token"), JSON_STRING) &&
               cccc_gate_is_token(gate, json_str(json_get(json, "token")));
}

/* From now on it is a client as others are, with as long for its request as they have. */
static void cccc_gate_let_in(Client *client) {
        ConnLimits limits = client->endpoint->type->limits;

        client->has_token = true;
        client->state = NULL;
        client_switch(client, &cccc_dialect, client->endpoint, STR_NULL);
        limits.idle_ms = client->daemon->config.handshake_ms ? client->daemon->config.handshake_ms
                                                             : limits.handshake_ms;
        conn_set_limits(client->conn, &limits);
}

static void cccc_gate_on_frame(Client *client, Str line) {
        CcccGate *gate = client->endpoint->context;
        Json *json = NULL;

        if (json_parse(&client->daemon->envelope, line.data, line.n, &message_limits, &json, NULL) ||
            !cccc_gate_is_right(gate, json)) {
                client->state = "a wrong token, or none";
                conn_abort(client->conn, "no token");
                return;
        }
        gate->n_waiting--;
        cccc_gate_let_in(client);
}

static void cccc_gate_on_eof(Client *client, _unused_ Str rest) {
        conn_abort(client->conn, "no token");
}

static void cccc_gate_on_oversize(Client *client) {
        conn_abort(client->conn, "no token");
}

/* It never said it. */
static void cccc_gate_on_close(Client *client) {
        CcccGate *gate = client->endpoint->context;

        gate->n_waiting--;
        cccc_gate_refuse(client->endpoint, conn_peer(client->conn),
                         client->state ? client->state : "it said no token in time");
        client->state = NULL;
}

static const Dialect cccc_gate_dialect = {
        .name = "cccc",
        .framing = {.kind = FRAMING_LINE, .n_max = CCCC_GATE_LINE},
        .frame = cccc_gate_on_frame,
        .eof = cccc_gate_on_eof,
        .oversize = cccc_gate_on_oversize,
        .close = cccc_gate_on_close,
};

bool cccc_gate_hears(Client *client, const Json *json) {
        const CcccGate *gate = client->endpoint->context;
        const ConnPeer *peer = conn_peer(client->conn);

        if (client->has_token || !peer->is_local_tcp || !gate || !gate->n_token || !json_get(json, "token"))
                return false;
        if (cccc_gate_is_right(gate, json))
                cccc_gate_let_in(client);
        else {
                cccc_gate_refuse(client->endpoint, peer, "a wrong token, or none");
                conn_abort(client->conn, "no token");
        }
        return true;
}
