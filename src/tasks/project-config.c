/* SPDX-License-Identifier: MIT */
/*
 * .aiwg/daemon.json: written with the defaults when it is not there, taken as a whole when it is. Limits and
 * the agent are put in use here; rules, watcher and scheduler are a RuleSet for the engine.
 */
#define LOG_MODULE "tasks/config"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "core/runtimes.h"
#include "tasks/project.h"

enum {
        HEARTBEAT_S = 30,
        HEARTBEAT_MS_MIN = 100,
        HEARTBEAT_MS_MAX = 24 * 3600 * 1000,
        MAX_PARALLEL = 3,
        TIMEOUT_MIN = 120,
        MAX_QUEUE = 1000,
        LOG_MB = 50,
        LOG_FILES = 5
};

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

static double project_config_number_or(const Json *json, double fallback) {
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
        project->agent_command = command.data && command.n ? str_dup(command) : strdup("claude");
        strvec_deinit(&project->agent_args);
        json_each (item, json_get(daemon, "agent_args")) {
                _cleanup_(freep) char *arg = NULL;
                Str text = json_str(item);

                if (r || !text.data || !json_is(item, JSON_STRING))
                        continue;
                arg = str_dup(text);
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

static int project_config_take(Project *project, const Json *config) {
        const Json *daemon = json_get(config, "daemon");
        double seconds =
                project_config_number_or(json_get(daemon, "heartbeat_interval_seconds"), HEARTBEAT_S);
        double parallel = project_config_number_or(json_get(daemon, "max_parallel_actions"), MAX_PARALLEL);

        project->heartbeat_ms =
                (int64_t)MAX(MIN(seconds * 1000, (double)HEARTBEAT_MS_MAX), (double)HEARTBEAT_MS_MIN);
        project->max_parallel = (int64_t)MAX(MIN(parallel, 1000.0), 1.0);
        project->timeout_ms =
                MIN(project_config_number_or(json_get(daemon, "action_timeout_minutes"), TIMEOUT_MIN), 1e7) *
                60 * 1000;
        project->retention_days = (int64_t)MIN(limit_or(json_get(daemon, "task_retention_days"), 0), 1e6);
        project->max_queue = (uint64_t)MIN(limit_or(json_get(daemon, "max_queue_size"), MAX_QUEUE), 1e9);
        project_log_limits(
                &project->log,
                project_config_number_or(json_get(json_get(daemon, "log"), "max_size_mb"), LOG_MB),
                project_config_number_or(json_get(json_get(daemon, "log"), "max_files"), LOG_FILES));
        return error_trace(apply_agent(project, daemon));
}

/* ---- reading --------------------------------------------------------------------------------- */

void project_config_deinit(ProjectConfig *config) {
        rule_set_unref(config->rules);
        arena_deinit(&config->arena);
        buf_deinit(&config->text);
        free(config->real);
        *config = (ProjectConfig){0};
}

static int take_defaults(ProjectConfig *config) {
        config->is_default = true;
        return error_fold(json_parse(&config->arena, default_config, sizeof(default_config) - 1, NULL,
                                     &config->json, NULL));
}

static int project_config_wrong(ProjectConfig *config, const char *format, ...) {
        va_list args;

        va_start(args, format);
        vsnprintf(config->wrong, sizeof(config->wrong), format, args);
        va_end(args);
        return PROJECT_E_BAD_CONFIG;
}

int project_config_fetch(ProjectConfig *config, const char *path) {
        int r;

        if (stat(path, &config->seen)) /* before it is read: what changes meanwhile is noticed */
                config->seen = (struct stat){0};
        config->real = path_resolve(path);
        if (!config->real)
                return error_origin(-ENOMEM);
        r = file_read(path, RULE_CONFIG_BYTES, &config->text);
        config->is_missing = r == FILE_E_MISSING;
        config->is_too_large = r == FILE_E_TOO_LARGE;
        return r < 0 ? error_trace(r) : 0;
}

static int config_parse_text(ProjectConfig *config, const char *path, bool is_reload) {
        char why[RULE_WHY_MAX] = "too large";
        int r = config->is_too_large;

        if (config->is_missing)
                return is_reload ? project_config_wrong(config, "%s: it is not there", path)
                                 : take_defaults(config);
        if (!r)
                r = rule_config_parse(&config->arena, buf_str(&config->text), &config->json, why);
        if (r <= 0)
                return error_trace(r);
        (void)project_config_wrong(config, "%s: %s", path, why);
        /* The contract: the file is left alone, and the defaults hold. */
        return is_reload ? PROJECT_E_BAD_CONFIG : take_defaults(config);
}

/* The first error, in words, and how many more there are. */
static int refuse_rules(ProjectConfig *config, const char *path) {
        const RuleSet *rules = config->rules;

        for (size_t i = 0; i < rules->n_problems; i++)
                if (rules->problems[i].is_error)
                        return project_config_wrong(config, "%s: " STR_FMT " " STR_FMT " (errors: %zu)",
                                                    path, STR_ARG(rules->problems[i].where),
                                                    STR_ARG(rules->problems[i].what), rules->n_errors);
        return project_config_wrong(config, "%s: more than %d problems", path, RULE_PROBLEMS_MAX);
}

int project_config_parse(ProjectConfig *config, const char *path, bool is_reload) {
        const char *refused;
        int r = config_parse_text(config, path, is_reload);

        if (r)
                return r;
        refused = rule_config_refused(config->json);
        if (refused)
                return project_config_wrong(config, "%s: %s", path, refused);
        r = rule_set_new(&config->rules, config->json);
        if (!r && is_reload && config->rules->n_errors)
                return refuse_rules(config, path);
        return error_trace(r);
}

int project_config_read(ProjectConfig *config, const char *path, bool is_reload) {
        int r = project_config_fetch(config, path);

        return r ? error_trace(r) : project_config_parse(config, path, is_reload);
}

/* ---- in use ---------------------------------------------------------------------------------- */

static void log_problems(Project *project, const RuleSet *rules) {
        for (size_t i = 0; i < rules->n_problems; i++) {
                const RuleProblem *problem = &rules->problems[i];
                log_at(&project->daemon->log, problem->is_error ? LOG_WARNING : LOG_NOTICE, project->dir,
                       "daemon.json: " STR_FMT " " STR_FMT, STR_ARG(problem->where), STR_ARG(problem->what));
                project_log_line(&project->log, "daemon.json: " STR_FMT " " STR_FMT, STR_ARG(problem->where),
                                 STR_ARG(problem->what));
        }
}

int project_config_apply(Project *project, ProjectConfig *config) {
        int r;

        project->config_seen = config->seen;
        log_problems(project, config->rules);
        r = automation_configure(project->automation, steal(&config->rules));
        return error_trace(r ? r : project_config_take(project, config->json));
}

static int write_defaults(const Project *project, ProjectConfig *config) {
        Buf *text = &config->text;
        int r = json_write_pretty(text, config->json, 2);

        if (!r)
                r = buf_append_str(text, STR("\n"));
        if (!r)
                r = file_replace(project->config_path, buf_str(text), 0644, FILE_RUNTIME);
        config->is_missing = r;
        if (!r && stat(project->config_path, &config->seen))
                r = -errno;
        return error_fold(r);
}

/* In the place of what an agent may have written: what was accepted, or else the defaults. */
static int config_hold(const Project *project, ProjectConfig *config) {
        int r = project_config_judge(project, config);

        if (r != PROJECT_E_UNTRUSTED)
                return error_trace(r);
        config->is_held = true;
        config->text.n = 0;
        r = trust_read(project->daemon->trust, project->config_path, &config->text);
        config->is_missing = r == TRUST_E_NONE;
        config->is_too_large = false;
        return r < 0 ? error_trace(r) : 0;
}

int project_config_load(Project *project, char *reterr, size_t n_reterr) {
        _cleanup_(project_config_deinit)
                ProjectConfig config = {.moment = trust_moment(project->daemon->trust)};
        int r = project_config_fetch(&config, project->config_path);

        if (!r)
                r = config_hold(project, &config);
        if (!r)
                r = project_config_parse(&config, project->config_path, false);
        if (!r && config.is_default && config.is_missing && !config.is_held)
                r = write_defaults(project, &config);
        if (!r)
                r = project_config_apply(project, &config);
        project->is_untrusted = config.is_held;
        if (!r && !config.is_held)
                project_config_keep(project, &config);
        if (!r && config.wrong[0]) {
                const char *used =
                        config.is_held && !config.is_default ? "what was accepted before" : "the defaults";

                log_warning(&project->daemon->log, project->dir, "%s; %s hold%s", config.wrong, used,
                            *used == 'w' ? "s" : "");
                project_log_line(&project->log, "%s; %s hold%s", config.wrong, used,
                                 *used == 'w' ? "s" : "");
                automation_set_config_error(project->automation, config.wrong);
        }
        snprintf(reterr, n_reterr, "%s", config.wrong);
        return r;
}
