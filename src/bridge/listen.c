/* SPDX-License-Identifier: MIT */
/*
 * Subscriptions: requests that stay. The daemon tells of changes on a connection for each (subscriptions/listen), and the
 * client is told in the words of its revision. With the daemon the connection goes, and is made again with the next one;
 * what changed between the two nobody knows, so the client is told then that all of it may have.
 */
#include <string.h>

#include "bridge/bridge.h"
#include "gen/errors.h"

/* ---- asking ---------------------------------------------------------------------------------- */

static void listen_ask(Bridge *self, AskSpec *spec) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        bridge_begin(&w, STR("\"muster\""));
        jw_field_cstr(&w, "method", "subscriptions/listen");
        jw_key(&w, "params");
        jw_begin_object(&w);
        jw_key(&w, "notifications");
        jw_begin_object(&w);
        if (spec->listen == LISTEN_TOOLS)
                jw_field_bool(&w, "toolsListChanged", true);
        else {
                jw_key(&w, "resourceSubscriptions");
                jw_begin_array(&w);
                jw_str(&w, spec->uri);
                jw_end_array(&w);
        }
        jw_end_object(&w);
        bridge_put_meta(self, &w);
        jw_end_object(&w);
        jw_end_object(&w);
        spec->is_old = spec->is_wait = spec->is_repeatable = true;
        if (!w.failed && !buf_append_str(&line, STR("\n")))
                spec->request = buf_str(&line);
        if ((!spec->request.n || ask_new(self, spec)) && spec->id.n)
                bridge_refuse(self, spec->id, CALL_E_INTERNAL, "out of memory");
}

void listen_subscribe(Bridge *self, Str id, const Json *params) {
        AskSpec spec = {.id = id, .listen = LISTEN_RESOURCE, .uri = json_text_of(params, "uri")};

        if (!spec.uri.n)
                bridge_refuse(self, id, CALL_E_INVALID_PARAMS, "uri is required");
        else if (ask_has_uri(self, spec.uri))
                bridge_answer_empty(self, id);
        else if (ask_n_listens(self) >= BRIDGE_LISTENS)
                bridge_refuse(self, id, CALL_E_INVALID_PARAMS, "too many subscriptions");
        else
                listen_ask(self, &spec);
}

void listen_unsubscribe(Bridge *self, Str id, const Json *params) {
        ask_drop_uri(self, json_text_of(params, "uri"));
        bridge_answer_empty(self, id);
}

/* Once, and not before the client has a list that can change. */
void listen_for_tools(Bridge *self) {
        AskSpec spec = {.listen = LISTEN_TOOLS};

        if (self->has_tools)
                return;
        self->has_tools = true;
        listen_ask(self, &spec);
}

/* ---- telling --------------------------------------------------------------------------------- */

/* id: raw JSON of the subscription, empty for older revisions; uri: empty: the list of tools. */
static void listen_say(Bridge *self, Str id, Str uri) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        jw_begin_object(&w);
        jw_field_cstr(&w, "jsonrpc", "2.0");
        jw_field_cstr(&w, "method",
                      uri.n ? "notifications/resources/updated" : "notifications/tools/list_changed");
        if (id.n || uri.n) {
                jw_key(&w, "params");
                jw_begin_object(&w);
                if (id.n) {
                        jw_key(&w, "_meta");
                        jw_begin_object(&w);
                        jw_key(&w, "io.modelcontextprotocol/subscriptionId");
                        jw_raw(&w, id);
                        jw_end_object(&w);
                }
                if (uri.n)
                        jw_field_str(&w, "uri", uri);
                jw_end_object(&w);
        }
        bridge_end(self, &w);
}

/* All that was acknowledged may have changed while no daemon told of it. */
static void listen_say_all(Bridge *self, const AskSpec *spec, const Json *wishes) {
        bool wants_tools = false;
        Str id = spec->listen == LISTEN_CLIENT ? spec->id : STR_NULL;

        json_each (uri, json_get(wishes, "resourceSubscriptions"))
                listen_say(self, id, json_str(uri));
        if (json_bool(json_get(wishes, "toolsListChanged"), &wants_tools) && wants_tools)
                listen_say(self, id, STR_NULL);
}

/* The first acknowledgement is the answer to who subscribed; an empty one means that there is nothing to be had. */
static bool listen_acknowledged(Bridge *self, const AskSpec *spec, const Json *wishes) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        if (spec->listen != LISTEN_RESOURCE)
                return true;
        if (json_count(json_get(wishes, "resourceSubscriptions"))) {
                bridge_answer_empty(self, spec->id);
                return true;
        }
        bridge_begin(&w, spec->id);
        jw_key(&w, "error");
        jw_begin_object(&w);
        jw_field_int(&w, "code", MCP_NO_RESOURCE);
        jw_field_cstr(&w, "message", "no such resource, or not for you");
        jw_end_object(&w);
        bridge_end(self, &w);
        return false;
}

bool listen_take(Bridge *self, const AskSpec *spec, bool *is_known, Str line) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *wishes;
        Json *message = NULL;
        bool was_known = *is_known;
        Str method;

        if (json_parse(&arena, line.data, line.n, NULL, &message, NULL))
                return true;
        method = json_text_of(message, "method");
        wishes = json_get(json_get(message, "params"), "notifications");
        if (!method.n) { /* a refusal: only who has not been answered yet can be told */
                if (!was_known && spec->listen == LISTEN_CLIENT)
                        bridge_say(self, line);
                else if (!was_known && spec->listen == LISTEN_RESOURCE)
                        (void)listen_acknowledged(self, spec, NULL);
                return false;
        }
        if (!str_is(method, "notifications/subscriptions/acknowledged")) {
                if (spec->listen == LISTEN_CLIENT)
                        bridge_say(self, line);
                else
                        listen_say(self, STR_NULL, spec->uri);
                return true;
        }
        *is_known = true;
        if (was_known) {
                listen_say_all(self, spec, wishes);
                return true;
        }
        if (spec->listen == LISTEN_CLIENT)
                bridge_say(self, line);
        return listen_acknowledged(self, spec, wishes);
}
