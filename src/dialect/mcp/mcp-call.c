/* SPDX-License-Identifier: MIT */
/*
 * A tool runs: its steps are operations of other dialects, one after the other, each with the rights of this client. Each
 * writes its result into a buffer of the request; the answer is made when the last one is done, or one has failed.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/daemon.h"
#include "core/endpoint.h"
#include "core/principal/principal.h"
#include "core/request.h"
#include "dialect/aiwg/aiwg.h"
#include "dialect/mcp/mcp-request.h"
#include "dialect/mcp/mcp-step.h"
#include "gen/aiwg-ops.h"
#include "gen/cccc-ops.h"
#include "gen/native-ops.h"

int mcp_fail(McpRequest *self, int error, const char *format, ...) {
        char text[512];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        self->error = error;
        self->message = arena_str(&self->arena, str_from(text));
        return error;
}

const McpTool *mcp_tool_find(Str name) {
        size_t low = 0, high = n_mcp_tools;

        while (low < high) {
                size_t middle = low + (high - low) / 2;
                Str other = str_from(mcp_tools[middle].name);
                int order = memcmp(name.n ? name.data : "", other.data, MIN(name.n, other.n));

                if (!order && name.n == other.n)
                        return &mcp_tools[middle];
                if (order < 0 || (!order && name.n < other.n))
                        high = middle;
                else
                        low = middle + 1;
        }
        return NULL;
}

const OpTable *mcp_table(const char *dialect) {
        const OpTable *const tables[] = {&cccc_ops, &native_ops, &aiwg_ops};

        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                if (!strcmp(tables[i]->dialect, dialect))
                        return tables[i];
        return NULL;
}

static bool mcp_step_is_allowed(const McpStep *step, RightSet rights) {
        const OpTable *table = mcp_table(step->dialect);
        const Op *op = table ? op_find(table, str_from(step->op)) : NULL;

        return op && right_is_in(rights, op->right);
}

/* Of several ways one is enough: the others are refused when they are taken. */
bool mcp_tool_is_allowed(Client *client, const McpTool *tool) {
        const RightSet rights = principal_rights(client, principal_of(client));
        size_t n = 0;

        for (size_t i = 0; i < tool->n_steps; i++)
                n += mcp_step_is_allowed(&tool->steps[i], rights);
        return tool->flags & TOOL_CHOOSES ? n > 0 : n == tool->n_steps;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void mcp_call_put_error(JsonWriter *w, const McpRequest *self) {
        jw_begin_object(w);
        jw_key(w, "error");
        jw_begin_object(w);
        jw_field_cstr(w, "code", mcp_error_code(self->error));
        jw_field_str(w, "message", self->message);
        jw_key(w, "details");
        jw_raw(w, self->details.n ? self->details : STR("{}"));
        jw_end_object(w);
        jw_end_object(w);
}

static void mcp_call_put_text(JsonWriter *w, const McpRequest *self, Str text) {
        jw_begin_array(w);
        jw_begin_object(w);
        if (self->uri.n) {
                jw_field_str(w, "uri", self->uri);
                jw_field_cstr(w, "mimeType", "application/json");
        } else
                jw_field_cstr(w, "type", "text");
        jw_field_str(w, "text", text);
        jw_end_object(w);
        jw_end_array(w);
}

/* Of a resource that cannot be read there is no result. */
static void mcp_call_put_failure(JsonWriter *w, const McpRequest *self, Str text) {
        if (!self->uri.n) {
                jw_key(w, "result");
                jw_begin_object(w);
                jw_field_cstr(w, "resultType", "complete");
                jw_key(w, "content");
                mcp_call_put_text(w, self, text);
                jw_field_bool(w, "isError", true);
                jw_end_object(w);
                return;
        }
        jw_key(w, "error");
        jw_begin_object(w);
        jw_field_int(w, "code", native_error_code(CALL_E_INVALID_PARAMS));
        jw_field_str(w, "message", self->message);
        jw_key(w, "data");
        jw_raw(w, text);
        jw_end_object(w);
}

static void mcp_call_put_result(JsonWriter *w, const McpRequest *self, Str text) {
        jw_key(w, "result");
        jw_begin_object(w);
        jw_field_cstr(w, "resultType", "complete");
        if (self->uri.n) {
                jw_field_int(w, "ttlMs", 0);
                jw_field_cstr(w, "cacheScope", "private");
        }
        jw_key(w, self->uri.n ? "contents" : "content");
        mcp_call_put_text(w, self, text);
        if (!self->uri.n) {
                jw_key(w, "structuredContent");
                jw_raw(w, text);
                jw_field_bool(w, "isError", false);
        }
        jw_end_object(w);
}

static void mcp_call_answer(McpRequest *self) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL, text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line), inner = JSON_WRITER(&text);
        Str result = buf_str(&self->out);

        if (self->error)
                mcp_call_put_error(&inner, self);
        else if (self->whole)
                jw_value(&inner, self->whole);
        if (self->error || self->whole)
                result = buf_str(&text);
        jw_begin_object(&w);
        jw_field_cstr(&w, "jsonrpc", "2.0");
        jw_key(&w, "id");
        jw_raw(&w, self->id);
        if (self->error)
                mcp_call_put_failure(&w, self, result);
        else
                mcp_call_put_result(&w, self, result);
        jw_end_object(&w);
        mcp_send(self->client, &line, w.failed || inner.failed);
}

