/* SPDX-License-Identifier: MIT */
/*
 * POST /mcp: MCP over streamable HTTP, for agents that have an address instead of a program to start. Each request stands
 * alone, also of revisions that begin with `initialize`: nothing is remembered between two, and there is no session id.
 *
 *   body ── mcp-era.h (the newer era) ── dialect/mcp ── message ── one JSON answer, or an event of a stream
 *
 * While one is under way the client speaks dialect/mcp with this as its Channel, which makes an answer of what is said. What
 * waits (muster_wait, subscriptions/listen) is answered by a stream of events, and that is the last of its connection: who
 * closes it has cancelled the request. docs/mcp.md.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "core/daemon.h"
#include "dialect/http/http-request.h"
#include "dialect/http/http-server.h"
#include "dialect/http/http.h"
#include "dialect/mcp/mcp-era.h"
#include "dialect/mcp/mcp.h"
#include "gen/errors.h"

enum { HTTP_MCP_HEADERS_CODE = -(32 * 1000 + 20) }; /* of headers that do not say what the body does */

typedef struct HttpMcp {
        HttpConn *conn; /* the client's state before and after */
        HttpRequest *request;
        Client *client;
        Endpoint *home; /* a tool may be at work at another one's place */
        Str id, token;  /* raw JSON, of the request's arena; token: who waits wants to be told, empty: not */
        bool is_old, is_resource;
        bool is_wait;    /* worth a stream if it is not answered at once */
        bool is_begun;   /* the stream's head is written */
        bool is_over;    /* the answer is written */
        bool is_holding; /* the client */
        unsigned n_progress;
        Timer tick;
        Deferred done;
        TokenWatch watch;
} HttpMcp;

/* ---- refusals -------------------------------------------------------------------------------- */

static void http_mcp_refuse(HttpRequest *request, unsigned status, Str id, int code, const char *message) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_cstr(&w, "jsonrpc", "2.0");
        jw_key(&w, "id");
        jw_raw(&w, id.n ? id : STR("null"));
        jw_key(&w, "error");
        jw_begin_object(&w);
        jw_field_int(&w, "code", code);
        jw_field_cstr(&w, "message", message);
        jw_end_object(&w);
        jw_end_object(&w);
        if (w.failed)
                http_answer_status(request, 500);
        else
                http_answer_json(request, status, buf_str(&text));
}

/* A field that is not plain ASCII comes as =?base64?…?=. */
static bool http_mcp_is_said(const HttpRequest *request, const char *field, Str expected) {
        static const Str front = {"=?base64?", 9}, back = {"?=", 2};
        _cleanup_(buf_deinit) Buf plain = BUF_NULL;
        Str value;

        if (!http_head_find(&request->head, str_from(field), &value))
                return false;
        if (value.n < front.n + back.n || !str_starts(value, front) ||
            memcmp(value.data + value.n - back.n, back.data, back.n) != 0)
                return str_eq(value, expected);
        value = (Str){value.data + front.n, value.n - front.n - back.n};
        return !base64_decode(&plain, value) && str_eq(buf_str(&plain), expected);
}

