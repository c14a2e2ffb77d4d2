/* SPDX-License-Identifier: MIT */
/*
 * Data channels. The process asks for a socket for each that the browser opens, and is given one for each that we open; our end of it is a Conn like
 * any other, with a Channel (core/client.h) that cuts messages. What is spoken on it is that of the web: coop.c, ws-rpc.c, ws-term.c.
 *
 * What is longer than a message may be goes in parts on channels of text: messages of bytes, then one of text that ends it.
 */
#define LOG_MODULE "tunnel/channel"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "base/error.h"
#include "base/file.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "dialect/coop/coop.h"
#include "dialect/http/ws.h"
#include "dialect/tunnel/tunnel.h"
#include "sessions/sessions.h"

typedef struct TunnelChannel {
        Client *client;
        Tunnel *tunnel;
        bool is_text; /* the message being handled */
        bool is_closing;
        Buf parts; /* of a message that is not whole yet */
        TokenWatch token;
} TunnelChannel;

static const Channel tunnel_control_channel, tunnel_text_channel, tunnel_bytes_channel, tunnel_pty_channel;

/* ---- to the peer ----------------------------------------------------------------------------- */

/* Where the last part begins, which is text: at a character. */
static size_t tunnel_channel_last(Str text) {
        size_t at = (text.n - 1) / FRAMING_MESSAGE_MAX * FRAMING_MESSAGE_MAX;

        while (at && ((unsigned char)text.data[at] & 0xc0) == 0x80)
                at--;
        return at;
}

static int tunnel_channel_put_parts(Buf *out, Str text) {
        size_t last = text.n > FRAMING_MESSAGE_MAX ? tunnel_channel_last(text) : 0, n;
        char head[FRAMING_MESSAGE_HEADER];
        int r = 0;

        for (size_t at = 0; !r && at < last; at += n) {
                n = MIN(last - at, (size_t)FRAMING_MESSAGE_MAX);
                framing_put_message(head, true, n);
                r = buf_append(out, head, sizeof(head));
                if (!r)
                        r = buf_append(out, text.data + at, n);
        }
        framing_put_message(head, false, text.n - last);
        if (!r)
                r = buf_append(out, head, sizeof(head));
        return r ? r : buf_append(out, text.data + last, text.n - last);
}

static int tunnel_channel_wrap(Buf *out, size_t mark) {
        size_t n = out->n - mark;
        Buf copy = BUF_NULL;
        int r;

        if (n <= FRAMING_MESSAGE_MAX) {
                r = buf_reserve(out, FRAMING_MESSAGE_HEADER);
                if (r)
                        return r;
                memmove(out->data + mark + FRAMING_MESSAGE_HEADER, out->data + mark, n);
                framing_put_message(out->data + mark, false, n);
                out->n += FRAMING_MESSAGE_HEADER;
                return 0;
        }
        r = buf_append(&copy, out->data + mark, n);
        out->n = mark;
        if (!r)
                r = tunnel_channel_put_parts(out, buf_str(&copy));
        buf_deinit(&copy);
        return r;
}

static void tunnel_channel_end(Client *client, Buf *out, size_t mark) {
        if (tunnel_channel_wrap(out, mark))
                conn_abort(client->conn, "out of memory");
        conn_flush_soon(client->conn);
}

static Chunk *tunnel_channel_pack(Str bytes) {
        size_t n_pieces = (bytes.n + TUNNEL_PIECE - 1) / TUNNEL_PIECE;
        Chunk *chunk = malloc(sizeof(*chunk) + n_pieces * FRAMING_MESSAGE_HEADER + bytes.n);
        char *at;

        if (!chunk)
                return NULL;
        chunk->n_refs = 1;
        chunk->n = n_pieces * FRAMING_MESSAGE_HEADER + bytes.n;
        at = chunk->data;
        while (bytes.n) {
                size_t n = MIN(bytes.n, (size_t)TUNNEL_PIECE);

                framing_put_message(at, true, n);
                memcpy(at + FRAMING_MESSAGE_HEADER, bytes.data, n);
                at += FRAMING_MESSAGE_HEADER + n;
                bytes = (Str){bytes.data + n, bytes.n - n};
        }
        return chunk;
}

/* ---- closing --------------------------------------------------------------------------------- */