void mcp_call_free(McpRequest *self) {
        if (!self)
                return;
        turns_leave(&self->client->daemon->turns, &self->turn);
        request_unref(self->request);
        buf_deinit(&self->out);
        arena_deinit(&self->arena);
        free(self);
}

static void mcp_call_end(McpRequest *self) {
        Client *client = self->client;

        client->state = NULL;
        if (self->then)
                self->then(client, &(McpMessage){self->id, self->params, self->meta});
        else
                mcp_call_answer(self);
        mcp_call_free(self);
        conn_flush_soon(client->conn);
        client_release(client);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* What a step gave becomes a member of the whole, or the whole, if something has to be done with it. */
static int mcp_call_take(McpRequest *self) {
        const McpStep *step = self->step;
        Json *result = NULL;
        Str text;
        int r;

        if (!step->as && !step->show && !step->view && !self->tool->view)
                return 0;
        text = arena_str(&self->arena, buf_str(&self->out));
        r = text.data ? json_parse(&self->arena, text.data, text.n, NULL, &result, NULL) : -ENOMEM;
        if (r)
                return r < 0 ? r : mcp_fail(self, CALL_E_INTERNAL, "the result cannot be read");
        r = mcp_view_step(self, step, &result);
        if (r)
                return r;
        if (!step->as) {
                self->whole = result;
                return 0;
        }
        if (!self->whole)
                self->whole = json_new(&self->arena, JSON_OBJECT);
        return self->whole ? json_set(&self->arena, self->whole, str_from(step->as), result) : -ENOMEM;
}

/* A project is its socket: the client moves there. By its folder, or the last word of that. */
static int mcp_call_enter_project(McpRequest *self) {
        Str name = mcp_arg_text(self, "project");
        Endpoint *found = NULL;

        for (Endpoint *e = self->client->daemon->endpoints; e; e = e->next) {
                const char *slash = strrchr(e->where, '/');

                if (e->state != ENDPOINT_LISTENING || e->type->dialect != &aiwg_dialect.dialect)
                        continue;
                if (name.n && !str_is(name, e->where) && !(slash && str_is(name, slash + 1)))
                        continue;
                if (found)
                        return mcp_fail(self, CALL_E_AMBIGUOUS_PROJECT,
                                        "several projects are served: say which, by its folder");
                found = e;
        }
        if (!found)
                return mcp_fail(self, CALL_E_PROJECT_NOT_FOUND, "no such project is served: " STR_FMT,
                                STR_ARG(name));
        client_move(self->client, found);
        return 0;
}

/* The first whose parameter is given; what names the caller's own group is not another group. */
static bool mcp_call_is_meant(McpRequest *self, const McpStep *step) {
        Str group = STR_NULL;

        if (!step->when || !mcp_step_is_given(step, self->args))
                return !step->when;
        return step->is_name || mcp_caller_group(self, true, &group) ||
               !str_eq(mcp_arg_text(self, step->when), group);
}

static const McpStep *mcp_call_choose(McpRequest *self) {
        const McpTool *tool = self->tool;

        if (!(tool->flags & TOOL_CHOOSES))
                return self->n_done < tool->n_steps ? &tool->steps[self->n_done] : NULL;
        for (size_t i = 0; !self->n_done && i < tool->n_steps; i++)
                if (mcp_call_is_meant(self, &tool->steps[i]))
                        return &tool->steps[i];
        return NULL;
}

/* Returns with is_replied set, or CALL_LATER; else it has failed. */
static int mcp_call_begin(McpRequest *self) {
        const McpStep *step = self->step;
        const OpTable *table = mcp_table(step->dialect);
        const Op *op = table ? op_find(table, str_from(step->op)) : NULL;
        Json *args = NULL;
        int r;

        if (!op)
                return mcp_fail(self, CALL_E_INTERNAL, "there is no operation %s.%s", step->dialect,
                                step->op);
        if (table == &cccc_ops && !self->client->daemon->collab)
                return mcp_fail(self, CALL_E_UNAVAILABLE, "this daemon serves no CCCC home");
        r = table == &aiwg_ops ? mcp_call_enter_project(self) : 0;
        if (!r)
                r = mcp_bind(self, step, &args);
        if (r)
                return r;
        self->out.n = 0;
        self->is_replied = false;
        client_run_of(self->client, table, op, args, self->id, false, &self->out);
        return self->is_replied ? 0 : CALL_LATER;
}

/* Goes on as far as it can in this turn. */
static void mcp_call_run(McpRequest *self) {
        int r = 0;

        self->is_stepping = true;
        while (!r && !self->error) {
                if (self->step) {
                        self->n_done++;
                        r = mcp_call_take(self);
                        if (r)
                                break;
                }
                self->step = mcp_call_choose(self);
                if (!self->step) {
                        r = self->error ? 0 : mcp_view_whole(self);
                        break;
                }
                r = mcp_call_begin(self);
        }
        self->is_stepping = false;
        if (r == CALL_LATER)
                return;
        if (r < 0)
                (void)mcp_fail(self, CALL_E_INTERNAL, "internal error: %s", strerror(-r));
        mcp_call_end(self);
}

static void mcp_call_on_turn(Turn *turn) {
        McpRequest *self = container_of(turn, McpRequest, turn);
        Turns *turns = &self->client->daemon->turns;
        uint32_t peer = turn->peer;
        int64_t since_us = loop_real_us();

        mcp_call_run(self);
        turns_charge(turns, peer, since_us);
}

void mcp_call_on_replied(Client *client) {
        McpRequest *self = client->state;

        self->is_replied = true;
        if (!self->is_stepping)
                turns_wait(&client->daemon->turns, &self->turn);
}

void mcp_call(Client *client, const McpRequest *asked) {
        McpRequest *self = malloc(sizeof(*self));

        if (!self) {
                conn_abort(client->conn, "out of memory");
                return;
        }
        *self = *asked;
        self->arena = client->daemon->envelope;
        client->daemon->envelope = ARENA_NULL;
        self->request = client->request ? request_ref(client->request) : NULL;
        self->turn = (Turn){.peer = conn_turn_peer(client->conn), .run = mcp_call_on_turn};
        client->state = self;
        client_hold(client);
        mcp_call_run(self);
}
