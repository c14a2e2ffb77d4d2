/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/delivery/delivery.h"
#include "collab/group/events.h"
#include "collab/message/inbox.h"
#include "collab/reminder/reminder-pass.h"
#include "collab/reminder/reminder.h"

/* The lines of the ledger that a pass needs, and what they say. */

bool reminder_is_working(const Group *group, const ActorView *actor) {
        return actor->is_enabled && group_actor_is_running(group, actor->id);
}

/* ---- lines that are needed ------------------------------------------------------------------- */

static void reminder_lines_want(Pass *pass, WantKind kind, ReminderActor *actor, uint64_t position) {
        if (pass->n == pass->cap) {
                size_t cap = pass->cap ? pass->cap * 2 : 32;
                Want *wants = realloc(pass->wants, cap * sizeof(*wants));
                uint64_t *positions = wants ? realloc(pass->positions, cap * sizeof(*positions)) : NULL;

                pass->wants = wants ? wants : pass->wants;
                pass->positions = positions ? positions : pass->positions;
                if (!positions)
                        return; /* that check waits for the next pass */
                pass->cap = cap;
        }
        pass->wants[pass->n] = (Want){.kind = kind, .actor = actor, .position = position};
        pass->positions[pass->n++] = position;
}

LedgerTag reminder_tag(const Group *group, const char *prefix, Str value) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str word = event_tag(&arena, prefix, value);

        return word.data ? ledger_tag(group->ledger, word) : (LedgerTag){0};
}

static void want_unread(Pass *pass, ReminderActor *actor, Str id) {
        uint64_t position;
        Inbox inbox;

        if (!inbox_open(&inbox, pass->group, id, INBOX_ALL, inbox_start(pass->group, id)) &&
            inbox_next(&inbox, &position))
                reminder_lines_want(pass, WANT_UNREAD, actor, position);
}

static void want_acks(Pass *pass, ReminderActor *actor, const ActorView *view) {
        LedgerTag tag = reminder_tag(pass->group, "attention:", STR("*"));
        uint64_t from = MAX(actor->ack_from, ledger_first_after_ts(pass->group->ledger, view->created_us)),
                 position;
        LedgerCursor cursor;

        if (ledger_tag_is_none(tag) ||
            ledger_cursor_init(&cursor, pass->group->ledger, &tag, 1, from, false))
                return;
        for (int i = 0; i < REMINDER_ACK_LINES && ledger_cursor_next(&cursor, &position); i++)
                reminder_lines_want(pass, WANT_ACK, actor, position);
}

static void want_next(Pass *pass, ReminderActor *actor, Str id) {
        LedgerTag tag = reminder_tag(pass->group, "by:", id);
        uint64_t end_ = ledger_n_committed(pass->group->ledger), position;
        LedgerCursor cursor;
        int n = 0;

        if (!ledger_tag_is_none(tag) && actor->next_scanned < end_ &&
            !ledger_cursor_init(&cursor, pass->group->ledger, &tag, 1, end_, true))
                while (n < REMINDER_NEXT_LINES && ledger_cursor_next(&cursor, &position) &&
                       position >= actor->next_scanned)
                        if (str_is(ledger_entry(pass->group->ledger, position).kind, "chat.message")) {
                                reminder_lines_want(pass, WANT_NEXT, actor, position);
                                n++;
                        }
        actor->next_scanned = end_;
}

static void reminder_lines_session_of(const Group *group, Str id, char out[48]) {
        const Runner *runner = runner_find(group->collab, str_from(group->id), id);

        *out = 0;
        if (runner && runner->kind == RUNNER_PTY && runner->hosted)
                runner_session(runner, out);
        else if (runner)
                snprintf(out, 48, "headless:%" PRId64, runner->started_us);
}

static void count_help(Pass *pass, ReminderActor *actor, Str id) {
        uint64_t n_lines = ledger_n_committed(pass->group->ledger), position;
        char session[48];
        Inbox inbox;

        reminder_lines_session_of(pass->group, id, session);
        if (!actor->help_session || strcmp(actor->help_session, session) != 0) {
                reminder_set(&actor->help_session, str_from(session));
                actor->help_us = pass->now_us;
                actor->help_count = 0;
        } else if (!inbox_open(&inbox, pass->group, id, INBOX_ALL, actor->help_edge))
                while (inbox_next(&inbox, &position))
                        actor->help_count++;
        actor->help_edge = n_lines;
}

void reminder_collect(Pass *pass) {
        const GroupDoc *doc = pass->group->doc;

        for (size_t i = 0; i < doc->n_actors; i++) {
                const ActorView *view = &doc->actors[i];
                ReminderActor *actor =
                        reminder_is_working(pass->group, view) ? reminder_actor(pass->self, view->id) : NULL;

                if (!actor)
                        continue;
                if (doc->settings.nudge_after_s > 0) {
                        want_unread(pass, actor, view->id);
                        want_acks(pass, actor, view);
                }
                want_next(pass, actor, view->id);
                count_help(pass, actor, view->id);
        }
}

/* ---- what the lines say ---------------------------------------------------------------------- */

