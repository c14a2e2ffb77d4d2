/* SPDX-License-Identifier: MIT */
/*
 * coop's REST: the operations ls, create, kill and shell of its contract, in the two forms that its documented interface
 * and its own page expect. Elements and answers carry the members of both.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/time.h"
#include "core/daemon.h"
#include "core/web/access.h"
#include "dialect/coop/coop.h"
#include "dialect/http/http-request.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

enum { REST_VALUES = 4096 /* in a body */, REST_LIST_MORE = 256 /* bytes: members of one session */ };

/* ---- bodies ---------------------------------------------------------------------------------- */

/* An object in the request's arena; without a body an empty one. NULL: it was refused. */
static Json *http_rest_args(HttpRequest *request, Str body) {
        Str text = arena_str(&request->arena, body);
        Json *json = NULL;
        JsonFault fault = {0};

        if (!text.data)
                http_answer_status(request, 500);
        else if (!str_trim(text).n)
                return json_new(&request->arena, JSON_OBJECT);
        else if (json_parse(&request->arena, text.data, text.n, &(JsonLimits){.n_values = REST_VALUES},
                            &json, &fault) ||
                 !json_is(json, JSON_OBJECT))
                http_answer_wrong(request, 400, "the body is no JSON object");
        else
                return json;
        return NULL;
}

static bool http_rest_set(HttpRequest *request, Json *args, const char *key, Str value) {
        if (!json_set(&request->arena, args, str_from(key), json_new_str(&request->arena, value)))
                return true;
        http_answer_status(request, 500);
        return false;
}

/* Its third segment. */
static Str http_rest_session(const HttpRequest *request) {
        return request->target.segments[2];
}

/* ---- answers --------------------------------------------------------------------------------- */

/* What an operation refuses is an answer like any other, as with the original. */
static bool http_rest_has_failed(HttpRequest *request) {
        if (!request->error)
                return false;
        http_answer_json(request, request->error == CALL_E_INTERNAL ? 500 : 200, buf_str(&request->out));
        return true;
}

/* The members of the result, behind ok, and `more`, which is one or several with a comma before each. */
static void http_rest_answer(HttpRequest *request, Str more) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str result = buf_str(&request->out);
        bool has_members = result.n > 2;

        if (http_rest_has_failed(request))
                return;
        if (buf_append_str(&text, STR("{\"ok\":true")) || (has_members && buf_append_str(&text, STR(","))) ||
            (has_members && buf_append(&text, result.data + 1, result.n - 2)) ||
            buf_append_str(&text, more) || buf_append_str(&text, STR("}")))
                http_answer_status(request, 500);
        else
                http_answer_json(request, 200, buf_str(&text));
}

static Json *http_rest_result(HttpRequest *request) {
        Json *json = NULL;

        return json_parse(&request->arena, request->out.data, request->out.n, NULL, &json, NULL) ? NULL
                                                                                                 : json;
}

/* The answer with one of its members once more, under the name that coop's page knows. */
static void http_rest_answer_alias(HttpRequest *request, const char *member, const char *alias) {
        const Json *value = request->error ? NULL : json_get(http_rest_result(request), member);
        Str more = STR_NULL;

        if (value)
                more = arena_printf(&request->arena, ",\"%s\":" STR_FMT, alias, STR_ARG(json_raw(value)));
        http_rest_answer(request, more);
}

/* ---- GET /api/sessions ----------------------------------------------------------------------- */

static void http_rest_write_session(const Json *session, JsonWriter *w) {
        int64_t web = 0, local = 0, created = 0, pid = 0;
        char at[TIME_TEXT_MAX];
        Str raw = json_raw(session);

        (void)json_int64(json_get(session, "web_clients"), &web);
        (void)json_int64(json_get(session, "local_clients"), &local);
        (void)json_int64(json_get(session, "created"), &created);
        (void)json_int64(json_get(session, "pid"), &pid);
        time_format_s(created * 1000000, at);
        jw_begin_object(w);
        jw_raw(w, (Str){raw.data + 1, raw.n - 2}); /* its own members, of which it has some */
        w->comma = true;
        jw_field_value(w, "id", json_get(session, "name"));
        jw_field_cstr(w, "status", pid ? "running" : "exited");
        jw_field_int(w, "clients", web + local);
        jw_field_cstr(w, "created_at", at);
        jw_end_object(w);
}