/* NULL, or which header does not say what the body does: whoever stands between the two goes by the headers. */
static const char *http_mcp_wrong_header(const HttpRequest *request, Str method, const Json *params) {
        static const struct {
                const char *method, *member;
        } named[] = {{"tools/call", "name"}, {"prompts/get", "name"}, {"resources/read", "uri"}};
        Str revision = json_text_of(json_get(params, "_meta"), "io.modelcontextprotocol/protocolVersion");

        if (!http_mcp_is_said(request, "MCP-Protocol-Version", revision))
                return "the header MCP-Protocol-Version is not what _meta says";
        if (!str_is(revision, MCP_REVISION))
                return NULL; /* refused as that */
        if (!http_mcp_is_said(request, "Mcp-Method", method))
                return "the header Mcp-Method is not the method";
        for (size_t i = 0; i < ARRAY_SIZE(named); i++) {
                Str name = json_text_of(params, named[i].member);

                if (str_is(method, named[i].method) && name.n &&
                    !http_mcp_is_said(request, "Mcp-Name", name))
                        return "the header Mcp-Name is not what params name";
        }
        return NULL;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static unsigned http_mcp_status(const HttpMcp *self, Str message) {
        int code = self->is_old ? 0 : mcp_era_error(self->id, message);

        if (code == native_error_code(CALL_E_UNKNOWN_OP))
                return 404;
        return code == native_error_code(CALL_E_INVALID_REQUEST) || code == MCP_REVISION_CODE ? 400 : 200;
}

/* One event, as a piece of a body that ends when it ends. */
static int http_mcp_put_event(Buf *out, Str message) {
        static const char front[] = "data: ", back[] = "\n\n";

        return buf_printf(out, "%zx\r\n%s", message.n + sizeof(front) - 1 + sizeof(back) - 1, front) ||
                               buf_append_str(out, message) || buf_printf(out, "%s\r\n", back)
                       ? -ENOMEM
                       : 0;
}

static int http_mcp_put_stream_head(HttpMcp *self, Buf *out) {
        self->is_begun = true;
        self->request->closes = true;
        conn_set_framing(self->client->conn, &(Framing){.kind = FRAMING_RAW});
        conn_end_with_input(self->client->conn);
        if (timer_set(&self->tick, self->token.n ? 0 : HTTP_MCP_SILENT_MS))
                return -ENOMEM;
        return http_put_head(self->request,
                             &(HttpReply){.status = 200,
                                          .type = "text/event-stream",
                                          .more = "X-Accel-Buffering: no\r\n",
                                          .is_chunked = true},
                             out);
}

static int http_mcp_put_answer(HttpMcp *self, Buf *out, Str message) {
        const HttpReply reply = {
                .status = http_mcp_status(self, message), .type = "application/json", .body = message};
        int r;

        self->is_over = true;
        deferred_schedule(&self->done);
        if (self->is_begun) {
                r = http_mcp_put_event(out, message);
                return r ? r : buf_append_str(out, STR("0\r\n\r\n"));
        }
        r = http_put_head(self->request, &reply, out);
        return r ? r : buf_append_str(out, message);
}

/* What is told before an answer, or instead of one. */
static int http_mcp_put_news(HttpMcp *self, Buf *out, Str message) {
        int r = self->is_begun ? 0 : http_mcp_put_stream_head(self, out);

        if (self->is_holding) /* it only listens from now on: its end is to be seen */
                client_release(self->client);
        self->is_holding = false;
        return r ? r : http_mcp_put_event(out, message);
}

static bool http_mcp_is_news(Str message) {
        return str_starts(message, STR("{\"jsonrpc\":\"2.0\",\"method\":"));
}

static void http_mcp_on_end(Client *client, Buf *out, size_t mark) {
        HttpMcp *self = client->channel_state;
        _cleanup_(buf_deinit) Buf message = BUF_NULL;
        Str said = {out->data + mark, out->n - mark};
        int r;

        if (self->is_over)
                r = 0;
        else if (self->is_old)
                r = mcp_era_put_old(&message, self->id, self->is_resource, said);
        else
                r = buf_append_str(&message, said);
        out->n = mark;
        if (!r && !self->is_over)
                r = http_mcp_is_news(buf_str(&message)) ? http_mcp_put_news(self, out, buf_str(&message))
                                                        : http_mcp_put_answer(self, out, buf_str(&message));
        if (r)
                conn_abort(client->conn, "out of memory");
        conn_flush_soon(client->conn);
}

/* ---- while it lasts -------------------------------------------------------------------------- */

/* A client gives up on what it hears nothing of, and so do those between. */
static void http_mcp_on_tick(Timer *timer) {
        HttpMcp *self = container_of(timer, HttpMcp, tick);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Buf *out = conn_out(self->client->conn);
        int r;

        if (self->is_over)
                return;
        if (self->token.n) {
                r = buf_printf(&text,
                               "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                               "progress\",\"params\":{\"progressToken\":" STR_FMT
                               ",\"progress\":%u,\"message\":\"waiting\"}}",
                               STR_ARG(self->token), ++self->n_progress);
                r = r ? r : http_mcp_put_event(out, buf_str(&text));
        } else
                r = buf_append_str(out, STR("3\r\n:\n\n\r\n"));
        if (r || timer_set(timer, self->token.n ? HTTP_MCP_PROGRESS_MS : HTTP_MCP_SILENT_MS))
                conn_abort(self->client->conn, "out of memory");
        conn_flush_soon(self->client->conn);
}

static void http_mcp_on_token_gone(TokenWatch *watch, const char *why) {
        const HttpMcp *self = container_of(watch, HttpMcp, watch);

        conn_abort(self->client->conn, why);
}

/* Bytes behind a stream of events: nobody reads them. */
static void http_mcp_on_frame(_unused_ Client *client, _unused_ Str frame) {}
static void http_mcp_on_fault(_unused_ Client *client) {}

/* ---- life ------------------------------------------------------------------------------------ */

static void http_mcp_free(HttpMcp *self) {
        self->home->n_away--;
        timer_clear(&self->tick);
        deferred_cancel(&self->done);
        token_unwatch(&self->watch);
        free(self);
}

static void http_mcp_on_close(Client *client) {
        HttpMcp *self = client->channel_state;

        client_move(client, self->home);
        client->state = self->conn;
        client->channel_state = NULL;
        http_leave(self->request);
        http_mcp_free(self);
}

static const Channel http_mcp_channel = {.frame = http_mcp_on_frame,
                                         .oversize = http_mcp_on_fault,
                                         .end = http_mcp_on_end,
                                         .close = http_mcp_on_close};

/* The answer is queued and whoever made it has let go: the connection speaks HTTP again. */
static void http_mcp_on_done(Deferred *deferred) {
        HttpMcp *self = container_of(deferred, HttpMcp, done);
        Client *client = self->client;
        HttpRequest *request = self->request;
        bool was_holding = self->is_holding;

        client->channel = NULL;
        client->channel_state = NULL;
        client->dialect = &http_dialect;
        client->state = self->conn;
        client_move(client, self->home);
        request->closes |= self->home->state != ENDPOINT_LISTENING;
        http_mcp_free(self);
        http_end(request);
        if (was_holding)
                client_release(client);
}

static HttpMcp *http_mcp_new(HttpRequest *request, Str id) {
        HttpMcp *self = calloc(1, sizeof(*self));
        Client *client = request->client;

        if (!self)
                return NULL;
        *self = (HttpMcp){.conn = request->conn,
                          .request = request,
                          .client = client,
                          .home = client->endpoint,
                          .id = arena_str(&request->arena, id),
                          .is_holding = true};
        timer_init(&self->tick, client->daemon->loop, http_mcp_on_tick);
        deferred_init(&self->done, client->daemon->loop, http_mcp_on_done);
        if (http_auth_token(request))
                token_watch(http_auth_token(request), &self->watch, http_mcp_on_token_gone);
        self->home->n_away++;
        client_hold(client);
        client->channel = &http_mcp_channel;
        client->channel_state = self;
        client->dialect = &mcp_dialect;
        client->state = NULL;
        return self;
}

/* ---- requests -------------------------------------------------------------------------------- */

static bool http_mcp_takes_events(const HttpRequest *request) {
        HttpItems items = http_items(&request->head, STR("Accept"));
        Str item;

        while (http_items_next(&items, &item))
                if (str_starts(item, STR("text/event-stream")))
                        return true;
        return false;
}

/* The address says for whom, as the environment does for the bridge. */
static McpSaid http_mcp_said(const HttpRequest *request) {
        McpSaid said = {0};

        (void)http_target_find(&request->target, STR("group"), &said.group);
        (void)http_target_find(&request->target, STR("actor"), &said.actor);
        return said;
}

static void http_mcp_forward(HttpRequest *request, const McpAsked *asked) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);
        McpSaid said = http_mcp_said(request);
        const McpTool *tool = str_is(asked->method, "tools/call")
                                      ? mcp_era_tool(json_text_of(asked->params, "name"))
                                      : NULL;
        bool takes_events = http_mcp_takes_events(request);
        HttpMcp *self;

        if (str_is(asked->method, "subscriptions/listen") && !takes_events)
                return http_mcp_refuse(request, 406, asked->id, native_error_code(CALL_E_INVALID_REQUEST),
                                       "this is answered by text/event-stream, which Accept does not have");
        mcp_era_put_request(&w, &said, asked);
        self = w.failed ? NULL : http_mcp_new(request, asked->id);
        if (!self)
                return http_answer_status(request, 500);
        self->is_old = asked->is_old;
        self->is_resource = str_is(asked->method, "resources/read");
        self->is_wait = takes_events && tool && (tool->flags & TOOL_WAITS);
        self->token = arena_str(
                &request->arena,
                self->is_wait ? json_raw(json_get(json_get(asked->params, "_meta"), "progressToken"))
                              : STR_NULL);
        client_hear(request->client, buf_str(&line));
        if (self->is_wait && !self->is_over &&
            http_mcp_put_stream_head(self, conn_out(request->client->conn)))
                conn_abort(request->client->conn, "out of memory");
        conn_flush_soon(request->client->conn);
}