Oldest *reminder_oldest(Pass *pass, ReminderActor *actor) {
        for (size_t i = 0; i < pass->n_oldest; i++)
                if (pass->oldest[i].actor == actor)
                        return &pass->oldest[i];
        pass->oldest[pass->n_oldest] = (Oldest){.actor = actor};
        return &pass->oldest[pass->n_oldest++];
}

static void see_attention(Pass *pass, Oldest *oldest, const Want *line, const Json *event) {
        Str actor = str_from(line->actor->id), id = json_str(json_get(event, "id"));

        if (inbox_shows(pass->group->doc, event, actor, false) &&
            !ack_is_kept(pass->group, "chat.ack", id, actor)) {
                oldest->ack_id = id;
                oldest->ack_us = ledger_entry(pass->group->ledger, line->position).ts_us;
        } else
                line->actor->ack_from = line->position + 1;
}

static void see_line(Pass *pass, const Want *line, const Json *event) {
        Oldest *oldest = reminder_oldest(pass, line->actor);
        int64_t ts_us = ledger_entry(pass->group->ledger, line->position).ts_us;
        Str next;

        if (line->kind == WANT_UNREAD) {
                oldest->unread_id = json_str(json_get(event, "id"));
                oldest->unread_us = ts_us;
        } else if (line->kind == WANT_ACK) {
                if (!oldest->ack_id.n)
                        see_attention(pass, oldest, line, event);
        } else if (ts_us > line->actor->next_us &&
                   reminder_next_line(json_str(json_get(json_get(event, "data"), "text")), &next)) {
                reminder_set(&line->actor->next_line, next);
                line->actor->next_us = ts_us;
        }
}

int reminder_see_lines(Pass *pass) {
        pass->oldest = arena_alloc(&pass->arena,
                                   (pass->n + pass->group->doc->n_actors + 1) * sizeof(*pass->oldest));
        if (!pass->oldest)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < pass->n && i < pass->read.n; i++) {
                Str line = ledger_read_line(&pass->read, i);
                Json *event;

                if (!json_parse(&pass->arena, line.data, line.n, NULL, &event, NULL))
                        see_line(pass, &pass->wants[i], event);
        }
        return 0;
}

/* state/automation.json. */
void reminder_set(char **text, Str value) {
        free(*text);
        *text = value.data ? str_dup(value) : NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int64_t time_of(const Json *object, const char *key) {
        int64_t us = 0;

        return time_parse(json_str(json_get(object, key)), &us) ? us : 0;
}

static void reminder_state_read_actor(ReminderActor *actor, const Json *json) {
        reminder_set(&actor->nudge_event_id, json_str(json_get(json, "last_nudge_event_id")));
        reminder_set(&actor->keepalive_next, json_str(json_get(json, "last_keepalive_next")));
        reminder_set(&actor->help_session, json_str(json_get(json, "help_session_key")));
        actor->nudge_us = time_of(json, "last_nudge_at");
        actor->idle_us = time_of(json, "last_idle_notify_at");
        actor->keepalive_us = time_of(json, "last_keepalive_at");
        actor->help_us = time_of(json, "help_last_nudge_at");
        json_int64(json_get(json, "keepalive_count"), &actor->keepalive_count);
        json_int64(json_get(json, "help_msg_count_since"), &actor->help_count);
}

void reminder_read_state(Reminder *self, const Json *json) {
        self->silence_us = time_of(json, "last_silence_notify_at");
        self->standup_us = time_of(json, "last_standup_at");
        json_each (entry, json_get(json, "actors")) {
                ReminderActor *actor = reminder_actor(self, json_key(entry));

                if (actor)
                        reminder_state_read_actor(actor, entry);
        }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void reminder_state_put_actor(JsonWriter *w, const ReminderActor *actor) {
        jw_key_str(w, str_from(actor->id));
        jw_begin_object(w);
        jw_field_cstr(w, "last_nudge_event_id", actor->nudge_event_id);
        jw_field_time_us(w, "last_nudge_at", actor->nudge_us);
        jw_field_time_us(w, "last_idle_notify_at", actor->idle_us);
        jw_field_int(w, "keepalive_count", actor->keepalive_count);
        jw_field_time_us(w, "last_keepalive_at", actor->keepalive_us);
        jw_field_cstr(w, "last_keepalive_next", actor->keepalive_next);
        jw_field_cstr(w, "help_session_key", actor->help_session);
        jw_field_time_us(w, "help_last_nudge_at", actor->help_us);
        jw_field_int(w, "help_msg_count_since", actor->help_count);
        jw_end_object(w);
}

int reminder_write_state(const Reminder *self, int64_t now_us, Buf *out) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_int(&w, "v", 4);
        jw_key(&w, "actors");
        jw_begin_object(&w);
        for (const ReminderActor *actor = self->actors; actor; actor = actor->next)
                if (group_doc_actor(self->group->doc, str_from(actor->id)))
                        reminder_state_put_actor(&w, actor);
        jw_end_object(&w);
        jw_field_time_us(&w, "resume_at", self->resume_us);
        jw_field_time_us(&w, "last_silence_notify_at", self->silence_us);
        jw_field_time_us(&w, "last_standup_at", self->standup_us);
        jw_field_uint(&w, "help_ledger_pos", ledger_n_bytes(self->group->ledger));
        jw_field_time_us(&w, "updated_at", now_us);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}
