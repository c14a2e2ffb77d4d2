/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "base/time.h"
#include "base/utf8.h"
#include "collab/group/group-change.h"
#include "collab/group/lines.h"
#include "collab/message/approval-chat.h"
#include "collab/message/inbox.h"
#include "collab/message/post.h"
#include "collab/message/recipients.h"
#include "collab/unicode.h"
#include "gen/cccc-ops.h"

/* Named, else mentioned, else by policy. */
static int send_choose(Call *call, const Group *group, const CcccSendArgs *args, StrList *ret) {
        int r = post_resolve(call, group, &args->to, ret);

        if (!r && !ret->n)
                r = recipients_mentioned(&call->arena, group->doc, args->text, ret);
        if (!r && !ret->n)
                r = recipients_default(&call->arena, group->doc, ret);
        return r;
}

int op_cccc_send_first(Call *call, const CcccSendArgs *args) {
        return post_check_priority(call, args->priority);
}

/* With a client_id the ledger was looked at anew (read_if in its schema): the key is looked for among all
 * lines, also those of others. */
int op_cccc_send(Call *call, Group *group, const CcccSendArgs *args) {
        Post *post = arena_alloc(&call->arena, sizeof(*post));
        int r;

        if (!post)
                return error_origin(-ENOMEM);
        *post = (Post){.group_id = args->group_id,
                       .by = args->by,
                       .text = args->text,
                       .is_attention = str_is(args->priority, "attention"),
                       .path = args->path,
                       .attachments = args->attachments,
                       .src_group_id = args->src_group_id,
                       .src_event_id = args->src_event_id,
                       .dst_group_id = args->dst_group_id,
                       .dst_to = args->dst_to.items ? &args->dst_to : NULL,
                       .client_id = args->client_id};
        r = send_choose(call, group, args, &post->to);
        return r ? r : post_run(call, group, post);
}

enum { QUOTE_CHARACTERS = 100 };

/* The beginning of what is answered, without white space around it; NULL data: it has no text. */
static Str quote(Call *call, const Json *original) {
        const Json *said = json_get(json_get(original, "data"), "text");
        Str text = unicode_trim(json_str(said)), first = utf8_first(text, QUOTE_CHARACTERS);

        if (!json_is(said, JSON_STRING))
                return STR_NULL;
        if (first.n == text.n)
                return text.n ? text : STR("");
        return arena_printf(&call->arena, STR_FMT "...", STR_ARG(first));
}

static int tokens_of(Call *call, const Json *list, StrList *ret) {
        *ret = (StrList){.items = arena_alloc(&call->arena, json_count(list) * sizeof(Str))};
        if (!ret->items)
                return error_origin(-ENOMEM);
        json_each (item, list)
                ret->items[ret->n++] = json_str(item);
        return 0;
}

/* Back to the sender; one's own message keeps its audience, and what is answered to an approval is for no actor. */
static int default_tokens(Call *call, const Json *original, Str by, StrList *ret) {
        Str sender = json_str(json_get(original, "by"));

        if (str_eq(sender, by) || !sender.n)
                return tokens_of(call, json_get(json_get(original, "data"), "to"), ret);
        *ret = (StrList){.items = arena_alloc(&call->arena, sizeof(Str)), .n = 1};
        if (!ret->items)
                return error_origin(-ENOMEM);
        ret->items[0] = approval_chat_is_ours(original) ? STR("user") : sender;
        return 0;
}

static int reply_choose(Call *call, const Group *group, const CcccReplyArgs *args, const Json *original,
                        StrList *ret) {
        StrList tokens;
        int r = post_resolve(call, group, &args->to, ret);

        if (r || ret->n)
                return r;
        r = default_tokens(call, original, args->by, &tokens);
        if (!r)
                r = post_resolve(call, group, &tokens, ret);
        if (!r && !ret->n)
                r = recipients_default(&call->arena, group->doc, ret);
        return r;
}

