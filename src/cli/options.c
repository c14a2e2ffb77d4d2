/* SPDX-License-Identifier: MIT */
#include "cli/options.h"

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/nearest.h"
#include "cli/report.h"

enum { SECONDS_MAX = 1000000, N_OPTIONS = 5 };

static const struct {
        struct option option;
        unsigned known_by; /* 0: every command */
} all[N_OPTIONS] = {
        {{"help", no_argument, NULL, 'h'}, 0},
        {{"json", no_argument, NULL, 'j'}, CLI_OPTION_JSON},
        {{"wait", required_argument, NULL, 'w'}, CLI_OPTION_WAIT},
        {{"timeout", required_argument, NULL, 't'}, CLI_OPTION_TIMEOUT},
        {{"project", required_argument, NULL, 'p'}, CLI_OPTION_PROJECT},
};

static void choose(const Command *command, struct option out[N_OPTIONS + 1]) {
        size_t n = 0;

        for (size_t i = 0; i < N_OPTIONS; i++)
                if (!all[i].known_by || (command->options & all[i].known_by))
                        out[n++] = all[i].option;
        out[n] = (struct option){0};
}

static bool parse_seconds(const char *text, int64_t *ret_ms) {
        char *end;
        double seconds = strtod(text, &end);

        if (end == text || *end || !isfinite(seconds) || seconds < 0 || seconds > SECONDS_MAX)
                return false;
        *ret_ms = (int64_t)ceil(seconds * 1000);
        return true;
}

static int refuse_unknown(const Command *command, const struct option *known, const char *given) {
        const char *name = given + strspn(given, "-");
        Nearest nearest = NEAREST(name);

        for (; known->name; known++)
                nearest_offer(&nearest, known->name);
        if (nearest.best)
                complain(CLI_USAGE, "%s: unknown option %s; did you mean --%s?", command->name, given,
                         nearest.best);
        else
                complain(CLI_USAGE, "%s: unknown option %s", command->name, given);
        if (command->options & CLI_OPTION_REST)
                advise("flags for musterd stand behind --, as in: muster %s -- --log-level info",
                       command->name);
        advise("try: muster %s --help", command->name);
        return CLI_USAGE;
}

static int take(const Command *command, int option, Options *ret) {
        switch (option) {
        case 'h': ret->help = true; return CLI_OK;
        case 'j': ret->json = true; return CLI_OK;
        case 'p': ret->project = optarg; return CLI_OK;
        case 'w':
        case 't':
                if (parse_seconds(optarg, option == 'w' ? &ret->wait_ms : &ret->timeout_ms))
                        return CLI_OK;
                return complain(CLI_USAGE, "%s: %s is not a number of seconds", command->name, optarg);
        default: return CLI_USAGE;
        }
}

static int check_operands(const Command *command, bool has_dashes, const Options *options) {
        int n = options->n_operands;

        if (options->help)
                return CLI_OK;
        if (n && (command->options & CLI_OPTION_REST) && !has_dashes)
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

int options_parse(const Command *command, int argc, char **argv, Options *ret) {
        struct option known[N_OPTIONS + 1];
        const char *letters = command->options & CLI_OPTION_REST ? "+:h" : ":h";
        int c;

        *ret = (Options){.wait_ms = -1, .timeout_ms = -1};
        choose(command, known);
        optind = 0; /* glibc: begin anew, with these letters */
        while ((c = getopt_long(argc, argv, letters, known, NULL)) != -1) {
                if (c == ':')
                        return complain(CLI_USAGE, "%s: %s needs a value", command->name, argv[optind - 1]);
                if (c == '?')
                        return refuse_unknown(command, known, argv[optind - 1]);
                if (take(command, c, ret) != CLI_OK)
                        return CLI_USAGE;
        }
        ret->operands = argv + optind;
        ret->n_operands = argc - optind;
        return check_operands(command, optind > 1 && !strcmp(argv[optind - 1], "--"), ret);
}
