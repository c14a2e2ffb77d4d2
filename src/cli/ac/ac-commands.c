/* SPDX-License-Identifier: MIT */
/*
 * Which commands `ac` has. Each row is one of the original's; what is preset stands there as it does in the
 * original where that differs from what the method itself presumes.
 */
#include <string.h>

#include "base/macro.h"
#include "cli/ac/ac.h"

#define WORKSPACE                                                                                           \
        { "workspace_dir" }

#define PROJECT                                                                                             \
        { "--project", "project_id", AC_TEXT, NULL }
#define MUST_PROJECT                                                                                        \
        { "--project", "project_id", AC_MUST, NULL }
#define MUST_ARTIFACT                                                                                       \
        { "--artifact", "artifact_id", AC_MUST, NULL }
#define LIMIT                                                                                               \
        { "--limit", "limit", AC_INT, "200" }
#define FORCE                                                                                               \
        { "--force", "force", AC_YES, NULL }
#define REFRESH                                                                                             \
        { "--refresh-index", "refresh_index", AC_YES, NULL }
#define NO_SYNC                                                                                             \
        { "--no-sync-index", "sync_index", AC_NO, NULL }
#define ACTOR                                                                                               \
        { "--actor", "actor_id", AC_TEXT, "human" }
#define ROLE                                                                                                \
        { "--role", "actor_role", AC_TEXT, "human" }
#define TEAM                                                                                                \
        { "--team", "actor_team_id", AC_TEXT, NULL }
#define NOTES                                                                                               \
        { "--notes", "notes", AC_TEXT, "" }
#define DECISION                                                                                            \
        { "--decision", "decision", AC_TEXT, "approved" }
#define MONITOR                                                                                             \
        { "--monitor-limit", "monitor_limit", AC_INT, NULL }
#define PENDING                                                                                             \
        { "--pending-limit", "pending_limit", AC_INT, NULL }
#define DECISIONS                                                                                           \
        { "--decisions-limit", "decisions_limit", AC_INT, NULL }
#define TARGETS                                                                                             \
        {"--target-agent", "target_agent_id", AC_TEXT, NULL},                                               \
                {"--target-artifact", "target_artifact_id", AC_TEXT, NULL}, {                               \
                "--target-run", "target_run_id", AC_TEXT, NULL                                              \
        }

