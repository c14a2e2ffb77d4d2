/* SPDX-License-Identifier: MIT */
#include "company/pulse/approve.h"

#include <errno.h>

#include "base/error.h"
#include "company/place.h"
#include "company/pulse/orders.h"
#include "company/pulse/pulse.h"
#include "company/pulse/report.h"
#include "core/document.h"

/* Whether this very proposal was approved before. Of an action that was queued directly nothing else tells it. */
static int approve_was_done(Edit *edit, const Decision *decision, bool *ret) {
        StrList names = {0};
        int r = place_names(edit->arena, edit->root, PLACE_REVIEWS, ".yaml", &names);

        *ret = false;
        for (size_t i = 0; !r && !*ret && i < names.n; i++) {
                const char *path = place_review(edit->arena, names.items[i]);
                const Json *subject;
                Json *review = NULL;

                r = path ? document_load(edit->arena, edit->root, path, DOCUMENT_YAML, &review, NULL, NULL)
                         : 0;
                subject = json_get(review, "subject");
                *ret = !r && str_is(json_text_of(review, "decision"), "approved") &&
                       str_is(json_text_of(subject, "kind"), "heartbeat_action") &&
                       str_eq(json_text_of(subject, "artifact_id"), decision->artifact_id) &&
                       str_eq(json_text_of(subject, "project_id"), decision->project_id);
                r = r == -ENOMEM ? r : 0;
        }
        return error_trace(r);
}

/* The members of the event's `execution`. */
static void approve_write_ids(JsonWriter *w, const char *key, const StrList *ids) {
        jw_key(w, key);
        jw_begin_array(w);
        for (size_t i = 0; i < ids->n; i++)
                jw_str(w, ids->items[i]);
        jw_end_array(w);
}

static int approve_tell(Edit *edit, Decision *decision, const ReportCounts *counts) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_int(&w, "executed_actions", counts->n_executed);
        jw_field_int(&w, "queued_for_approval", counts->n_queued);
        jw_field_int(&w, "deduped_actions", counts->n_deduped);
        jw_field_int(&w, "skipped_actions", counts->n_skipped);
        approve_write_ids(&w, "proposal_artifact_ids", &counts->proposal_ids);
        approve_write_ids(&w, "launched_job_ids", &counts->job_ids);
        jw_end_object(&w);
        decision->execution = w.failed ? STR_NULL : arena_str(edit->arena, buf_str(&text));
        decision->jobs = counts->jobs;
        return decision->execution.data ? 0 : error_origin(-ENOMEM);
}

/* Does it, and remembers it. An action that had been queued itself keeps its entry as it is: the review tells the rest. */
static int approve_do(Edit *edit, Arbiter *arbiter, const ReportFrom *from, const Json *action,
                      ReportCounts *counts) {
        bool is_done = false;
        int r = report_do(edit, from, action, counts, &is_done);

        if (r)
                return r;
        counts->n_executed += is_done;
        counts->n_skipped += !is_done;
        if (!is_done)
                return 0;
        return arbiter_known(arbiter, action) ? arbiter_count(arbiter) : arbiter_note(arbiter, action, true);
}

/* The state is written whatever came of it: of two who approve at once, the second decides anew and finds the review. */
int approve_act(Edit *edit, Decision *decision, const Artifact *artifact) {
        const Json *action = json_get(artifact->matter, "proposed_action"), *known;
        Json *config = NULL, *state = NULL, *old = NULL;
        ReportFrom from = {.worker_id = json_text_of(artifact->matter, "produced_by"),
                           .run_id = json_text_of(artifact->matter, "run_id"),
                           .context_pack_id = json_text_of(artifact->matter, "context_pack_id"),
                           .actor = decision->actor,
                           .is_approved = true};
        ReportCounts counts;
        PulseConfig settings;
        Arbiter arbiter;
        bool is_again = false;
        int r = pulse_read(edit->root, edit->arena, &config, &old);

        if (!r)
                r = pulse_edit_state(edit, &state);
        if (!r)
                r = report_counts_init(&counts, edit->arena);
        if (r)
                return error_trace(r);
        settings = pulse_config_of(config);
        arbiter = (Arbiter){
                .config = &settings, .arena = edit->arena, .state = state, .now_us = edit->wall_us};
        arbiter_clean(&arbiter);
        known = arbiter_known(&arbiter, action);
        if (known && str_is(json_text_of(known, "status"), "queued"))
                r = approve_was_done(edit, decision, &is_again);
        else
                is_again = known != NULL;
        counts.n_deduped = is_again;
        if (!r && !is_again)
                r = approve_do(edit, &arbiter, &from, action, &counts);
        if (!r)
                r = orders_make(edit, counts.jobs);
        if (!r)
                r = pulse_edit_write(edit, state);
        return r ? r : approve_tell(edit, decision, &counts);
}
