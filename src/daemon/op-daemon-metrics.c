/* SPDX-License-Identifier: MIT */
/* daemon.metrics, and so GET /metrics: what the daemon counts. No label has a value that others can make more and more of: agents, sessions
 * and tasks have no names here; models are told apart up to USAGE_MODELS_MAX. */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "core/agents/agents.h"
#include "core/attention/attention.h"
#include "core/client.h"
#include "core/daemon.h"
#include "core/endpoint.h"
#include "core/limits/limits.h"
#include "base/metrics.h"
#include "core/usage/usage-book.h"
#include "core/version.h"
#include "gen/native-ops.h"

static void metrics_one(Metrics *m, const char *name, const char *type, const char *help, double value) {
        metrics_family(m, name, type, help);
        metrics_sample(m, NULL, value);
}

static void metrics_daemon(Metrics *m, const Daemon *daemon) {
        const LoopHeld *longest = loop_longest(daemon->loop);

        metrics_family(m, "muster_info", "gauge", "The version of the daemon, as a label.");
        metrics_sample(m, METRIC_LABELS({"version", str_from(MUSTER_VERSION)}), 1);
        metrics_one(m, "muster_start_time_seconds", "gauge", "When the daemon began, in seconds since 1970.",
                    (double)daemon->started_us / 1e6);
        metrics_one(m, "muster_connections", "gauge", "Connections that are open.",
                    (double)daemon->shared.n_open);
        metrics_one(m, "muster_connections_accepted_total", "counter", "Connections that were accepted.",
                    (double)daemon->shared.n_accepted);
        metrics_one(m, "muster_loop_held_total", "counter", "Turns of the loop that took too long.",
                    (double)loop_n_held(daemon->loop));
        metrics_one(m, "muster_loop_longest_seconds", "gauge",
                    "The longest turn of the loop; 0: none was long.",
                    longest ? (double)longest->wall_us / 1e6 : 0);
        metrics_one(m, "muster_ledger_commits_total", "counter", "Commits of ledgers.",
                    (double)daemon->ledgers.n_commits);
        metrics_one(m, "muster_ledger_lines_total", "counter", "Lines that were committed to ledgers.",
                    (double)daemon->ledgers.n_lines);
        metrics_one(m, "muster_ledger_syncs_total", "counter", "Syncs of ledgers to the disk.",
                    (double)daemon->ledgers.n_syncs);
        metrics_one(m, "muster_attention_open", "gauge", "Items that wait for a person.",
                    daemon->attention ? (double)attention_n_open(daemon->attention) : 0);
}

/* Several endpoints of one kind are one sample. */
static void metrics_endpoints(Metrics *m, const Daemon *daemon) {
        metrics_family(m, "muster_endpoint_clients", "gauge", "Clients of each kind of endpoint.");
        for (const Endpoint *e = daemon->endpoints; e; e = e->next) {
                const Endpoint *first = daemon->endpoints;
                size_t n = 0;

                while (strcmp(first->type->name, e->type->name) != 0)
                        first = first->next;
                if (first != e)
                        continue;
                for (; first; first = first->next)
                        n += strcmp(first->type->name, e->type->name) ? 0 : first->n_clients;
                metrics_sample(m, METRIC_LABELS({"endpoint", str_from(e->type->name)}), (double)n);
        }
}

