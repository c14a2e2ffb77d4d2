/* SPDX-License-Identifier: MIT */
/* Operations of the index: making it, bringing it up to date, and lists of what is in it. */
#include "base/error.h"
#include "company/index/index-internal.h"
#include "company/index/lists.h"
#include "company/index/turn.h"
#include "company/index/worker.h"
#include "company/place.h"
#include "gen/agentcompany-ops.h"

/* ---- rebuild and sync ------------------------------------------------------------------------ */

typedef struct IndexCounter {
        const char *key;
        IndexTable table;
} IndexCounter;

static void index_write_path(Reading *reading, Str workspace_dir) {
        Str path = arena_printf(reading->arena, STR_FMT "/" PLACE_INDEX, STR_ARG(workspace_dir));

        jw_field_str(reading->w, "db_path", path);
}

static int index_run_rebuild(Reading *reading, const Carry *carry) {
        static const IndexCounter counters[] = {{"runs_indexed", INDEX_RUNS},
                                                {"events_indexed", INDEX_EVENTS},
                                                {"event_parse_errors", INDEX_PARSE_ERRORS},
                                                {"artifacts_indexed", INDEX_ARTIFACTS},
                                                {"reviews_indexed", INDEX_REVIEWS},
                                                {"help_requests_indexed", INDEX_HELP_REQUESTS},
                                                {"conversations_indexed", INDEX_CONVERSATIONS},
                                                {"messages_indexed", INDEX_MESSAGES},
                                                {"tasks_indexed", INDEX_TASKS},
                                                {"task_milestones_indexed", INDEX_MILESTONES},
                                                {"agent_counters_indexed", INDEX_COUNTERS}};
        const AgentcompanyIndexRebuildArgs *args = container_of(carry, AgentcompanyIndexRebuildArgs, carry);
        IndexReport report;
        int r = index_rebuild(reading->workspace->index, &report);

        if (r)
                return index_fail(reading, args->workspace_dir, r);
        jw_begin_object(reading->w);
        index_write_path(reading, args->workspace_dir);
        for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
                jw_field_int(reading->w, counters[i].key, report.n_total[counters[i].table]);
        jw_end_object(reading->w);
        return 0;
}

int op_agentcompany_index_rebuild(Call *call, Workspace *workspace,
                                  const AgentcompanyIndexRebuildArgs *args) {
        return index_read_call(call, workspace, index_run_rebuild, &args->carry);
}

/* Of what is upserted the original counts all that is there; of what it makes anew, what was there before as
 * deleted; lines are counted as they come. */
static void index_write_sync(JsonWriter *w, const IndexReport *report) {
        static const struct {
                const char *in, *out;
                IndexTable table;
                enum { UPSERTED, APPENDED, MADE_ANEW } how;
        } counters[] = {
                {"runs_upserted", "runs_deleted", INDEX_RUNS, UPSERTED},
                {"events_indexed", "events_deleted", INDEX_EVENTS, APPENDED},
                {"event_parse_errors_indexed", "event_parse_errors_deleted", INDEX_PARSE_ERRORS, APPENDED},
                {"artifacts_upserted", "artifacts_deleted", INDEX_ARTIFACTS, UPSERTED},
                {"reviews_upserted", "reviews_deleted", INDEX_REVIEWS, UPSERTED},
                {"help_requests_upserted", "help_requests_deleted", INDEX_HELP_REQUESTS, UPSERTED},
                {"conversations_upserted", "conversations_deleted", INDEX_CONVERSATIONS, MADE_ANEW},
                {"messages_indexed", "messages_deleted", INDEX_MESSAGES, MADE_ANEW},
                {"tasks_upserted", "tasks_deleted", INDEX_TASKS, MADE_ANEW},
                {"task_milestones_indexed", "task_milestones_deleted", INDEX_MILESTONES, MADE_ANEW},
                {"agent_counters_upserted", "agent_counters_deleted", INDEX_COUNTERS, MADE_ANEW},
        };

        for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
                const IndexTable table = counters[i].table;
                const bool is_appended = counters[i].how == APPENDED;

                jw_field_int(w, counters[i].in,
                             is_appended ? report->n_added[table] : report->n_total[table]);
                if (counters[i].how == MADE_ANEW)
                        jw_field_int(w, counters[i].out, report->n_before[table]);
                else if (is_appended)
                        jw_field_int(w, counters[i].out, report->n_removed[table]);
                else /* what was replaced was not deleted */
                        jw_field_int(w, counters[i].out,
                                     MAX((int64_t)0, report->n_before[table] - report->n_total[table]));
        }
}

