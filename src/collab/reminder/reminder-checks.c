/* SPDX-License-Identifier: MIT */
/* What is due in a pass, and in which words it is said. */
#include <inttypes.h>

#include "collab/reminder/reminder-pass.h"
#include "base/utf8.h"
#include "collab/group/group-doc.h"
#include "collab/actor/runner.h"
#include "collab/actor/transcript.h"

/* Whether it is due now; else when to look again. */
static bool reminder_checks_is_due(Pass *pass, int64_t due_us) {
        if (due_us <= pass->now_us)
                return pass->n_notices < pass->notices_max;
        pass->next_us = MIN(pass->next_us, due_us);
        return false;
}

/* The target is copied: it may lie in a document that is replaced while the notice is being kept. */
static void reminder_checks_say(Pass *pass, Str target, const char *kind, Str title, Str message) {
        pass->notices[pass->n_notices++] = (Notice){
                .target = arena_str(&pass->arena, target), .kind = kind, .title = title, .message = message};
}

static void check_nudge(Pass *pass, ReminderActor *actor, _unused_ const ActorView *foreman) {
        Oldest *oldest = reminder_oldest(pass, actor);
        bool is_ack = oldest->ack_us && (!oldest->unread_us || oldest->ack_us <= oldest->unread_us);
        Str id = is_ack ? oldest->ack_id : oldest->unread_id;
        NudgeFacts facts = {.event_us = is_ack ? oldest->ack_us : oldest->unread_us,
                            .is_same = actor->nudge_event_id && str_is(id, actor->nudge_event_id),
                            .last_us = actor->nudge_us};

        if (!reminder_checks_is_due(
                    pass, reminder_nudge_due(&pass->group->doc->settings, pass->self->resume_us, &facts)))
                return;
        reminder_checks_say(pass, str_from(actor->id), "nudge",
                            is_ack ? STR("An important message waits for your acknowledgement")
                                   : STR("You have unread messages"),
                            arena_printf(&pass->arena,
                                         is_ack ? "Acknowledge event_id=" STR_FMT ", then act on it."
                                                : "The oldest one is event_id=" STR_FMT
                                                  ". Read your inbox and mark what is done.",
                                         STR_ARG(id)));
        reminder_set(&actor->nudge_event_id, id);
        actor->nudge_us = pass->now_us;
}

static int64_t newest_own_us(const Group *group, Str id) {
        LedgerTag tag = reminder_tag(group, "by:", id);
        LedgerCursor cursor;
        uint64_t position;

        if (ledger_tag_is_none(tag) ||
            ledger_cursor_init(&cursor, group->ledger, &tag, 1, ledger_n_committed(group->ledger), true) ||
            !ledger_cursor_next(&cursor, &position))
                return 0;
        return ledger_entry(group->ledger, position).ts_us;
}

