/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/group"

/* Putting a change together. How it is kept: collab/group/group-change.c. */
#include "collab/group/group-change.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/group/events-file.h"
#include "collab/group/events.h"

enum { EVENTS_FIRST = 4 };

static void group_commit_done(LedgerChange *ledger, int r);

GroupChange *group_change_begin(Group *group, Call *call, int error) {
        GroupChange *change = calloc(1, sizeof(*change));

        if (!change)
                return NULL;
        change->events = calloc(EVENTS_FIRST, sizeof(*change->events));
        change->cap_events = EVENTS_FIRST;
        if (!change->events) {
                free(change);
                return NULL;
        }
        change->group = group_ref(group);
        change->call = call;
        change->error = error;
        change->is_edit = group_is_editing(group, call);
        ledger_change_init(&change->ledger, group->ledger, group_commit_done);
        return change;
}

/* the ledger's part is over */
static void group_change_free(GroupChange *change) {
        buf_deinit(&change->text);
        buf_deinit(&change->feed);
        arena_deinit(&change->arena);
        group_doc_unref(change->doc);
        document_unref(change->cursors);
        free(change->events);
        group_unref(change->group);
        free(change);
}

int group_change_abort(GroupChange *change) {
        int r = change && change->r ? change->r : error_origin(-ENOMEM);

        if (!change)
                return r;
        ledger_change_deinit(&change->ledger);
        group_change_free(change);
        return r;
}

