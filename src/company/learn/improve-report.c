/* SPDX-License-Identifier: MIT */
/* What an evaluation leaves for managers: a digest with a rule to be approved, or a report of its failure. */
#include <errno.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/event.h"
#include "company/learn/guide.h"
#include "company/learn/improve.h"
#include "company/place.h"
#include "core/document.h"

static const char *improve_type(const Improvement *improvement) {
        return evaluation_has_passed(improvement->evaluation) ? "manager_digest" : "failure_report";
}

static Str improve_title(Edit *edit, const Improvement *improvement) {
        return arena_printf(edit->arena, "Self-improvement evaluation (" STR_FMT ")",
                            STR_ARG(improvement->mistake->key));
}

/* ---- the body -------------------------------------------------------------------------------- */

static int improve_put_list(Buf *out, const StrList *list, const char *between) {
        int r = 0;

        for (size_t i = 0; !r && i < list->n; i++)
                r = buf_printf(out, "%s" STR_FMT, i ? between : "", STR_ARG(list->items[i]));
        return r;
}

static int improve_put_verdict(Buf *out, const Evaluation *evaluation) {
        int code = evaluation_exit_code(evaluation);
        const char *signal = evaluation_signal(evaluation);

        if (evaluation_has_passed(evaluation))
                return buf_printf(out, "passed");
        return code >= 0 ? buf_printf(out, "failed (exit_code=%d)", code)
                         : buf_printf(out, "failed (signal=%s)", signal ? signal : "none");
}

static int improve_put_summary(Buf *out, const Improvement *improvement) {
        const Mistake *mistake = improvement->mistake;
        int r = buf_printf(out,
                           "## Summary\n\n- worker_agent_id: `" STR_FMT "`\n- manager_actor_id: `" STR_FMT
                           "`\n- mistake_key: `" STR_FMT "`\n- mistake_count: %lld (threshold=%lld)\n"
                           "- evaluation: ",
                           STR_ARG(improvement->worker_id), STR_ARG(improvement->manager_id),
                           STR_ARG(mistake->key), (long long)mistake->count,
                           (long long)improvement->threshold);

        if (!r)
                r = improve_put_verdict(out, improvement->evaluation);
        return r ? r : buf_printf(out, "\n- run_id: `" STR_FMT "`\n\n", STR_ARG(improvement->run.run_id));
}

static int improve_put_decisions(Buf *out, const Improvement *improvement) {
        const Mistake *mistake = improvement->mistake;
        int r = buf_printf(out,
                           "## Decisions\n\n- summary: " STR_FMT "\n- prevention_rule: " STR_FMT
                           "\n- evaluation_argv: `",
                           STR_ARG(mistake->summary), STR_ARG(mistake->rule));

        if (!r)
                r = improve_put_list(out, improvement->evaluation->argv, " ");
        if (!r && evaluation_has_passed(improvement->evaluation))
                r = buf_printf(out, "`\n- proposed_memory_delta_artifact_id: `" STR_FMT,
                               STR_ARG(improvement->delta.artifact_id));
        if (!r)
                r = buf_printf(out, "`\n- evidence: %s", improvement->evidence->n ? "" : "(none)");
        if (!r)
                r = improve_put_list(out, improvement->evidence, ", ");
        return r ? r : buf_append_str(out, STR("\n\n"));
}

static int improve_put_rest(Buf *out, const Improvement *improvement) {
        return evaluation_has_passed(improvement->evaluation)
                       ? buf_append_str(out, STR("## Risks\n\n- Ensure manager review approves the pending "
                                                 "memory delta before apply.\n"))
                       : buf_printf(out,
                                    "## Cause\n\n- The evaluation did not pass; what it printed is in the "
                                    "outputs of run `" STR_FMT "`.\n\n## Next Steps\n\n- Put right what it "
                                    "found, then record the mistake again to have the rule proposed.\n",
                                    STR_ARG(improvement->run.run_id));
}

/* ---- the artifact ---------------------------------------------------------------------------- */

static Json *improve_matter(Edit *edit, const Improvement *improvement) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, improve_type(improvement));

        jw_field_str(w, "id", improvement->report_id);
        jw_field_str(w, "created_at", edit_now(edit));
        jw_field_str(w, "title", improve_title(edit, improvement));
        jw_field_cstr(w, "visibility", "managers");
        jw_field_str(w, "produced_by", improvement->manager_id);
        jw_field_str(w, "run_id", improvement->run.run_id);
        jw_field_str(w, "context_pack_id", improvement->run.context_pack_id);
        return draft_end(&draft, edit->arena);
}

static int improve_write_artifact(Edit *edit, const Improvement *improvement) {
        _cleanup_(buf_deinit) Buf body = BUF_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *matter = improve_matter(edit, improvement);
        int r = matter ? buf_printf(&body, "\n# " STR_FMT "\n\n", STR_ARG(improve_title(edit, improvement)))
                       : error_origin(-ENOMEM);

        if (!r)
                r = improve_put_summary(&body, improvement);
        if (!r)
                r = improve_put_decisions(&body, improvement);
        if (!r)
                r = improve_put_rest(&body, improvement);
        if (!r)
                r = document_text(matter, DOCUMENT_MATTER, buf_str(&body), &text);
        return r ? error_trace(r)
                 : error_trace(edit_create(edit, improvement->report_path,
                                           arena_str(edit->arena, buf_str(&text))));
}