const AcCommand ac_commands[] = {
        {"rpc:call",
         NULL,
         {NULL},
         {{"--method", NULL, AC_MUST, NULL}, {"--params", NULL, AC_JSON, NULL}},
         ac_show_json,
         NULL},

        {"workspace:init",
         "workspace.init",
         WORKSPACE,
         {{"--name", "company_name", AC_TEXT, NULL}, FORCE},
         ac_show_init,
         NULL},
        {"workspace:bootstrap",
         "company.bootstrap",
         WORKSPACE,
         {{"--name", "company_name", AC_TEXT, NULL},
          {"--project-name", "project_name", AC_TEXT, NULL},
          {"--departments", "departments", AC_WORDS, NULL},
          FORCE,
          {"--no-ceo", "include_ceo", AC_NO, NULL},
          {"--no-director", "include_director", AC_NO, NULL}},
         ac_show_json,
         NULL},
        {"workspace:validate", "workspace.validate", WORKSPACE, {{0}}, ac_show_valid, NULL},
        {"workspace:doctor",
         "workspace.doctor",
         WORKSPACE,
         {{"--rebuild-index", "rebuild_index", AC_YES, NULL}, {"--sync-index", "sync_index", AC_YES, NULL}},
         ac_show_verdict,
         "ok"},
        {"workspace:diagnostics",
         "workspace.diagnostics",
         {"workspace_dir", "out_dir"},
         {{"--rebuild-index", "rebuild_index", AC_YES, NULL}, NO_SYNC, MONITOR, PENDING, DECISIONS},
         ac_show_json,
         NULL},
        {"workspace:migrate",
         "workspace.migrate",
         WORKSPACE,
         {{"--dry-run", "dry_run", AC_YES, NULL}, FORCE},
         ac_show_json,
         NULL},
        {"workspace:export",
         "workspace.export",
         {"workspace_dir", "out_dir"},
         {{"--include-local", "include_local", AC_YES, NULL}, FORCE},
         ac_show_json,
         NULL},
        {"workspace:import",
         "workspace.import",
         {"src_dir", "workspace_dir"},
         {{"--include-local", "include_local", AC_YES, NULL}, FORCE},
         ac_show_verdict,
         "validation_ok"},

        {"team:new",
         "company.team.new",
         WORKSPACE,
         {{"--name", "name", AC_MUST, NULL}},
         ac_show_member,
         "team_id"},
        {"agent:new",
         "company.agent.new",
         WORKSPACE,
         {{"--name", "name", AC_MUST, NULL},
          {"--role", "role", AC_MUST, NULL},
          {"--provider", "provider", AC_MUST, NULL},
          {"--team", "team_id", AC_TEXT, NULL}},
         ac_show_member,
         "agent_id"},
        {"project:new",
         "company.project.new",
         WORKSPACE,
         {{"--name", "name", AC_MUST, NULL}},
         ac_show_member,
         "project_id"},
        {"task:new",
         "company.task.new",
         WORKSPACE,
         {MUST_PROJECT,
          {"--title", "title", AC_MUST, NULL},
          {"--visibility", "visibility", AC_TEXT, NULL},
          {"--team", "team_id", AC_TEXT, NULL},
          {"--assignee", "assignee_agent_id", AC_TEXT, NULL}},
         ac_show_member,
         "task_id"},
        {"task:add-milestone",
         "company.task.add_milestone",
         WORKSPACE,
         {MUST_PROJECT,
          {"--task", "task_id", AC_MUST, NULL},
          {"--title", "title", AC_MUST, NULL},
          {"--kind", "kind", AC_MUST, NULL},
          {"--status", "status", AC_TEXT, NULL},
          {"--accept", "acceptance_criteria", AC_WORDS, NULL}},
         ac_show_member,
         "milestone_id"},
        {"machine:set-repo",
         "company.machine.set_repo",
         WORKSPACE,
         {{"--repo", "repo_id", AC_MUST, NULL}, {"--path", "path", AC_PATH, NULL}},
         ac_show_word,
         "OK"},
        {"machine:set-provider-bin",
         "company.machine.set_provider_bin",
         WORKSPACE,
         {{"--provider", "provider", AC_MUST, NULL}, {"--path", "path", AC_PROGRAM, NULL}},
         ac_show_word,
         "OK"},

        {"agent:record-mistake",
         "agent.record_mistake",
         WORKSPACE,
         {{"--worker", "worker_agent_id", AC_MUST, NULL},
          {"--manager", "manager_actor_id", AC_MUST, NULL},
          {"--manager-role", "manager_role", AC_TEXT, "manager"},
          {"--key", "mistake_key", AC_MUST, NULL},
          {"--summary", "summary", AC_MUST, NULL},
          {"--rule", "prevention_rule", AC_MUST, NULL},
          PROJECT,
          {"--run", "run_id", AC_TEXT, NULL},
          {"--task", "task_id", AC_TEXT, NULL},
          {"--milestone", "milestone_id", AC_TEXT, NULL},
          {"--evidence", "evidence_artifact_ids", AC_WORDS, NULL},
          {"--threshold", "promote_threshold", AC_INT, NULL}},
         ac_show_json,
         NULL},
        {"agent:self-improve-cycle",
         "agent.self_improve_cycle",
         WORKSPACE,
         {MUST_PROJECT,
          {"--worker", "worker_agent_id", AC_MUST, NULL},
          {"--manager", "manager_actor_id", AC_MUST, NULL},
          {"--manager-role", "manager_role", AC_TEXT, "manager"},
          {"--key", "mistake_key", AC_MUST, NULL},
          {"--summary", "summary", AC_MUST, NULL},
          {"--rule", "prevention_rule", AC_MUST, NULL},
          {"--threshold", "proposal_threshold", AC_INT, NULL},
          {"--promote-threshold", "promote_threshold", AC_INT, NULL},
          {"--task", "task_id", AC_TEXT, NULL},
          {"--milestone", "milestone_id", AC_TEXT, NULL},
          {"--evidence", "evidence_artifact_ids", AC_WORDS, NULL},
          {"--repo", "evaluation_repo_id", AC_TEXT, NULL},
          {"--workdir", "evaluation_workdir_rel", AC_TEXT, NULL},
          {"--argv", "evaluation_argv", AC_REST, NULL}},
         ac_show_json,
         NULL},
        {"agent:refresh-context",
         "agent.refresh_context",
         WORKSPACE,
         {{"--agent", "agent_id", AC_MUST, NULL},
          PROJECT,
          {"--max-tasks", "max_tasks", AC_INT, NULL},
          {"--max-scope-paths", "max_scope_paths", AC_INT, NULL}},
         ac_show_json,
         NULL},

        {"run:new",
         "run.create",
         WORKSPACE,
         {MUST_PROJECT, {"--agent", "agent_id", AC_MUST, NULL}, {"--provider", "provider", AC_MUST, NULL}},
         ac_show_new_run,
         NULL},
        {"run:execute",
         "session.launch",
         WORKSPACE,
         {MUST_PROJECT,
          {"--run", "run_id", AC_MUST, NULL},
          {"--stdin-file", "stdin_text", AC_FILE, NULL},
          {"--repo", "repo_id", AC_TEXT, NULL},
          {"--subdir", "workdir_rel", AC_TEXT, NULL},
          {"--task", "task_id", AC_TEXT, NULL},
          {"--milestone", "milestone_id", AC_BESIDE, NULL},
          {"--argv", "argv", AC_COMMAND, NULL}},
         ac_show_exit,
         NULL},
        {"run:list", "run.list", WORKSPACE, {PROJECT}, ac_show_json, NULL},
        {"run:replay",
         "run.replay",
         WORKSPACE,
         {MUST_PROJECT,
          {"--run", "run_id", AC_MUST, NULL},
          {"--tail", "tail", AC_INT, NULL},
          {"--mode", "mode", AC_TEXT, "raw"}},
         ac_show_replay,
         NULL},
        {"sharepack:replay",
         "sharepack.replay",
         WORKSPACE,
         {MUST_PROJECT,
          {"--share", "share_pack_id", AC_MUST, NULL},
          {"--run", "run_id", AC_TEXT, NULL},
          {"--tail", "tail", AC_INT, NULL},
          {"--mode", "mode", AC_TEXT, "raw"}},
         ac_show_line,
         NULL},

        {"worktree:cleanup",
         "worktree.cleanup",
         WORKSPACE,
         {PROJECT,
          {"--max-age-hours", "max_age_hours", AC_INT, NULL},
          {"--dry-run", "dry_run", AC_YES, NULL}},
         ac_show_json,
         NULL},
        {"sharepack:create",
         "company.sharepack.create",
         WORKSPACE,
         {MUST_PROJECT, {"--by", "created_by", AC_TEXT, NULL}},
         ac_show_line,
         NULL},
        {"help:new",
         "company.help.new",
         WORKSPACE,
         {{"--title", "title", AC_MUST, NULL},
          {"--requester", "requester", AC_TEXT, "human"},
          {"--target", "target_manager", AC_MUST, NULL},
          PROJECT,
          {"--share", "share_pack_id", AC_TEXT, NULL},
          {"--visibility", "visibility", AC_TEXT, NULL}},
         ac_show_line,
         NULL},

        {"index:rebuild", "index.rebuild", WORKSPACE, {{0}}, ac_show_json, NULL},
        {"index:sync", "index.sync", WORKSPACE, {{0}}, ac_show_json, NULL},
        {"index:stats", "index.stats", WORKSPACE, {{0}}, ac_show_json, NULL},
        {"index:runs",
         "index.list_runs",
         WORKSPACE,
         {PROJECT, {"--status", "status", AC_TEXT, NULL}, LIMIT},
         ac_show_json,
         NULL},
        {"index:reviews",
         "index.list_reviews",
         WORKSPACE,
         {PROJECT, {"--decision", "decision", AC_TEXT, NULL}, LIMIT},
         ac_show_json,
         NULL},
        {"index:help",
         "index.list_help_requests",
         WORKSPACE,
         {PROJECT, {"--target", "target_manager", AC_TEXT, NULL}, LIMIT},
         ac_show_json,
         NULL},
        {"index:events",
         "index.list_events",
         WORKSPACE,
         {PROJECT,
          {"--run", "run_id", AC_TEXT, NULL},
          {"--type", "type", AC_TEXT, NULL},
          {"--since-seq", "since_seq", AC_INT, NULL},
          LIMIT,
          {"--order", "order", AC_TEXT, NULL}},
         ac_show_json,
         NULL},
        {"index:event-errors",
         "index.list_event_parse_errors",
         WORKSPACE,
         {PROJECT, {"--run", "run_id", AC_TEXT, NULL}, LIMIT},
         ac_show_json,
         NULL},

        {"monitor:runs",
         "monitor.snapshot",
         WORKSPACE,
         {PROJECT, LIMIT, REFRESH, NO_SYNC},
         ac_show_json,
         NULL},
        {"inbox:snapshot",
         "inbox.snapshot",
         WORKSPACE,
         {PROJECT, PENDING, DECISIONS, REFRESH, NO_SYNC},
         ac_show_json,
         NULL},
        {"inbox:resolve",
         "inbox.resolve",
         WORKSPACE,
         {MUST_PROJECT, MUST_ARTIFACT, DECISION, ACTOR, ROLE, TEAM, NOTES},
         ac_show_json,
         NULL},
        {"ui:snapshot",
         "ui.snapshot",
         WORKSPACE,
         {PROJECT, MONITOR, PENDING, DECISIONS, REFRESH, NO_SYNC},
         ac_show_json,
         NULL},
        {"ui:resolve",
         "ui.resolve",
         WORKSPACE,
         {MUST_PROJECT, MUST_ARTIFACT, DECISION, ACTOR, ROLE, TEAM, NOTES, MONITOR, PENDING, DECISIONS,
          REFRESH, NO_SYNC},
         ac_show_json,
         NULL},

        {"comment:add",
         "comment.add",
         WORKSPACE,
         {MUST_PROJECT,
          {"--author", "author_id", AC_TEXT, "human"},
          {"--role", "author_role", AC_TEXT, "manager"},
          {"--body", "body", AC_MUST, NULL},
          TARGETS,
          {"--visibility", "visibility", AC_TEXT, NULL}},
         ac_show_json,
         NULL},
        {"comment:list", "comment.list", WORKSPACE, {MUST_PROJECT, TARGETS, LIMIT}, ac_show_json, NULL},

        {"memory:delta",
         "memory.propose_delta",
         WORKSPACE,
         {MUST_PROJECT,
          {"--title", "title", AC_MUST, NULL},
          {"--target", "target_file", AC_TEXT, NULL},
          {"--under", "under_heading", AC_MUST, NULL},
          {"--insert", "insert_lines", AC_WORDS, NULL},
          {"--visibility", "visibility", AC_TEXT, "managers"},
          {"--by", "produced_by", AC_TEXT, "human"},
          {"--run", "run_id", AC_TEXT, "run_manual"},
          {"--ctx", "context_pack_id", AC_TEXT, "ctx_manual"},
          {"--evidence", "evidence", AC_WORDS, NULL}},
         ac_show_line,
         NULL},
        {"memory:approve",
         "memory.approve_delta",
         WORKSPACE,
         {MUST_PROJECT, MUST_ARTIFACT, ACTOR, ROLE, NOTES},
         ac_show_line,
         NULL},
        {"milestone:approve",
         "milestone.approve",
         WORKSPACE,
         {MUST_PROJECT,
          {"--task", "task_id", AC_MUST, NULL},
          {"--milestone", "milestone_id", AC_MUST, NULL},
          {"--report", "report_artifact_id", AC_MUST, NULL},
          ACTOR,
          ROLE,
          NOTES},
         ac_show_line,
         NULL},
        {"artifact:read",
         "artifact.read",
         WORKSPACE,
         {MUST_PROJECT, MUST_ARTIFACT, ACTOR, ROLE, TEAM, {"--run", "run_id", AC_TEXT, NULL}},
         ac_show_json,
         NULL},
        {"artifact:new",
         "company.artifact.new",
         {"type", ".file"},
         {{"--title", "title", AC_TEXT, NULL},
          {"--visibility", "visibility", AC_TEXT, NULL},
          {"--by", "produced_by", AC_TEXT, NULL},
          {"--run", "run_id", AC_TEXT, NULL},
          {"--ctx", "context_pack_id", AC_TEXT, NULL},
          {"--force", ".force", AC_YES, NULL}},
         ac_show_artifact,
         NULL},
};
const size_t n_ac_commands = ARRAY_SIZE(ac_commands);

