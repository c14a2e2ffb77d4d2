/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/approval"

#include "collab/message/approval-chat.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "collab/collab.h"
#include "collab/group/events.h"
#include "collab/group/lines.h"
#include "core/approval/approval.h"
#include "core/principal/principal.h"

enum { CHAT_KEY_MAX = APPROVAL_ID_DIGITS + 16 };

static const char chat_key[] = "approval:";

/* One at a time. */
typedef struct ApprovalChat {
        Carry carry;
        Collab *collab;
        Deferred look;
        Call *call; /* of the one under way; NULL: none */
        char id[APPROVAL_ID_DIGITS + 1];
        char failed[APPROVAL_ID_DIGITS +
                    1]; /* the last that could not be told: what is younger is looked at */
        Str to[1];
        Post post;
} ApprovalChat;

static Approvals *chat_approvals(const Collab *collab) {
        return approvals_are_ready(collab->daemon->approvals) ? collab->daemon->approvals : NULL;
}

bool approval_chat_is_ours(const Json *event) {
        return str_is(json_text_of(event, "by"), "system") &&
               str_starts(json_text_of(json_get(event, "data"), "client_id"), str_from(chat_key));
}

/* ---- the text -------------------------------------------------------------------------------- */

/* Lines of others, each behind a mark and without what drives a terminal or turns text around. */
static int chat_quote(Buf *out, Str text) {
        int r = buf_append_str(out, STR("> "));

        while (!r && text.n) {
                int32_t code;
                size_t n = utf8_next(text, &code);

                if (code == '\n')
                        r = buf_append_str(out, STR("\n> "));
                else if (code != '\t' && utf8_is_hidden(code))
                        r = buf_append_str(out, STR("\xef\xbf\xbd"));
                else
                        r = buf_append(out, text.data, n);
                text = (Str){text.data + n, text.n - n};
        }
        return r ? r : buf_append_str(out, STR("\n"));
}

static bool chat_shows(const Approval *approval) {
        return approval->evidence.n <= APPROVAL_CHAT_MAX;
}

static int chat_put_evidence(Buf *out, const Approval *approval) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf pretty = BUF_NULL;
        Json *evidence = NULL;

        if (!approval->evidence.n)
                return 0;
        if (!chat_shows(approval))
                return buf_printf(out,
                                  "What is to be decided on is too long for a message: muster answer %s "
                                  "shows it. A reply can only deny.\n",
                                  approval->id);
        if (json_parse(&arena, approval->evidence.data, approval->evidence.n, NULL, &evidence, NULL) ||
            json_write_pretty(&pretty, evidence, 2))
                return error_origin(-ENOMEM);
        return chat_quote(out, buf_str(&pretty));
}

static int chat_put_text(Buf *out, const Approval *approval, Str actor) {
        int r = buf_printf(out, STR_FMT " asks (" STR_FMT "):\n", STR_ARG(actor), STR_ARG(approval->kind));

        r = r ? r : chat_quote(out, approval->title);
        if (!r && approval->body.n)
                r = chat_quote(out, approval->body);
        r = r ? r : chat_put_evidence(out, approval);
        r = r ? r : buf_append_str(out, STR("Reply to this message with one of:"));
        for (size_t i = 0; !r && i < approval->n_options; i++)
                r = buf_printf(out, "%s " STR_FMT, i ? "," : "", STR_ARG(approval->options[i].id));
        return r ? r : buf_printf(out, ". (approval %s)", approval->id);
}

/* ---- telling --------------------------------------------------------------------------------- */

static void chat_told(const ApprovalChat *self, Str event) {
        Approvals *approvals = chat_approvals(self->collab);
        size_t n;
        Approval *approval = approvals ? approval_find(approvals, str_from(self->id), &n) : NULL;

        if (approval)
                approval_message(approvals, approval, self->post.group_id, event);
}

static void chat_reply(Call *call, GroupChange *change) {
        const ApprovalChat *self = container_of(change->carry, ApprovalChat, post.carry);
        JsonWriter *w = call_result(call);

        chat_told(self, str_from(change->events[0].id));
        jw_begin_object(w);
        jw_end_object(w);
}

/* A daemon that was killed has left it; one of somebody else with this key is none of ours. */
static int chat_known(Call *call, _unused_ Group *group, const LedgerRead *lines, const Carry *carry) {
        const ApprovalChat *self = container_of(carry, ApprovalChat, carry);
        Str line = ledger_read_line(lines, 0);
        Json *event = NULL;

        if (json_parse(&call->arena, line.data, line.n, NULL, &event, NULL) || !approval_chat_is_ours(event))
                return call_fail(call, CALL_E_INTERNAL, "its key is taken");
        chat_told(self, json_text_of(event, "id"));
        return 0;
}

