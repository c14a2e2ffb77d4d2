/* SPDX-License-Identifier: MIT */
/*
 * Who is calling: the actor in whose process tree the client runs, else what the bridge found in its environment, else the
 * arguments of the tool. What comes first is right; what comes later may repeat it, or say it where nobody has, but not
 * contradict it.
 */
#include "core/client.h"
#include "core/principal/principal.h"
#include "dialect/mcp/mcp-request.h"

/* Looked up when it is asked for: many tools do not, and the way up through /proc is long. */
static void mcp_caller_establish(McpRequest *self) {
        const Principal *who = principal_of(self->client);
        McpCaller *caller = &self->caller;

        caller->is_established = true;
        caller->said_group = str_trim(json_text_of(self->meta, "muster/group"));
        caller->said_actor = str_trim(json_text_of(self->meta, "muster/actor"));
        caller->hosted_group = arena_str(&self->arena, who->group);
        caller->hosted_actor = arena_str(&self->arena, who->actor);
}

/* A refusal is kept whether an operation refuses or the tool does, which knows at once. */
static void mcp_caller_audit(McpRequest *self, int error, Str claim) {
        const McpStep *step = self->step ? self->step : self->tool->steps; /* it is just being chosen */
        const OpTable *table = mcp_table(step->dialect);
        const Op *op = table ? op_find(table, str_from(step->op)) : NULL;

        if (op && !self->error)
                principal_audit(self->client, mcp_error_code(error), op, op->right, claim);
}

static int mcp_caller_contradicts(McpRequest *self, int error, const char *what, Str known, Str said) {
        Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_str(&w, "env", known);
        jw_field_str(&w, "arg", said);
        jw_end_object(&w);
        self->details = w.failed ? STR_NULL : arena_str(&self->arena, buf_str(&text));
        buf_deinit(&text);
        mcp_caller_audit(self, error, said);
        return mcp_fail(self, error, "%s mismatch: you are " STR_FMT ", not " STR_FMT, what, STR_ARG(known),
                        STR_ARG(said));
}

/* *ret is empty when nobody says it. */
static int mcp_caller_settle(McpRequest *self, const char *what, int error, Str hosted, Str said, Str given,
                             Str *ret) {
        Str known = hosted.n ? hosted : said;

        if (hosted.n && said.n && !str_eq(hosted, said))
                return mcp_caller_contradicts(self, CALL_E_IDENTITY_MISMATCH, what, hosted, said);
        if (known.n && given.n && !str_eq(known, given))
                return mcp_caller_contradicts(self, error, what, known, given);
        *ret = known.n ? known : given;
        return 0;
}

int mcp_caller_group(McpRequest *self, bool is_optional, Str *ret) {
        const McpCaller *caller = &self->caller;
        Str given = mcp_arg_text(self, "group_id");
        int r;

        if (!caller->is_established)
                mcp_caller_establish(self);
        if (!given.n)
                given = mcp_arg_text(self, "group");
        r = mcp_caller_settle(self, "group_id", CALL_E_GROUP_ID_MISMATCH, caller->hosted_group,
                              caller->said_group, given, ret);
        if (r || ret->n || is_optional)
                return r;
        return mcp_fail(self, CALL_E_MISSING_GROUP_ID,
                        "missing group_id (set CCCC_GROUP_ID or pass group_id)");
}

static int mcp_caller_actor(McpRequest *self, const char *parameter, Str *ret) {
        const McpCaller *caller = &self->caller;
        int r;

        if (!caller->is_established)
                mcp_caller_establish(self);
        r = mcp_caller_settle(self, parameter, CALL_E_ACTOR_ID_MISMATCH, caller->hosted_actor,
                              caller->said_actor, mcp_arg_text(self, parameter), ret);
        if (r || !str_is(*ret, "user"))
                return r;
        mcp_caller_audit(self, CALL_E_INVALID_ACTOR_ID, STR("user"));
        return mcp_fail(self, CALL_E_INVALID_ACTOR_ID,
                        "nobody is user through a tool: %s must name an actor", parameter);
}

int mcp_caller_self(McpRequest *self, bool is_optional, Str *ret) {
        int r = mcp_caller_actor(self, "actor_id", ret);

        if (r || ret->n || is_optional)
                return r;
        return mcp_fail(self, CALL_E_MISSING_ACTOR_ID,
                        "missing actor_id (set CCCC_ACTOR_ID or pass actor_id)");
}

/* Who is no actor and does not say that he acts for one is the user. */
int mcp_caller_by(McpRequest *self, Str *ret) {
        int r = mcp_caller_actor(self, "by", ret);

        if (!r && !ret->n)
                *ret = STR("user");
        return r;
}
