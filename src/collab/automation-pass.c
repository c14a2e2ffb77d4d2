/* SPDX-License-Identifier: MIT */
/*
 * One pass: which lines are needed (index only), the lines and the text of the stand-up, then what is due.
 */
#define LOG_MODULE "collab/automation"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/automation.h"
#include "collab/collab.h"
#include "collab/delivery.h"
#include "collab/events.h"
#include "collab/group-change.h"
#include "collab/inbox.h"
#include "collab/permissions.h"
#include "collab/transcript.h"

typedef enum WantKind { WANT_UNREAD, WANT_ACK, WANT_NEXT } WantKind;

typedef struct Want { /* a line, and for whom it is needed */
        WantKind kind;
        AutoActor *actor;
        uint64_t position;
} Want;

typedef struct Notice {
        Str target, title, message;
        const char *kind;
} Notice;

typedef struct Oldest { /* of one actor, found in the lines */
        AutoActor *actor;
        Str unread_id, ack_id;
        int64_t unread_us, ack_us;
} Oldest;

typedef struct Pass {
        Automation *self;
        Group *group;
        int64_t now_us, next_us;
        Want *wants;
        uint64_t *positions;
        size_t n, cap;
        LedgerRead read;
        char *standup_path; /* NULL: no stand-up is due */
        Buf standup;
        Arena arena;
        Oldest *oldest;
        size_t n_oldest;
        Notice *notices;
        size_t n_notices, notices_max;
} Pass;

static void end(Pass *pass, int64_t after_ms) {
        Automation *self = pass->self;
        Group *group = pass->group;

        self->is_busy = false;
        if (after_ms >= 0)
                automation_kick(self, MAX(after_ms, (int64_t)AUTOMATION_EVERY_MS));
        ledger_read_deinit(&pass->read);
        buf_deinit(&pass->standup);
        arena_deinit(&pass->arena);
        free(pass->standup_path);
        free(pass->wants);
        free(pass->positions);
        free(pass);
        group_unref(group);
}

static bool is_working(const Group *group, const ActorView *actor) {
        return actor->is_enabled && group_actor_is_running(group, actor->id);
}

/* ---- lines that are needed ------------------------------------------------------------------- */

static void want(Pass *pass, WantKind kind, AutoActor *actor, uint64_t position) {
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

static LedgerTag tag_of(const Group *group, const char *prefix, Str value) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Str word = event_tag(&arena, prefix, value);

        return word.data ? ledger_tag(group->ledger, word) : (LedgerTag){0};
}

static void want_unread(Pass *pass, AutoActor *actor, Str id) {
        uint64_t position;
        Inbox inbox;

        if (!inbox_open(&inbox, pass->group, id, INBOX_ALL, inbox_start(pass->group, id)) &&
            inbox_next(&inbox, &position))
                want(pass, WANT_UNREAD, actor, position);
}

static void want_acks(Pass *pass, AutoActor *actor, const ActorView *view) {
        LedgerTag tag = tag_of(pass->group, "attention:", STR("*"));
        uint64_t from = MAX(actor->ack_from, ledger_first_after_ts(pass->group->ledger, view->created_us)),
                 position;
        LedgerCursor cursor;

        if (ledger_tag_is_none(tag) ||
            ledger_cursor_init(&cursor, pass->group->ledger, &tag, 1, from, false))
                return;
        for (int i = 0; i < AUTOMATION_ACK_LINES && ledger_cursor_next(&cursor, &position); i++)
                want(pass, WANT_ACK, actor, position);
}

static void want_next(Pass *pass, AutoActor *actor, Str id) {
        LedgerTag tag = tag_of(pass->group, "by:", id);
        uint64_t end_ = ledger_n_committed(pass->group->ledger), position;
        LedgerCursor cursor;
        int n = 0;

        if (!ledger_tag_is_none(tag) && actor->next_scanned < end_ &&
            !ledger_cursor_init(&cursor, pass->group->ledger, &tag, 1, end_, true))
                while (n < AUTOMATION_NEXT_LINES && ledger_cursor_next(&cursor, &position) &&
                       position >= actor->next_scanned)
                        if (str_is(ledger_entry(pass->group->ledger, position).kind, "chat.message")) {
                                want(pass, WANT_NEXT, actor, position);
                                n++;
                        }
        actor->next_scanned = end_;
}

