/* SPDX-License-Identifier: MIT */
/*
 * What is known of an agent, in a file: written by a worker, one at a time for each agent, the youngest state wins. Not synced.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/agents/agents-internal.h"

typedef struct AgentKeep { /* on a worker */
        Agents *agents;
        char id[17];
        char *path;
        Buf text;
} AgentKeep;

static char *keep_path(const Agent *agent) {
        char *path = NULL;

        return asprintf(&path, "%s/%s.json", agent->agents->dir, agent->hosted->id) < 0 ? NULL : path;
}

static void keep_free(AgentKeep *keep) {
        free(keep->path);
        buf_deinit(&keep->text);
        free(keep);
}

static AgentKeep *keep_new(const Agent *agent) {
        AgentKeep *keep = calloc(1, sizeof(*keep));
        JsonWriter w;

        if (!keep)
                return NULL;
        keep->agents = agent->agents;
        snprintf(keep->id, sizeof(keep->id), "%s", agent->hosted->id);
        keep->path = keep_path(agent);
        w = JSON_WRITER(&keep->text);
        jw_begin_object(&w);
        jw_field_bool(&w, "expects_hooks", agent->expects_hooks);
        jw_field_bool(&w, "has_heard", agent->has_heard);
        jw_field_uint(&w, "heard", agent->heard - agent->protocol.lines.rest.n); /* whole lines */
        jw_key(&w, "state");
        agent_state_write(&w, &agent->state);
        jw_key(&w, "facts");
        jw_begin_array(&w);
        for (size_t i = 0; i < agent_n_facts(agent); i++)
                agent_fact_write(&w, agent_fact_at(agent, i), 0);
        jw_end_array(&w);
        jw_end_object(&w);
        if (keep->path && !w.failed)
                return keep;
        keep_free(keep);
        return NULL;
}

static void keep_write(void *user) {
        AgentKeep *keep = user;

        (void)file_replace(keep->path, buf_str(&keep->text), 0600, FILE_RUNTIME);
}

static void keep_unlink(void *user) {
        AgentKeep *keep = user;

        (void)unlink(keep->path);
}

static void keep_unlinked(void *user) {
        keep_free(user);
}

static void keep_remove(AgentKeep *keep) {
        if (loop_work(keep->agents->daemon->loop, keep_unlink, keep_unlinked, keep))
                keep_free(keep); /* the next daemon removes it */
}

/* It may have been forgotten meanwhile: then what was just written goes. */
static void keep_written(void *user) {
        AgentKeep *keep = user;
        Host *host = keep->agents->daemon->host;
        Hosted *hosted = host ? host_find(host, str_from(keep->id)) : NULL;
        Agent *agent = hosted ? hosted->agent : NULL;

        if (agent) {
                agent->is_being_kept = false;
                if (agent->is_dirty)
                        agent_keep(agent, true);
        } else if (host && !keep->agents->daemon->is_stopping) {
                keep_remove(keep);
                return;
        }
        keep_free(keep);
}

static bool keep_is_worth(const Agent *agent) {
        return agent->is_told_of || agent->expects_hooks;
}

void agent_keep(Agent *agent, bool is_urgent) {
        AgentKeep *keep;

        if (!keep_is_worth(agent))
                return;
        agent->is_dirty = true;
        if (agent->is_being_kept)
                return;
        if (!is_urgent) {
                if (!timer_is_set(&agent->keep))
                        (void)timer_set(&agent->keep, AGENT_KEEP_MS);
                return;
        }
        timer_clear(&agent->keep);
        keep = keep_new(agent);
        if (!keep)
                return;
        if (loop_work(agent->agents->daemon->loop, keep_write, keep_written, keep)) {
                keep_free(keep);
                return;
        }
        agent->is_dirty = false;
        agent->is_being_kept = true;
}

void agent_keep_now(Agent *agent) {
        AgentKeep *keep = keep_new(agent);

        if (!keep)
                return;
        keep_write(keep);
        keep_free(keep);
}

void agent_keep_remove(Agent *agent) {
        AgentKeep *keep = agent->is_being_kept || !keep_is_worth(agent) ? NULL : calloc(1, sizeof(*keep));

        if (!keep)
                return;
        keep->agents = agent->agents;
        keep->path = keep_path(agent);
        if (keep->path)
                keep_remove(keep);
        else
                keep_free(keep);
}

bool agent_restore(Agent *agent) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        _cleanup_(freep) char *path = keep_path(agent);
        AgentState state;
        Json *json = NULL;

        if (!path || file_read(path, AGENT_FILE_MAX, &text) ||
            json_parse(&arena, text.data, text.n, NULL, &json, NULL) ||
            !agent_state_read(json_get(json, "state"), &state))
                return false;
        agent->state = state;
        agent->is_told_of = true;
        agent->n_facts = 0;
        agent->expects_hooks = json_truth_of(json, "expects_hooks");
        agent->has_heard = json_truth_of(json, "has_heard");
        (void)json_uint64(json_get(json, "heard"), &agent->heard);
        json_each (item, json_get(json, "facts")) {
                AgentFact fact;

                if (agent_fact_read(item, &fact))
                        agent_remember(agent, &fact);
        }
        return true;
}
