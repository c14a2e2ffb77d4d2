/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/print/nearest.h"
#include "cli/print/report.h"

enum { SECONDS_MAX = 1000000, SPEED_MAX = 1000000, VALUE_BASE = 256 };

typedef enum Kind { KIND_FLAG, KIND_TEXT, KIND_LIST, KIND_SECONDS, KIND_COUNT, KIND_FACTOR } Kind;

typedef struct Row {
        const char *name;
        char letter; /* 0: none */
        Kind kind;
        size_t offset; /* in Options */
} Row;

#define AT(member) offsetof(Options, member)

/* Of two with the same letter no command knows both. */
static const Row rows[] = {
        {"help", 'h', KIND_FLAG, AT(help)},
        {"json", 0, KIND_FLAG, AT(json)},
        {"wait", 0, KIND_SECONDS, AT(wait_ms)},
        {"timeout", 0, KIND_SECONDS, AT(timeout_ms)},
        {"project", 0, KIND_TEXT, AT(project)},
        {"detach", 'd', KIND_FLAG, AT(detach)},
        {"detach-keys", 0, KIND_TEXT, AT(detach_keys)},
        {"name", 'n', KIND_TEXT, AT(name)},
        {"sandbox", 0, KIND_TEXT, AT(sandbox)},
        {"network", 0, KIND_TEXT, AT(network)},
        {"stop-agents", 0, KIND_FLAG, AT(stop_agents)},
        {"once", 0, KIND_FLAG, AT(once)},
        {"read-only", 'r', KIND_FLAG, AT(read_only)},
        {"pty", 0, KIND_COUNT, AT(pty)},
        {"command", 'c', KIND_TEXT, AT(program)},
        {"watch", 'w', KIND_FLAG, AT(watch)},
        {"follow", 'f', KIND_FLAG, AT(follow)},
        {"tail", 'n', KIND_COUNT, AT(tail)},
        {"strip", 0, KIND_FLAG, AT(strip)},
        {"raw", 0, KIND_FLAG, AT(raw)},
        {"enter", 0, KIND_FLAG, AT(enter)},
        {"literal", 'l', KIND_FLAG, AT(literal)},
        {"all", 'a', KIND_FLAG, AT(all)},
        {"no-reconnect", 0, KIND_FLAG, AT(no_reconnect)},
        {"no-wait", 0, KIND_FLAG, AT(no_wait)},
        {"force", 'f', KIND_FLAG, AT(force)},
        {"speed", 0, KIND_FACTOR, AT(speed)},
        {"max-idle", 0, KIND_SECONDS, AT(max_idle_ms)},
        {"group", 'g', KIND_TEXT, AT(group)},
        {"as", 0, KIND_TEXT, AT(as)},
        {"to", 0, KIND_LIST, AT(to)},
        {"env", 0, KIND_LIST, AT(env)},
        {"reveal", 0, KIND_FLAG, AT(reveal)},
        {"attention", 0, KIND_FLAG, AT(attention)},
        {"key", 0, KIND_TEXT, AT(key)},
        {"kind", 0, KIND_TEXT, AT(kind)},
        {"read", 0, KIND_FLAG, AT(read)},
        {"daemon", 0, KIND_FLAG, AT(daemon)},
        {"timestamps", 't', KIND_FLAG, AT(timestamps)},
        {"since", 0, KIND_TEXT, AT(since)},
        {"agent", 0, KIND_TEXT, AT(agent)},
        {"priority", 0, KIND_TEXT, AT(priority)},
        {"state", 0, KIND_TEXT, AT(state)},
        {"note", 0, KIND_TEXT, AT(note)},
        {"limit", 0, KIND_COUNT, AT(limit)},
        {"older-than", 0, KIND_TEXT, AT(older_than)},
        {"await", 0, KIND_FLAG, AT(await)},
        {"socket", 0, KIND_TEXT, AT(socket)},
        {"verbose", 0, KIND_FLAG, AT(verbose)},
        {"remove", 0, KIND_FLAG, AT(remove)},
        {"port", 'p', KIND_COUNT, AT(port)},
        {"host", 'H', KIND_TEXT, AT(host)},
        {"view", 0, KIND_FLAG, AT(view)},
        {"token", 0, KIND_TEXT, AT(token)},
        {"token-file", 0, KIND_TEXT, AT(token_file)},
        {"tls", 0, KIND_TEXT, AT(tls)},
        {"stop", 0, KIND_FLAG, AT(stop)},
        {"no-qr", 0, KIND_FLAG, AT(no_qr)},
        {"page", 0, KIND_TEXT, AT(page)},
        {"page-hash", 0, KIND_FLAG, AT(page_hash)},
        {"stun", 0, KIND_TEXT, AT(stun)},
        {"no-stun", 0, KIND_FLAG, AT(no_stun)},
        {"ascii", 0, KIND_FLAG, AT(ascii)},
        {"scope", 0, KIND_TEXT, AT(scope)},
        {"object", 0, KIND_TEXT, AT(object)},
        {"ttl", 0, KIND_COUNT, AT(ttl)},
        {"code", 0, KIND_FLAG, AT(code)},
};

