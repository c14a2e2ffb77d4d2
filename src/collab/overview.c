/* SPDX-License-Identifier: MIT */
#include "collab/overview.h"

#include "collab/delivery.h"
#include "collab/runner.h"

static const char *overview_state(const ActorView *actor, const Runner *runner, const RunnerEnd *end) {
        static const char *const names[] = {
                [RUNNER_STARTING] = "starting", [RUNNER_UP] = "running", [RUNNER_ENDING] = "ending"};

        if (runner)
                return names[runner->state];
        return end && actor->is_enabled ? "ended" : "stopped";
}

static void overview_write_mail(const Group *group, Str actor, JsonWriter *w) {
        const Delivery *delivery = delivery_of(group);
        const Mailbox *mailbox = delivery ? mailbox_find(delivery, actor) : NULL;

        jw_field_uint(w, "mail", mailbox ? mailbox->n_items : 0);
        if (!mailbox || !mailbox->items)
                return;
        jw_field_time_ms(w, "mail_since", mailbox->items->queued_us);
        jw_field_cstr(w, "mail_why", mailbox_why(mailbox));
}

static void overview_write_actor(const Group *group, const ActorView *actor, JsonWriter *w) {
        const Runner *runner = runner_find(group->collab, str_from(group->id), actor->id);
        const RunnerEnd *end = runner_find_end(group->collab, str_from(group->id), actor->id);

        jw_begin_object(w);
        jw_field_str(w, "id", actor->id);
        jw_field_str(w, "runtime", actor->runtime);
        jw_field_str(w, "runner", actor->runner);
        jw_field_cstr(w, "state", overview_state(actor, runner, end));
        if (runner && runner->started_us)
                jw_field_time_ms(w, "since", runner->started_us);
        if (!runner && end) {
                jw_field_time_ms(w, "since", end->ended_us);
                jw_field_int(w, "exit_code", end->code);
        }
        overview_write_mail(group, actor->id, w);
        jw_end_object(w);
}

static void overview_write_group(const Group *group, JsonWriter *w) {
        bool has_bridge = false;

        jw_begin_object(w);
        jw_field_cstr(w, "id", group->id);
        jw_field_str(w, "title", group->doc->title);
        jw_field_cstr(w, "state", group_state_name(group->doc->state));
        if (json_bool(json_get(json_get(group->doc->json, "im"), "enabled"), &has_bridge) && has_bridge)
                jw_field_bool(w, "im_enabled", true);
        jw_key(w, "actors");
        jw_begin_array(w);
        for (size_t i = 0; i < group->doc->n_actors; i++)
                overview_write_actor(group, &group->doc->actors[i], w);
        jw_end_array(w);
        jw_end_object(w);
}

void collab_write_overview(const Collab *collab, JsonWriter *w) {
        jw_key(w, "groups");
        jw_begin_array(w);
        for (size_t i = 0; collab && i < COLLAB_BUCKETS; i++)
                for (const Group *group = collab->groups[i]; group; group = group->next)
                        if (group->doc && !group->is_deleting)
                                overview_write_group(group, w);
        jw_end_array(w);
}
