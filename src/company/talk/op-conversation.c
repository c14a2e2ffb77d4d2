/* SPDX-License-Identifier: MIT */
/* Operations on conversations. */
#include <errno.h>

#include "base/error.h"
#include "base/macro.h"
#include "company/draft.h"
#include "company/place.h"
#include "company/talk/talk.h"
#include "company/workspace.h"
#include "gen/agentcompany-ops.h"

enum { TALK_BODY_MAX = 1024 * 1024 }; /* bytes of a message; a longer one is refused */

/* The project of a call; with the scope of the workspace there is none, whatever was given. */
static int talk_scope(Call *call, Str scope, Str *project_id) {
        if (!str_is(scope, "project"))
                *project_id = STR_NULL;
        else if (!project_id->n)
                return call_fail(call, CALL_E_COMPANY_METHOD, "project_id is required when scope=project");
        return 0;
}

/* The same on a worker, for what has been asked before. */
static Str talk_project(Str scope, Str project_id) {
        return str_is(scope, "project") ? project_id : STR_NULL;
}

static void talk_reply_tree(Call *call, Edit *edit, _unused_ const Carry *carry) {
        jw_value(call_result(call), edit->user);
}

/* ---- list ------------------------------------------------------------------------------------ */

static int talk_list_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyConversationListArgs *args =
                container_of(carry, AgentcompanyConversationListArgs, carry);

        talk_defaults(edit, talk_project(args->scope, args->project_id), STR_NULL, NULL);
        return 0;
}

/* Behind the change: what it has written is listed as it lies there. */
static int talk_read_list(Reading *reading, const Carry *carry) {
        const AgentcompanyConversationListArgs *args =
                container_of(carry, AgentcompanyConversationListArgs, carry);
        Json *list = NULL;
        int r = talk_conversations(reading->root, reading->arena,
                                   talk_project(args->scope, args->project_id), &list);

        if (!r)
                jw_value(reading->w, list);
        return error_trace(r);
}

static int talk_list_kept(Call *call, Edit *edit, const Carry *carry) {
        return workspace_read(call, edit->workspace, talk_read_list, carry);
}

int op_agentcompany_conversation_list(Call *call, Workspace *workspace,
                                      const AgentcompanyConversationListArgs *args) {
        Str project_id = args->project_id;
        int r = talk_scope(call, args->scope, &project_id);

        return r ? r : company_edit_then(call, workspace, talk_list_decide, talk_list_kept, &args->carry);
}

/* ---- new ones -------------------------------------------------------------------------------- */

static void talk_create(Edit *edit, Str project_id, Json *json) {
        bool is_home = str_is(json_text_of(json, "slug"), "home");
        Str id = json_text_of(json, "id");
        const char *messages = place_conversation(edit->arena, project_id, id, is_home, "messages.jsonl");

        draft_create(edit, place_conversation(edit->arena, project_id, id, is_home, "conversation.yaml"),
                     json);
        draft_create_text(edit, messages, STR(""));
        edit->user = json;
}

typedef struct TalkNew {
        Str project_id, name, slug, visibility, created_by, peer;
        const char *kind;
        StrList agent_ids, team_ids;
} TalkNew;

static Json *talk_new(Edit *edit, const TalkNew *of) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "conversation");

        jw_field_str(w, "id", edit_id(edit, "conv"));
        jw_field_cstr(w, "scope", of->project_id.n ? "project" : "workspace");
        draft_optional(w, "project_id", of->project_id);
        jw_field_cstr(w, "kind", of->kind);
        jw_field_str(w, "name", of->name);
        jw_field_str(w, "slug", of->slug);
        jw_field_str(w, "visibility", of->visibility);
        jw_field_str(w, "created_at", edit_now(edit));
        jw_field_str(w, "created_by", of->created_by);
        jw_field_bool(w, "auto_generated", false);
        jw_key(w, "participants");
        jw_begin_object(w);
        draft_strings(w, "agent_ids", &of->agent_ids);
        draft_strings(w, "team_ids", &of->team_ids);
        jw_end_object(w);
        draft_optional(w, "dm_peer_agent_id", of->peer);
        return draft_end(&draft, edit->arena);
}

