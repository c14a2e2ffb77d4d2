/* SPDX-License-Identifier: MIT */
/* The tables of the contract, with names and columns that other programs know, and those of ours. */
#include "base/error.h"
#include "company/index/index-internal.h"

const char index_schema[] =
        "CREATE TABLE runs(project_id TEXT NOT NULL, run_id TEXT NOT NULL, created_at TEXT, status TEXT,"
        " provider TEXT, agent_id TEXT, context_pack_id TEXT, events_relpath TEXT, usage_total_tokens "
        "INTEGER,"
        " usage_cost_usd REAL, usage_source TEXT, usage_confidence TEXT, context_cycles_count INTEGER,"
        " context_cycles_source TEXT, spec_model TEXT, spec_task_id TEXT, spec_milestone_id TEXT,"
        " PRIMARY KEY(project_id, run_id));"
        "CREATE TABLE events(project_id TEXT NOT NULL, run_id TEXT NOT NULL, seq INTEGER NOT NULL,"
        " type TEXT NOT NULL, ts_wallclock TEXT, ts_monotonic_ms INTEGER, actor TEXT, session_ref TEXT,"
        " visibility TEXT, payload_json TEXT NOT NULL, raw_json TEXT NOT NULL,"
        " PRIMARY KEY(project_id, run_id, seq));"
        "CREATE TABLE event_parse_errors(project_id TEXT NOT NULL, run_id TEXT NOT NULL, seq INTEGER NOT "
        "NULL,"
        " error TEXT NOT NULL, raw_line TEXT NOT NULL, PRIMARY KEY(project_id, run_id, seq));"
        "CREATE TABLE artifacts(project_id TEXT NOT NULL, artifact_id TEXT NOT NULL, type TEXT NOT NULL,"
        " title TEXT, visibility TEXT, produced_by TEXT, run_id TEXT, context_pack_id TEXT, created_at TEXT,"
        " relpath TEXT NOT NULL, PRIMARY KEY(project_id, artifact_id));"
        "CREATE TABLE reviews(review_id TEXT NOT NULL PRIMARY KEY, created_at TEXT, decision TEXT,"
        " actor_id TEXT, actor_role TEXT, subject_kind TEXT, subject_artifact_id TEXT, project_id TEXT,"
        " notes TEXT);"
        "CREATE TABLE help_requests(help_request_id TEXT NOT NULL PRIMARY KEY, created_at TEXT, title TEXT,"
        " visibility TEXT, requester TEXT, target_manager TEXT, project_id TEXT, share_pack_id TEXT);"
        "CREATE TABLE conversations(conversation_id TEXT NOT NULL PRIMARY KEY, scope TEXT, project_id TEXT,"
        " kind TEXT, name TEXT, slug TEXT, visibility TEXT, created_at TEXT, created_by TEXT,"
        " auto_generated INTEGER, dm_peer_agent_id TEXT);"
        "CREATE TABLE conversation_participants(conversation_id TEXT NOT NULL, participant_kind TEXT NOT "
        "NULL,"
        " participant_id TEXT NOT NULL, PRIMARY KEY(conversation_id, participant_kind, participant_id));"
        "CREATE TABLE messages(message_id TEXT NOT NULL PRIMARY KEY, conversation_id TEXT NOT NULL,"
        " project_id TEXT, seq INTEGER, created_at TEXT, author_id TEXT, author_role TEXT, kind TEXT,"
        " visibility TEXT, body TEXT, mentions_json TEXT);"
        "CREATE TABLE tasks(project_id TEXT NOT NULL, task_id TEXT NOT NULL, title TEXT, status TEXT,"
        " visibility TEXT, team_id TEXT, assignee_agent_id TEXT, created_at TEXT, schedule_planned_start "
        "TEXT,"
        " schedule_planned_end TEXT, schedule_duration_days INTEGER, schedule_depends_on_json TEXT,"
        " execution_preferred_provider TEXT, execution_preferred_model TEXT,"
        " execution_preferred_agent_id TEXT, execution_token_budget_hint INTEGER, execution_applied_by TEXT,"
        " execution_applied_at TEXT, progress_ratio REAL, relpath TEXT, PRIMARY KEY(project_id, task_id));"
        "CREATE TABLE task_milestones(project_id TEXT NOT NULL, task_id TEXT NOT NULL,"
        " milestone_id TEXT NOT NULL, seq INTEGER, title TEXT, kind TEXT, status TEXT,"
        " acceptance_criteria_json TEXT, evidence_requires_patch INTEGER, evidence_requires_tests INTEGER,"
        " PRIMARY KEY(project_id, task_id, milestone_id));"
        "CREATE TABLE agent_counters(agent_id TEXT NOT NULL PRIMARY KEY, name TEXT, role TEXT, provider "
        "TEXT,"
        " model_hint TEXT, team_id TEXT, total_runs INTEGER, running_runs INTEGER, ended_runs INTEGER,"
        " failed_runs INTEGER, stopped_runs INTEGER, total_tokens INTEGER, total_cost_usd REAL,"
        " context_cycles_count INTEGER, context_cycles_known_runs INTEGER,"
        " context_cycles_unknown_runs INTEGER);"
        "CREATE TABLE muster_agents(agent_id TEXT NOT NULL PRIMARY KEY, name TEXT, role TEXT, provider TEXT,"
        " model_hint TEXT, team_id TEXT);"
        "CREATE TABLE muster_sessions(name TEXT NOT NULL PRIMARY KEY, project_id TEXT NOT NULL,"
        " run_id TEXT NOT NULL, status TEXT NOT NULL, started_ms INTEGER NOT NULL, record_json TEXT NOT "
        "NULL);"
        "CREATE TABLE muster_jobs(project_id TEXT NOT NULL, job_id TEXT NOT NULL, status TEXT NOT NULL,"
        " PRIMARY KEY(project_id, job_id)) WITHOUT ROWID;"
        "CREATE TABLE muster_comments(name TEXT NOT NULL PRIMARY KEY, project_id TEXT NOT NULL, agent_id "
        "TEXT,"
        " artifact_id TEXT, run_id TEXT, comment_json TEXT NOT NULL);"
        "CREATE TABLE muster_sums(project_id TEXT NOT NULL, agent_id TEXT, provider TEXT, n_runs INTEGER,"
        " n_running INTEGER, n_ended INTEGER, n_failed INTEGER, n_stopped INTEGER, n_tokens INTEGER,"
        " n_picodollars INTEGER, n_cycles INTEGER, n_cycles_known INTEGER, n_cycles_unknown INTEGER);"
        "CREATE TABLE muster_pending(project_id TEXT NOT NULL, artifact_id TEXT NOT NULL, kind TEXT NOT "
        "NULL,"
        " PRIMARY KEY(project_id, artifact_id)) WITHOUT ROWID;"
        "CREATE TABLE muster_files(path TEXT NOT NULL PRIMARY KEY, item TEXT, inode INTEGER, n_size INTEGER,"
        " mtime_ns INTEGER, ctime_ns INTEGER, n_lines INTEGER, n_bytes INTEGER, tail INTEGER) WITHOUT ROWID;"
        "CREATE TABLE muster_meta(name TEXT NOT NULL PRIMARY KEY, value INTEGER) WITHOUT ROWID;";

