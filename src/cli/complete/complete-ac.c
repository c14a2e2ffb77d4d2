/* SPDX-License-Identifier: MIT */
/*
 * Completion of `ac`: commands and options from its own table, what they are for and which values they take
 * from the declarations of the methods, ids from the names of files in the workspace that the line names.
 * No daemon is asked.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/macro.h"
#include "cli/ac/ac.h"
#include "cli/call/opdoc.h"
#include "cli/complete/candidate.h"
#include "cli/complete/complete.h"

typedef struct AcLine {
        const AcCommand *command;
        const OpDoc *doc;        /* of its method; NULL: --method says it */
        const char *current;     /* the word being written */
        const AcOption *waiting; /* the option whose value it is; NULL: none */
        const char *workspace, *project;
        size_t n_operands;
} AcLine;

/* ---- ids ------------------------------------------------------------------------------------- */

typedef struct AcIds {
        const char *param;
        const char *folder;    /* below the workspace, or with is_of_project below the project */
        const char *extension; /* of the files; NULL: they are folders */
        bool is_of_project;
} AcIds;

static const AcIds ids_of[] = {
        {"project_id", "work/projects", NULL, false},
        {"agent_id", "org/agents", NULL, false},
        {"worker_agent_id", "org/agents", NULL, false},
        {"assignee_agent_id", "org/agents", NULL, false},
        {"target_agent_id", "org/agents", NULL, false},
        {"team_id", "org/teams", NULL, false},
        {"actor_team_id", "org/teams", NULL, false},
        {"run_id", "runs", NULL, true},
        {"target_run_id", "runs", NULL, true},
        {"task_id", "tasks", ".md", true},
        {"artifact_id", "artifacts", ".md", true},
        {"target_artifact_id", "artifacts", ".md", true},
        {"report_artifact_id", "artifacts", ".md", true},
};

static char *ac_ids_folder(const AcLine *line, const AcIds *ids) {
        _cleanup_(freep) char *projects = NULL, *project = NULL;

        if (!line->workspace || (ids->is_of_project && !line->project))
                return NULL;
        if (!ids->is_of_project)
                return path_join(line->workspace, ids->folder);
        projects = path_join(line->workspace, "work/projects");
        project = projects ? path_join(projects, line->project) : NULL;
        return project ? path_join(project, ids->folder) : NULL;
}

static void ac_put_ids(const AcLine *line, const AcIds *ids) {
        _cleanup_(freep) char *folder = ac_ids_folder(line, ids);
        DIR *dir = folder ? opendir(folder) : NULL;
        size_t n_end = ids->extension ? strlen(ids->extension) : 0;

        for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
                Str name = str_from(entry->d_name);

                if (*name.data == '.' || name.n <= n_end ||
                    (n_end && strcmp(name.data + name.n - n_end, ids->extension) != 0))
                        continue;
                candidate_put(line->current, (Str){name.data, name.n - n_end}, STR_NULL);
        }
        if (dir)
                (void)closedir(dir);
}

/* ---- values ---------------------------------------------------------------------------------- */

static const OpDocParam *ac_param(const AcLine *line, const char *param) {
        return line->doc && param ? opdoc_param(line->doc, str_from(param)) : NULL;
}

static void ac_put_methods(const AcLine *line) {
        for (size_t i = 0; i < n_op_docs; i++)
                if (!strcmp(op_docs[i].dialect, "agentcompany"))
                        candidate_put(line->current, str_from(op_docs[i].name),
                                      str_from(op_docs[i].summary));
}

static void ac_put_value(const AcLine *line) {
        const AcOption *option = line->waiting;
        const OpDocParam *param = ac_param(line, option->param);

        if (option->kind == AC_PATH)
                puts(":folders");
        else if (option->kind == AC_PROGRAM || ac_takes_command(option))
                puts(":programs");
        else if (option->kind == AC_FILE)
                puts(":files");
        else if (option->kind == AC_MUST && !option->param)
                ac_put_methods(line);
        for (size_t i = 0; param && param->words && param->words[i]; i++)
                candidate_put(line->current, str_from(param->words[i]), STR_NULL);
        for (size_t i = 0; option->param && i < ARRAY_SIZE(ids_of); i++)
                if (!strcmp(option->param, ids_of[i].param))
                        ac_put_ids(line, &ids_of[i]);
}