static int talk_channel_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyConversationCreateChannelArgs *args =
                container_of(carry, AgentcompanyConversationCreateChannelArgs, carry);
        TalkNew of = {.project_id = talk_project(args->scope, args->project_id),
                      .name = str_trim(args->name),
                      .slug = str_trim(args->slug),
                      .visibility = args->visibility,
                      .created_by = args->created_by,
                      .kind = "channel"};
        int r = draft_unique(edit->arena, &args->participant_agent_ids, &of.agent_ids);

        if (!r)
                r = draft_unique(edit->arena, &args->participant_team_ids, &of.team_ids);
        if (r)
                return error_trace(r);
        if (!of.name.n || !of.slug.n)
                return edit_fail(edit, CALL_E_COMPANY, "A channel needs a name and a slug");
        talk_create(edit, of.project_id, talk_new(edit, &of));
        return 0;
}

int op_agentcompany_conversation_create_channel(Call *call, Workspace *workspace,
                                                const AgentcompanyConversationCreateChannelArgs *args) {
        Str project_id = args->project_id;
        int r = talk_scope(call, args->scope, &project_id);

        return r ? r : company_edit(call, workspace, talk_channel_decide, talk_reply_tree, &args->carry);
}

/* One with this peer in which the caller takes part. */
static bool talk_is_dm_of(const Json *conversation, Str peer, Str who) {
        if (!str_is(json_text_of(conversation, "kind"), "dm") ||
            !str_eq(json_text_of(conversation, "dm_peer_agent_id"), peer))
                return false;
        json_each (id, json_get(json_get(conversation, "participants"), "agent_ids"))
                if (str_eq(json_str(id), who))
                        return true;
        return false;
}

static int talk_dm_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyConversationCreateDmArgs *args =
                container_of(carry, AgentcompanyConversationCreateDmArgs, carry);
        Str project_id = talk_project(args->scope, args->project_id),
            both[2] = {args->created_by, args->peer_agent_id};
        StrList pair = {.items = both, .n = ARRAY_SIZE(both)};
        TalkNew of = {.project_id = project_id,
                      .name = arena_printf(edit->arena, "DM: " STR_FMT, STR_ARG(args->peer_agent_id)),
                      .slug = arena_printf(edit->arena, "dm-" STR_FMT, STR_ARG(args->peer_agent_id)),
                      .visibility = args->visibility,
                      .created_by = args->created_by,
                      .peer = args->peer_agent_id,
                      .kind = "dm"};
        Json *list = NULL;
        int r = talk_conversations(edit->root, edit->arena, project_id, &list);

        if (!r)
                r = draft_unique(edit->arena, &pair, &of.agent_ids);
        if (r)
                return error_trace(r);
        json_each (conversation, list)
                if (talk_is_dm_of(conversation, args->peer_agent_id, args->created_by)) {
                        edit->user = conversation;
                        return 0;
                }
        talk_create(edit, project_id, talk_new(edit, &of));
        return 0;
}

int op_agentcompany_conversation_create_dm(Call *call, Workspace *workspace,
                                           const AgentcompanyConversationCreateDmArgs *args) {
        Str project_id = args->project_id;
        int r = talk_scope(call, args->scope, &project_id);

        return r ? r : company_edit(call, workspace, talk_dm_decide, talk_reply_tree, &args->carry);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int talk_read_messages(Reading *reading, const Carry *carry) {
        const AgentcompanyConversationMessagesListArgs *args =
                container_of(carry, AgentcompanyConversationMessagesListArgs, carry);
        Str project_id = talk_project(args->scope, args->project_id);
        const char *folder = NULL;
        Json *list = NULL;
        int r = 0;

        if (talk_conversation(reading->root, reading->arena, project_id, args->conversation_id, &folder))
                r = talk_messages(reading->root, reading->arena, folder, (size_t)args->limit, &list);
        else
                list = json_new(reading->arena, JSON_ARRAY);
        if (!r)
                jw_value(reading->w, list);
        return error_trace(r);
}

int op_agentcompany_conversation_messages_list(Call *call, Workspace *workspace,
                                               const AgentcompanyConversationMessagesListArgs *args) {
        Str project_id = args->project_id;
        int r = talk_scope(call, args->scope, &project_id);

        return r ? r : workspace_read(call, workspace, talk_read_messages, &args->carry);
}

static Json *talk_message(Edit *edit, const AgentcompanyConversationMessageSendArgs *args,
                          const Json *conversation, const StrList *mentions) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "message");

        jw_field_str(w, "id", edit_id(edit, "msg"));
        jw_field_str(w, "conversation_id", args->conversation_id);
        draft_optional(w, "project_id", talk_project(args->scope, args->project_id));
        jw_field_str(w, "created_at", edit_now(edit));
        jw_field_str(w, "author_id", args->author_id);
        jw_field_str(w, "author_role", args->author_role);
        jw_field_str(w, "kind", args->kind);
        jw_field_str(w, "visibility",
                     args->visibility.n ? args->visibility : json_text_of(conversation, "visibility"));
        jw_field_str(w, "body", str_trim(args->body));
        draft_strings(w, "mentions", mentions);
        return draft_end(&draft, edit->arena);
}

