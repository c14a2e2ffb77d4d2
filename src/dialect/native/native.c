/* SPDX-License-Identifier: MIT */
#include "dialect/native/native.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "core/hello.h"
#include "dialect/agentcompany/agentcompany.h"
#include "dialect/aiwg/aiwg.h"
#include "dialect/cccc/cccc.h"
#include "dialect/coop/coop.h"
#include "dialect/http/http.h"
#include "dialect/mcp/mcp.h"
#include "gen/native-ops.h"

static void native_error_word(int error, JsonWriter *w) {
        jw_int(w, native_error_code(error));
}

const JsonRpcDialect native_dialect = {
        .dialect = {.name = "native",
                    .ops = &native_ops,
                    .error_word = native_error_word,
                    JSONRPC_FUNCTIONS},
        .error_code = native_error_code,
        .has_batches = true,
        .runs_notifications = true,
        .invalid_keeps_id = true,
        .id_before_result = true,
        .unknown_method = "Method not found: ",
};

/* ---- which dialect, served by which endpoint ------------------------------------------------- */

/* AIWG stands before AgentCompany: a name that both have is the latter's only with a workspace. */
static const Dialect *const doors[] = {
        &native_dialect.dialect, &aiwg_dialect.dialect, &agentcompany_dialect.dialect,
        &cccc_dialect,           &coop_dialect,         &mcp_dialect};

static const Dialect *door_named(Str name) {
        for (size_t i = 0; i < ARRAY_SIZE(doors); i++)
                if (str_is(name, doors[i]->name))
                        return doors[i];
        return NULL;
}

/* The endpoint that serves a dialect here; project chooses among several. NULL: none, or not clear which. */
static Endpoint *serving(Client *client, const Dialect *dialect, Str project) {
        Endpoint *found = NULL;

        if (dialect == &native_dialect.dialect || dialect == &agentcompany_dialect.dialect ||
            dialect == &mcp_dialect)
                return client->endpoint;
        for (Endpoint *e = client->daemon->endpoints; e; e = e->next) {
                if (e->state != ENDPOINT_LISTENING || e->type->dialect != dialect)
                        continue;
                if (project.n && !str_is(project, e->where))
                        continue;
                if (found)
                        return NULL;
                found = e;
        }
        return found;
}

static void native_refuse(Client *client, int error, const char *what, Str name) {
        client->dialect = &native_dialect.dialect;
        client_refuse(client, error, STR("null"), NULL, "%s: " STR_FMT, what, STR_ARG(name));
        conn_finish(client->conn, "no such door");
}

static void native_enter(Client *client, const Dialect *dialect, Str project, Str frame) {
        Endpoint *endpoint = serving(client, dialect, project);

        if (endpoint && frame.n > dialect->framing.n_max) { /* each dialect has its own limit */
                client_switch(client, dialect, endpoint, STR_NULL);
                dialect->oversize(client);
        } else if (endpoint)
                client_switch(client, dialect, endpoint, frame);
        else
                native_refuse(client, CALL_E_UNAVAILABLE,
                              "not served by this daemon (for a project: say which, project=DIR)",
                              str_from(dialect->name));
}

/* ---- @DIALECT and what follows it ------------------------------------------------------------ */

static Str native_next_word(Str *line) {
        Str word = {line->data, 0};

        while (word.n < line->n && line->data[word.n] != ' ')
                word.n++;
        *line = str_trim((Str){line->data + word.n, line->n - word.n});
        return word;
}

/* Whether what follows fits; false: it was refused. */
static bool native_take_hello(Client *client, Str line) {
        const char *why = "it is no JSON object";
        JsonFault fault = {0};
        Json *object = NULL;
        int r = HELLO_E_UNFIT;

        if (line.n > HELLO_BYTES_MAX)
                why = "it is over 1 MiB";
        else if (!client_parse(client, &line, &object, &fault))
                r = hello_new(&client->hello, object, &why);
        if (r < 0)
                why = "out of memory";
        if (r)
                native_refuse(client, r < 0 ? CALL_E_INTERNAL : CALL_E_INVALID_REQUEST,
                              "what follows @agentcompany is refused", str_from(why));
        return !r;
}

enum { TOKEN_MAX = 64 };

/* "@token HEX": who it is, before anything else; the next line is the first one again. */
static void native_take_token(Client *client, Str token) {
        if (principal_say_token(client, token))
                conn_abort(client->conn, "out of memory");
}

static void preface(Client *client, Str line) {
        Str rest = line, name = native_next_word(&rest), project = STR_NULL;
        const Dialect *dialect = door_named((Str){name.data + 1, name.n - 1});

        if (str_is(name, "@token") && rest.n && rest.n <= TOKEN_MAX && !client->principal.token)
                return native_take_token(client, rest);
        if (!dialect)
                return native_refuse(client, CALL_E_INVALID_REQUEST, "no such dialect", name);
        if (str_starts(rest, STR("project=")))
                project = (Str){rest.data + 8, rest.n - 8};
        else if (rest.n && dialect == &agentcompany_dialect.dialect) {
                if (!native_take_hello(client, line))
                        return;
        } else if (rest.n)
                return native_refuse(client, CALL_E_INVALID_REQUEST, "unknown word behind the dialect",
                                     rest);
        native_enter(client, dialect, project, STR_NULL);
}