static void session_of(const Group *group, Str id, char out[48]) {
        const Runner *runner = runner_find(group->collab, str_from(group->id), id);

        *out = 0;
        if (runner && runner->kind == RUNNER_PTY && runner->hosted)
                runner_session(runner, out);
        else if (runner)
                snprintf(out, 48, "headless:%" PRId64, runner->started_us);
}

static void count_help(Pass *pass, AutoActor *actor, Str id) {
        uint64_t n_lines = ledger_n_committed(pass->group->ledger), position;
        char session[48];
        Inbox inbox;

        session_of(pass->group, id, session);
        if (!actor->help_session || strcmp(actor->help_session, session) != 0) {
                automation_set(&actor->help_session, str_from(session));
                actor->help_us = pass->now_us;
                actor->help_count = 0;
        } else if (!inbox_open(&inbox, pass->group, id, INBOX_ALL, actor->help_edge))
                while (inbox_next(&inbox, &position))
                        actor->help_count++;
        actor->help_edge = n_lines;
}

static void collect(Pass *pass) {
        const GroupDoc *doc = pass->group->doc;

        for (size_t i = 0; i < doc->n_actors; i++) {
                const ActorView *view = &doc->actors[i];
                AutoActor *actor =
                        is_working(pass->group, view) ? automation_actor(pass->self, view->id) : NULL;

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

static Oldest *oldest_of(Pass *pass, AutoActor *actor) {
        for (size_t i = 0; i < pass->n_oldest; i++)
                if (pass->oldest[i].actor == actor)
                        return &pass->oldest[i];
        pass->oldest[pass->n_oldest] = (Oldest){.actor = actor};
        return &pass->oldest[pass->n_oldest++];
}

static bool is_acknowledged(const Group *group, Str event_id, Str actor) {
        LedgerTag tag = tag_of(group, "re:", event_id), by = tag_of(group, "by:", actor);
        LedgerCursor cursor;
        uint64_t position;

        if (ledger_tag_is_none(tag) || ledger_tag_is_none(by) ||
            ledger_cursor_init(&cursor, group->ledger, &tag, 1, 0, false))
                return false;
        while (ledger_cursor_next(&cursor, &position))
                if (ledger_has_tag(group->ledger, position, by) &&
                    str_is(ledger_entry(group->ledger, position).kind, "chat.ack"))
                        return true;
        return false;
}

static void see_attention(Pass *pass, Oldest *oldest, const Want *line, const Json *event) {
        Str actor = str_from(line->actor->id), id = json_str(json_get(event, "id"));

        if (inbox_shows(pass->group->doc, event, actor, false) && !is_acknowledged(pass->group, id, actor)) {
                oldest->ack_id = id;
                oldest->ack_us = ledger_entry(pass->group->ledger, line->position).ts_us;
        } else
                line->actor->ack_from = line->position + 1;
}

static void see_line(Pass *pass, const Want *line, const Json *event) {
        Oldest *oldest = oldest_of(pass, line->actor);
        int64_t ts_us = ledger_entry(pass->group->ledger, line->position).ts_us;
        Str next;

        if (line->kind == WANT_UNREAD) {
                oldest->unread_id = json_str(json_get(event, "id"));
                oldest->unread_us = ts_us;
        } else if (line->kind == WANT_ACK) {
                if (!oldest->ack_id.n)
                        see_attention(pass, oldest, line, event);
        } else if (ts_us > line->actor->next_us &&
                   automation_next_line(json_str(json_get(json_get(event, "data"), "text")), &next)) {
                automation_set(&line->actor->next_line, next);
                line->actor->next_us = ts_us;
        }
}

static int see_lines(Pass *pass) {
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

/* ---- what is due ----------------------------------------------------------------------------- */

/* Whether it is due now; else when to look again. */
static bool is_due(Pass *pass, int64_t due_us) {
        if (due_us <= pass->now_us)
                return pass->n_notices < pass->notices_max;
        pass->next_us = MIN(pass->next_us, due_us);
        return false;
}

static void say(Pass *pass, Str target, const char *kind, Str title, Str message) {
        pass->notices[pass->n_notices++] =
                (Notice){.target = target, .kind = kind, .title = title, .message = message};
}

static void check_nudge(Pass *pass, AutoActor *actor) {
        Oldest *oldest = oldest_of(pass, actor);
        bool is_ack = oldest->ack_us && (!oldest->unread_us || oldest->ack_us <= oldest->unread_us);
        Str id = is_ack ? oldest->ack_id : oldest->unread_id;
        NudgeFacts facts = {.event_us = is_ack ? oldest->ack_us : oldest->unread_us,
                            .is_same = actor->nudge_event_id && str_is(id, actor->nudge_event_id),
                            .last_us = actor->nudge_us};

        if (!is_due(pass, automation_nudge_due(&pass->group->doc->settings, pass->self->resume_us, &facts)))
                return;
        say(pass, str_from(actor->id), "nudge",
            is_ack ? STR("An important message waits for your acknowledgement")
                   : STR("You have unread messages"),
            arena_printf(&pass->arena,
                         is_ack ? "Acknowledge event_id=" STR_FMT ", then act on it."
                                : "The oldest one is event_id=" STR_FMT
                                  ". Read your inbox and mark what is done.",
                         STR_ARG(id)));
        automation_set(&actor->nudge_event_id, id);
        actor->nudge_us = pass->now_us;
}

static int64_t newest_own_us(const Group *group, Str id) {
        LedgerTag tag = tag_of(group, "by:", id);
        LedgerCursor cursor;
        uint64_t position;

        if (ledger_tag_is_none(tag) ||
            ledger_cursor_init(&cursor, group->ledger, &tag, 1, ledger_n_committed(group->ledger), true) ||
            !ledger_cursor_next(&cursor, &position))
                return 0;
        return ledger_entry(group->ledger, position).ts_us;
}

/* The last lines of a text, not more than so many characters. */
static Str last_lines(Str text, int64_t n_lines) {
        size_t at = text.n, n_chars = 0;

        while (at && n_chars < AUTOMATION_TAIL_CHARS) {
                if (text.data[at - 1] == '\n' && n_lines-- == 1)
                        break;
                at--;
                if (((unsigned char)text.data[at] & 0xc0) != 0x80)
                        n_chars++;
        }
        return (Str){text.data + at, text.n - at};
}

static Str tail_of(Pass *pass, Str id) {
        const GroupSettings *settings = &pass->group->doc->settings;
        const Runner *runner = runner_find(pass->group->collab, str_from(pass->group->id), id);
        TranscriptOptions options = {.is_compact = true};
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        if (!settings->transcript_notify_tail || settings->transcript_visibility == TRANSCRIPT_OFF ||
            !runner || runner->kind != RUNNER_PTY || !runner->hosted)
                return STR("");
        options.n_rows = runner->hosted->rows;
        if (transcript_render(hosted_scrollback(runner->hosted, AUTOMATION_TAIL_BYTES), &options, &text) ||
            !text.n)
                return STR("");
        return arena_printf(
                &pass->arena, "\n\nThe end of its terminal:\n" STR_FMT,
                STR_ARG(last_lines(str_trim(buf_str(&text)), settings->transcript_notify_lines)));
}

static void check_idle(Pass *pass, AutoActor *actor, const ActorView *foreman) {
        int64_t due_us;

        if (!foreman || str_is(foreman->id, actor->id))
                return;
        due_us = automation_idle_due(&pass->group->doc->settings, pass->self->resume_us,
                                     newest_own_us(pass->group, str_from(actor->id)), actor->idle_us);
        if (!is_due(pass, due_us))
                return;
        say(pass, foreman->id, "actor_idle", arena_printf(&pass->arena, "%s is idle", actor->id),
            arena_printf(&pass->arena, "%s has said nothing for %" PRId64 " s." STR_FMT, actor->id,
                         pass->group->doc->settings.actor_idle_timeout_s,
                         STR_ARG(tail_of(pass, str_from(actor->id)))));
        actor->idle_us = pass->now_us;
}

static void check_keepalive(Pass *pass, AutoActor *actor) {
        if (!is_due(pass,
                    automation_keepalive_due(&pass->group->doc->settings, pass->self->resume_us, actor)))
                return;
        if (!actor->keepalive_next || strcmp(actor->keepalive_next, actor->next_line) != 0) {
                automation_set(&actor->keepalive_next, str_from(actor->next_line));
                actor->keepalive_count = 0;
        }
        actor->keepalive_count++;
        actor->keepalive_us = pass->now_us;
        say(pass, str_from(actor->id), "keepalive", STR("Go on with what you announced"),
            arena_str(&pass->arena, str_from(actor->next_line)));
}

static void check_help(Pass *pass, AutoActor *actor) {
        if (!is_due(pass, automation_help_due(&pass->group->doc->settings, actor)))
                return;
        say(pass, str_from(actor->id), "help_nudge", STR("A reminder of how things are done here"),
            STR("Call cccc_help to see the tools and the rules again, in case you have lost sight of "
                "them."));
        actor->help_us = pass->now_us;
        actor->help_count = 0;
}

static void check_silence(Pass *pass, const ActorView *foreman) {
        const Ledger *ledger = pass->group->ledger;
        uint64_t n = ledger_n_committed(ledger);
        int64_t due_us =
                automation_silence_due(&pass->group->doc->settings, pass->self->resume_us,
                                       n ? ledger_entry(ledger, n - 1).ts_us : 0, pass->self->silence_us);

        if (!foreman || !is_due(pass, due_us))
                return;
        say(pass, foreman->id, "silence_check", STR("The group is silent"),
            arena_printf(&pass->arena,
                         "Nothing has happened for %" PRId64 " s. Is somebody stuck, or is it done?",
                         pass->group->doc->settings.silence_timeout_s));
        pass->self->silence_us = pass->now_us;
}

static int64_t standup_due(const Pass *pass, const ActorView *foreman) {
        return foreman && group_actor_is_running(pass->group, foreman->id)
                       ? automation_standup_due(&pass->group->doc->settings, pass->self->standup_us,
                                                pass->now_us)
                       : INT64_MAX;
}

static Str standup_text(Pass *pass) {
        static const char built_in[] =
                "{{interval_minutes}} minutes have gone by. Ask everybody for progress, "
                "next steps and obstacles, then adjust the plan.";
        Str text = str_trim(buf_str(&pass->standup)), mark = STR("{{interval_minutes}}");
        int64_t minutes = MAX(pass->group->doc->settings.standup_interval_s / 60, 1);
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        int r = 0;

        text = text.n ? text : str_from(built_in);
        while (!r && text.n) {
                const char *at = memmem(text.data, text.n, mark.data, mark.n);
                size_t n = at ? (size_t)(at - text.data) : text.n;

                r = buf_append(&out, text.data, n);
                if (!r && at)
                        r = buf_printf(&out, "%" PRId64, minutes);
                n += at ? mark.n : 0;
                text = (Str){text.data + n, text.n - n};
        }
        return arena_str(&pass->arena, buf_str(&out));
}

static void check_standup(Pass *pass, const ActorView *foreman) {
        int64_t due_us = standup_due(pass, foreman);

        if (!is_due(pass, due_us))
                return;
        say(pass, foreman->id, "standup", STR("Stand-up"), standup_text(pass));
        pass->self->standup_us = pass->now_us;
}

static void check_all(Pass *pass) {
        const GroupDoc *doc = pass->group->doc;
        const ActorView *foreman = group_foreman(doc);

        for (size_t i = 0; i < doc->n_actors; i++) {
                AutoActor *actor = is_working(pass->group, &doc->actors[i])
                                           ? automation_actor(pass->self, doc->actors[i].id)
                                           : NULL;

                if (!actor)
                        continue;
                check_nudge(pass, actor);
                check_idle(pass, actor, foreman);
                check_keepalive(pass, actor);
                check_help(pass, actor);
        }
        check_silence(pass, foreman);
        check_standup(pass, foreman);
}

/* ---- saying it ------------------------------------------------------------------------------- */

static void write_notice(JsonWriter *w, const Notice *notice) {
        jw_begin_object(w);
        jw_field_cstr(w, "kind", notice->kind);
        jw_field_cstr(w, "priority", "normal");
        jw_field_str(w, "title", notice->title);
        jw_field_str(w, "message", notice->message);
        jw_field_str(w, "target_actor_id", notice->target);
        jw_key(w, "context");
        jw_raw(w, STR("{}"));
        jw_field_bool(w, "requires_ack", false);
        jw_field_null(w, "related_event_id");
        jw_end_object(w);
}

static void on_kept(_unused_ Call *call, GroupChange *change) {
        Pass *pass = change->user;
        Group *group = pass->group;

        for (size_t i = 0; i < pass->n_notices; i++) {
                const Notice *notice = &pass->notices[i];
                const Runner *runner = runner_find(group->collab, str_from(group->id), notice->target);

                if (runner_is_running(runner) && runner->kind == RUNNER_PTY)
                        delivery_queue_notice(group, notice->target, str_from(change->events[i].id),
                                              str_from(notice->kind));
        }
        end(pass, 0);
}

static void on_failed(GroupChange *change, int r) {
        Pass *pass = change->user;

        log_warning(&pass->group->collab->daemon->log, pass->group->id, "notices were not kept: %s",
                    strerror(-r));
        end(pass, AUTOMATION_FAILED_MS);
}

static void commit(Pass *pass) {
        GroupChange *change = group_change_begin(pass->group, NULL, 0);
        _cleanup_(buf_deinit) Buf state = BUF_NULL;
        int r;

        if (!change) {
                end(pass, AUTOMATION_FAILED_MS);
                return;
        }
        change->user = pass;
        for (size_t i = 0; i < pass->n_notices; i++)
                write_notice(group_change_event(change, "system.notify", STR("system"), STR("")),
                             &pass->notices[i]);
        if (change_try(change, automation_write_state(pass->self, pass->now_us, &state)))
                group_change_file(change, "state/automation.json", buf_str(&state));
        r = group_change_commit_or(change, on_kept, on_failed);
        if (r != CALL_LATER) /* nothing was begun, and nobody is told */
                end(pass, AUTOMATION_FAILED_MS);
}

static void finish(Pass *pass, int r) {
        pass->notices_max = 5 * pass->group->doc->n_actors + 2;
        pass->notices = arena_alloc(&pass->arena, pass->notices_max * sizeof(*pass->notices));
        if (!r)
                r = pass->notices ? see_lines(pass) : error_origin(-ENOMEM);
        for (size_t i = 0; r && i < pass->n; i++)
                pass->wants[i].actor->next_scanned = 0; /* its lines were not seen */
        if (r || !automation_is_live(pass->self)) {
                end(pass, r ? AUTOMATION_FAILED_MS : -1);
                return;
        }
        check_all(pass);
        if (pass->n_notices)
                commit(pass);
        else
                end(pass, pass->next_us == INT64_MAX ? -1 : (pass->next_us - pass->now_us) / 1000 + 1);
}

static void read_standup(void *user) {
        Pass *pass = user;

        if (file_read(pass->standup_path, AUTOMATION_STANDUP_MAX, &pass->standup))
                pass->standup.n = 0;
}

static void standup_read(void *user) {
        finish(user, 0);
}

static void go_on(Pass *pass, int r) {
        const GroupDoc *doc = pass->group->doc;
        const ScopeView *scope = group_doc_scope(doc, doc->active_scope_key);

        if (!r && scope && standup_due(pass, group_foreman(doc)) <= pass->now_us)
                pass->standup_path = path_join(scope->url.data, "CCCC_STANDUP.md");
        if (!pass->standup_path ||
            loop_work(pass->group->collab->daemon->loop, read_standup, standup_read, pass))
                finish(pass, r);
}

static void on_read(LedgerRead *read, int r) {
        go_on(container_of(read, Pass, read), r);
}

void automation_pass(Automation *self) {
        Pass *pass = calloc(1, sizeof(*pass));
        int r = 0;

        if (!pass) {
                automation_kick(self, AUTOMATION_FAILED_MS);
                return;
        }
        *pass = (Pass){.self = self,
                       .group = group_ref(self->group),
                       .now_us = loop_wall_us(self->group->collab->daemon->loop),
                       .next_us = INT64_MAX,
                       .read.done = on_read};
        self->is_busy = true;
        (void)ledger_check(self->group->ledger);
        collect(pass);
        if (pass->n)
                r = ledger_read(self->group->ledger, &pass->read, pass->positions, pass->n);
        if (r != LEDGER_LATER)
                go_on(pass, r);
}