static void tunnel_channel_finish(Client *client, const char *reason) {
        TunnelChannel *self = client->channel_state;

        if (self->is_closing || conn_is_closing(client->conn))
                return;
        self->is_closing = true;
        conn_finish(client->conn, reason);
}

static void tunnel_channel_leave(Client *client, unsigned code, const char *reason) {
        TunnelChannel *self = client->channel_state;
        JsonWriter w = JSON_WRITER(conn_out(client->conn));
        size_t mark = w.out->n;

        if (self->is_closing || conn_is_closing(client->conn))
                return;
        jw_begin_object(&w);
        jw_field_uint(&w, "close", code);
        jw_field_cstr(&w, "reason", reason);
        jw_end_object(&w);
        if (w.failed || tunnel_channel_wrap(w.out, mark))
                conn_abort(client->conn, "out of memory");
        tunnel_channel_finish(client, reason);
}

/* Channels of coop have no such message. */
static void tunnel_channel_leave_coop(Client *client, _unused_ unsigned code, const char *reason) {
        tunnel_channel_finish(client, reason);
}

static void tunnel_channel_on_token_gone(TokenWatch *watch, const char *why) {
        Client *client = container_of(watch, TunnelChannel, token)->client;

        client->channel->leave(client, WS_CODE_REVOKED, why);
}

static void tunnel_channel_on_closed(Client *client) {
        TunnelChannel *self = client->channel_state;
        Tunnel *tunnel = self->tunnel;
        bool is_control = tunnel->control == client;

        token_unwatch(&self->token);
        buf_deinit(&self->parts);
        free(self);
        client->channel_state = NULL;
        if (is_control)
                tunnel_control_gone(tunnel);
        tunnel_client_gone(tunnel);
}

static void tunnel_channel_on_fault(Client *client) {
        client->channel->leave(client, WS_CODE_TOO_LARGE, "message over 256 KiB");
}

/* ---- from the peer --------------------------------------------------------------------------- */

static void tunnel_channel_on_whole(Client *client, Str message, bool is_text) {
        TunnelChannel *self = client->channel_state;

        self->is_text = is_text;
        client_hear(client, message);
}

static void tunnel_channel_on_bytes(Client *client, Str frame) {
        const TunnelChannel *self = client->channel_state;
        bool is_binary;
        Str message = framing_open_message(frame, &is_binary);

        if (!self->is_closing)
                tunnel_channel_on_whole(client, message, !is_binary);
}

/* The dialect may change what is read next, and close: the parts are its own until it returns. */
static void tunnel_channel_on_text(Client *client, Str frame) {
        TunnelChannel *self = client->channel_state;
        _cleanup_(buf_deinit) Buf whole = BUF_NULL;
        bool is_binary;
        Str message = framing_open_message(frame, &is_binary);

        if (self->is_closing)
                return;
        if (!is_binary && !self->parts.n) {
                tunnel_channel_on_whole(client, message, true);
                return;
        }
        if (self->parts.n + message.n > TUNNEL_PART_MAX)
                client->channel->leave(client, WS_CODE_TOO_LARGE, "message over 1 MiB");
        else if (buf_append_str(&self->parts, message))
                conn_abort(client->conn, "out of memory");
        else if (is_binary)
                (void)conn_set_held(client->conn, self->parts.n);
        else {
                whole = self->parts;
                self->parts = BUF_NULL;
                (void)conn_set_held(client->conn, 0);
                tunnel_channel_on_whole(client, buf_str(&whole), true);
        }
}

static bool tunnel_channel_is_text(const Client *client) {
        const TunnelChannel *self = client->channel_state;

        return self->is_text;
}

/* ---- making them ----------------------------------------------------------------------------- */

static int tunnel_channel_conn(Tunnel *tunnel, int fd, Conn **ret) {
        Daemon *daemon = tunnel->daemon;
        ConnPeer peer = {.is_remote = true};
        Account *account = NULL;
        int r;

        if (tunnel->from.family == 6)
                memcpy(&peer.ip, tunnel->from.bytes, 16);
        else {
                peer.ip.s6_addr[10] = peer.ip.s6_addr[11] = 0xff;
                memcpy(peer.ip.s6_addr + 12, tunnel->from.bytes, 4);
        }
        peer.address = address_number(&peer.ip);
        r = account_open_tunnel(&daemon->accounts, tunnel->number, &account);
        if (r)
                return r < 0 ? error_trace(r) : error_origin(-ENOBUFS);
        r = conn_new(ret, &daemon->shared, fd, fd, &peer, account);
        if (r)
                account_close(account);
        return error_trace(r);
}

