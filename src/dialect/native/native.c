/* SPDX-License-Identifier: MIT */
#include "dialect/native/native.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "dialect/agentcompany/agentcompany.h"
#include "dialect/aiwg/aiwg.h"
#include "dialect/cccc/cccc.h"
#include "dialect/coop/coop.h"
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

static const Dialect *const doors[] = {&native_dialect.dialect, &agentcompany_dialect.dialect,
                                       &aiwg_dialect.dialect, &cccc_dialect, &coop_dialect};

static const Dialect *door_named(Str name) {
        for (size_t i = 0; i < ARRAY_SIZE(doors); i++)
                if (str_is(name, doors[i]->name))
                        return doors[i];
        return NULL;
}

/* The endpoint that serves a dialect here; project chooses among several. NULL: none, or not clear which. */
static Endpoint *serving(Client *client, const Dialect *dialect, Str project) {
        Endpoint *found = NULL;

        if (dialect == &native_dialect.dialect || dialect == &agentcompany_dialect.dialect)
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

/* ---- @DIALECT key=value ---------------------------------------------------------------------- */

static Str native_next_word(Str *line) {
        Str word = {line->data, 0};

        while (word.n < line->n && line->data[word.n] != ' ')
                word.n++;
        *line = str_trim((Str){line->data + word.n, line->n - word.n});
        return word;
}

static void preface(Client *client, Str line) {
        Str name = native_next_word(&line), project = STR_NULL;
        const Dialect *dialect = door_named((Str){name.data + 1, name.n - 1});

        if (!dialect)
                return native_refuse(client, CALL_E_INVALID_REQUEST, "no such dialect", name);
        if (str_starts(line, STR("project=")))
                project = (Str){line.data + 8, line.n - 8};
        else if (line.n)
                return native_refuse(client, CALL_E_INVALID_REQUEST, "unknown word behind the dialect",
                                     line);
        native_enter(client, dialect, project, STR_NULL);
}

/* ---- the first line -------------------------------------------------------------------------- */

/* The dialect that has the method of a JSON-RPC message (of a batch: its first); native when none has. */
static const Dialect *dialect_of_method(const Json *message) {
        const Json *first = json_is(message, JSON_ARRAY) ? json_first(message) : message;
        Str method = json_str(json_get(first, "method"));

        for (size_t i = 0; i < ARRAY_SIZE(doors); i++)
                if (doors[i]->frame == jsonrpc_frame && op_find(doors[i]->ops, method))
                        return doors[i];
        return &native_dialect.dialect;
}

static const Dialect *recognise(Client *client, Str line) {
        Json *json = NULL;

        if (json_parse(&client->daemon->envelope, line.data, line.n, &message_limits, &json, NULL))
                return &native_dialect.dialect;
        if (json_get(json, "op") && !json_get(json, "jsonrpc"))
                return &cccc_dialect;
        return dialect_of_method(json);
}

static void first_line(Client *client, Str line) {
        Str text = str_trim(line);

        if (!text.n)
                return;
        if (text.data[0] == '@')
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
