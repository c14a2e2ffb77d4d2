/* SPDX-License-Identifier: MIT */
/*
 * Whether an event fits a rule, and what of the event goes into a text.
 */
#include <stdio.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "base/macro.h"
#include "tasks/rules/rule.h"

enum { SUBJECT_MAX = 1024 };

/* ---- paths ----------------------------------------------------------------------------------- */

static const Json *rule_match_item_at(const Json *array, Str index) {
        size_t at = 0;

        if (!index.n || index.n > 6)
                return NULL;
        for (size_t i = 0; i < index.n; i++) {
                if (index.data[i] < '0' || index.data[i] > '9')
                        return NULL;
                at = at * 10 + (size_t)(index.data[i] - '0');
        }
        json_each (item, array)
                if (!at--)
                        return item;
        return NULL;
}

const Json *rule_lookup(const Json *event, Str path) {
        while (event) {
                const char *dot = path.n ? memchr(path.data, '.', path.n) : NULL;
                Str step = {path.data, dot ? (size_t)(dot - path.data) : path.n};

                event = json_is(event, JSON_ARRAY) ? rule_match_item_at(event, step)
                                                   : json_get_str(event, step);
                if (!dot)
                        return event;
                path = (Str){dot + 1, path.n - step.n - 1};
        }
        return NULL;
}

/* ---- trigger --------------------------------------------------------------------------------- */

static bool search(const Regex *regex, Str text, const char **reterr) {
        int r = regex_search(regex, text);

        if (r == REGEX_E_LIMIT)
                *reterr = "a regular expression took too many steps";
        else if (r < 0)
                *reterr = "out of memory";
        return r == 0;
}

static bool pattern_fits(const Regex *pattern, Str type, Str source, const char **reterr) {
        char subject[SUBJECT_MAX];
        int n = snprintf(subject, sizeof(subject), STR_FMT ":" STR_FMT, STR_ARG(type), STR_ARG(source));

        return search(pattern, (Str){subject, MIN((size_t)n, sizeof(subject) - 1)}, reterr);
}

static bool trigger_fits(const RuleTrigger *trigger, const Json *event, const char **reterr) {
        Str type = json_str(json_get(event, "type")), source = json_str(json_get(event, "source"));

        if (trigger->type.data && !str_eq(trigger->type, type))
                return false;
        if (trigger->source.data && !str_eq(trigger->source, source))
                return false;
        if (trigger->job.data && !str_eq(trigger->job, json_str(rule_lookup(event, STR("payload.job_id")))))
                return false;
        if (trigger->is_file && !str_starts(type, STR("file.")))
                return false;
        if (trigger->glob &&
            !search(trigger->glob, json_str(rule_lookup(event, STR("payload.path"))), reterr))
                return false;
        return !trigger->pattern || pattern_fits(trigger->pattern, type, source, reterr);
}

/* ---- conditions ------------------------------------------------------------------------------ */

/* Of the same type and value; lists and objects are never the same. */
static bool rule_match_is_same(const Json *a, const Json *b) {
        double x, y;

        if (!a || !b)
                return a == b;
        if (a->type != b->type)
                return false;
        switch ((JsonType)a->type) {
        case JSON_NULL: return true;
        case JSON_BOOL: return a->truth == b->truth;
        case JSON_STRING: return str_eq(json_str(a), json_str(b));
        case JSON_NUMBER:
                return json_double(a, &x) && json_double(b, &y)
                               ? x == y
                               : str_eq((Str){a->text, a->n}, (Str){b->text, b->n});
        default: return false;
        }
}

static bool compares(const Json *field, RuleOperator op, const Json *value) {
        double a, b;

        if (!json_double(field, &a) || !json_double(value, &b))
                return false;
        switch (op) {
        case RULE_OP_GT: return a > b;
        case RULE_OP_LT: return a < b;
        case RULE_OP_GTE: return a >= b;
        default: return a <= b;
        }
}

static bool rule_match_contains(const Json *field, const Json *value) {
        Str text = json_str(field), part = json_str(value);

        if (!json_is(field, JSON_STRING) || !json_is(value, JSON_STRING))
                return false;
        return !part.n || (text.n && memmem(text.data, text.n, part.data, part.n));
}

static bool condition_holds(const RuleCondition *condition, const Json *event, const char **reterr) {
        const Json *field = rule_lookup(event, condition->field);

        if (!condition->field.n)
                return false;
        switch (condition->op) {
        case RULE_OP_EQ: return rule_match_is_same(field, condition->value);
        case RULE_OP_NEQ: return !rule_match_is_same(field, condition->value);
        case RULE_OP_CONTAINS: return rule_match_contains(field, condition->value);
        case RULE_OP_MATCHES:
                return json_is(field, JSON_STRING) && condition->regex &&
                       search(condition->regex, json_str(field), reterr);
        case RULE_OP_GT:
        case RULE_OP_LT:
        case RULE_OP_GTE:
        case RULE_OP_LTE: return compares(field, condition->op, condition->value);
        case RULE_OP_EXISTS: return field && field->type != JSON_NULL;
        case RULE_OP_NOT_EXISTS: return !field || field->type == JSON_NULL;
        default: return false;
        }
}

/* The original knows no events of tasks: a rule for everything is for everything else. */
static bool is_for_tasks(const Rule *rule) {
        Str pattern = json_str(json_get(rule->trigger_json, "pattern"));

        return rule->trigger.type.data || rule->trigger.source.data ||
               (pattern.n && memmem(pattern.data, pattern.n, "task", 4));
}

bool rule_fits(const Rule *rule, const Json *event, const char **reterr) {
        if (rule->is_broken || !trigger_fits(&rule->trigger, event, reterr) ||
            (str_is(json_str(json_get(event, "source")), "task") && !is_for_tasks(rule)))
                return false;
        for (size_t i = 0; i < rule->n_conditions; i++)
                if (!condition_holds(&rule->conditions[i], event, reterr))
                        return false;
        return true;
}

/* ---- templates ------------------------------------------------------------------------------- */

static bool is_path_char(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '.';
}

/* The path of a placeholder that begins here; empty: none does. */
static Str placeholder(Str text) {
        size_t n = 2;

        if (!str_starts(text, STR("{{")))
                return STR_NULL;
        while (n < text.n && is_path_char(text.data[n]))
                n++;
        return n > 2 && n + 1 < text.n && text.data[n] == '}' && text.data[n + 1] == '}'
                       ? (Str){text.data + 2, n - 2}
                       : STR_NULL;
}

static int append_value(Buf *out, const Json *value) {
        if (json_is(value, JSON_STRING) || json_is(value, JSON_NUMBER))
                return buf_append(out, value->text, value->n);
        return json_write(out, value);
}

int rule_expand(Buf *out, Str template, const Json *event) {
        int r = 0;

        while (!r && template.n) {
                const char *brace = memchr(template.data, '{', template.n);
                size_t n_plain = brace ? (size_t)(brace - template.data) : template.n;
                Str rest = {template.data + n_plain, template.n - n_plain}, path = placeholder(rest);
                const Json *value = path.n ? rule_lookup(event, path) : NULL;
                size_t n_taken = path.n ? path.n + 4 : MIN(rest.n, (size_t)1);

                r = buf_append(out, template.data, n_plain);
                if (!r)
                        r = value ? append_value(out, value) : buf_append(out, rest.data, n_taken);
                template = (Str){rest.data + n_taken, rest.n - n_taken};
        }
        return error_fold(r);
}