enum { N_ROWS = ARRAY_SIZE(rows), N_LETTERS = 2 * N_ROWS + 3 };

/* ---- which of them a command knows ----------------------------------------------------------- */

/* As people write it: `--wait SECONDS` of some commands is a bare `--wait` of others. */
static const char *spelling(const Row *row) {
        return strcmp(row->name, "await") != 0 ? row->name : "wait";
}

static bool options_is_known(const Command *command, const Row *row) {
        size_t n = strlen(row->name);

        if (!strcmp(row->name, "help"))
                return true;
        for (const char *word = command->takes; word && *word; word += strspn(word, " ")) {
                size_t n_word = strcspn(word, " ");

                if (n_word == n && !memcmp(word, row->name, n))
                        return true;
                word += n_word;
        }
        return false;
}

bool option_shape(const Command *command, size_t i, OptionShape *ret) {
        for (size_t k = 0; k < N_ROWS; k++)
                if (options_is_known(command, &rows[k]) && !i--) {
                        *ret = (OptionShape){spelling(&rows[k]), rows[k].letter, rows[k].kind != KIND_FLAG};
                        return true;
                }
        return false;
}

/* What getopt_long() wants: the long ones, and the letters of all that have one. */
static void options_choose(const Command *command, struct option out[N_ROWS + 1], char letters[N_LETTERS]) {
        char *at = letters;
        size_t n = 0;

        if (command->passes_rest)
                *at++ = '+';
        *at++ = ':';
        for (int i = 0; i < N_ROWS; i++) {
                int has_value = rows[i].kind == KIND_FLAG ? no_argument : required_argument;

                if (!options_is_known(command, &rows[i]))
                        continue;
                out[n++] = (struct option){spelling(&rows[i]), has_value, NULL, VALUE_BASE + i};
                if (!rows[i].letter)
                        continue;
                *at++ = rows[i].letter;
                if (has_value == required_argument)
                        *at++ = ':';
        }
        *at = 0;
        out[n] = (struct option){0};
}

static const Row *find_row(const Command *command, int option) {
        for (int i = 0; i < N_ROWS; i++)
                if (options_is_known(command, &rows[i]) &&
                    (option == VALUE_BASE + i || option == rows[i].letter))
                        return &rows[i];
        return NULL;
}