const AcCommand *ac_find_command(const char *name) {
        for (size_t i = 0; i < n_ac_commands; i++)
                if (!strcmp(ac_commands[i].name, name))
                        return &ac_commands[i];
        return NULL;
}

const AcOption *ac_find_option(const AcCommand *command, const char *word) {
        size_t n_bytes = strcspn(word, "=");

        for (size_t i = 0; i < AC_OPTIONS_MAX && command->options[i].flag; i++)
                if (!strncmp(command->options[i].flag, word, n_bytes) && !command->options[i].flag[n_bytes])
                        return &command->options[i];
        return NULL;
}

const char *ac_find_next(const AcCommand *command) {
        return command->show == ac_show_exit ? "session.collect" : NULL;
}

const char *ac_operand_name(const AcCommand *command, size_t i) {
        const char *param = i < AC_OPERANDS_MAX ? command->operands[i] : NULL;

        return param && *param == '.' ? param + 1 : param;
}

/* ---- what is not there ----------------------------------------------------------------------- */

static const char *const web[] = {"ui:web", "ui:manager-dashboard"};
static const char *const never[] = {"pipeline:", "desktop:",      "artifact:fill", "artifact:validate",
                                    "demo:init", "task:validate", "help:validate", "milestone:report:new"};

static bool ac_is_among(const char *name, const char *const *names, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (!strncmp(name, names[i], strlen(names[i])) &&
                    (!name[strlen(names[i])] || names[i][strlen(names[i]) - 1] == ':'))
                        return true;
        return false;
}

const char *ac_why_not(const char *name) {
        if (ac_is_among(name, web, ARRAY_SIZE(web)))
                return "needs the web console, which is not there yet";
        return ac_is_among(name, never, ARRAY_SIZE(never)) ? "is not part of muster" : NULL;
}
