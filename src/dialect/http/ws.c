/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "http/ws"

#include "dialect/http/ws.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/daemon.h"

typedef struct Ws {
        Client *client;
        WsMessage message;
        bool is_text; /* the one being handled */
        bool is_closing;
        int64_t heard_ms; /* when the peer last sent something */
        Timer ping;
        TokenWatch watch;
} Ws;

/* ---- to the peer ----------------------------------------------------------------------------- */

void ws_put_text(Client *client, Buf *out, Str text) {
        size_t mark = out->n;

        if (buf_append_str(out, text))
                conn_abort(client->conn, "out of memory");
        else
                client->channel->end(client, out, mark);
        conn_flush_soon(client->conn);
}

static void ws_on_end(Client *client, Buf *out, size_t mark) {
        if (ws_wrap(out, mark, WS_TEXT))
                conn_abort(client->conn, "out of memory");
        conn_flush_soon(client->conn);
}

Chunk *ws_frame_bytes(Str bytes) {
        char head[WS_HEADER_MAX];
        size_t n_head = ws_put_header(head, WS_BINARY, bytes.n);
        Chunk *chunk = malloc(sizeof(*chunk) + n_head + bytes.n);

        if (!chunk)
                return NULL;
        chunk->n_refs = 1;
        chunk->n = n_head + bytes.n;
        memcpy(chunk->data, head, n_head);
        memcpy(chunk->data + n_head, bytes.data, bytes.n);
        return chunk;
}

static void ws_put_control(Ws *ws, WsOpcode opcode, Str payload) {
        if (ws_append_frame(conn_out(ws->client->conn), opcode, payload))
                conn_abort(ws->client->conn, "out of memory");
        conn_flush_soon(ws->client->conn);
}

/* ---- closing --------------------------------------------------------------------------------- */

void ws_close(Client *client, unsigned code, const char *reason) {
        client->channel->leave(client, code, reason);
}

static void ws_leave(Client *client, unsigned code, const char *reason) {
        Ws *ws = client->channel_state;

        if (ws->is_closing || conn_is_closing(client->conn))
                return;
        ws->is_closing = true;
        if (ws_append_close(conn_out(client->conn), code, str_from(reason)))
                conn_abort(client->conn, "out of memory");
        conn_finish_gently(client->conn, reason);
}

static void ws_on_close_frame(Ws *ws, Str payload) {
        unsigned code = WS_CODE_NONE;
        Str reason = STR_NULL;
        int r = ws_close_parse(payload, &code, &reason);

        if (r)
                ws_close(ws->client, ws_close_code(r), "bad close frame");
        else
                ws_close(ws->client, code == WS_CODE_NONE ? WS_CODE_NORMAL : code, "");
}

static void ws_on_token_gone(TokenWatch *watch, const char *why) {
        Ws *ws = container_of(watch, Ws, watch);

        ws_close(ws->client, WS_CODE_REVOKED, why);
}

/* ---- silence --------------------------------------------------------------------------------- */

static void ws_on_ping(Timer *timer) {
        Ws *ws = container_of(timer, Ws, ping);
        int64_t silent_ms = loop_now_ms(ws->client->daemon->loop) - ws->heard_ms;
        int64_t next_ms = silent_ms < WS_PING_MS ? WS_PING_MS - silent_ms : WS_SILENT_MS - silent_ms;

        if (silent_ms >= WS_SILENT_MS) {
                conn_abort(ws->client->conn, "no pong");
                return;
        }
        if (silent_ms >= WS_PING_MS)
                ws_put_control(ws, WS_PING, STR_NULL);
        if (timer_set(timer, next_ms))
                conn_abort(ws->client->conn, "out of memory");
}

/* ---- from the peer --------------------------------------------------------------------------- */

static void ws_on_data(Ws *ws, const WsFrame *frame) {
        Client *client = ws->client;
        Str message;
        int r = ws_message_push(&ws->message, frame, WS_MESSAGE_MAX, &message);

        if (r == WS_E_PARTIAL)
                return;
        if (r) {
                ws_close(client, ws_close_code(r), "bad message");
                return;
        }
        ws->is_text = ws->message.opcode == WS_TEXT;
        client_hear(client, message);
}

static void ws_on_frame(Client *client, Str bytes) {
        Ws *ws = client->channel_state;
        WsFrame frame;

        ws->heard_ms = loop_now_ms(client->daemon->loop);
        if (ws->is_closing)
                return;
        ws_frame_open(bytes, &frame);
        if (!ws_is_control(frame.opcode))
                ws_on_data(ws, &frame);
        else if (frame.opcode == WS_PING)
                ws_put_control(ws, WS_PONG, frame.payload);
        else if (frame.opcode == WS_CLOSE)
                ws_on_close_frame(ws, frame.payload);
}

