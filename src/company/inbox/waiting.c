/* SPDX-License-Identifier: MIT */
#include "company/inbox/waiting.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "gen/agentcompany-ops.h"

typedef struct InboxWaiting { /* in the arena of the call that settles */
        Carry carry;
        const char *workspace; /* its path without links: the same for the same folder */
        Str *ids;
        size_t n;
} InboxWaiting;

static const char *inbox_path(Arena *arena, int root) {
        char name[32], path[PATH_MAX];
        ssize_t n;

        snprintf(name, sizeof(name), "/proc/self/fd/%d", root);
        n = readlink(name, path, sizeof(path));
        return n > 0 && (size_t)n < sizeof(path) ? arena_str(arena, (Str){path, (size_t)n}).data : NULL;
}

static Str inbox_title(Arena *arena, const IndexWaiting *row) {
        static const char *const kinds[][2] = {{"memory_delta", "Change of memory"},
                                               {"milestone", "Milestone"},
                                               {"heartbeat_action", "Action that a heartbeat proposes"}};
        const char *kind = "Decision";

        for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
                if (str_is(row->kind, kinds[i][0]))
                        kind = kinds[i][1];
        return arena_printf(arena, "%s: " STR_FMT " (" STR_FMT "%s" STR_FMT ")", kind,
                            STR_ARG(row->title.n ? row->title : row->artifact_id), STR_ARG(row->project_id),
                            row->produced_by.n ? ", by " : "", STR_ARG(row->produced_by));
}

/* False without memory: the next sync that finds a change asks again. */
static bool inbox_ask(Call *call, InboxWaiting *self, const IndexWaiting *row) {
        Arena *arena = &call->arena;
        AttentionAsk ask = {.kind = attention_company.kind,
                            .owner = str_from(self->workspace),
                            .since_us = loop_wall_us(call->daemon->loop),
                            .choices = {"approve", "deny"}};

        ask.object = arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(row->project_id),
                                  STR_ARG(row->artifact_id));
        ask.id = arena_printf(arena, "company:%s/" STR_FMT, self->workspace, STR_ARG(ask.object));
        ask.source = arena_printf(arena, "workspace:%s", self->workspace);
        ask.text = inbox_title(arena, row);
        if (!ask.object.data || !ask.id.data || !ask.source.data || !ask.text.data)
                return false;
        self->ids[self->n++] = ask.id;
        attention_ask(call->daemon->attention, &ask);
        return true;
}

static bool inbox_has(const InboxWaiting *self, const char *id) {
        for (size_t i = 0; i < self->n; i++)
                if (str_is(self->ids[i], id))
                        return true;
        return false;
}

/* What is open of this workspace, and waits no more. */
static int inbox_settle(Call *call, Attention *attention, const Carry *carry) {
        const InboxWaiting *self = container_of(carry, InboxWaiting, carry);
        const AttentionItem *item = attention_last(attention), *before;
        JsonWriter *w = call_result(call);

        for (; item; item = before) {
                before = attention_before(attention, item);
                if (item->state == ATTENTION_OPEN && item->row == &attention_company &&
                    !strcmp(item->owner, self->workspace) && !inbox_has(self, item->id))
                        attention_settle(attention, str_from(item->id), "it was decided, or is gone");
        }
        jw_begin_object(w);
        jw_end_object(w);
        return 0;
}

void inbox_on_waiting(Workspace *workspace, const IndexWaitingList *list) {
        Daemon *daemon = workspace->company->daemon;
        Call *call = daemon->attention && !daemon->is_stopping ? call_of_ours(daemon, NULL) : NULL;
        InboxWaiting *self = call ? arena_alloc(&call->arena, sizeof(*self)) : NULL;
        int r = 0;

        if (!call)
                return;
        if (self)
                *self = (InboxWaiting){.workspace = inbox_path(&call->arena, workspace->root),
                                       .ids = arena_alloc(&call->arena, (list->n + 1) * sizeof(*self->ids))};
        if (!self || !self->workspace || !self->ids)
                r = error_origin(-ENOMEM);
        for (size_t i = list->n; !r && i > 0; i--) /* the oldest first */
                if (!inbox_ask(call, self, &list->rows[i - 1]))
                        r = error_origin(-ENOMEM);
        if (!r && !list->is_cut)
                r = attention_call(call, inbox_settle, &self->carry);
        if (r != CALL_LATER)
                call_finish(call, r);
}

/* ---- answers --------------------------------------------------------------------------------- */

static int inbox_answer_there(Call *call, Workspace *workspace, const Carry *carry) {
        return op_agentcompany_inbox_resolve(call, workspace,
                                             container_of(carry, AgentcompanyInboxResolveArgs, carry));
}

static int inbox_answer_waiting(Call *call, const AttentionItem *item, const AttentionReply *reply) {
        AgentcompanyInboxResolveArgs *args = arena_alloc(&call->arena, sizeof(*args));
        Str object = arena_str(&call->arena, str_from(item->object)),
            workspace = arena_str(&call->arena, str_from(item->owner));
        const char *slash = object.data ? memchr(object.data, '/', object.n) : NULL;

        if (!args || !slash || !workspace.data)
                return error_origin(-ENOMEM);
        *args = (AgentcompanyInboxResolveArgs){
                .workspace_dir = workspace,
                .project_id = {object.data, (size_t)(slash - object.data)},
                .artifact_id = {slash + 1, (size_t)(object.data + object.n - slash - 1)},
                .decision = str_is(reply->choice, "approve") ? STR("approved") : STR("denied"),
                .actor_id = STR("human"),
                .actor_role = STR("human"),
                .notes = arena_str(&call->arena, reply->text)};
        return workspace_target(call, workspace, WORKSPACE_FOLDER, inbox_answer_there, NULL, &args->carry);
}

const AttentionKind attention_company = {.kind = "company", .answer = inbox_answer_waiting};
