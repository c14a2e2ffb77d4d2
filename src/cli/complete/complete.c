/* SPDX-License-Identifier: MIT */
#include "cli/complete/complete.h"

#include <stdio.h>
#include <string.h>

#include "cli/call/opdoc.h"
#include "cli/commands.h"
#include "cli/complete/candidate.h"
#include "cli/complete/helptext.h"
#include "cli/complete/names.h"
#include "cli/options.h"
#include "cli/print/report.h"

typedef struct Line {
        const Command *command;
        const char *current;   /* the word being written */
        const char *waiting;   /* long name of the option whose value it is; NULL: none */
        const char *operand_0; /* the first one: a verb, or the operation of call */
        size_t n_operands;     /* before the current word */
        bool is_behind;        /* behind -- */
        size_t n_behind;
        Names names;
} Line;

/* ---- candidates ------------------------------------------------------------------------------ */

static void line_put(void *user, Str name, Str summary) {
        candidate_put(((const Line *)user)->current, name, summary);
}

static void line_put_words(const Line *line, const char *words) {
        candidate_put_words(line->current, words);
}

static void line_put_operations(const Line *line) {
        char name[256];

        for (size_t i = 0; i < n_op_docs; i++) {
                (void)snprintf(name, sizeof(name), "%s.%s", op_docs[i].dialect, op_docs[i].name);
                line_put((void *)line, str_from(name), str_from(op_docs[i].summary));
        }
}

static void line_put_dialects(const Line *line) {
        for (size_t i = 0; i < n_op_docs; i++)
                if (!i || strcmp(op_docs[i].dialect, op_docs[i - 1].dialect) != 0)
                        line_put((void *)line, str_from(op_docs[i].dialect), STR_NULL);
        line_put_operations(line);
}

/* call OPERATION KEY=… */
static void line_put_parameters(const Line *line) {
        const OpDoc *doc = line->operand_0 ? opdoc_find(line->operand_0) : NULL;
        char name[256];

        for (size_t i = 0; doc && i < doc->n_params; i++) {
                (void)snprintf(name, sizeof(name), "%s=", doc->params[i].name);
                line_put((void *)line, str_from(name), str_from(doc->params[i].summary ?: ""));
        }
        puts(":nospace");
}

static void line_put_sessions(const Line *line) {
        names_of_sessions(&line->names);
}

static void line_put_groups(const Line *line) {
        names_of_groups(&line->names);
}

static void line_put_actors(const Line *line) {
        names_of_actors(&line->names);
}

static void line_put_senders(const Line *line) {
        line_put_words(line, "user");
        names_of_actors(&line->names);
}

static void line_put_recipients(const Line *line) {
        line_put_words(line, "user @all @peers @foreman");
        names_of_actors(&line->names);
}

static void line_put_tasks(const Line *line) {
        names_of_tasks(&line->names);
}

static void line_put_rules(const Line *line) {
        names_of_rules(&line->names);
}

static void line_put_folders(_unused_ const Line *line) {
        puts(":folders");
}

static void line_put_files(_unused_ const Line *line) {
        puts(":files");
}

static void line_put_programs(_unused_ const Line *line) {
        puts(":programs");
}

static void line_put_commands(const Line *line) {
        for (size_t i = 0; i < n_commands(); i++)
                line_put((void *)line, str_from(command_at(i)->name), str_from(command_at(i)->summary));
}

/* ---- by what the help calls it --------------------------------------------------------------- */

typedef void (*LineFn)(const Line *line);

static const struct {
        const char *word; /* a placeholder of the help, or the long name of an option */
        LineFn put;
} places[] = {
        {"SESSION", line_put_sessions},
        {"GROUP", line_put_groups},
        {"ACTOR", line_put_actors},
        {"FOLDER", line_put_folders},
        {"DIR", line_put_folders},
        {"FILE", line_put_files},
        {"ID", line_put_tasks},
        {"TASK", line_put_tasks},
        {"RULE", line_put_rules},
        {"DIALECT.OP", line_put_operations},
        {"DIALECT[.OP]", line_put_dialects},
        {"COMMAND", line_put_programs},
        {"PROGRAM", line_put_programs},
        {"--group", line_put_groups},
        {"--as", line_put_senders},
        {"--to", line_put_recipients},
        {"--project", line_put_folders},
        {"--command", line_put_programs},
};

static bool line_put_place(const Line *line, Str word) {
        for (size_t i = 0; i < ARRAY_SIZE(places); i++)
                if (str_is(word, places[i].word)) {
                        places[i].put(line);
                        return true;
                }
        return false;
}

/* `GROUP|FILE`, `active|idle|paused`, `KEY=VALUE` */
static void line_put_operand(const Line *line, Str operand) {
        if (str_is(operand, "KEY=VALUE") && !strcmp(line->command->name, "call")) {
                line_put_parameters(line);
                return;
        }
        while (operand.n) {
                const char *bar = memchr(operand.data, '|', operand.n);
                Str word = {operand.data, bar ? (size_t)(bar - operand.data) : operand.n};

                if (!line_put_place(line, word) && word.n && *word.data >= 'a' && *word.data <= 'z')
                        line_put((void *)line, word, STR_NULL);
                word.n += bar != NULL;
                operand = (Str){operand.data + word.n, operand.n - word.n};
        }
}

