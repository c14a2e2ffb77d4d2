/* SPDX-License-Identifier: MIT */
#include "collab/headless-notice.h"

#include "collab/recipients.h"
#include "collab/runner.h"

static void headless_notice_write_notice(JsonWriter *w, Str by, Str actor, Str event_id, bool is_attention,
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

static bool is_told(const Group *group, const ActorView *actor, Str by, const StrList *to) {
        Runner *runner = runner_find(group->collab, str_from(group->id), actor->id);

        return runner_is_running(runner) && runner->kind == RUNNER_HEADLESS && !str_eq(actor->id, by) &&
               recipients_include(group->doc, to, actor->id);
}

void headless_notices(GroupChange *change, Str by, const StrList *to, bool is_attention) {
        const GroupDoc *doc = change->group->doc;
        Str event_id = arena_str(&change->arena, str_from(group_change_last(change)->id));

        for (size_t i = 0; i < doc->n_actors && change->n_events < GROUP_CHANGE_EVENTS; i++)
                if (is_told(change->group, &doc->actors[i], by, to))
                        headless_notice_write_notice(
                                group_change_event(change, "system.notify", STR("system"), STR("")), by,
                                doc->actors[i].id, event_id, is_attention, &change->arena);
}