/* ---- the first line -------------------------------------------------------------------------- */

/* The dialect that has the method of a JSON-RPC message (of a batch: its first); native when none has. One
 * that AgentCompany shares with another is meant as its own when a workspace is named. */
static const Dialect *dialect_of_method(const Json *message) {
        const Json *first = json_is(message, JSON_ARRAY) ? json_first(message) : message;
        bool names_workspace = json_get(json_get(first, "params"), "workspace_dir");
        Str method = json_str(json_get(first, "method"));
        const Dialect *found = NULL;

        if (names_workspace && !op_find(&native_ops, method))
                return &agentcompany_dialect.dialect;
        for (size_t i = 0; i < ARRAY_SIZE(doors); i++) {
                if (doors[i]->frame != jsonrpc_frame || !op_find(doors[i]->ops, method))
                        continue;
                if (!found || found == &agentcompany_dialect.dialect)
                        found = doors[i];
        }
        return found ? found : &native_dialect.dialect;
}

static const Dialect *native_dialect_of(const Json *message) {
        if (json_get(message, "op") && !json_get(message, "jsonrpc"))
                return &cccc_dialect;
        return dialect_of_method(message);
}

/* A line that is no JSON as it stands is native, so no other dialect would have parsed it otherwise. Of one
 * that begins with @ it is what follows the first word. */
static int native_line_parse(_unused_ const Dialect *dialect, Arena *arena, Str *line, Json **ret,
                             JsonFault *fault) {
        Str text = str_trim(*line);

        if (!str_starts(text, STR("@")))
                return json_parse(arena, line->data, line->n, &message_limits, ret, fault);
        (void)native_next_word(&text);
        return json_parse(arena, text.data, text.n, &message_limits, ret, fault);
}

static void native_line_aim(_unused_ const Dialect *dialect, const Json *message, const OpTable **ops,
                            const Op **op, const Json **args) {
        const Dialect *other = native_dialect_of(message);

        other->aim(other, message, ops, op, args);
}

static const Dialect *recognise(Client *client, Str line) {
        JsonFault fault = {0};
        Json *json = NULL;

        return client_parse(client, &line, &json, &fault) ? &native_dialect.dialect
                                                          : native_dialect_of(json);
}

/* The process at the other end is who it is: no token is asked for. */
static void native_enter_http(Client *client) {
        client_switch(client, &http_dialect, client->endpoint, STR_NULL);
        conn_reframe(client->conn, &http_dialect.framing);
}

static bool native_is_http(Str text) {
        static const Str end = {" HTTP/1.1", 9};

        return text.n > end.n && text.data[0] >= 'A' && text.data[0] <= 'Z' &&
               str_eq((Str){text.data + text.n - end.n, end.n}, end);
}

static void first_line(Client *client, Str line) {
        Str text = str_trim(line);

        if (!text.n)
                return;
        if (native_is_http(text))
                native_enter_http(client);
        else if (text.data[0] == '@')
                preface(client, text);
        else
                native_enter(client, recognise(client, line), STR_NULL, line);
}

static void first_line_eof(Client *client, Str rest) {
        if (str_trim(rest).n && recognise(client, rest) == &cccc_dialect)
                native_enter(client, &cccc_dialect, STR_NULL,
                             rest); /* only there the end of the stream ends a line */
        else
                conn_finish(client->conn, "end of stream");
}

static void first_line_oversize(Client *client) {
        client->dialect = &native_dialect.dialect;
        jsonrpc_oversize(client);
}

static const Dialect line_dialect = {
        .name = "native",
        .ops = &native_ops,
        .framing = {.kind = FRAMING_LINE, .n_max = JSONRPC_LINE_MAX},
        .parse = native_line_parse,
        .aim = native_line_aim,
        .frame = first_line,
        .eof = first_line_eof,
        .oversize = first_line_oversize,
};

/* ---- the first byte -------------------------------------------------------------------------- */

static void first_byte(Client *client, Str bytes) {
        const Dialect *dialect = bytes.data[0] == 0 ? &coop_dialect : &line_dialect;
        Endpoint *endpoint =
                dialect == &line_dialect ? client->endpoint : serving(client, dialect, STR_NULL);

        if (!endpoint) {
                native_refuse(client, CALL_E_UNAVAILABLE, "not served by this daemon",
                              str_from(dialect->name));
                return;
        }
        client_switch(client, dialect, endpoint, STR_NULL);
        conn_reframe(client->conn, &dialect->framing);
}

static void first_byte_eof(Client *client, _unused_ Str rest) {
        conn_finish(client->conn, "end of stream");
}

const Dialect door_dialect = {
        .name = "native",
        .ops = &native_ops,
        .framing = {.kind = FRAMING_RAW},
        .frame = first_byte,
        .eof = first_byte_eof,
        .oversize = first_line_oversize,
};