/* Takes fd. NULL: there is no memory for it. */
static Client *tunnel_channel_new(Tunnel *tunnel, int fd, const Channel *channel, const Dialect *dialect) {
        TunnelChannel *self = calloc(1, sizeof(*self));
        Conn *conn = NULL;
        ConnLimits limits;
        Client *client;

        if (!self || tunnel_channel_conn(tunnel, fd, &conn)) {
                close_fd(fd);
                free(self);
                return NULL;
        }
        client = client_new(tunnel->endpoint, conn, &limits);
        if (!client) {
                free(self);
                return NULL;
        }
        *self = (TunnelChannel){.client = client, .tunnel = tunnel, .parts = BUF_NULL};
        client->channel = channel;
        client->channel_state = self;
        if (dialect)
                client->dialect = dialect;
        tunnel->n_channels++;
        if (principal_be_web(client, tunnel->phase == TUNNEL_CONNECTED ? tunnel->token : NULL))
                conn_abort(conn, "out of memory");
        if (tunnel->phase == TUNNEL_CONNECTED)
                token_watch(tunnel->token, &self->token, tunnel_channel_on_token_gone);
        client_begin(client, &limits);
        return client;
}

void tunnel_channel_prove(Client *client) {
        TunnelChannel *self = client->channel_state;

        token_watch(self->tunnel->token, &self->token, tunnel_channel_on_token_gone);
}

Tunnel *tunnel_channel_tunnel(const Client *client) {
        const TunnelChannel *self = client->channel_state;

        return self->tunnel;
}

static int tunnel_channel_pair(int pair[2]) {
        return socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)
                       ? error_origin(-errno)
                       : 0;
}

/* ---- those that the browser opens ------------------------------------------------------------ */

typedef struct TunnelLabel {
        const char *label;
        const Channel *channel;
        const Dialect *dialect;
} TunnelLabel;

static bool tunnel_label_find(Str label, TunnelLabel *ret) {
        const TunnelLabel labels[] = {
                {"coop-control", &tunnel_control_channel, &tunnel_proof_dialect},
                {"muster-rpc", &tunnel_text_channel, &ws_rpc_dialect.dialect},
                {"muster-feed", &tunnel_text_channel, &ws_rpc_dialect.dialect},
                {"muster-term", &tunnel_bytes_channel, &tunnel_term_dialect},
                {"muster-file", &tunnel_text_channel, &tunnel_file_dialect},
        };

        for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
                if (str_is(label, labels[i].label)) {
                        *ret = labels[i];
                        return true;
                }
        return false;
}

/* Before the proof there is coop-control and nothing else. */
static bool tunnel_channel_is_allowed(const Tunnel *tunnel, const TunnelAsk *ask, TunnelLabel *ret) {
        bool is_control = str_is(ask->label, "coop-control");

        if (!tunnel->peer || ask->peer != tunnel->peer || tunnel->n_channels >= TUNNEL_CHANNELS_MAX ||
            !tunnel_label_find(ask->label, ret))
                return false;
        return is_control ? tunnel->phase == TUNNEL_TRYING && !tunnel->control && !tunnel->is_refused
                          : tunnel->phase == TUNNEL_CONNECTED;
}

void tunnel_on_ask(Tunnel *tunnel, const TunnelAsk *ask) {
        TunnelMessage answer = {.type = TUNNEL_REFUSE, .channel = ask->channel};
        TunnelLabel label;
        int pair[2] = {-1, -1};
        Client *client = NULL;

        if (tunnel_channel_is_allowed(tunnel, ask, &label) && !tunnel_channel_pair(pair))
                client = tunnel_channel_new(tunnel, pair[0], label.channel, label.dialect);
        if (client)
                answer.type = TUNNEL_CHANNEL;
        else
                log_info(&tunnel->daemon->log, tunnel->name, "channel refused n=%zu phase=%s",
                         tunnel->n_channels, tunnel_phase_name(tunnel->phase));
        if (client && label.channel == &tunnel_control_channel)
                tunnel->control = client;
        tunnel_say(tunnel, &answer, &pair[1]);
        close_fd(pair[1]);
}

