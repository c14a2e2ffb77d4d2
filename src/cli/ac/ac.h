#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The program `ac`, which is muster under another name: the command line of AgentCompany, word for word as
 * its users have it in scripts. A command is a row of a table: the method that it calls, which words and
 * options become which parameters, and how the result is shown. What it prints goes to programs: ids alone
 * on a line, JSON with two blanks or on one line, complaints as "ERROR: …" on stderr.
 */
#include "base/json/json.h"
#include "base/macro.h"

typedef enum AcKind {
        AC_TEXT,    /* --flag VALUE */
        AC_MUST,    /* the same; it has to be given and not be blank */
        AC_BESIDE,  /* --flag VALUE, only together with the option before it in the table */
        AC_PATH,    /* as AC_MUST; a relative one is made absolute */
        AC_PROGRAM, /* the same, when it has a slash */
        AC_INT,     /* --flag N */
        AC_JSON,    /* --flag OBJECT: the whole of the parameters */
        AC_YES,     /* --flag: true */
        AC_NO,      /* --flag: false */
        AC_FILE,    /* --flag FILE: the text in it */
        AC_WORDS,   /* --flag VALUE…: up to the next option */
        AC_REST, /* --flag VALUE…: another command, up to an option of this one, behind a "--" to the end */
        AC_COMMAND, /* the same; it has to be given */
} AcKind;

/* A parameter whose name begins with a dot is not sent: it is for show(). */
typedef struct AcOption {
        const char *flag, *param;
        AcKind kind;
        const char *preset; /* what is sent when it is not given; NULL: nothing is */
} AcOption;

enum { AC_OPERANDS_MAX = 2, AC_OPTIONS_MAX = 16 };

typedef struct AcCommand AcCommand;
struct AcCommand {
        const char *name;
        const char *method; /* NULL: the option --method says it; company.…: a native one */
        const char *operands[AC_OPERANDS_MAX]; /* parameters that stand there without a flag */
        AcOption options[AC_OPTIONS_MAX];      /* up to the first without a flag */
        /* Prints the result; an exit status. word: what is taken from it, or said. */
        int (*show)(const AcCommand *command, const Json *params, const Json *result);
        const char *word;
};

/* Whether it is no method of the contract: one that stands in for an outside tool. */
bool ac_is_native(const char *method);

extern const AcCommand ac_commands[];
extern const size_t n_ac_commands;
const AcCommand *ac_find_command(const char *name); /* NULL: none */
bool ac_must_be_given(const AcOption *option);
bool ac_takes_command(const AcOption *option);
/* word: --flag or --flag=VALUE. NULL: it has none of this name. */
const AcOption *ac_find_option(const AcCommand *command, const char *word);
/* A second method on the same connection, whose parameters are the result of the first. NULL: none. */
const char *ac_find_next(const AcCommand *command);
const char *ac_operand_name(const AcCommand *command, size_t i); /* for people; NULL: there is no such one */
/* Why a command of the original is not there; NULL: it never was one. */
const char *ac_why_not(const char *name);

/* The parameters of a command line, in the arena; *method: what is called. An exit status. */
int ac_read_args(Arena *arena, const AcCommand *command, int argc, char **argv, Json **params,
                 const char **method);

int ac_show_json(const AcCommand *command, const Json *params, const Json *result);
int ac_show_line(const AcCommand *command, const Json *params, const Json *result);
int ac_show_member(const AcCommand *command, const Json *params, const Json *result);
int ac_show_word(const AcCommand *command, const Json *params, const Json *result);
int ac_show_init(const AcCommand *command, const Json *params, const Json *result);
int ac_show_valid(const AcCommand *command, const Json *params, const Json *result);
int ac_show_verdict(const AcCommand *command, const Json *params, const Json *result);
int ac_show_new_run(const AcCommand *command, const Json *params, const Json *result);
int ac_show_replay(const AcCommand *command, const Json *params, const Json *result);
int ac_show_exit(const AcCommand *command, const Json *params, const Json *result);
int ac_show_artifact(const AcCommand *command, const Json *params, const Json *result);

/* "ERROR: …" on stderr; returns the exit status. */
int ac_fail(const char *format, ...) _printf_(1, 2);
/* The program: argv[0] is its own name. An exit status. */
int ac_main(int argc, char **argv);
