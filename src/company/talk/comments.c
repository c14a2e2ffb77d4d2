/* SPDX-License-Identifier: MIT */
/* Comments: one file each, named so that the order of names is the order of time. */
#include <errno.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/event.h"
#include "company/index/lists.h"
#include "company/index/turn.h"
#include "company/place.h"
#include "company/talk/talk.h"
#include "company/workspace.h"
#include "core/document.h"
#include "gen/agentcompany-ops.h"
#include "gen/shapes.h"

/* ---- reading --------------------------------------------------------------------------------- */

static bool comment_is_at(const Json *target, const char *key, Str wanted) {
        return !wanted.n || str_eq(json_text_of(target, key), wanted);
}

static bool comment_fits(const Json *comment, const TalkTarget *wanted) {
        const Json *target = json_get(comment, "target");

        return shape_fits(&shape_comment, comment) &&
               str_eq(json_text_of(target, "project_id"), wanted->project_id) &&
               comment_is_at(target, "agent_id", wanted->agent_id) &&
               comment_is_at(target, "artifact_id", wanted->artifact_id) &&
               comment_is_at(target, "run_id", wanted->run_id);
}

static int comment_write_files(Reading *reading, JsonWriter *w, const TalkTarget *target, int64_t limit) {
        Arena *arena = reading->arena;
        StrList names = {0};
        int r = place_names(arena, reading->root, PLACE_COMMENTS, ".yaml", &names);

        jw_begin_array(w);
        for (size_t i = names.n; !r && i-- > 0 && limit > 0;) {
                const char *path = place_comment(arena, names.items[i]);
                Json *comment = NULL;

                r = path ? document_load(arena, reading->root, path, DOCUMENT_YAML, &comment, NULL, NULL)
                         : DOCUMENT_E_MISSING;
                if (!r && comment_fits(comment, target)) {
                        jw_value(w, comment);
                        limit--;
                }
                r = r > 0 ? 0 : r;
        }
        jw_end_array(w);
        return error_trace(r);
}

/* Of those that a condition narrows down most it goes through the newest; "+" keeps SQLite from another choice. */
static int comment_ask(Reading *reading, Sql *sql, const TalkTarget *target, int64_t limit,
                       SqlStatement **ret) {
        const bool is_narrow = target->agent_id.n || target->artifact_id.n || target->run_id.n;
        IndexQuery query;

        index_query_init(&query, reading->arena, "SELECT comment_json FROM muster_comments");
        index_query_str(&query, is_narrow ? "+project_id=?" : "project_id=?", target->project_id);
        index_query_str(&query, "artifact_id=?", target->artifact_id);
        index_query_str(&query, target->artifact_id.n ? "+run_id=?" : "run_id=?", target->run_id);
        index_query_str(&query, target->artifact_id.n || target->run_id.n ? "+agent_id=?" : "agent_id=?",
                        target->agent_id);
        index_query_tail(&query, "ORDER BY name DESC");
        return index_query_run(&query, sql, limit, ret);
}

int talk_write_comments(Reading *reading, JsonWriter *w, const TalkTarget *target, int64_t limit) {
        Index *index = reading->workspace->index;
        SqlStatement *rows = NULL;
        IndexReport report;
        Sql *sql = NULL;
        int r = index_sync_comments(index, &report);

        if (!r)
                r = index_look(index, &sql);
        if (!r)
                r = comment_ask(reading, sql, target, limit, &rows);
        if (r)
                return comment_write_files(reading, w, target, limit);
        jw_begin_array(w);
        while (!(r = sql_step(rows)))
                jw_raw(w, sql_str(rows, 0));
        jw_end_array(w);
        if (r == SQL_E_DONE)
                return 0;
        return r < 0 ? error_trace(r) : error_origin(-EIO);
}

static int comment_read_list(Reading *reading, const Carry *carry) {
        const AgentcompanyCommentListArgs *args = container_of(carry, AgentcompanyCommentListArgs, carry);
        TalkTarget target = {.project_id = args->project_id,
                             .agent_id = args->target_agent_id,
                             .artifact_id = args->target_artifact_id,
                             .run_id = args->target_run_id};

        return talk_write_comments(reading, reading->w, &target, args->limit);
}