static int chat_put_message(Call *call, Group *group, const Carry *carry) {
        ApprovalChat *self = (ApprovalChat *)container_of(carry, ApprovalChat, carry);
        Str word = event_tag(&call->arena, "client:", self->post.client_id);
        LedgerTag tag = word.data ? ledger_tag(group->ledger, word) : (LedgerTag){0};
        LedgerCursor cursor;
        uint64_t position;

        if (!word.data)
                return error_origin(-ENOMEM);
        if (!ledger_tag_is_none(tag) && !ledger_cursor_init(&cursor, group->ledger, &tag, 1, 0, false) &&
            ledger_cursor_next(&cursor, &position))
                return lines_read(call, group, &position, 1, chat_known, chat_put_message, carry);
        return post_run(call, group, &self->post);
}

static void chat_over(Call *call) {
        ApprovalChat *self = (ApprovalChat *)container_of(call->target, ApprovalChat, carry);

        if (call->error) {
                log_warning(&self->collab->daemon->log, self->id, "not told in its group: " STR_FMT,
                            STR_ARG(call->message));
                memcpy(self->failed, self->id, sizeof(self->id));
        }
        self->call = NULL;
        deferred_schedule(&self->look);
}

/* actor:GROUP/ACTOR in two. */
static bool chat_place(Str asker, Str *group, Str *actor) {
        static const Str kind = {"actor:", 6};
        Str rest = str_starts(asker, kind) ? (Str){asker.data + kind.n, asker.n - kind.n} : STR_NULL;
        const char *slash = rest.n ? memchr(rest.data, '/', rest.n) : NULL;

        if (!slash)
                return false;
        *group = (Str){rest.data, (size_t)(slash - rest.data)};
        *actor = (Str){slash + 1, (size_t)(rest.data + rest.n - slash - 1)};
        return true;
}

static int chat_fill(ApprovalChat *self, const Approval *approval) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Arena *arena = &self->call->arena;
        Str group, actor;
        int r;

        if (!chat_place(approval->asker, &group, &actor))
                return error_origin(-EINVAL);
        r = chat_put_text(&text, approval, actor);
        self->to[0] = STR("user");
        self->post = (Post){.group_id = arena_str(arena, group),
                            .by = STR("system"),
                            .text = r ? STR_NULL : arena_str(arena, buf_str(&text)),
                            .is_attention = true,
                            .to = {self->to, 1},
                            .client_id = arena_printf(arena, "%s%s", chat_key, approval->id),
                            .reply = chat_reply};
        return r || !self->post.group_id.data || !self->post.text.data || !self->post.client_id.data
                       ? error_origin(-ENOMEM)
                       : 0;
}

static void chat_tell(ApprovalChat *self, const Approval *approval) {
        int r;

        self->call = call_of_ours(self->collab->daemon, chat_over);
        if (!self->call)
                return; /* when the next one is asked */
        self->call->target = &self->carry;
        memcpy(self->id, approval->id, sizeof(self->id));
        r = chat_fill(self, approval);
        r = r ? r : collab_read(self->call, self->post.group_id, chat_put_message, &self->carry);
        if (r != CALL_LATER)
                call_finish(self->call, r);
}

/* The oldest that is not told. */
static void chat_look(Deferred *deferred) {
        ApprovalChat *self = container_of(deferred, ApprovalChat, look);
        const Approvals *approvals = chat_approvals(self->collab);
        const Approval *found = NULL;
        Str group, actor;

        if (self->call || !approvals)
                return;
        for (const Approval *at = approval_last(approvals); at && !approval_is_over(at);
             at = approval_before(approvals, at)) {
                if (!strcmp(at->id, self->failed))
                        break;
                if (!at->told_event.n && strcmp(at->id, self->id) != 0 &&
                    chat_place(at->asker, &group, &actor))
                        found = at;
        }
        if (found)
                chat_tell(self, found);
}

