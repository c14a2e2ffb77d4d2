/* SPDX-License-Identifier: MIT */
/*
 * .aiwg/daemon.json: written with the defaults when it is not there, taken as a whole when it is. What is
 * read today are the limits and the heartbeat; rules, watcher and scheduler are checked for shape only.
 */
#define LOG_MODULE "tasks/config"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "core/runtimes.h"
#include "tasks/project.h"

enum { CONFIG_MAX = 4 << 20, HEARTBEAT_S = 30, MAX_PARALLEL = 3, TIMEOUT_MIN = 120, MAX_QUEUE = 1000 };

static const char default_config[] =
        "{\"daemon\":{\"heartbeat_interval_seconds\":30,\"max_parallel_actions\":3,\"action_timeout_"
        "minutes\":120,"
        "\"log\":{\"max_size_mb\":50,\"max_files\":5,\"level\":\"info\"}},"
        "\"watch\":{\"enabled\":true,\"paths\":["
        "{\"path\":\".aiwg/\",\"events\":[\"create\",\"modify\",\"delete\"],"
        "\"ignore\":[\"*.tmp\",\"working/**\",\"daemon/**\"]},"
        "{\"path\":\"src/\",\"events\":[\"modify\"],\"extensions\":[\".ts\",\".js\",\".mjs\"]},"
        "{\"path\":\"test/\",\"events\":[\"modify\"],\"extensions\":[\".test.ts\",\".test.js\"]}],"
        "\"debounce_ms\":2000},"
        "\"webhook\":{\"enabled\":false,\"port\":9471,\"host\":\"127.0.0.1\",\"secret_env\":\"AIWG_WEBHOOK_"
        "SECRET\","
        "\"endpoints\":[{\"path\":\"/ci\",\"method\":\"POST\"},{\"path\":\"/health\",\"method\":\"GET\"}]},"
        "\"schedule\":{\"enabled\":true,\"jobs\":["
        "{\"id\":\"health-check\",\"cron\":\"0 */6 * * *\",\"action\":\"doctor\"},"
        "{\"id\":\"artifact-audit\",\"cron\":\"0 9 * * 1\",\"action\":\"validate-metadata\"}]},"
        "\"rules\":[]}";

static bool is_enabled(const Json *section) {
        bool enabled = false;

        return json_bool(json_get(section, "enabled"), &enabled) && enabled;
}

/* What the original refuses to start with; NULL when all is well. */
static const char *check(const Json *config) {
        const Json *watch = json_get(config, "watch"), *webhook = json_get(config, "webhook");
        const Json *schedule = json_get(config, "schedule");
        int64_t port;

        if (!json_is(json_get(config, "daemon"), JSON_OBJECT))
                return "daemon: an object is required";
        if (is_enabled(watch) && !json_is(json_get(watch, "paths"), JSON_ARRAY))
                return "watch.paths: a list is required while watch.enabled is true";
        if (is_enabled(webhook) &&
            (!json_int64(json_get(webhook, "port"), &port) || port < 1 || port > 65535))
                return "webhook.port: 1 to 65535 is required while webhook.enabled is true";
        if (is_enabled(schedule) && !json_is(json_get(schedule, "jobs"), JSON_ARRAY))
                return "schedule.jobs: a list is required while schedule.enabled is true";
        return NULL;
}

static double number_or(const Json *json, double fallback) {
        double value;

        return json_double(json, &value) && value > 0 ? value : fallback;
}

/* daemon.agent_command, daemon.agent_args; the runtime follows from the command, or is named by
 * daemon.agent_runtime. */
static int apply_agent(Project *project, const Json *daemon) {
        Str command = json_str(json_get(daemon, "agent_command"));
        Str name = json_str(json_get(daemon, "agent_runtime"));
        int r = 0;

        free(project->agent_command);
        project->agent_command = command.n ? strndup(command.data, command.n) : strdup("claude");
        strvec_deinit(&project->agent_args);
        json_each (item, json_get(daemon, "agent_args")) {
                _cleanup_(freep) char *arg =
                        strndup(json_str(item).data ? json_str(item).data : "", json_str(item).n);
                if (!r && json_is(item, JSON_STRING))
                        r = arg ? strvec_push(&project->agent_args, arg) : -ENOMEM;
        }
        project->runtime = runtime_find(name);
        if (!project->runtime && project->agent_command)
                project->runtime = runtime_of_command(str_from(project->agent_command));
        return r || !project->agent_command ? error_origin(-ENOMEM) : 0;
}

/* Zero is a value here: no limit. */
static double limit_or(const Json *json, double fallback) {
        double value;

        return json_double(json, &value) && value >= 0 ? value : fallback;
}

static int apply(Project *project, const Json *config) {
        const Json *daemon = json_get(config, "daemon");
        double seconds = number_or(json_get(daemon, "heartbeat_interval_seconds"), HEARTBEAT_S);
        double parallel = number_or(json_get(daemon, "max_parallel_actions"), MAX_PARALLEL);

        project->heartbeat_ms = (int64_t)(MIN(seconds, 86400.0) * 1000);
        project->max_parallel = (int64_t)MAX(MIN(parallel, 1000.0), 1.0);
        project->timeout_ms =
                (int64_t)(MIN(number_or(json_get(daemon, "action_timeout_minutes"), TIMEOUT_MIN), 1e7) *
                          60000);
        project->retention_days = (int64_t)MIN(limit_or(json_get(daemon, "task_retention_days"), 0), 1e6);
        project->max_queue = (uint64_t)MIN(limit_or(json_get(daemon, "max_queue_size"), MAX_QUEUE), 1e9);
        if (json_count(json_get(config, "rules")))
                log_warning(&project->daemon->log, project->dir,
                            "rules are not run by this version count=%zu",
                            json_count(json_get(config, "rules")));
        return error_trace(apply_agent(project, daemon));
}

static int write_defaults(Project *project, Arena *arena, Json **ret) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = json_parse(arena, default_config, sizeof(default_config) - 1, NULL, ret, NULL);

        if (!r)
                r = json_write_pretty(&text, *ret, 2);
        if (!r)
                r = buf_append_str(&text, STR("\n"));
        if (!r)
                r = file_replace(project->config_path, buf_str(&text), 0644, FILE_RUNTIME);
        return error_fold(r);
}

int project_config_load(Project *project, char *reterr, size_t n_reterr) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonFault fault = {0};
        Json *config = NULL;
        const char *wrong;
        int r;

        r = file_read(project->config_path, CONFIG_MAX, &text);
        if (r < 0)
                return error_trace(r);
        if (r == FILE_E_MISSING) {
                r = write_defaults(project, &arena, &config);
                if (r)
                        return error_trace(r);
        } else if (r || json_parse(&arena, text.data, text.n, NULL, &config, &fault)) {
                /* The contract: not JSON is logged, the file is left alone, and the defaults hold. */
                log_warning(&project->daemon->log, project->dir,
                            "daemon.json is not valid JSON: %s at byte %zu", r ? "too large" : fault.what,
                            fault.offset);
                r = json_parse(&arena, default_config, sizeof(default_config) - 1, NULL, &config, NULL);
                if (r)
                        return error_fold(r);
        }
        wrong = check(config);
        if (wrong) {
                snprintf(reterr, n_reterr, "%s: %s", project->config_path, wrong);
                return PROJECT_E_BAD_CONFIG;
        }
        return error_trace(apply(project, config));
}
