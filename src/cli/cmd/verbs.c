/* SPDX-License-Identifier: MIT */
#include "cli/cmd/verbs.h"

#include <string.h>

#include "cli/link/caller-env.h"
#include "cli/options.h"
#include "cli/print/nearest.h"
#include "cli/print/report.h"

static const Verb *verbs_find(const Verb *verbs, size_t n_verbs, const char *name) {
        for (size_t i = 0; i < n_verbs; i++)
                if (!strcmp(verbs[i].name, name))
                        return &verbs[i];
        return NULL;
}

static int verbs_refuse(const char *command, const Verb *verbs, size_t n_verbs, const char *name) {
        Nearest nearest = NEAREST(name);

        for (size_t i = 0; i < n_verbs; i++)
                nearest_offer(&nearest, verbs[i].name);
        complain(CLI_USAGE, "%s: there is no %s %s", command, command, name);
        if (nearest.best)
                advise("did you mean: muster %s %s?", command, nearest.best);
        advise("try: muster %s --help", command);
        return CLI_USAGE;
}

static int perform(Cccc *cccc, const Verb *verb, const Options *options, char **operands, int n) {
        int r = CLI_OK;

        cccc->is_ending = verb->ends;
        if (verb->needs_group) {
                r = cccc_choose_group(cccc, options);
                if (!r)
                        cccc_set_str(cccc, "group_id", cccc->group);
        }
        if (!r)
                cccc_set_str(cccc, "by", cccc->by);
        if (!r && verb->operand && n)
                cccc_set_str(cccc, verb->operand, str_from(operands[0]));
        if (!r && verb->prepare)
                r = verb->prepare(cccc, options, operands, n);
        if (!r && verb->starts_actors)
                cccc_set(cccc, "caller_env", caller_env(&cccc->arena));
        if (!r)
                r = cccc_call(cccc, verb->op);
        if (r)
                return r;
        if (options->json)
                return cccc_print(cccc);
        if (verb->show)
                verb->show(cccc);
        return CLI_OK;
}

int verbs_run(const char *command, const Options *options, const Verb *verbs, size_t n_verbs) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        int n = options->n_operands > 0 ? options->n_operands - 1 : 0, r;
        char **operands = options->operands + (options->n_operands > 0);
        const char *name = options->n_operands ? options->operands[0] : verbs[0].name;
        const Verb *verb = verbs_find(verbs, n_verbs, name);

        if (!verb)
                return verbs_refuse(command, verbs, n_verbs, name);
        if (n < verb->n_min || (verb->n_max >= 0 && n > verb->n_max))
                return complain(CLI_USAGE, "usage: muster %s %s %s", command, verb->name, verb->usage);
        if ((options->sandbox || options->network) && !verb->takes_sandbox)
                return complain(CLI_USAGE, "%s %s: --sandbox is for add and set", command, verb->name);
        r = verb->begins ? cccc_begin(&cccc, command, options) : cccc_open(&cccc, command, options);
        return r ? r : perform(&cccc, verb, options, operands, n);
}

/* ---- key=value ------------------------------------------------------------------------------- */

static Json *verbs_read_value(Arena *arena, const char *text) {
        Json *value;

        if (!json_parse(arena, text, strlen(text), NULL, &value, NULL))
                return value;
        return json_new_str(arena, str_from(text));
}

int verbs_members(Cccc *cccc, Json *object, char **words, int n) {
        for (int i = 0; i < n; i++) {
                const char *equals = strchr(words[i], '=');

                if (!equals || equals == words[i])
                        return complain(CLI_USAGE, "%s: %s is not key=value", cccc->command, words[i]);
                if (!object || json_set(&cccc->arena, object, (Str){words[i], (size_t)(equals - words[i])},
                                        verbs_read_value(&cccc->arena, equals + 1)))
                        return complain(CLI_FAILED, "out of memory");
        }
        return CLI_OK;
}

int verbs_patch(Cccc *cccc, const Options *options, char **words, int n) {
        Json *patch = json_new(&cccc->arena, JSON_OBJECT);
        int r = verbs_members(cccc, patch, words, n);

        if (!r)
                r = verbs_sandbox(cccc, options, patch);
        if (!r && !json_count(patch))
                return complain(CLI_USAGE, "%s: there is nothing to set; say KEY=VALUE", cccc->command);
        if (!r)
                cccc_set(cccc, "patch", patch);
        return r;
}

/* ---- --sandbox, --network -------------------------------------------------------------------- */

int verbs_sandbox(Cccc *cccc, const Options *options, Json *object) {
        const struct {
                const char *key, *word;
        } said[] = {{"sandbox", options->sandbox}, {"sandbox_network", options->network}};
        int r = options_check_sandbox(cccc->command, options);

        for (size_t i = 0; !r && i < ARRAY_SIZE(said); i++)
                if (said[i].word &&
                    (!object || json_set(&cccc->arena, object, str_from(said[i].key),
                                         json_new_str(&cccc->arena, str_from(said[i].word)))))
                        r = complain(CLI_FAILED, "out of memory");
        return r;
}