bool change_try(GroupChange *change, int r) {
        if (r && !change->r)
                change->r = r > 0 ? -ENOTRECOVERABLE : r;
        return !change->r;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void group_change_begin_line(GroupChange *change, const char *id, const char *ts, const char *kind) {
        JsonWriter *w = &change->writer;

        change->text.n = 0;
        *w = JSON_WRITER(&change->text);
        jw_begin_object(w);
        jw_field_int(w, "v", 1);
        jw_field_cstr(w, "id", id);
        jw_field_cstr(w, "ts", ts);
        jw_field_cstr(w, "kind", kind);
}

static void end_event(GroupChange *change) {
        ChangeEvent *event = &change->events[change->n_events - 1];

        if (change->text.n > EVENT_LINE_MAX)
                change_try(change, -EMSGSIZE);
        event->line = arena_str(&change->arena, buf_str(&change->text));
        if (!event->line.data)
                change_try(change, -ENOMEM);
        else if (!change->r)
                change_try(change, ledger_change_line(&change->ledger, event->line));
}

static void end_feed(GroupChange *change) {
        if (buf_append_str(&change->text, STR("\n")) ||
            buf_append_str(&change->feed, buf_str(&change->text)))
                change_try(change, -ENOMEM);
}

/* the event or feed line being written, if any */
static void group_change_end_line(GroupChange *change) {
        if (!change->is_event_open && !change->is_feed_open)
                return;
        jw_end_object(&change->writer);
        if (change->writer.failed)
                change_try(change, -ENOMEM);
        if (change->is_event_open)
                end_event(change);
        else
                end_feed(change);
        change->is_event_open = change->is_feed_open = false;
}

static int reserve_event(GroupChange *change) {
        ChangeEvent *grown;

        if (change->n_events < change->cap_events)
                return 0;
        if (change->cap_events >= GROUP_CHANGE_EVENTS)
                return error_origin(-E2BIG);
        grown = realloc(change->events, 2 * change->cap_events * sizeof(*grown));
        if (!grown)
                return error_origin(-ENOMEM);
        change->events = grown;
        change->cap_events *= 2;
        return 0;
}

JsonWriter *group_change_event(GroupChange *change, const char *kind, Str by, Str scope_key) {
        ChangeEvent *event;

        group_change_end_line(change);
        if (!change_try(change, reserve_event(change)) && change->n_events == change->cap_events)
                change->n_events--; /* the change has failed: this one's place does not matter any more */
        event = &change->events[change->n_events++];
        change_try(change, id_hex(event->id, EVENT_ID_DIGITS));
        event->ts_us = ledger_next_ts_us(change->group->ledger);
        time_format_us(event->ts_us, event->ts);
        group_change_begin_line(change, event->id, event->ts, kind);
        jw_field_cstr(&change->writer, "group_id", change->group->id);
        jw_field_str(&change->writer, "scope_key", scope_key);
        jw_field_str(&change->writer, "by", by);
        jw_key(&change->writer, "data");
        change->is_event_open = true;
        return &change->writer;
}

JsonWriter *group_change_feed(GroupChange *change, const char *kind) {
        char id[EVENT_ID_DIGITS + 1] = "", ts[TIME_TEXT_MAX];

        group_change_end_line(change);
        change_try(change, id_hex(id, EVENT_ID_DIGITS));
        time_format_us(loop_wall_us(change->group->collab->daemon->loop), ts);
        group_change_begin_line(change, id, ts, kind);
        jw_key(&change->writer, "data");
        change->is_feed_open = true;
        return &change->writer;
}

const ChangeEvent *group_change_last(const GroupChange *change) {
        assert(change->n_events);
        return &change->events[change->n_events - 1];
}

/* ---- documents ------------------------------------------------------------------------------- */

GroupDoc *group_change_doc(GroupChange *change) {
        if (!change)
                return NULL;
        assert(change->group->edit); /* only inside collab_edit() or group_edit() */
        change->is_edit = true;
        if (!change->doc)
                change->doc = group_doc_clone(change->group->doc);
        if (!change->doc)
                change_try(change, -ENOMEM);
        return change->doc;
}

static Document *edit_cursors(GroupChange *change) {
        assert(change->group->edit);
        change->is_edit = true;
        if (!change->cursors)
                change->cursors = document_clone(change->group->cursors);
        if (!change->cursors)
                change_try(change, -ENOMEM);
        return change->cursors;
}

void group_change_cursor(GroupChange *change, Str actor, Str event_id, Str ts) {
        Document *cursors = edit_cursors(change);
        char now[TIME_TEXT_MAX];
        int64_t ts_us, now_us = loop_wall_us(change->group->collab->daemon->loop);
        Json *entry;

        if (!cursors)
                return;
        if (!event_id.n) {
                json_remove(cursors->json, actor);
                return;
        }
        time_format_us(now_us, now);
        if (time_parse(ts, &ts_us) && group_past_us(change->group, ts_us, now_us) != ts_us)
                ts = str_from(now); /* readers that go by time would miss everything until then */
        entry = json_get_str(cursors->json, actor);
        if (!json_is(entry, JSON_OBJECT)) {
                entry = json_new(&cursors->arena, JSON_OBJECT);
                change_try(change, json_set(&cursors->arena, cursors->json, actor, entry));
        }
        if (!change->r)
                change_try(change, document_set_str(cursors, entry, "event_id", event_id));
        if (!change->r)
                change_try(change, document_set_str(cursors, entry, "ts", ts));
        if (!change->r)
                change_try(change, document_set_str(cursors, entry, "updated_at", str_from(now)));
}

void group_change_file(GroupChange *change, const char *path, Str bytes) {
        _cleanup_(freep) char *full = path_join(change->group->dir, path);

        change_try(change, full ? ledger_change_file(&change->ledger, full, bytes, NULL) : -ENOMEM);
}

RegistryEdit *group_change_registry(GroupChange *change) {
        char now[TIME_TEXT_MAX];

        time_format_us(loop_wall_us(change->group->collab->daemon->loop), now);
        change->has_registry = true;
        change->registry.group_id = str_from(change->group->id);
        change->registry.updated_at = arena_str(&change->arena, str_from(now));
        if (!change->registry.updated_at.data)
                change_try(change, -ENOMEM);
        return &change->registry;
}

void group_change_state(GroupChange *change, GroupState state) {
        GroupDoc *doc = group_change_doc(change);
        JsonWriter *w;

        if (!doc)
                return;
        change_try(change, group_doc_set_str(doc, "state", str_from(group_state_name(state))));
        w = group_change_feed(change, "group.state_changed");
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_cstr(w, "state", group_state_name(state));
        jw_end_object(w);
}

/* ---- replies --------------------------------------------------------------------------------- */

void group_change_write_event(const GroupChange *change, JsonWriter *w, const char *key, size_t i) {
        assert(i < change->n_events);
        jw_key(w, key);
        jw_raw(w, change->events[i].line);
}

void group_change_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

/*
 * Keeping a change: lines and files through the ledger; then the new documents take the place of the old
 * ones and the next edit may begin; then registry and feed; then the reply. A registry or feed that cannot
 * be written does not fail the call: what counts is kept by then, the registry is tried again, the feed is
 * only a hint.
 */
static int group_commit_failure(GroupChange *change, int r) {
        if (!change->call)
                return r;
        if (change->group->is_deleting)
                return call_fail(change->call, CALL_E_GROUP_NOT_FOUND, "group not found: %s",
                                 change->group->id);
        if (r == -EMSGSIZE)
                return call_fail(change->call, CALL_E_TOO_LARGE, "the event is too large");
        if (!change->error)
                return r;
        return call_fail(change->call, change->error, "cannot keep the change: %s", strerror(-r));
}

static void group_commit_fail(GroupChange *change, int r) {
        Group *group = group_ref(change->group);
        Call *call = change->call;

        if (change->is_edit)
                group_edit_end(
                        group); /* before the call ends, which the edit's place in the line belongs to */
        if (change->failed)
                change->failed(change, r);
        else if (call)
                call_finish(call, group_commit_failure(change, r));
        else
                log_err(&group->collab->daemon->log, group->id, "cannot keep a change: %s", strerror(-r));
        group_change_free(change);
        group_unref(group);
}

/* ---- after the ledger ------------------------------------------------------------------------ */

static void group_commit_finish(GroupChange *change) {
        if (change->reply)
                change->reply(change->call, change);
        if (change->call)
                call_finish(change->call, 0);
        group_change_free(change);
}

static void group_commit_on_feed_done(void *user, _unused_ int r) {
        group_commit_finish(user);
}

static void after_registry(GroupChange *change) {
        Collab *collab = change->group->collab;

        if (!change->feed.n ||
            events_file_append(collab, buf_str(&change->feed), group_commit_on_feed_done, change))
                group_commit_finish(change);
}

static void group_commit_on_registry_done(RegistryEdit *edit, _unused_ int r) {
        after_registry(container_of(edit, GroupChange, registry));
}

/* The files are ours now. A program that replaced one since then is noticed at the next look, unless it did
 * so between the rename and this stat. */
static void group_commit_adopt(GroupChange *change) {
        Group *group = change->group;

        if (change->doc)
                group_set_doc(group, steal(&change->doc));
        if (change->cursors) {
                document_unref(group->cursors);
                group->cursors = steal(&change->cursors);
        }
}

static void group_commit_done(LedgerChange *ledger, int r) {
        GroupChange *change = container_of(ledger, GroupChange, ledger);
        Group *group = change->group;

        if (r == -ESTALE && change->is_edit) {
                group_change_free(change); /* the edit holds the group */
                group_edit_again(group);
                return;
        }
        if (r) {
                group_commit_fail(change, r);
                return;
        }
        group_commit_adopt(change);
        if (change->is_edit)
                group_edit_end(group);
        if (change->has_registry) {
                change->registry.done = group_commit_on_registry_done;
                registry_commit(&group->collab->registry, &change->registry);
        } else
                after_registry(change);
}

/* ---- before it ------------------------------------------------------------------------------- */

static int add_doc(GroupChange *change) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char now[TIME_TEXT_MAX];
        int r;

        time_format_us(loop_wall_us(change->group->collab->daemon->loop), now);
        r = group_doc_text(change->doc, str_from(now), &text);
        if (!r)
                r = ledger_change_file(&change->ledger, change->group->doc_path, buf_str(&text),
                                       &change->doc->document->identity);
        if (!r)
                ledger_change_file_identity(&change->ledger, &change->doc->document->identity);
        return error_trace(r);
}

static int add_cursors(GroupChange *change) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = document_write(change->cursors, DOCUMENT_JSON, &text);

        if (!r)
                r = ledger_change_file(&change->ledger, change->group->cursors_path, buf_str(&text),
                                       &change->cursors->identity);
        if (!r)
                ledger_change_file_identity(&change->ledger, &change->cursors->identity);
        return error_trace(r);
}

int group_change_commit_or(GroupChange *change, GroupReplyFn reply,
                           void (*failed)(GroupChange *change, int r)) {
        int r;

        if (!change)
                return error_origin(-ENOMEM);
        group_change_end_line(change);
        if (change->group->is_deleting)
                change_try(change, -ENOENT);
        if (!change->r && change->doc)
                change_try(change, add_doc(change));
        if (!change->r && change->cursors)
                change_try(change, add_cursors(change));
        change->reply = reply;
        change->failed = failed;
        if (!change->r)
                change->r = ledger_change_commit(&change->ledger);
        if (!change->r)
                return CALL_LATER;
        r = group_commit_failure(change, change->r);
        (void)group_change_abort(change);
        return r;
}

int group_change_commit(GroupChange *change, GroupReplyFn reply) {
        return group_change_commit_or(change, reply, NULL);
}
