/* SPDX-License-Identifier: MIT */
/*
 * coop's REST: the operations ls, create, kill and shell of its contract, in the two forms that its documented interface
 * and its own page expect. Elements and answers carry the members of both.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/daemon.h"
#include "core/web/access.h"
#include "dialect/coop/coop.h"
#include "dialect/http/http-request.h"
#include "gen/coop-ops.h"
#include "sessions/sessions.h"

enum { REST_VALUES = 4096 /* in a body */ };

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

/* The sessions have the members of both forms already (is_rest); the array is the answer. */
static void http_rest_listed(HttpRequest *request) {
        static const Str before = STR("{\"sessions\":"), behind = STR("}");
        Str result = buf_str(&request->out);

        if (http_rest_has_failed(request))
                return;
        if (!str_starts(result, before) || result.n <= before.n + behind.n)
                http_answer_status(request, 500);
        else
                http_answer_json(request, 200,
                                 (Str){result.data + before.n, result.n - before.n - behind.n});
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