static void metrics_hosted(Metrics *m, const Daemon *daemon) {
        static const char *const owners[] = {"sessions", "collab", "tasks", "company"};
        static const char *const states[] = {"starting", "running", "ending", "ended",
                                             "failed",   "lost",    "foreign"};
        unsigned n[ARRAY_SIZE(owners)][ARRAY_SIZE(states)] = {0}, agents[_AGENT_STATES] = {0};

        for (Hosted *h = daemon->host ? host_first(daemon->host) : NULL; h; h = h->next) {
                for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
                        for (size_t k = 0; k < ARRAY_SIZE(states); k++)
                                n[i][k] += !strcmp(h->owner, owners[i]) &&
                                           !strcmp(hosted_state_name(h), states[k]);
                if (agent_of(h))
                        agents[agent_of(h)->state.kind]++;
        }
        metrics_family(m, "muster_processes", "gauge",
                       "Hosted processes, by who they belong to and their state.");
        for (size_t i = 0; i < ARRAY_SIZE(owners); i++)
                for (size_t k = 0; k < ARRAY_SIZE(states); k++)
                        if (n[i][k] || k == 1)
                                metrics_sample(m,
                                               METRIC_LABELS({"owner", str_from(owners[i])},
                                                             {"state", str_from(states[k])}),
                                               n[i][k]);
        metrics_family(m, "muster_agents", "gauge", "Hosted processes, by what they do.");
        for (size_t i = 0; i < _AGENT_STATES; i++)
                metrics_sample(m, METRIC_LABELS({"state", str_from(agent_state_name((AgentStateKind)i))}),
                               agents[i]);
}

static void metrics_tokens(Metrics *m, const Daemon *daemon) {
        size_t n;
        const UsageModel *models = usage_book_models(daemon->usage, &n);
        UsageFiles files = usage_book_files(daemon->usage);

        metrics_family(
                m, "muster_tokens_total", "counter",
                "Tokens that transcripts of agents told of since the daemon began; out has reasoning.");
        for (size_t i = 0; i < n; i++) {
                const struct {
                        const char *kind;
                        int64_t n;
                } kinds[] = {{"in", models[i].tokens.in},
                             {"cached", models[i].tokens.cached},
                             {"cache_write", models[i].tokens.cache_write},
                             {"out", models[i].tokens.out}};

                for (size_t k = 0; k < ARRAY_SIZE(kinds); k++)
                        metrics_sample(m,
                                       METRIC_LABELS({"runtime", models[i].runtime},
                                                     {"model", models[i].model},
                                                     {"kind", str_from(kinds[k].kind)}),
                                       (double)kinds[k].n);
        }
        metrics_one(m, "muster_transcripts_refused_total", "counter",
                    "Transcripts that were named and not read.", (double)files.n_refused);
        metrics_one(m, "muster_transcript_lines_skipped_total", "counter",
                    "Lines of transcripts that were too long.", (double)files.n_skipped);
}

static void metrics_limits(Metrics *m, const Daemon *daemon) {
        LimitTotals totals = limits_totals(daemon->limits);
        const struct {
                const char *outcome;
                uint64_t n;
        } outcomes[] = {{"resumed", totals.n_resumed}, {"asked", totals.n_asked}, {"left", totals.n_left}};

        metrics_one(m, "muster_accounts_limited", "gauge", "Accounts of which a limit is reached.",
                    (double)limits_n_held(daemon->limits));
        metrics_family(m, "muster_limits_seen_total", "counter",
                       "What was told of limits of accounts, by who told it.");
        for (size_t i = 0; i < _LIMIT_SOURCES; i++)
                metrics_sample(m, METRIC_LABELS({"source", str_from(limit_source_name((LimitSource)i))}),
                               (double)totals.n_seen[i]);
        metrics_family(m, "muster_limit_resumes_total", "counter",
                       "Agents whose limit was over, by what became of them.");
        for (size_t i = 0; i < ARRAY_SIZE(outcomes); i++)
                metrics_sample(m, METRIC_LABELS({"outcome", str_from(outcomes[i].outcome)}),
                               (double)outcomes[i].n);
}

int op_native_daemon_metrics(Call *call, _unused_ const NativeDaemonMetricsArgs *args) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Metrics metrics = {.out = &text};
        JsonWriter *w;

        metrics_daemon(&metrics, call->daemon);
        metrics_endpoints(&metrics, call->daemon);
        metrics_hosted(&metrics, call->daemon);
        if (call->daemon->usage)
                metrics_tokens(&metrics, call->daemon);
        if (call->daemon->limits)
                metrics_limits(&metrics, call->daemon);
        if (metrics.failed)
                return error_origin(-ENOMEM);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "type", METRICS_TYPE);
        jw_field_str(w, "text", buf_str(&text));
        jw_end_object(w);
        return 0;
}
