/* SPDX-License-Identifier: MIT */
#include "collab/message/post.h"

#include <errno.h>

#include "base/error.h"
#include "collab/actor/runner.h"
#include "collab/collab.h"
#include "collab/group/events.h"
#include "collab/group/lines.h"
#include "collab/message/recipients.h"

int post_check_priority(Call *call, Str priority) {
        if (!priority.n || str_is(priority, "normal") || str_is(priority, "attention"))
                return 0;
        return call_fail(call, CALL_E_INVALID_PRIORITY, "priority must be 'normal' or 'attention'");
}

int post_resolve(Call *call, const Group *group, const StrList *tokens, StrList *ret) {
        Str wrong = STR_NULL;
        int r = recipients_resolve(&call->arena, group->doc, tokens, ret, &wrong);

        if (r == RECIPIENTS_E_UNKNOWN)
                return call_fail(call, CALL_E_INVALID_RECIPIENT, "unknown recipient: " STR_FMT,
                                 STR_ARG(wrong));
        if (r == RECIPIENTS_E_AMBIGUOUS)
                return call_fail(call, CALL_E_INVALID_RECIPIENT,
                                 "ambiguous recipient: " STR_FMT " (several actors have this title)",
                                 STR_ARG(wrong));
        return error_fold(r);
}

/* ---- known ----------------------------------------------------------------------------------- */

static int post_again(Call *call, Group *group, const Carry *carry) {
        return post_run(call, group, container_of(carry, Post, carry));
}

static int answer_known(Call *call, _unused_ Group *group, const LedgerRead *lines,
                        _unused_ const Carry *carry) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "event");
        jw_stored(w, ledger_read_line(lines, 0));
        jw_end_object(w);
        return 0;
}

/* False: nobody has used this key yet. */
static bool post_is_known(Call *call, Group *group, Post *post, int *ret) {
        Str word = event_tag(&call->arena, "client:", post->client_id);
        LedgerCursor cursor;
        LedgerTag tag;
        uint64_t position;

        if (!word.data) {
                *ret = error_origin(-ENOMEM);
                return true;
        }
        if (ledger_is_tag_pending(group->ledger, word)) {
                *ret = lines_wait(call, group, post_again, &post->carry);
                return true;
        }
        tag = ledger_tag(group->ledger, word);
        if (ledger_tag_is_none(tag) || ledger_cursor_init(&cursor, group->ledger, &tag, 1, 0, false) ||
            !ledger_cursor_next(&cursor, &position))
                return false;
        *ret = lines_read(call, group, &position, 1, answer_known, post_again, &post->carry);
        return true;
}

/* ---- readers --------------------------------------------------------------------------------- */

static void post_write_list(JsonWriter *w, const StrList *list) {
        jw_begin_array(w);
        for (size_t i = 0; i < list->n; i++)
                jw_str(w, list->items[i]);
        jw_end_array(w);
}

int post_require_reader(Call *call, const Group *group, const Post *post) {
        _cleanup_(buf_deinit) Buf names = BUF_NULL;
        JsonWriter *w;

        if (recipients_have_reader(group->doc, &post->to, post->by))
                return 0;
        for (size_t i = 0; i < post->to.n; i++)
                (void)buf_printf(&names, "%s" STR_FMT, i ? ", " : "", STR_ARG(post->to.items[i]));
        w = call_details(call);
        jw_begin_object(w);
        jw_key(w, "to");
        post_write_list(w, &post->to);
        jw_end_object(w);
        return call_fail(call, CALL_E_NO_ENABLED_RECIPIENTS, "no enabled agents match recipients: " STR_FMT,
                         STR_ARG(names.n ? buf_str(&names) : STR("@all")));
}

static int post_refuse_scope(Call *call, Str key) {
        JsonWriter *w = call_details(call);

        jw_begin_object(w);
        jw_field_cstr(w, "hint", "cccc attach <path> --group <id>");
        jw_end_object(w);
        return call_fail(call, CALL_E_SCOPE_NOT_ATTACHED, "scope not attached: " STR_FMT, STR_ARG(key));
}

static int check_prepared(Call *call, const Group *group, const Post *post) {
        if (post->path.n && !group_doc_scope(group->doc, post->prepared.scope_key))
                return post_refuse_scope(call, post->prepared.scope_key);
        if (post->prepared.file_fault)
                return call_fail(call, CALL_E_INVALID_ATTACHMENTS, "%s", post->prepared.file_fault);
        return 0;
}