static int reply_answer(Call *call, Group *group, const Json *original, const Carry *carry) {
        const CcccReplyArgs *args = container_of(carry, CcccReplyArgs, carry);
        Post *post = arena_alloc(&call->arena, sizeof(*post));
        int r;

        if (!post)
                return error_origin(-ENOMEM);
        *post = (Post){.group_id = args->group_id,
                       .by = args->by,
                       .text = args->text,
                       .is_attention = str_is(args->priority, "attention"),
                       .attachments = args->attachments,
                       .reply_to = args->reply_to,
                       .quote = quote(call, original),
                       .client_id = args->client_id};
        approval_chat_prepare(call, post);
        r = reply_choose(call, group, args, original, &post->to);
        return r ? r : post_run(call, group, post);
}

int op_cccc_reply_first(Call *call, const CcccReplyArgs *args) {
        int r = post_check_priority(call, args->priority);

        if (r)
                return r;
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        return args->reply_to.n ? 0 : call_fail(call, CALL_E_MISSING_REPLY_TO, "missing reply_to event_id");
}

int op_cccc_reply(Call *call, Group *group, const CcccReplyArgs *args) {
        return event_find(call, group, args->reply_to, reply_answer, &args->carry);
}

/* ---- system_notify --------------------------------------------------------------------------- */

/* One of the words, else the first. */
static const char *one_of(Str word, const char *const *words) {
        for (size_t i = 0; words[i]; i++)
                if (str_is(word, words[i]))
                        return words[i];
        return words[0];
}

static void notify_write_notice(JsonWriter *w, const CcccSystemNotifyArgs *args) {
        static const char *const kinds[] = {
                "info",          "nudge",   "keepalive",     "help_nudge", "actor_idle",
                "silence_check", "standup", "status_change", "error",      NULL};
        static const char *const priorities[] = {"normal", "low", "high", "urgent", NULL};

        jw_begin_object(w);
        jw_field_cstr(w, "kind", one_of(args->kind, kinds));
        jw_field_cstr(w, "priority", one_of(args->priority, priorities));
        jw_field_str(w, "title", args->title);
        jw_field_str(w, "message", args->message);
        if (args->target_actor_id.n)
                jw_field_str(w, "target_actor_id", args->target_actor_id);
        else
                jw_field_null(w, "target_actor_id");
        jw_key(w, "context");
        if (args->context)
                jw_value(w, args->context);
        else
                jw_raw(w, STR("{}"));
        jw_field_bool(w, "requires_ack", args->requires_ack);
        jw_field_null(w, "related_event_id");
        jw_end_object(w);
}

static void notify_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

int op_cccc_system_notify(Call *call, Group *group, const CcccSystemNotifyArgs *args) {
        GroupChange *change = group_change_begin(group, call, 0);

        if (change)
                notify_write_notice(group_change_event(change, "system.notify", args->by, STR("")), args);
        return group_change_commit(change, notify_reply);
}

/* ---- notify_ack ------------------------------------------------------------------------------ */

static int acknowledge(Call *call, Group *group, const Json *event, const Carry *carry) {
        const CcccNotifyAckArgs *args = container_of(carry, CcccNotifyAckArgs, carry);
        GroupChange *change;
        JsonWriter *w;

        if (!str_is(json_str(json_get(event, "kind")), "system.notify"))
                return call_fail(call, CALL_E_INVALID_EVENT_KIND, "event is not a system.notify");
        change = group_change_begin(group, call, 0);
        if (change) {
                w = group_change_event(change, "system.notify_ack", args->actor_id, STR(""));
                jw_begin_object(w);
                jw_field_str(w, "notify_event_id", args->notify_event_id);
                jw_field_str(w, "actor_id", args->actor_id);
                jw_end_object(w);
        }
        return group_change_commit(change, notify_reply);
}

/* Only for oneself; whoever does not say who he is means the actor. */
int op_cccc_notify_ack_first(Call *call, const CcccNotifyAckArgs *args) {
        if (args->by.n && !str_eq(args->by, args->actor_id))
                return call_fail(call, CALL_E_PERMISSION_DENIED,
                                 "ack must be performed by the recipient (by must equal actor_id)");
        return 0;
}

