/* SPDX-License-Identifier: MIT */
/*
 * What dashboards would else add up over everything that is stored: sums of runs by project, agent and provider, and
 * which artifacts wait for a decision. Triggers keep both, so that they are right within the transaction that
 * changes a run, whoever does that; the counters of agents, which other programs know, are made from the sums. Money
 * is counted in whole picodollars: fractions that are added and taken away again would leave crumbs, and a sync
 * would not give what a rebuild gives.
 */
#include "base/error.h"
#include "company/index/index-internal.h"

/* ---- runs ------------------------------------------------------------------------------------ */

#define SUMS_MONEY(row)   "CAST(round(coalesce(" row "usage_cost_usd,0)*1e12) AS INTEGER)"
#define SUMS_TOKENS(row)  "coalesce(" row "usage_total_tokens,0)"
#define SUMS_KNOWN(row)   "(" row "context_cycles_source IS 'provider_signal')"
#define SUMS_UNKNOWN(row) "coalesce(" row "context_cycles_source<>'provider_signal',0)"
#define SUMS_CYCLES(row)                                                                                    \
        "CASE WHEN " SUMS_KNOWN(row) " THEN coalesce(" row "context_cycles_count,0) ELSE 0 END"
/* SQL is laid out by hand: clang-format breaks strings with macros between them at every word. */
/* clang-format off */
#define SUMS_OF(row) \
        "project_id=" row "project_id AND agent_id IS " row "agent_id AND provider IS " row "provider"
#define SUMS_CHANGED(row, sign) \
        "UPDATE muster_sums SET n_runs=n_runs" sign "1," \
        " n_running=n_running" sign "(" row "status IS 'running')," \
        " n_ended=n_ended" sign "(" row "status IS 'ended')," \
        " n_failed=n_failed" sign "(" row "status IS 'failed')," \
        " n_stopped=n_stopped" sign "(" row "status IS 'stopped')," \
        " n_tokens=n_tokens" sign SUMS_TOKENS(row) "," \
        " n_picodollars=n_picodollars" sign SUMS_MONEY(row) "," \
        " n_cycles=n_cycles" sign SUMS_CYCLES(row) "," \
        " n_cycles_known=n_cycles_known" sign SUMS_KNOWN(row) "," \
        " n_cycles_unknown=n_cycles_unknown" sign SUMS_UNKNOWN(row) \
        " WHERE " SUMS_OF(row) ";"
#define SUMS_ADD \
        "INSERT INTO muster_sums SELECT new.project_id, new.agent_id, new.provider, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0" \
        " WHERE NOT EXISTS (SELECT 1 FROM muster_sums WHERE " SUMS_OF("new.") ");" \
        SUMS_CHANGED("new.", "+")
#define SUMS_TAKE \
        SUMS_CHANGED("old.", "-") \
        "DELETE FROM muster_sums WHERE n_runs=0 AND " SUMS_OF("old.") ";"

static const char sums_of_runs[] =
        "INSERT INTO muster_sums SELECT project_id, agent_id, provider, count(*), sum(status IS 'running'),"
        " sum(status IS 'ended'), sum(status IS 'failed'), sum(status IS 'stopped'),"
        " sum(" SUMS_TOKENS("") "), sum(" SUMS_MONEY("") "), sum(" SUMS_CYCLES("") "),"
        " sum(" SUMS_KNOWN("") "), sum(" SUMS_UNKNOWN("") ")"
        " FROM runs GROUP BY project_id, agent_id, provider;"
        "CREATE TRIGGER muster_runs_added AFTER INSERT ON runs BEGIN " SUMS_ADD " END;"
        "CREATE TRIGGER muster_runs_removed AFTER DELETE ON runs BEGIN " SUMS_TAKE " END;"
        "CREATE TRIGGER muster_runs_changed AFTER UPDATE ON runs BEGIN " SUMS_TAKE SUMS_ADD " END;";

/* ---- decisions ------------------------------------------------------------------------------- */

/* The kind of review that decides an artifact; NULL: none is needed. */
#define PENDING_KIND(row) \
        "CASE " row "type WHEN 'memory_delta' THEN 'memory_delta' WHEN 'milestone_report' THEN 'milestone'" \
        " WHEN 'heartbeat_action_proposal' THEN 'heartbeat_action' END"