/* ---- the event ------------------------------------------------------------------------------- */

static void post_field_or_null(JsonWriter *w, const char *key, Str value) {
        if (value.n)
                jw_field_str(w, key, value);
        else
                jw_field_null(w, key);
}

static Str blob_path(GroupChange *change) {
        return arena_printf(&change->arena, "state/ledger/blobs/chat.%s.txt", group_change_last(change)->id);
}

static bool is_long(const Post *post) {
        return post->text.n > EVENT_TEXT_MAX;
}

static void post_write_text(GroupChange *change, JsonWriter *w, const Post *post) {
        Str pointer = post->text;

        if (is_long(post))
                pointer = arena_printf(&change->arena, "[cccc] (chat text stored at " STR_FMT ")",
                                       STR_ARG(blob_path(change)));
        jw_field_str(w, "text", pointer);
}

static void post_write_file(JsonWriter *w, const PostFile *file) {
        jw_begin_object(w);
        jw_field_str(w, "kind", file->kind);
        jw_field_str(w, "path", file->path);
        jw_field_str(w, "title", file->title);
        jw_field_str(w, "mime_type", file->mime_type);
        jw_field_int(w, "bytes", file->n_bytes);
        jw_field_str(w, "sha256", file->sha256);
        jw_end_object(w);
}

static void write_attachments(GroupChange *change, JsonWriter *w, const Post *post) {
        jw_key(w, "attachments");
        jw_begin_array(w);
        for (size_t i = 0; i < post->prepared.n_files; i++)
                post_write_file(w, &post->prepared.files[i]);
        if (is_long(post)) {
                jw_begin_object(w);
                jw_field_cstr(w, "kind", "text");
                jw_field_str(w, "path", blob_path(change));
                jw_field_uint(w, "bytes", post->text.n);
                jw_field_str(w, "sha256", post->prepared.text_sha256);
                jw_end_object(w);
        }
        jw_end_array(w);
}

/* Of a record of a message to another group: whom it was for, also when nobody was named. */
static void write_dst_to(JsonWriter *w, const Post *post) {
        jw_key(w, "dst_to");
        if (!post->dst_group_id.n) {
                jw_null(w);
                return;
        }
        jw_begin_array(w);
        for (size_t i = 0; post->dst_to && i < post->dst_to->n; i++) {
                Str name = str_trim(post->dst_to->items[i]);

                if (name.n)
                        jw_str(w, name);
        }
        jw_end_array(w);
}

static void write_links(JsonWriter *w, const Post *post) {
        bool has_source = post->src_group_id.n && post->src_event_id.n;

        post_field_or_null(w, "reply_to", post->reply_to);
        if (post->quote.data)
                jw_field_str(w, "quote_text", post->quote);
        else
                jw_field_null(w, "quote_text");
        post_field_or_null(w, "src_group_id", has_source ? post->src_group_id : STR_NULL);
        post_field_or_null(w, "src_event_id", has_source ? post->src_event_id : STR_NULL);
        post_field_or_null(w, "dst_group_id", post->dst_group_id);
        write_dst_to(w, post);
}

static void write_data(GroupChange *change, JsonWriter *w, const Post *post) {
        jw_begin_object(w);
        post_write_text(change, w, post);
        jw_field_cstr(w, "format", "plain");
        jw_field_cstr(w, "priority", post->is_attention ? "attention" : "normal");
        jw_key(w, "to");
        post_write_list(w, &post->to);
        write_links(w, post);
        jw_key(w, "refs");
        jw_raw(w, STR("[]"));
        write_attachments(change, w, post);
        jw_field_cstr(w, "thread", "");
        post_field_or_null(w, "client_id", post->client_id);
        jw_end_object(w);
}

/* The text with its trailing line ends reduced to one. */
static void add_blob(GroupChange *change, const Post *post) {
        Str text = post->text;
        Str path = blob_path(change);
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;

        while (text.n && text.data[text.n - 1] == '\n')
                text.n--;
        if (!path.data || buf_append_str(&bytes, text) || buf_append_str(&bytes, STR("\n")))
                change_try(change, -ENOMEM);
        else
                group_change_file(change, path.data, buf_str(&bytes));
}

/* ---- notices ----------------------------------------------------------------------------------- */