/* What is answered without the tools, and what older revisions do not have here: nobody can be told of anything between
 * two requests. True: it was answered. */
static bool http_mcp_is_answered(HttpRequest *request, Str id, Str method, const Json *params) {
        static const char *const none[] = {"server/discover", "subscriptions/listen", "resources/subscribe",
                                           "resources/unsubscribe"};
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Str revision;

        if (str_is(method, "initialize"))
                mcp_era_put_initialize(&w, id, params, false);
        else if (http_head_find(&request->head, STR("MCP-Protocol-Version"), &revision) &&
                 !mcp_era_is_old(revision)) {
                http_mcp_refuse(request, 400, id, native_error_code(CALL_E_INVALID_PARAMS),
                                str_is(revision, MCP_REVISION)
                                        ? "_meta has no io.modelcontextprotocol/protocolVersion"
                                        : "unsupported MCP-Protocol-Version");
                return true;
        } else if (str_is(method, "ping") || str_is(method, "logging/setLevel"))
                mcp_era_put_empty(&w, id);
        for (size_t i = 0; !text.n && i < ARRAY_SIZE(none); i++)
                if (str_is(method, none[i])) {
                        http_mcp_refuse(request, 200, id, native_error_code(CALL_E_UNKNOWN_OP),
                                        "not a method of this revision over HTTP");
                        return true;
                }
        if (w.failed)
                http_answer_status(request, 500);
        else if (text.n)
                http_answer_json(request, 200, buf_str(&text));
        return text.n;
}