/* Ours are for snapshots: the newest of a project, the sessions of a run, those that run, and the kinds of events
 * that are counted for every run. */
const char index_indexes[] =
        "CREATE INDEX idx_events_type ON events(type);"
        "CREATE INDEX idx_events_wallclock ON events(ts_wallclock DESC);"
        "CREATE INDEX idx_runs_created_at ON runs(created_at DESC);"
        "CREATE INDEX idx_runs_agent ON runs(agent_id);"
        "CREATE INDEX idx_reviews_created_at ON reviews(created_at DESC);"
        "CREATE INDEX idx_reviews_subject ON reviews(project_id, subject_artifact_id);"
        "CREATE INDEX idx_help_requests_created_at ON help_requests(created_at DESC);"
        "CREATE INDEX idx_artifacts_type ON artifacts(type);"
        "CREATE INDEX idx_messages_conversation ON messages(conversation_id, seq);"
        "CREATE INDEX muster_runs_newest ON runs(project_id, created_at DESC, run_id DESC);"
        "CREATE INDEX muster_runs_newest_of_all ON runs(created_at DESC, run_id DESC);"
        "CREATE INDEX muster_runs_running ON runs(project_id, run_id) WHERE status='running';"
        "CREATE INDEX muster_runs_of_task ON runs(project_id, spec_task_id) WHERE spec_task_id IS NOT NULL;"
        "CREATE INDEX muster_sums_of ON muster_sums(project_id, agent_id, provider);"
        "CREATE INDEX muster_sums_of_agent ON muster_sums(agent_id);"
        "CREATE INDEX muster_reviews_newest ON reviews(project_id, created_at DESC, review_id DESC);"
        "CREATE INDEX muster_reviews_newest_of_all ON reviews(created_at DESC, review_id DESC);"
        "CREATE INDEX muster_sessions_of_run ON muster_sessions(project_id, run_id, started_ms DESC);"
        "CREATE INDEX muster_sessions_running ON muster_sessions(started_ms DESC, name) WHERE "
        "status='running';"
        "CREATE INDEX muster_jobs_by_status ON muster_jobs(project_id, status);"
        "CREATE INDEX muster_comments_newest ON muster_comments(project_id, name DESC);"
        "CREATE INDEX muster_comments_of_run ON muster_comments(run_id, name DESC);"
        "CREATE INDEX muster_comments_of_agent ON muster_comments(agent_id, name DESC);"
        "CREATE INDEX muster_comments_of_artifact ON muster_comments(artifact_id, name DESC);"
        "CREATE INDEX muster_events_decided ON events(project_id, run_id, type, seq) WHERE type IN"
        " ('policy.decision','policy.denied','budget.decision','budget.alert','budget.exceeded',"
        "'usage.reported','usage.estimated');";