#define PENDING_WAITS(row) \
        PENDING_KIND(row) " IS NOT NULL AND NOT EXISTS (SELECT 1 FROM reviews r" \
        " WHERE r.project_id=" row "project_id AND r.subject_artifact_id=" row "artifact_id" \
        " AND r.subject_kind=" PENDING_KIND(row) ")"

static const char sums_of_artifacts[] =
        "INSERT INTO muster_pending SELECT a.project_id, a.artifact_id, " PENDING_KIND("a.")
        " FROM artifacts a WHERE " PENDING_WAITS("a.") ";"
        "CREATE TRIGGER muster_artifacts_added AFTER INSERT ON artifacts BEGIN"
        " INSERT OR IGNORE INTO muster_pending SELECT new.project_id, new.artifact_id, " PENDING_KIND("new.")
        " WHERE " PENDING_WAITS("new.") "; END;"
        "CREATE TRIGGER muster_artifacts_removed AFTER DELETE ON artifacts BEGIN"
        " DELETE FROM muster_pending WHERE project_id=old.project_id AND artifact_id=old.artifact_id; END;"
        "CREATE TRIGGER muster_reviews_added AFTER INSERT ON reviews BEGIN"
        " DELETE FROM muster_pending WHERE project_id=new.project_id AND artifact_id=new.subject_artifact_id"
        " AND kind=new.subject_kind; END;"
        "CREATE TRIGGER muster_reviews_removed AFTER DELETE ON reviews BEGIN"
        " INSERT OR IGNORE INTO muster_pending SELECT a.project_id, a.artifact_id, " PENDING_KIND("a.")
        " FROM artifacts a WHERE a.project_id=old.project_id AND a.artifact_id=old.subject_artifact_id"
        " AND " PENDING_WAITS("a.") "; END;";

/* ---- agents ---------------------------------------------------------------------------------- */

/* Of agents that have a document, then of ids that stand in runs only. */
#define SUMS_COUNTED                                                                                        \
        "coalesce(sum(s.n_runs),0), coalesce(sum(s.n_running),0), coalesce(sum(s.n_ended),0),"              \
        " coalesce(sum(s.n_failed),0), coalesce(sum(s.n_stopped),0), coalesce(sum(s.n_tokens),0),"          \
        " round(coalesce(sum(s.n_picodollars),0)/1e12,6), coalesce(sum(s.n_cycles),0),"                     \
        " coalesce(sum(s.n_cycles_known),0), coalesce(sum(s.n_cycles_unknown),0)"
#define SUMS_OF_AGENTS                                                                                      \
        "INSERT INTO agent_counters SELECT a.agent_id, a.name, a.role, a.provider, a.model_hint, "          \
        "a.team_id, " SUMS_COUNTED " FROM muster_agents a LEFT JOIN muster_sums s ON s.agent_id=a.agent_id"
#define SUMS_OF_OTHERS                                                                                      \
        "INSERT INTO agent_counters SELECT s.agent_id, s.agent_id, 'worker', min(s.provider), NULL, "       \
        "NULL, " SUMS_COUNTED                                                                               \
        " FROM muster_sums s WHERE s.agent_id NOT IN (SELECT agent_id FROM muster_agents)"
/* clang-format on */

int index_sum_up(Sql *sql) {
        int r = sql_run(sql, sums_of_runs);

        return r ? r : sql_run(sql, sums_of_artifacts);
}

int index_count_agents(Sql *sql) {
        return sql_run(sql, "DELETE FROM agent_counters;" SUMS_OF_AGENTS
                            " GROUP BY a.agent_id;" SUMS_OF_OTHERS " GROUP BY s.agent_id");
}

int index_count_agent(Sql *sql, Str agent_id) {
        static const char *const texts[] = {"DELETE FROM agent_counters WHERE agent_id=?",
                                            SUMS_OF_AGENTS " WHERE a.agent_id=? GROUP BY a.agent_id",
                                            SUMS_OF_OTHERS " AND s.agent_id=? GROUP BY s.agent_id"};
        SqlStatement *statement = NULL;
        int r = 0;

        for (size_t i = 0; !r && i < ARRAY_SIZE(texts); i++) {
                r = sql_prepare(sql, texts[i], &statement);
                if (r)
                        break;
                sql_bind_str(statement, 0, agent_id);
                r = sql_finish(statement);
        }
        return r;
}