static void http_mcp_request(HttpRequest *request, Str id, Str method, const Json *params) {
        bool is_new = mcp_era_says_new(params);
        const char *wrong = is_new ? http_mcp_wrong_header(request, method, params) : NULL;

        if (params && !json_is(params, JSON_OBJECT))
                http_mcp_refuse(request, 400, id, native_error_code(CALL_E_INVALID_PARAMS),
                                "params must be an object");
        else if (wrong)
                http_mcp_refuse(request, 400, id, HTTP_MCP_HEADERS_CODE, wrong);
        else if (is_new || !http_mcp_is_answered(request, id, method, params))
                http_mcp_forward(
                        request,
                        &(McpAsked){.id = id, .method = method, .params = params, .is_old = !is_new});
}

static void http_mcp_message(HttpRequest *request, const Json *message) {
        const Json *id = json_get(message, "id");
        Str method = json_text_of(message, "method");
        bool is_odd = id && ((!json_is(id, JSON_STRING) && !json_is(id, JSON_NUMBER)) ||
                             json_raw(id).n > MCP_ID_MAX);

        if (!json_is(message, JSON_OBJECT) || !str_is(json_text_of(message, "jsonrpc"), "2.0") || is_odd ||
            (!method.n && (!id || (!json_get(message, "result") && !json_get(message, "error")))))
                http_mcp_refuse(request, 400, id && !is_odd ? json_raw(id) : STR_NULL,
                                native_error_code(CALL_E_INVALID_REQUEST),
                                "no JSON-RPC 2.0 message; there is one in a request");
        else if (method.n && id)
                http_mcp_request(request, json_raw(id), method, json_get(message, "params"));
        else
                http_answer_status(request, 202); /* a notification: to cancel is to hang up */
}

void http_mcp_post(HttpRequest *request, Str body) {
        Str text = arena_str(&request->arena, body);
        Json *json = NULL;

        if (!http_auth_holds(request))
                return http_auth_refuse(request);
        if (!str_starts(http_head_get(&request->head, STR("Content-Type")), STR("application/json")))
                return http_answer_status(request, 415);
        if (!text.data || json_parse(&request->arena, text.data, text.n, &message_limits, &json, NULL))
                return http_mcp_refuse(request, 400, STR_NULL, native_error_code(CALL_E_PARSE),
                                       "parse error");
        http_mcp_message(request, json);
}