static int index_run_sync(Reading *reading, const Carry *carry) {
        const AgentcompanyIndexSyncArgs *args = container_of(carry, AgentcompanyIndexSyncArgs, carry);
        IndexReport report;
        int r = index_sync(reading->workspace->index, &report);

        if (r)
                return index_fail(reading, args->workspace_dir, r);
        jw_begin_object(reading->w);
        index_write_path(reading, args->workspace_dir);
        jw_field_bool(reading->w, "db_created", report.is_created);
        index_write_sync(reading->w, &report);
        jw_end_object(reading->w);
        return 0;
}

int op_agentcompany_index_sync(Call *call, Workspace *workspace, const AgentcompanyIndexSyncArgs *args) {
        return index_read_call(call, workspace, index_run_sync, &args->carry);
}

int op_agentcompany_index_sync_worker_status(Call *call,
                                             _unused_ const AgentcompanyIndexSyncWorkerStatusArgs *args) {
        if (!company_is_served(call))
                return call->error;
        index_worker_write(call->daemon->company, call_result(call));
        return 0;
}

int op_agentcompany_index_sync_worker_flush(Call *call,
                                            _unused_ const AgentcompanyIndexSyncWorkerFlushArgs *args) {
        return company_is_served(call) ? index_worker_flush(call) : call->error;
}

/* ---- what is in it --------------------------------------------------------------------------- */

static int index_run_stats(Reading *reading, const Carry *carry) {
        const AgentcompanyIndexStatsArgs *args = container_of(carry, AgentcompanyIndexStatsArgs, carry);
        int r = index_write_stats(reading->workspace->index, reading->w);

        return r ? index_fail(reading, args->workspace_dir, r) : 0;
}

int op_agentcompany_index_stats(Call *call, Workspace *workspace, const AgentcompanyIndexStatsArgs *args) {
        return index_read_call(call, workspace, index_run_stats, &args->carry);
}

/* The query's rows as the result. */
static int index_run_list(Reading *reading, IndexQuery *query, Str workspace_dir, int64_t limit,
                          const char *const names[]) {
        Index *index = reading->workspace->index;
        SqlStatement *statement = NULL;
        Sql *sql = NULL;
        int r = index_look(index, &sql);

        if (!r) {
                r = index_query_run(query, sql, limit, &statement);
                if (!r)
                        r = index_write_rows(reading->w, statement, names);
                r = index_result(index, r);
        } else
                buf_deinit(&query->text);
        return r ? index_fail(reading, workspace_dir, r) : 0;
}

static int index_run_list_runs(Reading *reading, const Carry *carry) {
        static const char *const names[] = {"project_id",
                                            "run_id",
                                            "created_at",
                                            "status",
                                            "provider",
                                            "agent_id",
                                            "context_pack_id",
                                            "usage_total_tokens",
                                            "usage_cost_usd",
                                            "usage_source",
                                            "usage_confidence",
                                            "context_cycles_count",
                                            "context_cycles_source",
                                            "spec_model",
                                            "spec_task_id",
                                            "spec_milestone_id",
                                            NULL};
        const AgentcompanyIndexListRunsArgs *args =
                container_of(carry, AgentcompanyIndexListRunsArgs, carry);
        IndexQuery query;

        index_query_init(
                &query, reading->arena,
                "SELECT project_id, run_id, created_at, status, provider, agent_id, context_pack_id,"
                " usage_total_tokens, usage_cost_usd, usage_source, usage_confidence,"
                " context_cycles_count, context_cycles_source, spec_model, spec_task_id,"
                " spec_milestone_id FROM runs");
        index_query_str(&query, "project_id=?", args->project_id);
        index_query_str(&query, "status=?", args->status);
        index_query_tail(&query, "ORDER BY created_at DESC, run_id DESC");
        return index_run_list(reading, &query, args->workspace_dir, args->limit, names);
}

int op_agentcompany_index_list_runs(Call *call, Workspace *workspace,
                                    const AgentcompanyIndexListRunsArgs *args) {
        return index_read_call(call, workspace, index_run_list_runs, &args->carry);
}