typedef struct TalkSent {
        const Json *conversation, *message;
} TalkSent;

static int talk_send_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyConversationMessageSendArgs *args =
                container_of(carry, AgentcompanyConversationMessageSendArgs, carry);
        Str project_id = talk_project(args->scope, args->project_id), body = str_trim(args->body);
        TalkSent *sent = arena_alloc(edit->arena, sizeof(*sent));
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        const char *folder = NULL;
        StrList mentions;
        int r = sent ? draft_unique(edit->arena, &args->mentions, &mentions) : error_origin(-ENOMEM);

        if (r)
                return error_trace(r);
        if (!body.n)
                return edit_fail(edit, CALL_E_COMPANY, "Message body is required");
        if (body.n > TALK_BODY_MAX)
                return edit_fail(edit, CALL_E_COMPANY, "A message has at most %d bytes", TALK_BODY_MAX);
        sent->conversation =
                talk_conversation(edit->root, edit->arena, project_id, args->conversation_id, &folder);
        if (!sent->conversation)
                return edit_fail(edit, CALL_E_COMPANY, "Conversation not found: " STR_FMT,
                                 STR_ARG(args->conversation_id));
        sent->message = talk_message(edit, args, sent->conversation, &mentions);
        r = sent->message ? json_write_es(&line, sent->message) : error_origin(-ENOMEM);
        if (!r)
                r = buf_append_str(&line, STR("\n"));
        if (!r)
                r = edit_append(edit, arena_printf(edit->arena, "%s/messages.jsonl", folder).data,
                                arena_str(edit->arena, buf_str(&line)));
        edit->user = sent;
        return error_trace(r);
}

static void talk_send_reply(Call *call, Edit *edit, _unused_ const Carry *carry) {
        const TalkSent *sent = edit->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_value(w, "conversation", sent->conversation);
        jw_field_value(w, "message", sent->message);
        jw_end_object(w);
}

int op_agentcompany_conversation_message_send(Call *call, Workspace *workspace,
                                              const AgentcompanyConversationMessageSendArgs *args) {
        Str project_id = args->project_id;
        int r = talk_scope(call, args->scope, &project_id);

        return r ? r : company_edit(call, workspace, talk_send_decide, talk_send_reply, &args->carry);
}

/* ---- members --------------------------------------------------------------------------------- */

static int talk_sync_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyConversationMembersSyncArgs *args =
                container_of(carry, AgentcompanyConversationMembersSyncArgs, carry);
        StrList *ids = arena_alloc(edit->arena, sizeof(*ids));

        if (!ids)
                return error_origin(-ENOMEM);
        talk_defaults(edit, args->project_id, args->ceo_actor_id, ids);
        edit->user = ids;
        return 0;
}

static void talk_sync_reply(Call *call, Edit *edit, const Carry *carry) {
        const AgentcompanyConversationMembersSyncArgs *args =
                container_of(carry, AgentcompanyConversationMembersSyncArgs, carry);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "global_manager_agent_id", TALK_GLOBAL_MANAGER);
        jw_field_str(w, "project_secretary_agent_id", talk_secretary(edit->arena, args->project_id));
        draft_strings(w, "conversation_ids", edit->user);
        jw_end_object(w);
}

int op_agentcompany_conversation_members_sync(Call *call, Workspace *workspace,
                                              const AgentcompanyConversationMembersSyncArgs *args) {
        return company_edit(call, workspace, talk_sync_decide, talk_sync_reply, &args->carry);
}