/* A word without an option: a folder, unless the method knows the values of its parameter, or it is not sent. */
static void ac_put_operand(const AcLine *line) {
        const char *operand = line->command->operands[line->n_operands];
        const OpDocParam *param = ac_param(line, operand);

        if (*operand == '.')
                puts(":files");
        else if (!param || !param->words)
                puts(":folders");
        for (size_t i = 0; param && param->words && param->words[i]; i++)
                candidate_put(line->current, str_from(param->words[i]), STR_NULL);
}

/* What an option is for, or else the parameter that it becomes. */
static void ac_put_options(const AcLine *line) {
        for (size_t i = 0; i < AC_OPTIONS_MAX && line->command->options[i].flag; i++) {
                const AcOption *option = &line->command->options[i];
                const OpDocParam *param = ac_param(line, option->param);
                const char *text = param && param->summary && *param->summary ? param->summary
                                   : option->param           ? option->param + (*option->param == '.')
                                   : option->kind == AC_JSON ? "the parameters, as a JSON object"
                                                             : "the method that is called";

                candidate_put(line->current, str_from(option->flag), str_from(text));
        }
}

/* ---- the line -------------------------------------------------------------------------------- */

static const OpDoc *ac_doc(const AcCommand *command) {
        char name[128];

        if (!command->method)
                return NULL;
        (void)snprintf(name, sizeof(name), "%s.%s",
                       ac_is_native(command->method) ? "native" : "agentcompany", command->method);
        return opdoc_find(name);
}

static void ac_put_commands(const char *current) {
        candidate_put(current, STR("server:start"), STR("Lines of JSON-RPC on stdin and stdout."));
        for (size_t i = 0; i < n_ac_commands; i++) {
                const OpDoc *doc = ac_doc(&ac_commands[i]);

                candidate_put(current, str_from(ac_commands[i].name),
                              str_from(doc ? doc->summary : "One call; prints its result."));
        }
        candidate_put_words(current, "help --help --version");
}

/* One word that stands before the one being written. */
static void ac_line_read(AcLine *line, const char *word) {
        const AcOption *waiting = line->waiting;

        if (*word == '-' && word[1] == '-') {
                const AcOption *option = ac_find_option(line->command, word);

                line->waiting = option && option->kind != AC_YES && option->kind != AC_NO ? option : NULL;
                return;
        }
        if (!waiting) {
                const char *operand = line->n_operands < AC_OPERANDS_MAX
                                              ? line->command->operands[line->n_operands]
                                              : NULL;

                if (operand && !strcmp(operand, "workspace_dir"))
                        line->workspace = word;
                line->n_operands++;
                return;
        }
        if (waiting->param && !strcmp(waiting->param, "project_id"))
                line->project = word;
        if (waiting->kind != AC_WORDS)
                line->waiting = NULL;
}

static void ac_complete_line(const AcCommand *command, int n, char **words) {
        AcLine line = {.command = command, .doc = ac_doc(command), .current = words[n - 1]};

        for (int i = 0; i < n - 1; i++)
                ac_line_read(&line, words[i]);
        if (line.waiting && *line.current != '-')
                ac_put_value(&line);
        else if (line.n_operands < AC_OPERANDS_MAX && command->operands[line.n_operands] &&
                 *line.current != '-')
                ac_put_operand(&line);
        else
                ac_put_options(&line);
}

int complete_ac(int n, char **words) {
        const AcCommand *command = n > 1 ? ac_find_command(words[0]) : NULL;

        if (command)
                ac_complete_line(command, n - 1, words + 1);
        else if (n <= 1)
                ac_put_commands(n ? words[n - 1] : "");
        return CLI_OK;
}