static void http_rest_listed(HttpRequest *request) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        const Json *result;

        if (http_rest_has_failed(request))
                return;
        if (buf_reserve(&text, request->out.n + request->out.n / 2 + REST_LIST_MORE)) {
                http_answer_status(request, 500);
                return;
        }
        result = http_rest_result(request);
        jw_begin_array(&w);
        json_each (session, json_get(result, "sessions"))
                http_rest_write_session(session, &w);
        jw_end_array(&w);
        if (!result || w.failed)
                http_answer_status(request, 500);
        else
                http_answer_json(request, 200, buf_str(&text));
}

void http_rest_list(HttpRequest *request, _unused_ Str body) {
        http_run_op(request, &coop_ops, "ls", NULL, http_rest_listed);
}

/* ---- POST /api/sessions, DELETE /api/sessions/NAME ------------------------------------------- */

static void http_rest_created(HttpRequest *request) {
        http_rest_answer_alias(request, "session", "id");
}

/* Without a workspace it is the home: coop's page names none. */
void http_rest_create(HttpRequest *request, Str body) {
        Json *args = http_rest_args(request, body);
        const char *home = getenv("HOME");

        if (!args)
                return;
        if (!json_get(args, "workspace") &&
            !http_rest_set(request, args, "workspace", str_from(home && *home ? home : "/")))
                return;
        http_run_op(request, &coop_ops, "create", args, http_rest_created);
}

static void http_rest_killed(HttpRequest *request) {
        http_rest_answer(request, STR_NULL);
}

void http_rest_kill(HttpRequest *request, _unused_ Str body) {
        Json *args = json_new(&request->arena, JSON_OBJECT);

        if (!args)
                http_answer_status(request, 500);
        else if (http_rest_set(request, args, "session", http_rest_session(request)))
                http_run_op(request, &coop_ops, "kill", args, http_rest_killed);
}

/* ---- POST /api/sessions/NAME/shell ----------------------------------------------------------- */

static void http_rest_shown(HttpRequest *request) {
        http_rest_answer_alias(request, "pty", "pty_id");
}

void http_rest_shell(HttpRequest *request, Str body) {
        Json *args = http_rest_args(request, body);

        if (args && http_rest_set(request, args, "session", http_rest_session(request)))
                http_run_op(request, &coop_ops, "shell", args, http_rest_shown);
}

/* ---- POST /api/sessions/NAME/pty/N/resize ---------------------------------------------------- */

static bool http_rest_side(const Json *args, const char *key, unsigned *ret) {
        uint64_t side;

        if (!json_uint64(json_get(args, key), &side) || side > UINT16_MAX)
                return false;
        *ret = (unsigned)side;
        return true;
}

static bool http_rest_number(Str text, uint64_t *ret) {
        uint64_t n = 0;

        for (size_t i = 0; i < text.n; i++) {
                if (text.data[i] < '0' || text.data[i] > '9' || i > 8)
                        return false;
                n = n * 10 + (uint64_t)(text.data[i] - '0');
        }
        *ret = n;
        return text.n > 0;
}

static void http_rest_fail(HttpRequest *request, int error, const char *message) {
        request->error = error;
        request->out.n = 0;
        if (coop_put_failure(&request->out, error, str_from(message), STR_NULL))
                http_rest_answer(request, STR_NULL);
        else
                http_answer_status(request, 500);
}

/* coop has no such operation: in its streams a resize is a message. */
void http_rest_resize(HttpRequest *request, Str body) {
        Client *client = request->client;
        Json *args = http_rest_args(request, body);
        const Session *session;
        unsigned cols = 0, rows = 0;
        uint64_t id = 0;
        const Pty *pty;

        if (!args)
                return;
        if (!web_access_allows(client, WEB_SCOPE_CONTROL))
                return http_rest_fail(request, CALL_E_FORBIDDEN, "the token may only look");
        if (!http_rest_side(args, "cols", &cols) || !http_rest_side(args, "rows", &rows) ||
            !http_rest_number(request->target.segments[4], &id))
                return http_rest_fail(request, CALL_E_INVALID_PARAMS, "cols, rows and the PTY are numbers");
        session = session_find(client->daemon->sessions, http_rest_session(request));
        if (!session)
                return http_rest_fail(request, CALL_E_SESSION_NOT_FOUND, "no such session");
        pty = pty_find((Session *)session, id);
        if (!pty)
                return http_rest_fail(request, CALL_E_PTY_NOT_FOUND, "no such PTY");
        if (pty->hosted)
                host_resize(pty->hosted, cols, rows);
        http_rest_answer(request, STR_NULL);
}
