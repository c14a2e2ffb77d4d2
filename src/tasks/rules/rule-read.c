/* SPDX-License-Identifier: MIT */
/*
 * One rule from its JSON, with the words of the contract and those of the original's guide.
 */
#include <errno.h>

#include "base/macro.h"
#include "tasks/rules/rule.h"

enum { GLOBS_MAX = 64 };

static void break_rule(Rule *rule, const char *fault) {
        if (!rule->is_broken)
                rule->fault = fault;
        rule->is_broken = true;
}

/* Absent is fine; data == NULL then. */
static Str rule_read_read_word(RuleReader *reader, Rule *rule, const Json *json, const char *member,
                               const char *where) {
        const Json *word = json_get(json, member);

        if (!word || word->type == JSON_NULL || json_is(word, JSON_STRING))
                return json_is(word, JSON_STRING) ? (Str){word->n ? word->text : "", word->n} : STR_NULL;
        break_rule(rule, rule_problem(reader, true, where, "want a string"));
        return STR_NULL;
}

static Regex *read_regex(RuleReader *reader, Rule *rule, Str pattern, const char *where) {
        char why[REGEX_WHY_MAX];
        Regex *regex = NULL;
        int r = regex_new(&regex, pattern, why);

        if (r < 0)
                reader->r = r;
        else if (r)
                break_rule(rule, rule_problem(reader, true, where, "no regular expression: %s", why));
        return regex;
}

/* ---- trigger --------------------------------------------------------------------------------- */

/* The guide is not sure how a glob is called; every word that it uses is taken. */
static void read_globs(RuleReader *reader, Rule *rule, const Json *trigger) {
        static const char *const members[] = {"pattern", "glob", "path", "paths", "patterns", "globs"};
        char why[REGEX_WHY_MAX];
        Str globs[GLOBS_MAX];
        size_t n = 0;
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
                const Json *member = json_get(trigger, members[i]);
                if (json_is(member, JSON_STRING) && n < GLOBS_MAX)
                        globs[n++] = json_str(member);
                json_each (item, member)
                        if (json_is(item, JSON_STRING) && n < GLOBS_MAX)
                                globs[n++] = json_str(item);
        }
        if (!n)
                return;
        r = rule_glob_new(&rule->trigger.glob, globs, n, why);
        if (r < 0)
                reader->r = r;
        else if (r)
                break_rule(rule, rule_problem(reader, true, "trigger", "no glob: %s", why));
}

static void rule_read_read_schedule(Rule *rule, const Json *trigger) {
        Str job = json_str(json_get(trigger, "job"));

        rule->trigger.type = STR("cron.fired");
        if (json_get(trigger, "cron"))
                rule->trigger.job = rule->id;
        else if (job.n)
                rule->trigger.job = job;
}

static void read_event(Rule *rule, const Json *trigger) {
        Str name = json_str(json_get(trigger, "event"));

        if (!name.n)
                name = json_str(json_get(trigger, "name"));
        if (!name.n)
                name = json_str(json_get(trigger, "topic"));
        rule->trigger.type = name.n ? rule_event_of(name) : STR_NULL;
}

static void read_trigger(RuleReader *reader, Rule *rule, const Json *trigger) {
        Str type = rule_read_read_word(reader, rule, trigger, "type", "trigger.type"), pattern;

        rule->trigger.source = rule_read_read_word(reader, rule, trigger, "source", "trigger.source");
        if (str_is(type, "file_change")) {
                rule->trigger.is_file = true;
                read_globs(reader, rule, trigger);
                return;
        }
        if (str_is(type, "schedule"))
                rule_read_read_schedule(rule, trigger);
        else if (str_is(type, "event"))
                read_event(rule, trigger);
        else
                rule->trigger.type = type;
        pattern = rule_read_read_word(reader, rule, trigger, "pattern", "trigger.pattern");
        if (pattern.data)
                rule->trigger.pattern = read_regex(reader, rule, pattern, "trigger.pattern");
}

/* ---- conditions ------------------------------------------------------------------------------ */

static RuleOperator operator_of(Str word) {
        static const struct {
                const char *word;
                RuleOperator op;
        } words[] = {{"eq", RULE_OP_EQ},
                     {"equals", RULE_OP_EQ},
                     {"neq", RULE_OP_NEQ},
                     {"not_equals", RULE_OP_NEQ},
                     {"contains", RULE_OP_CONTAINS},
                     {"matches", RULE_OP_MATCHES},
                     {"gt", RULE_OP_GT},
                     {"lt", RULE_OP_LT},
                     {"gte", RULE_OP_GTE},
                     {"lte", RULE_OP_LTE},
                     {"exists", RULE_OP_EXISTS},
                     {"not_exists", RULE_OP_NOT_EXISTS}};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (str_is(word, words[i].word))
                        return words[i].op;
        return RULE_OP_UNKNOWN;
}

/* For who mistyped one; the short forms come last, since they are near to much. */
static const char *const operator_words[] = {"equals",     "not_equals", "contains", "matches", "exists",
                                             "not_exists", "eq",         "neq",      "gt",      "lt",
                                             "gte",        "lte",        NULL};