/* ---- those that we open ---------------------------------------------------------------------- */

static void tunnel_pty_label(const PtyTarget *asked, Str name, char out[TUNNEL_LABEL_MAX]) {
        if (asked->pty)
                snprintf(out, TUNNEL_LABEL_MAX, "coop-pty-%s-%u", asked->pty->session->name,
                         (unsigned)asked->pty->id);
        else
                snprintf(out, TUNNEL_LABEL_MAX, "coop-pty-" STR_FMT "-0", STR_ARG(name));
}

/* The command was answered already: what cannot be opened is told as an event. */
static void tunnel_pty_fail(Client *control, const char *label) {
        JsonWriter w = JSON_WRITER(conn_out(control->conn));
        size_t mark = w.out->n;

        jw_begin_object(&w);
        jw_field_cstr(&w, "event", "channel_refused");
        jw_field_cstr(&w, "channel", label);
        jw_end_object(&w);
        if (!w.failed)
                client_end_message(control, w.out, mark);
}

static void tunnel_pty_open(Client *control, const StreamTarget *target) {
        const PtyTarget *asked = container_of(target, PtyTarget, stream);
        Tunnel *tunnel = tunnel_channel_tunnel(control);
        TunnelMessage message = {.type = TUNNEL_OPEN};
        char label[TUNNEL_LABEL_MAX];
        int pair[2] = {-1, -1};
        Client *client = NULL;

        tunnel_pty_label(asked, target->hosted ? str_from(target->hosted->id) : STR_NULL, label);
        message.open.label = str_from(label);
        if (tunnel->phase == TUNNEL_CONNECTED && tunnel->n_channels < TUNNEL_CHANNELS_MAX &&
            !tunnel_channel_pair(pair))
                client = tunnel_channel_new(tunnel, pair[0], &tunnel_pty_channel, &coop_dialect);
        if (!client) {
                close_fd(pair[1]);
                tunnel_pty_fail(control, label);
                return;
        }
        coop_stream(client, target);
        tunnel_say(tunnel, &message, &pair[1]);
        close_fd(pair[1]);
}

/* ---- the four kinds -------------------------------------------------------------------------- */

#define TUNNEL_FRAMING                                                                                      \
        { .kind = FRAMING_MESSAGE, .n_max = FRAMING_MESSAGE_MAX }

static const Channel tunnel_control_channel = {.framing = TUNNEL_FRAMING,
                                               .frame = tunnel_channel_on_text,
                                               .oversize = tunnel_channel_on_fault,
                                               .end = tunnel_channel_end,
                                               .close = tunnel_channel_on_closed,
                                               .is_text = tunnel_channel_is_text,
                                               .pack = tunnel_channel_pack,
                                               .leave = tunnel_channel_leave_coop,
                                               .stream = tunnel_pty_open};
static const Channel tunnel_text_channel = {.framing = TUNNEL_FRAMING,
                                            .frame = tunnel_channel_on_text,
                                            .oversize = tunnel_channel_on_fault,
                                            .end = tunnel_channel_end,
                                            .close = tunnel_channel_on_closed,
                                            .is_text = tunnel_channel_is_text,
                                            .pack = tunnel_channel_pack,
                                            .leave = tunnel_channel_leave};
static const Channel tunnel_bytes_channel = {.framing = TUNNEL_FRAMING,
                                             .frame = tunnel_channel_on_bytes,
                                             .oversize = tunnel_channel_on_fault,
                                             .end = tunnel_channel_end,
                                             .close = tunnel_channel_on_closed,
                                             .is_text = tunnel_channel_is_text,
                                             .pack = tunnel_channel_pack,
                                             .leave = tunnel_channel_leave};
static const Channel tunnel_pty_channel = {.framing = TUNNEL_FRAMING,
                                           .frame = tunnel_channel_on_bytes,
                                           .oversize = tunnel_channel_on_fault,
                                           .end = tunnel_channel_end,
                                           .close = tunnel_channel_on_closed,
                                           .is_text = tunnel_channel_is_text,
                                           .pack = tunnel_channel_pack,
                                           .leave = tunnel_channel_leave_coop};
