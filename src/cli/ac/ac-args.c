/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/macro.h"
#include "cli/ac/ac.h"
#include "cli/cli.h"

enum { AC_FILE_MAX = 12 << 20 }; /* bytes of a file whose text is sent: a request has 16 MiB */

typedef struct {
        Arena *arena;
        const AcCommand *command;
        char **words; /* up to NULL */
        Json *params;
        const char *method;
        int n_operands;
} AcArgs;

/* Takes value; 0 or an exit status. */
static int ac_set(AcArgs *args, const char *param, Json *value) {
        return json_set(args->arena, args->params, str_from(param), value) ? ac_fail("out of memory")
                                                                           : CLI_OK;
}

static int ac_set_int(AcArgs *args, const AcOption *option, const char *text) {
        char *end;
        long long value;

        errno = 0;
        value = strtoll(text, &end, 10);
        if (end == text || *end || errno)
                return ac_fail("%s must be a number", option->flag);
        return ac_set(args, option->param, json_new_int(args->arena, value));
}

static int ac_set_object(AcArgs *args, const char *text) {
        JsonFault fault = {0};
        Json *object = NULL;

        if (json_parse(args->arena, text, strlen(text), NULL, &object, &fault))
                return ac_fail("--params must be valid JSON: %s at byte %zu",
                               fault.what ? fault.what : "no memory", fault.offset);
        args->params = object;
        return CLI_OK;
}

bool ac_is_native(const char *method) {
        return method && str_starts(str_from(method), STR("company."));
}

static int ac_set_content(AcArgs *args, const AcOption *option, const char *path) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = file_read(path, AC_FILE_MAX, &text);
        Str copy;

        if (r)
                return ac_fail("%s: %s: %s", option->flag, path,
                               r == FILE_E_MISSING     ? "there is no such file"
                               : r == FILE_E_TOO_LARGE ? "it is too large"
                                                       : strerror(-r));
        copy = arena_str(args->arena, buf_str(&text));
        return copy.data ? ac_set(args, option->param, json_new_str(args->arena, copy))
                         : ac_fail("out of memory");
}

/* The server of a contract's method knows our folder; for a native one paths are absolute. */
static int ac_set_path(AcArgs *args, const char *param, const char *text) {
        _cleanup_(freep) char *cwd = *text == '/' ? NULL : getcwd(NULL, 0);
        _cleanup_(freep) char *path = *text == '/' ? strdup(text) : cwd ? path_join(cwd, text) : NULL;

        if (!path)
                return ac_fail("cannot tell the current folder");
        return ac_set(args, param, json_new_str(args->arena, str_from(path)));
}

bool ac_must_be_given(const AcOption *option) {
        return option->kind == AC_MUST || option->kind == AC_PATH || option->kind == AC_PROGRAM ||
               option->kind == AC_COMMAND;
}

static int ac_set_text(AcArgs *args, const AcOption *option, const char *text) {
        if (option->kind == AC_INT)
                return ac_set_int(args, option, text);
        if (option->kind == AC_JSON)
                return ac_set_object(args, text);
        if (option->kind == AC_FILE)
                return ac_set_content(args, option, text);
        if (ac_must_be_given(option) && !str_trim(str_from(text)).n)
                return ac_fail("%s is required", option->flag);
        if (option->kind == AC_PATH || (option->kind == AC_PROGRAM && strchr(text, '/')))
                return ac_set_path(args, option->param, text);
        if (!option->param) { /* --method */
                args->method = text;
                return CLI_OK;
        }
        return ac_set(args, option->param, json_new_str(args->arena, str_from(text)));
}

bool ac_takes_command(const AcOption *option) {
        return option->kind == AC_REST || option->kind == AC_COMMAND;
}

static bool ac_takes_words(const AcOption *option) {
        return option->kind == AC_WORDS || ac_takes_command(option);
}

