/* SPDX-License-Identifier: MIT */
/*
 * A daemon.json and, behind a NUL, an event. Whatever JSON both are, the rules are read, asked and filled
 * in.
 */
#include <stdlib.h>

#include "base/macro.h"
#include "tasks/rules/rule.h"
#include "tasks/rules/webhook.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void use(const Rule *rule, const Json *event) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        char why[WEBHOOK_WHY_MAX];
        WebhookTarget target;
        const char *error = NULL;

        if (rule->is_broken && (!rule->fault || rule_fits(rule, event, &error)))
                abort();
        (void)rule_fits(rule, event, &error);
        if (rule_expand(&out, json_str(json_get(rule->action_json, "prompt")), event))
                abort();
        (void)webhook_target(&target, json_str(json_get(rule->action_json, "url")), why);
}

static void check(const RuleSet *set, const Json *event) {
        Str path = json_str(rule_lookup(event, STR("payload.path")));

        for (size_t i = 0; i < set->n_problems; i++)
                if (!set->problems[i].what.n)
                        abort();
        for (size_t i = 0; i < set->n_rules; i++)
                use(&set->rules[i], event);
        for (size_t i = 0; i < set->n_watches && path.n; i++)
                if (!rule_watch_ignores(&set->watches[i], path, true))
                        (void)rule_watch_wants(&set->watches[i], RULE_WATCH_MODIFY, path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const char *text = (const char *)data, *nul = n ? memchr(text, 0, n) : NULL;
        size_t n_config = nul ? (size_t)(nul - text) : n;
        Json *config = NULL, *event = NULL;
        RuleSet *set = NULL;

        if (json_parse(&arena, text, n_config, NULL, &config, NULL))
                return 0;
        if (!nul || json_parse(&arena, nul + 1, n - n_config - 1, NULL, &event, NULL))
                event = json_new(&arena, JSON_OBJECT);
        (void)rule_config_refused(config);
        if (rule_set_new(&set, config))
                abort();
        check(set, event);
        rule_set_unref(set);
        return 0;
}