static void ws_on_fault(Client *client) {
        bool is_wrong = conn_fault(client->conn) == FRAMING_E_WRONG;

        ws_close(client, is_wrong ? WS_CODE_PROTOCOL : WS_CODE_TOO_LARGE,
                 is_wrong ? "no frame of a client" : "message over 1 MiB");
}

static void ws_on_closed(Client *client) {
        Ws *ws = client->channel_state;

        timer_clear(&ws->ping);
        token_unwatch(&ws->watch);
        ws_message_deinit(&ws->message);
        free(ws);
        client->channel_state = NULL;
}

static bool ws_message_is_text(const Client *client) {
        const Ws *ws = client->channel_state;

        return ws->is_text;
}

static const Channel ws_channel = {.framing = {.kind = FRAMING_WEBSOCKET, .n_max = WS_MESSAGE_MAX},
                                   .frame = ws_on_frame,
                                   .oversize = ws_on_fault,
                                   .end = ws_on_end,
                                   .close = ws_on_closed,
                                   .is_text = ws_message_is_text,
                                   .pack = ws_frame_bytes,
                                   .leave = ws_leave};

/* ---- for dialects ---------------------------------------------------------------------------- */

bool ws_is_text(const Client *client) {
        return client->channel->is_text(client);
}

void ws_on_eof(Client *client, _unused_ Str rest) {
        conn_finish(client->conn, "end of stream");
}

void ws_on_oversize(Client *client) {
        client->channel->oversize(client);
}

void ws_on_leaving(Client *client) {
        ws_close(client, WS_CODE_LEAVING, "the daemon leaves");
}

/* ---- the upgrade ----------------------------------------------------------------------------- */

/* A browser that offered some wants one of them; that of a token only if there is no other. */
static Str ws_choose_protocol(const HttpRequest *request) {
        HttpItems items = http_items(&request->head, STR("Sec-WebSocket-Protocol"));
        Str item, chosen = STR_NULL;

        while (http_items_next(&items, &item))
                if (!chosen.n || (str_starts(chosen, STR("token.")) && !str_starts(item, STR("token."))))
                        chosen = item;
        return chosen;
}

static int ws_put_answer(const HttpRequest *request, const char *accept) {
        Buf *out = conn_out(request->client->conn);
        Str protocol = ws_choose_protocol(request);
        int r = buf_printf(
                out,
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                "Sec-WebSocket-Accept: %s\r\n",
                accept);

        if (!r && protocol.n)
                r = buf_printf(out, "Sec-WebSocket-Protocol: " STR_FMT "\r\n", STR_ARG(protocol));
        return r ? r : buf_append_str(out, STR("\r\n"));
}

static Ws *ws_new(Client *client, Token *token) {
        Ws *ws = calloc(1, sizeof(*ws));

        if (!ws)
                return NULL;
        ws->client = client;
        ws->heard_ms = loop_now_ms(client->daemon->loop);
        timer_init(&ws->ping, client->daemon->loop, ws_on_ping);
        if (timer_set(&ws->ping, WS_PING_MS)) {
                free(ws);
                return NULL;
        }
        if (token)
                token_watch(token, &ws->watch, ws_on_token_gone);
        return ws;
}

static bool ws_is_upgrade(HttpRequest *request, char accept[WS_ACCEPT_MAX]) {
        const HttpHead *head = &request->head;

        if (!head->wants_websocket || !str_is(http_head_get(head, STR("Sec-WebSocket-Version")), "13"))
                http_answer(request,
                            &(HttpReply){.status = 426,
                                         .more = "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"});
        else if (ws_accept_key(http_head_get(head, STR("Sec-WebSocket-Key")), accept))
                http_answer_wrong(request, 400, "Sec-WebSocket-Key is not 16 bytes in base64");
        else
                return true;
        return false;
}

bool ws_upgrade(HttpRequest *request, const Dialect *dialect) {
        Client *client = request->client;
        char accept[WS_ACCEPT_MAX];
        Ws *ws;

        if (!ws_is_upgrade(request, accept))
                return false;
        ws = ws_new(client, http_auth_token(request));
        if (!ws || ws_put_answer(request, accept)) {
                if (ws)
                        token_unwatch(&ws->watch), timer_clear(&ws->ping), free(ws);
                conn_abort(client->conn, "out of memory");
                return false;
        }
        http_leave(request);
        client->channel = &ws_channel;
        client->channel_state = ws;
        client_switch(client, dialect, client->endpoint, STR_NULL);
        return true;
}