/* Whether a list of words is over before this one. */
static bool ac_ends_words(const AcArgs *args, const AcOption *option, const char *word) {
        return ac_takes_command(option) ? ac_find_option(args->command, word) != NULL
                                        : word[0] == '-' && word[1];
}

/* The word behind the flag, and those that follow. A second time the list goes on; --flag=WORD adds this one. */
static int ac_set_words(AcArgs *args, const AcOption *option, const char *only) {
        bool is_all = false;
        int r = json_get(args->params, option->param)
                        ? CLI_OK
                        : ac_set(args, option->param, json_new(args->arena, JSON_ARRAY));
        Json *list = json_get(args->params, option->param);

        do {
                const char *word = only ? only : *args->words++;
                Json *one = json_new_str(args->arena, str_from(word));

                is_all |= ac_takes_command(option) && !strcmp(word, "--");
                if (!r && (!one || json_push(list, one)))
                        r = ac_fail("out of memory");
        } while (!r && !only && *args->words && (is_all || !ac_ends_words(args, option, *args->words)));
        return r;
}

static int ac_take_option(AcArgs *args, const char *word) {
        const char *equals = strchr(word, '=');
        const AcOption *option = ac_find_option(args->command, word);

        if (!option)
                return ac_fail("unknown option '%s'", word);
        if (option->kind == AC_YES || option->kind == AC_NO)
                return ac_set(args, option->param, json_new_bool(args->arena, option->kind == AC_YES));
        if (!equals && !*args->words)
                return ac_fail("option '%s' needs a value behind it", option->flag);
        if (ac_takes_words(option))
                return ac_set_words(args, option, equals ? equals + 1 : NULL);
        return ac_set_text(args, option, equals ? equals + 1 : *args->words++);
}

static int ac_take_operand(AcArgs *args, const char *word) {
        const char *param =
                args->n_operands < AC_OPERANDS_MAX ? args->command->operands[args->n_operands] : NULL;

        if (!param)
                return ac_fail("too many words: %s", word);
        args->n_operands++;
        return ac_is_native(args->method) && !strcmp(param, "workspace_dir")
                       ? ac_set_path(args, param, word)
                       : ac_set(args, param, json_new_str(args->arena, str_from(word)));
}

/* What was not given: an operand or option that has to be, or what is preset. */
static int ac_complete(AcArgs *args) {
        const AcCommand *command = args->command;
        const char *missing = ac_operand_name(command, (size_t)args->n_operands);
        int r = 0;

        if (missing)
                return ac_fail("missing required argument '%s'", missing);
        for (size_t i = 0; !r && i < AC_OPTIONS_MAX && command->options[i].flag; i++) {
                const AcOption *option = &command->options[i];
                bool is_given =
                        option->param ? json_get(args->params, option->param) != NULL : args->method != NULL;

                if (!is_given && ac_must_be_given(option))
                        r = ac_fail("%s is required", option->flag);
                else if (is_given && option->kind == AC_BESIDE && !json_get(args->params, option[-1].param))
                        r = ac_fail("%s requires %s", option->flag, option[-1].flag);
                else if (!is_given && option->preset)
                        r = ac_set_text(args, option, option->preset);
        }
        return r;
}

int ac_read_args(Arena *arena, const AcCommand *command, int argc, char **argv, Json **params,
                 const char **method) {
        AcArgs args = {.arena = arena,
                       .command = command,
                       .words = argv,
                       .params = json_new(arena, JSON_OBJECT),
                       .method = command->method};
        int r = args.params && argc >= 0 ? 0 : ac_fail("out of memory");

        while (!r && *args.words) {
                const char *word = *args.words++;

                r = word[0] == '-' && word[1] == '-' ? ac_take_option(&args, word)
                                                     : ac_take_operand(&args, word);
        }
        if (!r)
                r = ac_complete(&args);
        *params = args.params;
        *method = args.method;
        return r;
}