/* ---- verbs and operands ---------------------------------------------------------------------- */

static bool line_put_verbs(const Line *line) {
        const char *at = line->command->details;
        bool is_any = false;
        HelpRow row;
        Str verb;

        while (help_next_row(&at, &row))
                for (size_t i = 0; (verb = help_verb(&row, i)).n; i++, is_any = true)
                        line_put((void *)line, verb, row.summary);
        return is_any;
}

/* The row of the verb that was written. */
static bool line_find_verb(const Line *line, HelpRow *ret) {
        const char *at = line->command->details;
        Str verb;

        while (line->operand_0 && help_next_row(&at, ret))
                for (size_t i = 0; (verb = help_verb(ret, i)).n; i++)
                        if (str_is(verb, line->operand_0))
                                return true;
        return false;
}

static void line_put_operands(const Line *line) {
        Str usage = str_from(line->command->usage);
        HelpRow row;
        Str own;

        if (!line->n_operands && line_put_verbs(line))
                return;
        if (!line_find_verb(line, &row)) {
                line_put_operand(line, help_operand(usage, line->n_operands));
                return;
        }
        own = help_operands(&row);
        line_put_operand(line, own.n ? help_operand(own, line->n_operands - 1)
                                     : help_operand(usage, line->n_operands));
}

/* ---- options --------------------------------------------------------------------------------- */

static Str line_option_summary(const Command *command, const char *name) {
        const char *at = command->details;
        HelpRow row;

        while (help_next_row(&at, &row))
                if (help_has_option(&row, name))
                        return row.summary;
        return STR_NULL;
}

static void line_put_options(const Line *line) {
        OptionShape shape;
        char name[64];

        for (size_t i = 0; option_shape(line->command, i, &shape); i++) {
                (void)snprintf(name, sizeof(name), "--%s", shape.name);
                line_put((void *)line, str_from(name), line_option_summary(line->command, shape.name));
        }
}

/* A value: of a known kind, or one of the words that are listed in its help with `, ` and ` or ` between. */
static void line_put_value(const Line *line) {
        static const struct {
                const char *option, *words;
        } choices[] = {{"sandbox", "none bwrap"},
                       {"network", "host none veth"},
                       {"state", "queued running completed failed cancelled"},
                       {"kind", "all chat notify chat.message chat.ack system.notify system.notify_ack"}};
        char name[64];

        for (size_t i = 0; i < ARRAY_SIZE(choices); i++)
                if (!strcmp(line->waiting, choices[i].option))
                        line_put_words(line, choices[i].words);
        (void)snprintf(name, sizeof(name), "--%s", line->waiting);
        (void)line_put_place(line, str_from(name));
}

/* ---- the line -------------------------------------------------------------------------------- */

/* The long name of the option that a word is and that takes the next word as its value; NULL: no such. */
static const char *line_value_of(const Command *command, const char *word) {
        OptionShape shape;

        for (size_t i = 0; *word == '-' && option_shape(command, i, &shape); i++)
                if (shape.has_value &&
                    (word[1] == '-' ? !strcmp(word + 2, shape.name)
                                    : shape.letter && word[1] == shape.letter && !word[2]))
                        return shape.name;
        return NULL;
}

static void line_read(Line *line, int n, char **words) {
        for (int i = 0; i < n; i++) {
                const char *waiting = line->waiting;

                line->waiting = NULL;
                if (line->is_behind)
                        line->n_behind++;
                else if (waiting && !strcmp(waiting, "group"))
                        line->names.group = words[i];
                else if (waiting && !strcmp(waiting, "project"))
                        line->names.project = words[i];
                else if (waiting)
                        continue;
                else if (!strcmp(words[i], "--"))
                        line->is_behind = true;
                else if (*words[i] == '-' && words[i][1])
                        line->waiting = line_value_of(line->command, words[i]);
                else if (!line->n_operands++)
                        line->operand_0 = words[i];
        }
}

static void complete_argument(const Command *command, int n, char **words) {
        Line line = {.command = command, .current = words[n - 1]};

        line.names.put = line_put;
        line.names.user = &line;
        line_read(&line, n - 1, words);
        if (line.is_behind)
                print("%s\n", !command->runs_command ? "" : line.n_behind ? ":files" : ":programs");
        else if (line.waiting)
                line_put_value(&line);
        else if (*line.current == '-')
                line_put_options(&line);
        else
                line_put_operands(&line);
}

int complete(int n, char **words) {
        Line line = {.current = n ? words[n - 1] : ""};
        const Command *command = n > 1 ? command_find(words[0]) : NULL;

        if (n > 1 && command)
                complete_argument(command, n - 1, words + 1);
        if (n <= 1 || (n == 2 && !strcmp(words[0], "help")))
                line_put_commands(&line);
        if (n <= 1)
                line_put_words(&line, "help --help --version");
        return CLI_OK;
}
