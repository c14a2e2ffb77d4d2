/* SPDX-License-Identifier: MIT */
/* state/automation.json. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/automation.h"

void automation_set(char **text, Str value) {
        free(*text);
        *text = value.data ? strndup(value.data, value.n) : NULL;
}

/* ---- reading --------------------------------------------------------------------------------- */

static int64_t time_of(const Json *object, const char *key) {
        int64_t us = 0;

        return time_parse(json_str(json_get(object, key)), &us) ? us : 0;
}

static void automation_state_read_actor(AutoActor *actor, const Json *json) {
        automation_set(&actor->nudge_event_id, json_str(json_get(json, "last_nudge_event_id")));
        automation_set(&actor->keepalive_next, json_str(json_get(json, "last_keepalive_next")));
        automation_set(&actor->help_session, json_str(json_get(json, "help_session_key")));
        actor->nudge_us = time_of(json, "last_nudge_at");
        actor->idle_us = time_of(json, "last_idle_notify_at");
        actor->keepalive_us = time_of(json, "last_keepalive_at");
        actor->help_us = time_of(json, "help_last_nudge_at");
        json_int64(json_get(json, "keepalive_count"), &actor->keepalive_count);
        json_int64(json_get(json, "help_msg_count_since"), &actor->help_count);
}

void automation_read_state(Automation *self, const Json *json) {
        self->silence_us = time_of(json, "last_silence_notify_at");
        self->standup_us = time_of(json, "last_standup_at");
        json_each (entry, json_get(json, "actors")) {
                AutoActor *actor = automation_actor(self, json_key(entry));

                if (actor)
                        automation_state_read_actor(actor, entry);
        }
}

/* ---- writing --------------------------------------------------------------------------------- */

static void automation_state_put_actor(JsonWriter *w, const AutoActor *actor) {
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

int automation_write_state(const Automation *self, int64_t now_us, Buf *out) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_int(&w, "v", 4);
        jw_key(&w, "actors");
        jw_begin_object(&w);
        for (const AutoActor *actor = self->actors; actor; actor = actor->next)
                if (group_doc_actor(self->group->doc, str_from(actor->id)))
                        automation_state_put_actor(&w, actor);
        jw_end_object(&w);
        jw_field_time_us(&w, "resume_at", self->resume_us);
        jw_field_time_us(&w, "last_silence_notify_at", self->silence_us);
        jw_field_time_us(&w, "last_standup_at", self->standup_us);
        jw_field_uint(&w, "help_ledger_pos", ledger_n_bytes(self->group->ledger));
        jw_field_time_us(&w, "updated_at", now_us);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}
