/* SPDX-License-Identifier: MIT */
#include "company/event.h"

#include <errno.h>

#include "base/error.h"
#include "company/place.h"
#include "core/feed.h"

static Str event_or(Str text, const char *other) {
        return text.n ? text : str_from(other);
}

static int event_place(Edit *edit, const EventOf *of) {
        edit->event_path = place_run(edit->arena, of->project_id, of->run_id, "events.jsonl");
        edit->event_ref = of->session_ref.n
                                  ? of->session_ref
                                  : arena_printf(edit->arena, "local_" STR_FMT, STR_ARG(of->run_id));
        if (!edit->event_path)
                return error_origin(-EINVAL);
        return edit->event_ref.data ? 0 : error_origin(-ENOMEM);
}

JsonWriter *event_begin(Edit *edit, const EventOf *of, const char *type) {
        JsonWriter *w = &edit->writer;

        edit->text.n = 0;
        *w = JSON_WRITER(&edit->text);
        edit->event_type = type;
        (void)edit_try(edit, event_place(edit, of));
        jw_begin_object(w);
        jw_field_int(w, "schema_version", 1);
        jw_field_time_ms(w, "ts_wallclock", edit->wall_us);
        jw_field_str(w, "run_id", of->run_id);
        jw_field_str(w, "session_ref", edit->event_ref);
        jw_field_str(w, "actor", event_or(of->actor, "system"));
        jw_field_str(w, "visibility", event_or(of->visibility, "org"));
        jw_field_cstr(w, "type", type);
        jw_key(w, "payload");
        return w;
}

void event_end(Edit *edit) {
        JsonWriter *w = &edit->writer;

        jw_field_str(w, "event_id", edit_id(edit, "evt"));
        jw_field_str(w, "correlation_id", edit->event_ref);
        jw_field_null(w, "causation_id");
        jw_field_int(w, "ts_monotonic_ms", edit->since_ms);
        jw_end_object(w);
        if (edit_try(edit, w->failed ? -ENOMEM : 0))
                (void)edit_try(edit, store_change_event(&edit->change, edit->event_path,
                                                        str_from(edit->event_type), buf_str(&edit->text)));
}

void event_run_started(Edit *edit, const EventOf *of, Str agent_id, Str provider, Str context_pack_id) {
        JsonWriter *w = event_begin(edit, of, "run.started");

        jw_begin_object(w);
        jw_field_str(w, "project_id", of->project_id);
        jw_field_str(w, "agent_id", agent_id);
        jw_field_str(w, "provider", provider);
        jw_field_str(w, "context_pack_id", context_pack_id);
        jw_end_object(w);
        event_end(edit);
}

void event_write_policy(JsonWriter *w, const EventPolicy *policy) {
        jw_begin_object(w);
        jw_field_bool(w, "allowed", policy->is_allowed);
        jw_field_str(w, "rule_id", policy->rule_id);
        jw_field_str(w, "reason", policy->reason);
        jw_end_object(w);
}

static void event_write_resource(JsonWriter *w, const EventPolicy *policy) {
        jw_field_str(w, "action", policy->action);
        jw_field_str(w, "resource_id", policy->resource_id);
        if (policy->resource_kind.n)
                jw_field_str(w, "resource_kind", policy->resource_kind);
        else
                jw_field_null(w, "resource_kind");
        jw_field_str(w, "resource_visibility", policy->resource_visibility);
}

void event_policy(Edit *edit, const EventOf *of, const EventPolicy *policy) {
        EventOf managers = *of;
        JsonWriter *w;

        managers.visibility = STR("managers");
        w = event_begin(edit, &managers, "policy.decision");
        jw_begin_object(w);
        jw_field_bool(w, "allowed", policy->is_allowed);
        jw_field_str(w, "rule_id", policy->rule_id);
        jw_field_str(w, "reason", policy->reason);
        event_write_resource(w, policy);
        jw_end_object(w);
        event_end(edit);
        if (policy->is_allowed)
                return;
        w = event_begin(edit, &managers, "policy.denied");
        jw_begin_object(w);
        event_write_resource(w, policy);
        jw_key(w, "policy");
        event_write_policy(w, policy);
        jw_end_object(w);
        event_end(edit);
}

void event_comment_added(Edit *edit, const EventOf *of, const EventComment *comment) {
        JsonWriter *w = event_begin(edit, of, "comment.added");

        jw_begin_object(w);
        jw_field_str(w, "comment_id", comment->comment_id);
        jw_field_str(w, "project_id", comment->project_id);
        if (comment->agent_id.n)
                jw_field_str(w, "agent_id", comment->agent_id);
        if (comment->artifact_id.n)
                jw_field_str(w, "artifact_id", comment->artifact_id);
        jw_field_str(w, "body", comment->body);
        jw_end_object(w);
        event_end(edit);
}

void event_run_orphaned(Edit *edit, const EventOf *of, bool is_stopped) {
        JsonWriter *w = event_begin(edit, of, is_stopped ? "run.stopped" : "run.failed");

        jw_begin_object(w);
        jw_field_null(w, "exit_code");
        jw_field_null(w, "signal");
        jw_field_bool(w, "stopped", is_stopped);
        jw_field_bool(w, "orphaned", true);
        jw_end_object(w);
        event_end(edit);
}

void event_told(Feed *feed, const char *workspace_path, const StoreTold *told) {
        FeedPlace place;

        feed_place(&place, "company", str_from(workspace_path), told->kind, told->seq);
        (void)feed_push(feed, &place, told->line.n <= FEED_PAYLOAD_MAX ? chunk_new(told->line) : NULL);
}