static int refuse_unknown(const Command *command, const struct option *known, const char *given) {
        const char letter[] = {'-', (char)optopt, 0};
        bool is_letter = optopt > 0 && optopt < VALUE_BASE;
        const char *name = is_letter ? letter : given;
        Nearest nearest = NEAREST(name + strspn(name, "-"));

        for (; known->name; known++)
                nearest_offer(&nearest, known->name);
        if (nearest.best && !is_letter)
                complain(CLI_USAGE, "%s: unknown option %s; did you mean --%s?", command->name, name,
                         nearest.best);
        else
                complain(CLI_USAGE, "%s: unknown option %s", command->name, name);
        if (command->passes_rest)
                advise("flags for musterd stand behind --, as in: muster %s -- --log-level info",
                       command->name);
        advise("try: muster %s --help", command->name);
        return CLI_USAGE;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool parse_number(const char *text, double max, double *ret) {
        char *end;
        double value = strtod(text, &end);

        if (end == text || *end || !isfinite(value) || value < 0 || value > max)
                return false;
        *ret = value;
        return true;
}

static int add_to_list(const Command *command, const Row *row, OptionList *list) {
        if (list->n == CLI_LIST_MAX)
                return complain(CLI_USAGE, "%s: --%s is given more than %d times", command->name, row->name,
                                CLI_LIST_MAX);
        list->items[list->n++] = optarg;
        return CLI_OK;
}

static int options_take(const Command *command, const Row *row, Options *ret) {
        void *place = (char *)ret + row->offset;
        double value;

        switch (row->kind) {
        case KIND_FLAG: *(bool *)place = true; return CLI_OK;
        case KIND_TEXT: *(const char **)place = optarg; return CLI_OK;
        case KIND_LIST: return add_to_list(command, row, place);
        case KIND_SECONDS:
                if (!parse_number(optarg, SECONDS_MAX, &value))
                        return complain(CLI_USAGE, "%s: %s is not a number of seconds", command->name,
                                        optarg);
                *(int64_t *)place = (int64_t)ceil(value * 1000);
                return CLI_OK;
        case KIND_COUNT:
                if (!parse_number(optarg, UINT32_MAX, &value) || value != floor(value))
                        return complain(CLI_USAGE, "%s: --%s: %s is not a number from 0 up", command->name,
                                        row->name, optarg);
                *(int64_t *)place = (int64_t)value;
                return CLI_OK;
        case KIND_FACTOR:
                if (!parse_number(optarg, SPEED_MAX, &value) || value <= 0)
                        return complain(CLI_USAGE, "%s: --%s: %s is not a number above 0", command->name,
                                        row->name, optarg);
                *(double *)place = value;
                return CLI_OK;
        }
        return CLI_USAGE;
}

static int check_operands(const Command *command, bool has_dashes, const Options *options) {
        int n = options->n_operands;

        if (options->help)
                return CLI_OK;
        if (n && command->passes_rest && !has_dashes)
                complain(CLI_USAGE, "%s: unexpected word %s; flags for musterd stand behind --",
                         command->name, options->operands[0]);
        else if (n < command->n_min)
                complain(CLI_USAGE, "%s: something is missing; usage: muster %s %s", command->name,
                         command->name, command->usage);
        else if (command->n_max >= 0 && n > command->n_max)
                complain(CLI_USAGE, "%s: unexpected word %s", command->name,
                         options->operands[command->n_max]);
        else
                return CLI_OK;
        advise("try: muster %s --help", command->name);
        return CLI_USAGE;
}

/* ---- the whole line -------------------------------------------------------------------------- */

/* A command to run is cut off before getopt sees it: its operands would be mixed with ours. */
static int cut_command(const Command *command, int argc, char **argv, Options *ret) {
        if (!command->runs_command)
                return argc;
        for (int i = 1; i < argc; i++)
                if (!strcmp(argv[i], "--")) {
                        ret->command = argv + i + 1;
                        ret->n_command = argc - i - 1;
                        return i;
                }
        return argc;
}

int options_parse(const Command *command, int argc, char **argv, Options *ret) {
        struct option known[N_ROWS + 1];
        char letters[N_LETTERS];
        int c;

        *ret = (Options){.wait_ms = -1,
                         .timeout_ms = -1,
                         .max_idle_ms = -1,
                         .pty = -1,
                         .tail = -1,
                         .limit = -1,
                         .port = -1,
                         .ttl = -1};
        argc = cut_command(command, argc, argv, ret);
        options_choose(command, known, letters);
        optind = 0; /* glibc: begin anew, with these letters */
        while ((c = getopt_long(argc, argv, letters, known, NULL)) != -1) {
                const Row *row = find_row(command, c);

                if (c == ':')
                        return complain(CLI_USAGE, "%s: %s needs a value", command->name, argv[optind - 1]);
                if (c == '?' || !row)
                        return refuse_unknown(command, known, argv[optind - 1]);
                if (options_take(command, row, ret) != CLI_OK)
                        return CLI_USAGE;
        }
        ret->operands = argv + optind;
        ret->n_operands = argc - optind;
        return check_operands(command, optind > 1 && !strcmp(argv[optind - 1], "--"), ret);
}

static bool options_is_one_of(const char *word, const char *const words[]) {
        for (; *words; words++)
                if (!strcmp(word, *words))
                        return true;
        return false;
}

int options_check_sandbox(const char *command, const Options *options) {
        static const char *const modes[] = {"none", "bwrap", NULL};
        static const char *const networks[] = {"host", "none", "veth", NULL};

        if (options->sandbox && !options_is_one_of(options->sandbox, modes))
                return complain(CLI_USAGE, "%s: --sandbox: must be none or bwrap", command);
        if (options->network && !options_is_one_of(options->network, networks))
                return complain(CLI_USAGE, "%s: --network: must be host, none or veth", command);
        return CLI_OK;
}