static int index_run_list_events(Reading *reading, const Carry *carry) {
        static const char *const names[] = {"project_id",   "run_id",          "seq",      "type",
                                            "ts_wallclock", "ts_monotonic_ms", "actor",    "session_ref",
                                            "visibility",   "payload_json",    "raw_json", NULL};
        const AgentcompanyIndexListEventsArgs *args =
                container_of(carry, AgentcompanyIndexListEventsArgs, carry);
        const bool is_asc = str_is(args->order, "asc");
        IndexQuery query;

        index_query_init(&query, reading->arena,
                         "SELECT project_id, run_id, seq, type, ts_wallclock, ts_monotonic_ms, actor,"
                         " session_ref, visibility, payload_json, raw_json FROM events");
        index_query_str(&query, "project_id=?", args->project_id);
        index_query_str(&query, args->project_id.n ? "run_id=?" : index_any_project, args->run_id);
        index_query_str(&query, "type=?", args->type);
        if (args->has_since_seq)
                index_query_int(&query, "seq>?", args->since_seq);
        if (args->run_id.n) /* by the key, not by the time */
                index_query_tail(&query, is_asc ? "ORDER BY +ts_wallclock, seq"
                                                : "ORDER BY +ts_wallclock DESC, seq DESC");
        else
                index_query_tail(&query, is_asc ? "ORDER BY ts_wallclock, seq"
                                                : "ORDER BY ts_wallclock DESC, seq DESC");
        return index_run_list(reading, &query, args->workspace_dir, args->limit, names);
}

int op_agentcompany_index_list_events(Call *call, Workspace *workspace,
                                      const AgentcompanyIndexListEventsArgs *args) {
        return index_read_call(call, workspace, index_run_list_events, &args->carry);
}

static int index_run_list_errors(Reading *reading, const Carry *carry) {
        static const char *const names[] = {"project_id", "run_id", "seq", "error", "raw_line", NULL};
        const AgentcompanyIndexListEventParseErrorsArgs *args =
                container_of(carry, AgentcompanyIndexListEventParseErrorsArgs, carry);
        IndexQuery query;

        index_query_init(&query, reading->arena,
                         "SELECT project_id, run_id, seq, error, raw_line FROM event_parse_errors");
        index_query_str(&query, "project_id=?", args->project_id);
        index_query_str(&query, "run_id=?", args->run_id);
        index_query_tail(&query, "ORDER BY run_id, seq DESC");
        return index_run_list(reading, &query, args->workspace_dir, args->limit, names);
}

int op_agentcompany_index_list_event_parse_errors(Call *call, Workspace *workspace,
                                                  const AgentcompanyIndexListEventParseErrorsArgs *args) {
        return index_read_call(call, workspace, index_run_list_errors, &args->carry);
}

static int index_run_list_reviews(Reading *reading, const Carry *carry) {
        static const char *const names[] = {
                "review_id",    "created_at",          "decision",   "actor_id", "actor_role",
                "subject_kind", "subject_artifact_id", "project_id", "notes",    NULL};
        const AgentcompanyIndexListReviewsArgs *args =
                container_of(carry, AgentcompanyIndexListReviewsArgs, carry);
        IndexQuery query;

        index_query_init(&query, reading->arena, "SELECT * FROM reviews");
        index_query_str(&query, "project_id=?", args->project_id);
        index_query_str(&query, "decision=?", args->decision);
        index_query_tail(&query, "ORDER BY created_at DESC, review_id DESC");
        return index_run_list(reading, &query, args->workspace_dir, args->limit, names);
}

int op_agentcompany_index_list_reviews(Call *call, Workspace *workspace,
                                       const AgentcompanyIndexListReviewsArgs *args) {
        return index_read_call(call, workspace, index_run_list_reviews, &args->carry);
}

static int index_run_list_help(Reading *reading, const Carry *carry) {
        static const char *const names[] = {"help_request_id", "created_at",    "title",
                                            "visibility",      "requester",     "target_manager",
                                            "project_id",      "share_pack_id", NULL};
        const AgentcompanyIndexListHelpRequestsArgs *args =
                container_of(carry, AgentcompanyIndexListHelpRequestsArgs, carry);
        IndexQuery query;

        index_query_init(&query, reading->arena, "SELECT * FROM help_requests");
        index_query_str(&query, "target_manager=?", args->target_manager);
        index_query_str(&query, "project_id=?", args->project_id);
        index_query_tail(&query, "ORDER BY created_at DESC, help_request_id DESC");
        return index_run_list(reading, &query, args->workspace_dir, args->limit, names);
}

int op_agentcompany_index_list_help_requests(Call *call, Workspace *workspace,
                                             const AgentcompanyIndexListHelpRequestsArgs *args) {
        return index_read_call(call, workspace, index_run_list_help, &args->carry);
}