/* The last lines of a text, not more than so many characters. */
static Str reminder_checks_last_lines(Str text, int64_t n_lines) {
        size_t at = text.n, n_chars = 0;

        while (at && n_chars < REMINDER_TAIL_CHARS) {
                if (text.data[at - 1] == '\n' && n_lines-- == 1)
                        break;
                at--;
                n_chars += !utf8_is_tail(text.data[at]);
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
        if (transcript_render(hosted_scrollback(runner->hosted, REMINDER_TAIL_BYTES), &options, &text) ||
            !text.n)
                return STR("");
        return arena_printf(&pass->arena, "\n\nThe end of its terminal:\n" STR_FMT,
                            STR_ARG(reminder_checks_last_lines(str_trim(buf_str(&text)),
                                                               settings->transcript_notify_lines)));
}

static void check_idle(Pass *pass, ReminderActor *actor, const ActorView *foreman) {
        int64_t due_us;

        if (!foreman || str_is(foreman->id, actor->id))
                return;
        due_us = reminder_idle_due(&pass->group->doc->settings, pass->self->resume_us,
                                   newest_own_us(pass->group, str_from(actor->id)), actor->idle_us);
        if (!reminder_checks_is_due(pass, due_us))
                return;
        reminder_checks_say(pass, foreman->id, "actor_idle",
                            arena_printf(&pass->arena, "%s is idle", actor->id),
                            arena_printf(&pass->arena, "%s has said nothing for %" PRId64 " s." STR_FMT,
                                         actor->id, pass->group->doc->settings.actor_idle_timeout_s,
                                         STR_ARG(tail_of(pass, str_from(actor->id)))));
        actor->idle_us = pass->now_us;
}

static void check_keepalive(Pass *pass, ReminderActor *actor, _unused_ const ActorView *foreman) {
        if (!reminder_checks_is_due(
                    pass, reminder_keepalive_due(&pass->group->doc->settings, pass->self->resume_us, actor)))
                return;
        if (!actor->keepalive_next || strcmp(actor->keepalive_next, actor->next_line) != 0) {
                reminder_set(&actor->keepalive_next, str_from(actor->next_line));
                actor->keepalive_count = 0;
        }
        actor->keepalive_count++;
        actor->keepalive_us = pass->now_us;
        reminder_checks_say(pass, str_from(actor->id), "keepalive", STR("Go on with what you announced"),
                            arena_str(&pass->arena, str_from(actor->next_line)));
}

static void check_help(Pass *pass, ReminderActor *actor, _unused_ const ActorView *foreman) {
        if (!reminder_checks_is_due(pass, reminder_help_due(&pass->group->doc->settings, actor)))
                return;
        reminder_checks_say(
                pass, str_from(actor->id), "help_nudge", STR("A reminder of how things are done here"),
                STR("Call cccc_help to see the tools and the rules again, in case you have lost sight of "
                    "them."));
        actor->help_us = pass->now_us;
        actor->help_count = 0;
}

static void check_silence(Pass *pass, const ActorView *foreman) {
        const Ledger *ledger = pass->group->ledger;
        uint64_t n = ledger_n_committed(ledger);
        int64_t due_us =
                reminder_silence_due(&pass->group->doc->settings, pass->self->resume_us,
                                     n ? ledger_entry(ledger, n - 1).ts_us : 0, pass->self->silence_us);

        if (!foreman || pass->n_notices ||
            !reminder_checks_is_due(pass, due_us)) /* a notice breaks the silence */
                return;
        reminder_checks_say(pass, foreman->id, "silence_check", STR("The group is silent"),
                            arena_printf(&pass->arena,
                                         "Nothing has happened for %" PRId64
                                         " s. Is somebody stuck, or is it done?",
                                         pass->group->doc->settings.silence_timeout_s));
        pass->self->silence_us = pass->now_us;
}

int64_t reminder_standup_at(const Pass *pass, const ActorView *foreman) {
        return foreman && group_actor_is_running(pass->group, foreman->id)
                       ? reminder_standup_due(&pass->group->doc->settings, pass->self->standup_us,
                                              pass->now_us)
                       : INT64_MAX;
}

static Str standup_text(Pass *pass) {
        static const char built_in[] =
                "{{interval_minutes}} minutes have gone by. Ask everybody for progress, "
                "next steps and obstacles, then adjust the plan.";
        Str text = str_trim(buf_str(&pass->standup)), mark = STR("{{interval_minutes}}");
        int64_t minutes = pass->group->doc->settings.standup_interval_s / 60;
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
        int64_t due_us = reminder_standup_at(pass, foreman);

        if (!reminder_checks_is_due(pass, due_us))
                return;
        reminder_checks_say(pass, foreman->id, "standup", STR("Stand-up"), standup_text(pass));
        pass->self->standup_us = pass->now_us;
}

typedef void (*ActorCheckFn)(Pass *pass, ReminderActor *actor, const ActorView *foreman);

static void for_working(Pass *pass, ActorCheckFn check, const ActorView *foreman) {
        const GroupDoc *doc = pass->group->doc;

        for (size_t i = 0; i < doc->n_actors; i++) {
                ReminderActor *actor = reminder_is_working(pass->group, &doc->actors[i])
                                               ? reminder_actor(pass->self, doc->actors[i].id)
                                               : NULL;

                if (actor)
                        check(pass, actor, foreman);
        }
}

/* Kind by kind, in this order: the ledger shows it. */
void reminder_check(Pass *pass) {
        const ActorView *foreman = group_foreman(pass->group->doc);

        for_working(pass, check_nudge, foreman);
        for_working(pass, check_idle, foreman);
        for_working(pass, check_keepalive, foreman);
        check_silence(pass, foreman);
        check_standup(pass, foreman);
        for_working(pass, check_help, foreman);
}