/* ---- the rule -------------------------------------------------------------------------------- */

static int improve_put_evidence(Edit *edit, Improvement *improvement) {
        Str *items = arena_alloc(edit->arena, (improvement->evidence->n + 1) * sizeof(*items));

        if (!items)
                return error_origin(-ENOMEM);
        items[0] = improvement->report_id;
        for (size_t i = 0; i < improvement->evidence->n; i++)
                items[i + 1] = improvement->evidence->items[i];
        improvement->delta_evidence = (StrList){items, improvement->evidence->n + 1};
        return 0;
}

static int improve_propose(Edit *edit, Improvement *improvement) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        const Mistake *mistake = improvement->mistake;
        Str *lines = arena_alloc(edit->arena, sizeof(*lines));
        int r = lines ? guide_propose_rule(&line, mistake->key, mistake->rule, mistake->count,
                                           improvement->manager_id)
                      : error_origin(-ENOMEM);

        if (!r)
                r = improve_put_evidence(edit, improvement);
        if (r)
                return error_trace(r);
        lines[0] = arena_str(edit->arena, buf_str(&line));
        improvement->delta_lines = (StrList){lines, 1};
        improvement->delta =
                (Delta){.project_id = improvement->project_id,
                        .title = arena_printf(edit->arena, "Self-improvement rule for " STR_FMT ": " STR_FMT,
                                              STR_ARG(improvement->worker_id), STR_ARG(mistake->key)),
                        .visibility = STR("managers"),
                        .produced_by = improvement->manager_id,
                        .run_id = improvement->run.run_id,
                        .context_pack_id = improvement->run.context_pack_id,
                        .target_file = str_from(mistake->guide_path),
                        .under_heading = str_from(guide_mistakes_heading),
                        .insert_lines = &improvement->delta_lines,
                        .evidence = &improvement->delta_evidence};
        return lines[0].data && improvement->delta.title.data ? delta_propose(edit, &improvement->delta)
                                                              : error_origin(-ENOMEM);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void improve_tell_artifact(Edit *edit, const EventOf *of, Str id, const char *path,
                                  const char *type) {
        JsonWriter *w = event_begin(edit, of, "artifact.produced");

        jw_begin_object(w);
        jw_field_str(w, "artifact_id", id);
        jw_field_cstr(w, "relpath", path);
        jw_field_cstr(w, "artifact_type", type);
        jw_end_object(w);
        event_end(edit);
}

static void improve_tell_cycle(Edit *edit, const EventOf *of, const Improvement *improvement) {
        const Evaluation *evaluation = improvement->evaluation;
        bool has_passed = evaluation_has_passed(evaluation);
        int code = evaluation_exit_code(evaluation);
        JsonWriter *w = event_begin(edit, of, "evaluation.self_improve_cycle");

        jw_begin_object(w);
        jw_field_cstr(w, "status", has_passed ? "proposal_created" : "evaluation_failed");
        jw_field_str(w, "mistake_key", improvement->mistake->key);
        jw_field_int(w, "mistake_count", improvement->mistake->count);
        jw_field_int(w, "proposal_threshold", improvement->threshold);
        jw_field_str(w, "evaluation_artifact_id", improvement->report_id);
        if (has_passed) {
                jw_field_str(w, "memory_delta_artifact_id", improvement->delta.artifact_id);
                jw_field_str(w, "target_file", improvement->delta.target_file);
        } else {
                if (code >= 0)
                        jw_field_int(w, "evaluation_exit_code", code);
                else
                        jw_field_null(w, "evaluation_exit_code");
                jw_field_cstr(w, "evaluation_signal", evaluation_signal(evaluation));
        }
        jw_end_object(w);
        event_end(edit);
}

int improve_write_report(Edit *edit, Improvement *improvement) {
        bool has_passed = evaluation_has_passed(improvement->evaluation);
        EventOf of = {.project_id = improvement->project_id,
                      .run_id = improvement->run.run_id,
                      .actor = improvement->manager_id,
                      .visibility = STR("managers")};
        int r;

        improvement->report_id = edit_id(edit, "art");
        improvement->report_path =
                place_artifact(edit->arena, improvement->project_id, improvement->report_id, ".md");
        if (!improvement->report_path)
                return error_origin(-ENOMEM);
        r = has_passed ? improve_propose(edit, improvement) : 0;
        if (!r)
                r = improve_write_artifact(edit, improvement);
        if (r)
                return error_trace(r);
        improve_tell_artifact(edit, &of, improvement->report_id, improvement->report_path,
                              improve_type(improvement));
        if (has_passed)
                improve_tell_artifact(edit, &of, improvement->delta.artifact_id,
                                      improvement->delta.artifact_path, "memory_delta");
        improve_tell_cycle(edit, &of, improvement);
        return 0;
}