const char index_running[] = "SELECT count(*) FROM muster_sessions WHERE status='running'";

const char *const index_table_names[INDEX_N_TABLES] = {
        "runs",          "events",          "event_parse_errors", "artifacts",
        "reviews",       "help_requests",   "conversations",      "conversation_participants",
        "messages",      "tasks",           "task_milestones",    "agent_counters",
        "muster_agents", "muster_sessions", "muster_jobs",        "muster_comments",
        "muster_files"};

#define INDEX_OF_10 "?,?,?,?,?,?,?,?,?,?"
const char *const index_inserts[INDEX_N_TABLES] = {
        [INDEX_RUNS] = "INSERT OR IGNORE INTO runs VALUES(" INDEX_OF_10 ",?,?,?,?,?,?,?)",
        [INDEX_EVENTS] = "INSERT OR REPLACE INTO events VALUES(" INDEX_OF_10 ",?)",
        [INDEX_PARSE_ERRORS] = "INSERT OR REPLACE INTO event_parse_errors VALUES(?,?,?,?,?)",
        [INDEX_ARTIFACTS] = "INSERT OR IGNORE INTO artifacts VALUES(" INDEX_OF_10 ")",
        [INDEX_REVIEWS] = "INSERT OR IGNORE INTO reviews VALUES(?,?,?,?,?,?,?,?,?)",
        [INDEX_HELP_REQUESTS] = "INSERT OR IGNORE INTO help_requests VALUES(?,?,?,?,?,?,?,?)",
        [INDEX_CONVERSATIONS] = "INSERT OR IGNORE INTO conversations VALUES(" INDEX_OF_10 ",?)",
        [INDEX_PARTICIPANTS] = "INSERT OR IGNORE INTO conversation_participants VALUES(?,?,?)",
        [INDEX_MESSAGES] = "INSERT OR IGNORE INTO messages VALUES(" INDEX_OF_10 ",?)",
        [INDEX_TASKS] = "INSERT OR IGNORE INTO tasks VALUES(" INDEX_OF_10 "," INDEX_OF_10 ")",
        [INDEX_MILESTONES] = "INSERT OR IGNORE INTO task_milestones VALUES(" INDEX_OF_10 ")",
        [INDEX_AGENTS] = "INSERT OR IGNORE INTO muster_agents VALUES(?,?,?,?,?,?)",
        [INDEX_SESSIONS] = "INSERT OR IGNORE INTO muster_sessions VALUES(?,?,?,?,?,?)",
        [INDEX_JOBS] = "INSERT OR IGNORE INTO muster_jobs VALUES(?,?,?)",
        [INDEX_COMMENTS] = "INSERT OR IGNORE INTO muster_comments VALUES(?,?,?,?,?,?)",
        [INDEX_FILES] = "INSERT OR REPLACE INTO muster_files VALUES(?,?,?,?,?,?,?,?,?)",
};

int index_count(Sql *sql, int64_t n_total[INDEX_N_TABLES]) {
        static const char *const texts[INDEX_N_TABLES] = {
                "SELECT count(*) FROM runs",
                "SELECT count(*) FROM events",
                "SELECT count(*) FROM event_parse_errors",
                "SELECT count(*) FROM artifacts",
                "SELECT count(*) FROM reviews",
                "SELECT count(*) FROM help_requests",
                "SELECT count(*) FROM conversations",
                "SELECT count(*) FROM conversation_participants",
                "SELECT count(*) FROM messages",
                "SELECT count(*) FROM tasks",
                "SELECT count(*) FROM task_milestones",
                "SELECT count(*) FROM agent_counters",
                "SELECT count(*) FROM muster_agents",
                "SELECT count(*) FROM muster_sessions",
                "SELECT count(*) FROM muster_jobs",
                "SELECT count(*) FROM muster_comments",
                "SELECT count(*) FROM muster_files",
        };
        int r = 0;

        for (unsigned i = 0; !r && i < INDEX_N_TABLES; i++)
                r = sql_number(sql, texts[i], &n_total[i]);
        return r;
}