int op_agentcompany_comment_list(Call *call, Workspace *workspace, const AgentcompanyCommentListArgs *args) {
        return index_read_call(call, workspace, comment_read_list, &args->carry);
}

/* ---- writing --------------------------------------------------------------------------------- */

static Json *comment_draft(Edit *edit, const TalkComment *given) {
        const TalkTarget *target = &given->target;
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "comment");

        jw_field_str(w, "id", edit_id(edit, "cmt"));
        jw_field_str(w, "created_at", edit_now(edit));
        jw_field_str(w, "author_id", given->author_id);
        jw_field_str(w, "author_role", given->author_role);
        jw_field_str(w, "visibility", given->visibility);
        jw_key(w, "target");
        jw_begin_object(w);
        jw_field_str(w, "project_id", target->project_id);
        draft_optional(w, "agent_id", target->agent_id);
        draft_optional(w, "artifact_id", target->artifact_id);
        draft_optional(w, "run_id", target->run_id);
        jw_end_object(w);
        jw_field_str(w, "body", given->body);
        return draft_end(&draft, edit->arena);
}

/* Only a run that there is gets an event. */
static void comment_tell(Edit *edit, const TalkComment *given, const Json *comment) {
        const TalkTarget *target = &given->target;
        const char *run = place_run(edit->arena, target->project_id, target->run_id, "run.yaml");
        Str id = json_text_of(comment, "id");

        if (!run || !edit_exists(edit, run))
                return;
        event_comment_added(
                edit,
                &(EventOf){.project_id = target->project_id,
                           .run_id = target->run_id,
                           .session_ref = arena_printf(edit->arena, "local_comment_" STR_FMT, STR_ARG(id)),
                           .actor = given->author_id,
                           .visibility = given->visibility},
                &(EventComment){.comment_id = id,
                                .project_id = target->project_id,
                                .agent_id = target->agent_id,
                                .artifact_id = target->artifact_id,
                                .body = json_text_of(comment, "body")});
}

int talk_add_comment(Edit *edit, const TalkComment *given, const Json **ret) {
        TalkComment trimmed = *given;
        TalkTarget *target = &trimmed.target;
        Json *comment;

        target->agent_id = str_trim(target->agent_id);
        target->artifact_id = str_trim(target->artifact_id);
        target->run_id = str_trim(target->run_id);
        trimmed.body = str_trim(trimmed.body);
        if (!trimmed.body.n)
                return edit_fail(edit, CALL_E_COMPANY, "Comment body is required");
        if (!target->agent_id.n && !target->artifact_id.n && !target->run_id.n)
                return edit_fail(edit, CALL_E_COMPANY,
                                 "A comment needs target_agent_id, target_artifact_id or target_run_id");
        comment = comment_draft(edit, &trimmed);
        draft_create(edit, place_comment(edit->arena, json_text_of(comment, "id")), comment);
        if (comment && target->run_id.n)
                comment_tell(edit, &trimmed, comment);
        *ret = comment;
        return 0;
}

static int comment_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyCommentAddArgs *args = container_of(carry, AgentcompanyCommentAddArgs, carry);
        const Json *comment = NULL;
        int r = talk_add_comment(edit,
                                 &(TalkComment){.author_id = args->author_id,
                                                .author_role = args->author_role,
                                                .visibility = args->visibility,
                                                .target = {.project_id = args->project_id,
                                                           .agent_id = args->target_agent_id,
                                                           .artifact_id = args->target_artifact_id,
                                                           .run_id = args->target_run_id},
                                                .body = args->body},
                                 &comment);

        edit->user = (void *)comment;
        return r;
}

static void comment_reply(Call *call, Edit *edit, _unused_ const Carry *carry) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "comment_id", json_text_of(edit->user, "id"));
        jw_field_value(w, "comment", edit->user);
        jw_end_object(w);
}

int op_agentcompany_comment_add(Call *call, Workspace *workspace, const AgentcompanyCommentAddArgs *args) {
        return company_edit(call, workspace, comment_decide, comment_reply, &args->carry);
}