int op_cccc_notify_ack(Call *call, Group *group, const CcccNotifyAckArgs *args) {
        return event_find(call, group, args->notify_event_id, acknowledge, &args->carry);
}

/* ---- chat_ack -------------------------------------------------------------------------------- */

static void chat_ack_write_reply(Call *call, const GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "acked", true);
        jw_field_bool(w, "already", !change);
        if (change)
                group_change_write_event(change, w, "event", 0);
        else
                jw_field_null(w, "event");
        jw_end_object(w);
}

static void chat_ack_reply(Call *call, GroupChange *change) {
        chat_ack_write_reply(call, change);
}

static int chat_ack_keep(Call *call, Group *group, const Carry *carry) {
        const CcccChatAckArgs *args = container_of(carry, CcccChatAckArgs, carry);
        GroupChange *change;

        switch (ack_state(call, group, args->event_id, args->actor_id)) {
        case ACK_PENDING: return lines_wait(call, group, chat_ack_keep, &args->carry);
        case ACK_KEPT: chat_ack_write_reply(call, NULL); return 0;
        case ACK_NONE: break;
        }
        change = group_change_begin(group, call, 0);
        if (change)
                ack_add(change, args->actor_id, args->event_id);
        return group_change_commit(change, chat_ack_reply);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static bool list_has_user(const Json *to) {
        json_each (item, to)
                if (str_is(json_str(item), "user") || str_is(json_str(item), "@user"))
                        return true;
        return false;
}

/* An actor that was added later was not meant. */
static bool is_addressed(const Group *group, const Json *event, Str actor) {
        const ActorView *view = group_doc_actor(group->doc, actor);
        int64_t ts_us;

        if (str_is(actor, "user"))
                return list_has_user(json_get(json_get(event, "data"), "to"));
        if (view && time_parse(json_str(json_get(event, "ts")), &ts_us) && view->created_us > ts_us)
                return false;
        return inbox_shows(group->doc, event, actor, true);
}

static int chat_ack_check(Call *call, Group *group, const Json *event, const Carry *carry) {
        const CcccChatAckArgs *args = container_of(carry, CcccChatAckArgs, carry);

        if (!str_is(json_str(json_get(event, "kind")), "chat.message"))
                return call_fail(call, CALL_E_INVALID_EVENT_KIND, "event is not a chat.message");
        if (str_eq(json_str(json_get(event, "by")), args->actor_id))
                return call_fail(call, CALL_E_CANNOT_ACK_OWN_MESSAGE, "cannot acknowledge your own message");
        if (!str_is(json_str(json_get(json_get(event, "data"), "priority")), "attention"))
                return call_fail(call, CALL_E_NOT_AN_ATTENTION_MESSAGE, "message priority is not attention");
        if (!is_addressed(group, event, args->actor_id))
                return call_fail(call, CALL_E_EVENT_NOT_FOR_ACTOR,
                                 "event is not addressed to actor: " STR_FMT, STR_ARG(args->actor_id));
        return chat_ack_keep(call, group, &args->carry);
}

int op_cccc_chat_ack_first(Call *call, const CcccChatAckArgs *args) {
        if (!str_eq(args->by, args->actor_id))
                return call_fail(call, CALL_E_PERMISSION_DENIED,
                                 "ack must be performed by the recipient (by must equal actor_id)");
        return 0;
}

int op_cccc_chat_ack(Call *call, Group *group, const CcccChatAckArgs *args) {
        if (!str_is(args->actor_id, "user") && !group_doc_actor(group->doc, args->actor_id))
                return call_fail(call, CALL_E_UNKNOWN_ACTOR, "unknown actor: " STR_FMT,
                                 STR_ARG(args->actor_id));
        return event_find(call, group, args->event_id, chat_ack_check, &args->carry);
}