/* Headless actors have no terminal: a message to one that runs brings a notice with it, in the same change. */
static void post_write_notice(JsonWriter *w, Str by, Str actor, Str event_id, bool is_attention,
                              Arena *arena) {
        jw_begin_object(w);
        jw_field_cstr(w, "kind", "info");
        jw_field_cstr(w, "priority", is_attention ? "urgent" : "high");
        jw_field_cstr(w, "title", is_attention ? "Important message" : "New message");
        jw_field_str(w, "message",
                     arena_printf(arena, "New message from " STR_FMT ". Check your inbox.", STR_ARG(by)));
        jw_field_str(w, "target_actor_id", actor);
        jw_key(w, "context");
        jw_begin_object(w);
        jw_field_str(w, "event_id", event_id);
        jw_field_str(w, "from", by);
        jw_end_object(w);
        jw_field_bool(w, "requires_ack", false);
        jw_field_null(w, "related_event_id");
        jw_end_object(w);
}

static bool post_is_noticed(const Group *group, const ActorView *actor, Str by, const StrList *to) {
        Runner *runner = runner_find(group->collab, str_from(group->id), actor->id);

        return runner_is_running(runner) && runner->kind == RUNNER_HEADLESS && !str_eq(actor->id, by) &&
               recipients_include(group->doc, to, actor->id);
}

static void post_notices(GroupChange *change, Str by, const StrList *to, bool is_attention) {
        const GroupDoc *doc = change->group->doc;
        Str event_id = arena_str(&change->arena, str_from(group_change_last(change)->id));

        for (size_t i = 0; i < doc->n_actors && change->n_events < GROUP_CHANGE_EVENTS; i++)
                if (post_is_noticed(change->group, &doc->actors[i], by, to))
                        post_write_notice(
                                group_change_event(change, "system.notify", STR("system"), STR("")), by,
                                doc->actors[i].id, event_id, is_attention, &change->arena);
}

/* ---- wake ------------------------------------------------------------------------------------ */

static bool has_to_wake(const Group *group, Str by) {
        return group->doc->state == GROUP_IDLE && !str_is(by, "system") && !group_doc_actor(group->doc, by);
}

/* ---- keep ------------------------------------------------------------------------------------ */

static GroupChange *post_begin(Call *call, Group *group, Post *post) {
        GroupChange *change = group_change_begin(group, post->kept ? NULL : call, 0);
        Str scope_key = post->path.n ? post->prepared.scope_key : group->doc->active_scope_key;

        if (!change)
                return NULL;
        change->carry = &post->carry;
        write_data(change, group_change_event(change, "chat.message", post->by, scope_key), post);
        if (is_long(post))
                add_blob(change, post);
        if (post->more)
                post->more(change, post);
        post_notices(change, post->by, &post->to, post->is_attention);
        if (has_to_wake(group, post->by)) /* then this is an edit */
                group_change_state(change, GROUP_ACTIVE);
        return change;
}

static void post_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

static void post_on_kept(Call *call, GroupChange *change) {
        Post *post = container_of(change->carry, Post, carry);

        group_touch(change->group, change->events[0].ts_us);
        if (post->kept)
                post->kept(post->call, change);
        else if (post->reply)
                post->reply(call, change);
        else
                post_reply(call, change);
}

/* Only of a change without a call. */
static void post_on_failed(GroupChange *change, int r) {
        Post *post = container_of(change->carry, Post, carry);

        if (r == -EMSGSIZE)
                r = call_fail(post->call, CALL_E_TOO_LARGE, "the event is too large");
        call_finish(post->call, r);
}

static int post_keep(Call *call, Group *group, Post *post) {
        GroupChange *change = post_begin(call, group, post);

        post->call = call;
        return group_change_commit_or(change, post_on_kept, post->kept ? post_on_failed : NULL);
}

bool post_has_files(const Json *attachments) {
        return attachments && !json_is(attachments, JSON_NULL) &&
               (!json_is(attachments, JSON_ARRAY) || json_count(attachments));
}

static bool post_needs_worker(const Post *post) {
        return post->path.n || post_has_files(post->attachments) || post->text.n > EVENT_TEXT_MAX ||
               post->dst_group_id.n;
}

int post_run(Call *call, Group *group, Post *post) {
        int r;

        if (post->client_id.n && post_is_known(call, group, post, &r))
                return r;
        r = post_require_reader(call, group, post);
        if (r)
                return r;
        if (post_needs_worker(post) && !post->prepared.is_done)
                return post_prepare(call, group, post, post_again);
        r = check_prepared(call, group, post);
        if (r)
                return r;
        if (has_to_wake(group, post->by) && !group_is_editing(group, call))
                return collab_edit(call, post->group_id, post_again, &post->carry);
        return post_keep(call, group, post);
}
