/* SPDX-License-Identifier: MIT */
/* A pass from its beginning to the change that keeps what was said. */
#define LOG_MODULE "collab/reminder"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/reminder/reminder-pass.h"
#include "collab/delivery/delivery.h"
#include "collab/group/events.h"
#include "collab/group/group-change.h"
#include "collab/group/group-doc.h"

static void reminder_pass_end(Pass *pass, int64_t after_ms) {
        Reminder *self = pass->self;
        Group *group = pass->group;

        self->is_busy = false;
        if (after_ms >= 0 || self->is_changed)
                reminder_kick(self, MAX(after_ms, (int64_t)REMINDER_EVERY_MS));
        ledger_read_deinit(&pass->read);
        buf_deinit(&pass->standup);
        arena_deinit(&pass->arena);
        free(pass->standup_path);
        free(pass->wants);
        free(pass->positions);
        free(pass);
        group_unref(group);
}

/* ---- saying it ------------------------------------------------------------------------------- */

static void reminder_pass_write_notice(JsonWriter *w, const Notice *notice) {
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

static void reminder_pass_on_kept(_unused_ Call *call, GroupChange *change) {
        Pass *pass = container_of(change->carry, Pass, carry);
        Group *group = pass->group;

        for (size_t i = 0; i < pass->n_notices; i++) {
                const Notice *notice = &pass->notices[i];
                const Runner *runner = runner_find(group->collab, str_from(group->id), notice->target);

                if (runner_is_running(runner) && runner->kind == RUNNER_PTY)
                        delivery_queue_notice(group, notice->target, str_from(change->events[i].id),
                                              str_from(notice->kind));
        }
        reminder_pass_end(pass, 0);
}

static void reminder_pass_on_failed(GroupChange *change, int r) {
        Pass *pass = container_of(change->carry, Pass, carry);

        log_warning(&pass->group->collab->daemon->log, pass->group->id, "notices were not kept: %s",
                    strerror(-r));
        reminder_pass_end(pass, REMINDER_FAILED_MS);
}

static void reminder_pass_commit(Pass *pass) {
        GroupChange *change = group_change_begin(pass->group, NULL, 0);
        _cleanup_(buf_deinit) Buf state = BUF_NULL;
        int r;

        if (!change) {
                reminder_pass_end(pass, REMINDER_FAILED_MS);
                return;
        }
        change->carry = &pass->carry;
        for (size_t i = 0; i < pass->n_notices; i++)
                reminder_pass_write_notice(
                        group_change_event(change, "system.notify", STR("system"), STR("")),
                        &pass->notices[i]);
        if (change_try(change, reminder_write_state(pass->self, pass->now_us, &state)))
                group_change_file(change, "state/automation.json", buf_str(&state));
        pass->self->is_changed = false;
        r = group_change_commit_or(change, reminder_pass_on_kept, reminder_pass_on_failed);
        if (r != CALL_LATER) /* nothing was begun, and nobody is told */
                reminder_pass_end(pass, REMINDER_FAILED_MS);
}

static void reminder_pass_finish(Pass *pass, int r) {
        pass->notices_max = 5 * pass->group->doc->n_actors + 2;
        pass->notices = arena_alloc(&pass->arena, pass->notices_max * sizeof(*pass->notices));
        if (!r)
                r = pass->notices ? reminder_see_lines(pass) : error_origin(-ENOMEM);
        for (size_t i = 0; r && i < pass->n; i++)
                pass->wants[i].actor->next_scanned = 0; /* its lines were not seen */
        if (r || !reminder_is_live(pass->self)) {
                reminder_pass_end(pass, r ? REMINDER_FAILED_MS : -1);
                return;
        }
        reminder_check(pass);
        if (pass->n_notices || pass->self->is_changed)
                reminder_pass_commit(pass);
        else
                reminder_pass_end(
                        pass, pass->next_us == INT64_MAX ? -1 : (pass->next_us - pass->now_us) / 1000 + 1);
}

static void read_standup(void *user) {
        Pass *pass = user;

        if (file_read_beneath(pass->standup_path, REMINDER_STANDUP_MAX, &pass->standup))
                pass->standup.n = 0;
}

static void standup_read(void *user) {
        reminder_pass_finish(user, 0);
}

static void reminder_pass_go_on(Pass *pass, int r) {
        const GroupDoc *doc = pass->group->doc;
        const ScopeView *scope = group_doc_scope(doc, doc->active_scope_key);

        if (!r && scope && reminder_standup_at(pass, group_foreman(doc)) <= pass->now_us)
                pass->standup_path = path_join(scope->url.data, "CCCC_STANDUP.md");
        if (!pass->standup_path ||
            loop_work(pass->group->collab->daemon->loop, read_standup, standup_read, pass))
                reminder_pass_finish(pass, r);
}

static void reminder_pass_on_read(LedgerRead *read, int r) {
        reminder_pass_go_on(container_of(read, Pass, read), r);
}

void reminder_pass(Reminder *self) {
        Pass *pass = calloc(1, sizeof(*pass));
        int r = 0;

        if (!pass) {
                reminder_kick(self, REMINDER_FAILED_MS);
                return;
        }
        *pass = (Pass){.self = self,
                       .group = group_ref(self->group),
                       .now_us = loop_wall_us(self->group->collab->daemon->loop),
                       .next_us = INT64_MAX,
                       .read.done = reminder_pass_on_read};
        self->is_busy = true;
        (void)ledger_check(self->group->ledger);
        reminder_collect(pass);
        if (pass->n)
                r = ledger_read(self->group->ledger, &pass->read, pass->positions, pass->n);
        if (r != LEDGER_LATER)
                reminder_pass_go_on(pass, r);
}