static void read_condition(RuleReader *reader, Rule *rule, const Json *json, RuleCondition *condition) {
        *condition = (RuleCondition){.field = json_str(json_get(json, "field")),
                                     .op = operator_of(json_str(json_get(json, "operator"))),
                                     .value = json_get(json, "value")};
        if (!condition->field.n)
                rule_problem(reader, false, "conditions", "one has no field: it never holds");
        if (condition->op == RULE_OP_UNKNOWN)
                rule_strange(reader, "conditions", "one has an unknown operator: it never holds",
                             json_str(json_get(json, "operator")), operator_words);
        if (condition->op == RULE_OP_MATCHES)
                condition->regex = read_regex(reader, rule, json_str(condition->value), "conditions.value");
}

static void read_conditions(RuleReader *reader, Rule *rule, const Json *list) {
        if (!list || list->type == JSON_NULL)
                return;
        if (!json_is(list, JSON_ARRAY)) {
                break_rule(rule, rule_problem(reader, true, "conditions", "want a list"));
                return;
        }
        rule->conditions = arena_alloc(&reader->set->arena, (json_count(list) + 1) * sizeof(RuleCondition));
        if (!rule->conditions) {
                reader->r = -ENOMEM;
                return;
        }
        json_each (item, list) {
                read_condition(reader, rule, item, &rule->conditions[rule->n_conditions]);
                rule->n_conditions++;
        }
}

static int64_t read_ms(RuleReader *reader, Rule *rule, const Json *json, const char *where) {
        double value;

        if (!json || json->type == JSON_NULL)
                return 0;
        if (json_double(json, &value) && value >= 0)
                return (int64_t)MIN(value, 1e15);
        break_rule(rule, rule_problem(reader, true, where, "want milliseconds"));
        return 0;
}

/* The guide's {"type":"always"} and {"type":"debounce","ms":…}. */
static void read_guide_condition(RuleReader *reader, Rule *rule, const Json *json) {
        static const char *const members[] = {"ms", "delay_ms", "debounce_ms", "interval_ms", "delay"};
        Str type = json_str(json_get(json, "type"));

        if (!json || json->type == JSON_NULL || str_is(type, "always"))
                return;
        if (!str_is(type, "debounce")) {
                break_rule(rule,
                           rule_problem(reader, true, "condition", "want the type always or debounce"));
                return;
        }
        for (size_t i = 0; i < ARRAY_SIZE(members) && !rule->debounce_ms; i++)
                rule->debounce_ms = read_ms(reader, rule, json_get(json, members[i]), "condition");
        rule->debounce_ms = MIN(rule->debounce_ms, 86400000);
}

/* ---- action ---------------------------------------------------------------------------------- */

static void read_action(RuleReader *reader, Rule *rule, const Json *action) {
        static const struct {
                const char *word;
                RuleActionKind kind;
                const char *needs;
        } words[] = {{"agent", RULE_ACT_AGENT, "prompt"},
                     {"submit_task", RULE_ACT_AGENT, "prompt"},
                     {"notify", RULE_ACT_NOTIFY, NULL},
                     {"webhook", RULE_ACT_WEBHOOK, "url"}};
        static const char *const action_words[] = {"agent", "submit_task", "notify", "webhook", NULL};
        Str type = json_str(json_get(action, "type"));

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (str_is(type, words[i].word)) {
                        rule->action = words[i].kind;
                        if (words[i].needs && !json_str(json_get(action, words[i].needs)).n)
                                rule_problem(reader, false, "action", "it has no %s: it will fail",
                                             words[i].needs);
                }
        if (!rule->action)
                rule_strange(reader, "action.type", "unknown: the rule does nothing", type, action_words);
        if (json_get(action, "priority") && !json_is(json_get(action, "priority"), JSON_NUMBER))
                break_rule(rule, rule_problem(reader, true, "action.priority", "want a number"));
}

/* ---- the rule -------------------------------------------------------------------------------- */

static bool read_bool(RuleReader *reader, Rule *rule, const Json *json, const char *member, bool fallback) {
        const Json *value = json_get(json, member);
        bool truth = fallback;

        if (value && value->type != JSON_NULL && !json_bool(value, &truth))
                break_rule(rule, rule_problem(reader, true, member, "want true or false"));
        return truth;
}

void rule_read(RuleReader *reader, const Json *json, Rule *rule) {
        *rule = (Rule){.id = json_str(json_get(json, "id")),
                       .trigger_json = json_get(json, "trigger"),
                       .action_json = json_get(json, "action"),
                       .cooldown_json = json_get(json, "cooldownMs")};
        rule->is_enabled = read_bool(reader, rule, json, "enabled", true);
        rule->requires_approval = read_bool(reader, rule, json, "requiresApproval", false);
        rule->cooldown_ms = read_ms(reader, rule, rule->cooldown_json, "cooldownMs");
        if (!json_is(rule->cooldown_json, JSON_NUMBER))
                rule->cooldown_json = NULL;
        read_trigger(reader, rule, rule->trigger_json);
        read_conditions(reader, rule, json_get(json, "conditions"));
        read_guide_condition(reader, rule, json_get(json, "condition"));
        read_action(reader, rule, rule->action_json);
}
