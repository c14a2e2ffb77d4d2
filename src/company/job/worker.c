/* SPDX-License-Identifier: MIT */
#include "company/job/worker.h"

#include <strings.h>

#include "base/macro.h"

static bool worker_has_prefix(Str provider, Str kind) {
        return kind.n && provider.n >= kind.n && !strncasecmp(provider.data, kind.data, kind.n);
}

static const char *worker_kind_of(Str provider) {
        static const char *const kinds[] = {"codex", "claude", "gemini"};

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (worker_has_prefix(provider, str_from(kinds[i])))
                        return kinds[i];
        return NULL;
}

static Str worker_program(const Json *machine, const Worker *worker) {
        const Json *bins = json_get(machine, "provider_bins");
        Str bin = json_str(json_get_str(bins, worker->provider));

        if (!bin.n && worker->driver)
                bin = json_text_of(bins, worker->driver->name);
        return bin.n || !worker->driver ? bin : str_from(worker->driver->name);
}

static void worker_describe(const Json *agent, const Json *machine, Worker *ret) {
        *ret = (Worker){.agent_id = json_text_of(agent, "id"),
                        .provider = json_text_of(agent, "provider"),
                        .team_id = json_text_of(agent, "team_id"),
                        .model_hint = json_text_of(agent, "model_hint"),
                        .launcher = json_get(agent, "launcher")};
        ret->kind = str_from(worker_kind_of(ret->provider));
        ret->driver = driver_of_provider(ret->provider);
        ret->program = worker_program(machine, ret);
}

static bool worker_first(const Json *agents, const Json *machine, Str kind, Worker *ret) {
        json_each (agent, agents) {
                Str role = json_text_of(agent, "role");

                if ((str_is(role, "worker") || str_is(role, "manager")) &&
                    worker_has_prefix(json_text_of(agent, "provider"), kind)) {
                        worker_describe(agent, machine, ret);
                        return true;
                }
        }
        return false;
}

bool worker_get(const Json *agents, const Json *machine, Str agent_id, Worker *ret) {
        json_each (agent, agents)
                if (str_eq(json_text_of(agent, "id"), agent_id)) {
                        worker_describe(agent, machine, ret);
                        return true;
                }
        return false;
}

bool worker_choose(const Json *agents, const Json *machine, const Json *job, Worker *ret) {
        Str named = json_text_of(job, "worker_agent_id"), kind = json_text_of(job, "worker_kind");

        if (named.n)
                return worker_get(agents, machine, named, ret) && str_eq(ret->kind, kind);
        return worker_first(agents, machine, kind, ret);
}

bool worker_choose_other(const Json *agents, const Json *machine, Worker *ret) {
        return worker_first(agents, machine, STR("codex"), ret) ||
               worker_first(agents, machine, STR("claude"), ret);
}

bool worker_is_app_server(const Worker *worker) {
        return worker->driver && worker->driver->family == DRIVER_CODEX &&
               worker->provider.n > strlen("codex");
}

/* ---- cooling down ---------------------------------------------------------------------------- */

static bool worker_mentions(Str text, const char *word) {
        size_t n = strlen(word);

        for (size_t i = 0; i + n <= text.n; i++)
                if (!strncasecmp(text.data + i, word, n))
                        return true;
        return false;
}

int64_t worker_cool_down_ms(Str text, unsigned level) {
        static const struct {
                int64_t ms;
                const char *words[11];
        } kinds[] = {
                {300000,
                 {"rate limit", "rate_limit", "too many requests", "429", "quota exceeded", "backoff"}},
                {120000,
                 {"interactive prompt", "interactive mode", "not a tty", "not a terminal", "press enter",
                  "(y/n)", "[y/n]"}},
                {60000,
                 {"network error", "econnreset", "econnrefused", "enotfound", "etimedout",
                  "connection refused", "connection reset", "socket hang up", "could not resolve host",
                  "network is unreachable"}},
        };
        enum { WORKER_LEVEL_MAX = 6 };

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                for (const char *const *word = kinds[i].words; *word; word++)
                        if (worker_mentions(text, *word))
                                return MIN(kinds[i].ms << MIN(level, (unsigned)WORKER_LEVEL_MAX),
                                           (int64_t)30 * 60000);
        return 0;
}