static void chat_on_asked(void *user) {
        ApprovalChat *self = user;

        deferred_schedule(&self->look);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* What a person has replied; in the arena of the call that carries it out. */
typedef struct ChatAnswer {
        Carry carry;
        Collab *collab;
        char id[APPROVAL_ID_DIGITS + 1];
        Str option, group, event;
        Str to[1];
        Post post; /* that says that it does not count */
} ChatAnswer;

static int chat_say(Call *call, Group *group, const Carry *carry) {
        ChatAnswer *answer = (ChatAnswer *)container_of(carry, ChatAnswer, carry);

        return post_run(call, group, &answer->post);
}

/* Who believes to have answered and has not is told so. */
static void chat_refused(const ChatAnswer *answer, Str why) {
        Call *call = answer->collab->daemon->is_stopping ? NULL : call_of_ours(answer->collab->daemon, NULL);
        ChatAnswer *own = call ? arena_alloc(&call->arena, sizeof(*own)) : NULL;
        int r = 0;

        if (own) {
                *own = (ChatAnswer){.to = {STR("user")}};
                own->post = (Post){
                        .group_id = arena_str(&call->arena, answer->group),
                        .by = STR("system"),
                        .text = arena_printf(&call->arena, "That does not count. " STR_FMT, STR_ARG(why)),
                        .to = {own->to, 1},
                        .reply_to = arena_str(&call->arena, answer->event),
                        .reply = NULL};
                r = own->post.group_id.data && own->post.text.data && own->post.reply_to.data
                            ? collab_call(call, own->post.group_id, chat_say, &own->carry)
                            : error_origin(-ENOMEM);
        }
        if (call && r != CALL_LATER)
                call_finish(call, r);
}

static void chat_answer_over(Call *call) {
        const ChatAnswer *answer = container_of(call->target, ChatAnswer, carry);

        if (call->error)
                chat_refused(answer, call->message);
}

static int chat_answer_told(Call *call, _unused_ const Approval *approval) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_end_object(w);
        return 0;
}

static int chat_answer_run(Call *call, Approvals *approvals, const Carry *carry) {
        const ChatAnswer *answer = container_of(carry, ChatAnswer, carry);
        size_t n;
        Approval *approval = approval_find(approvals, str_from(answer->id), &n);
        ApprovalReply reply = {.option = answer->option, .by = STR("user"), .via = STR("chat")};

        if (!approval)
                return call_fail(call, CALL_E_APPROVAL_NOT_FOUND, "there is no such approval any more");
        if (chat_shows(approval))
                reply.digest = str_from(approval->digest); /* of what the message shows whole */
        return approval_answer(call, approvals, approval, &reply, chat_answer_told);
}

static void chat_answer(Collab *collab, const Approval *approval, const ApprovalOption *option, Str group,
                        Str event) {
        Call *call = call_of_ours(collab->daemon, chat_answer_over);
        ChatAnswer *answer = call ? arena_alloc(&call->arena, sizeof(*answer)) : NULL;
        int r = error_origin(-ENOMEM);

        if (answer) {
                *answer = (ChatAnswer){.collab = collab,
                                       .option = arena_str(&call->arena, option->id),
                                       .group = arena_str(&call->arena, group),
                                       .event = arena_str(&call->arena, event)};
                memcpy(answer->id, approval->id, sizeof(answer->id));
                call->target = &answer->carry;
                r = approvals_call(call, false, chat_answer_run, &answer->carry);
        } else if (call)
                call->over = NULL;
        if (call && r != CALL_LATER)
                call_finish(call, r);
}

/* The reply is kept. */
static void chat_replied(Call *call, GroupChange *change) {
        const Post *post = container_of(change->carry, Post, carry);
        Collab *collab = change->group->collab;
        const Approvals *approvals = chat_approvals(collab);
        const Approval *approval =
                approvals ? approval_find_message(approvals, str_from(change->group->id), post->reply_to)
                          : NULL;
        const ApprovalOption *option =
                approval ? approval_option_said(approval, str_trim(post->text)) : NULL;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
        if (option)
                chat_answer(collab, approval, option, str_from(change->group->id),
                            str_from(change->events[0].id));
}

void approval_chat_prepare(const Call *call, Post *post) {
        const Approvals *approvals = call->daemon->approvals;
        const Approval *approval = approvals_are_ready(approvals)
                                           ? approval_find_message(approvals, post->group_id, post->reply_to)
                                           : NULL;

        if (approval && call->client && str_is(post->by, "user") &&
            principal_of(call->client)->kind == PRINCIPAL_USER &&
            principal_may(call->client, RIGHT_APPROVE, approval->asker))
                post->reply = chat_replied;
}

/* ---- the part -------------------------------------------------------------------------------- */

static int chat_on_started(Collab *collab) {
        if (!collab->chat) {
                ApprovalChat *self = calloc(1, sizeof(*self));

                if (!self)
                        return error_origin(-ENOMEM);
                self->collab = collab;
                deferred_init(&self->look, collab->daemon->loop, chat_look);
                collab->chat = self;
        }
        approvals_listen(collab->daemon->approvals, chat_on_asked, collab->chat);
        return 0;
}

static void chat_on_stopping(Collab *collab) {
        approvals_listen(collab->daemon->approvals, NULL, NULL);
}

static bool chat_is_busy(const Collab *collab) {
        return collab->chat && collab->chat->call;
}

static void chat_on_closed(Collab *collab) {
        if (collab->chat)
                deferred_cancel(&collab->chat->look);
        free(collab->chat);
        collab->chat = NULL;
}

const CollabPart approval_chat_part = {
        .name = "approval-chat",
        .started = chat_on_started,
        .stopping = chat_on_stopping,
        .is_busy = chat_is_busy,
        .closed = chat_on_closed,
};
