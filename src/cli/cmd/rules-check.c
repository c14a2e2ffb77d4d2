/* SPDX-License-Identifier: MIT */
#include "cli/cmd/rules-check.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/json/json-writer.h"
#include "cli/print/nearest.h"
#include "cli/print/report.h"
#include "tasks/rules/rule.h"

typedef struct Check {
        const char *path;
        Arena arena;
        Buf text;
        RuleSet *rules;             /* NULL: the file as a whole cannot be used */
        char refused[RULE_WHY_MAX]; /* … and why */
} Check;

static void check_deinit(Check *check) {
        rule_set_unref(check->rules);
        arena_deinit(&check->arena);
        buf_deinit(&check->text);
}

/* 0: it was looked at, whatever the outcome. Condition: FILE_E_MISSING. */
static int rules_look(Check *check) {
        Json *json = NULL;
        const char *refused;
        int r = file_read(check->path, RULE_CONFIG_BYTES, &check->text);

        if (r < 0 || r == FILE_E_MISSING)
                return error_trace(r);
        if (r)
                snprintf(check->refused, sizeof(check->refused), "too large");
        else
                r = rule_config_parse(&check->arena, buf_str(&check->text), &json, check->refused);
        if (r)
                return r < 0 ? error_trace(r) : 0;
        refused = rule_config_refused(json);
        if (refused) {
                snprintf(check->refused, sizeof(check->refused), "%s", refused);
                return 0;
        }
        return error_trace(rule_set_new(&check->rules, json));
}

static bool is_fine(const Check *check) {
        return check->rules && !check->rules->n_errors;
}

/* What an unknown word was probably meant to be; NULL: nothing that is known. */
static const char *rules_meant(const RuleProblem *problem) {
        char word[NEAREST_WORD_MAX + 1];
        Nearest nearest = NEAREST(word);

        if (!problem->known || !problem->word.n || problem->word.n >= sizeof(word))
                return NULL;
        memcpy(word, problem->word.data, problem->word.n);
        word[problem->word.n] = 0;
        for (size_t i = 0; problem->known[i]; i++)
                (void)nearest_offer(&nearest, problem->known[i]);
        return nearest.best;
}

static void rules_check_print_text(const Check *check) {
        const RuleSet *rules = check->rules;

        if (!rules) {
                print("%s: error: %s\n", check->path, check->refused);
                return;
        }
        for (size_t i = 0; i < rules->n_problems; i++) {
                const char *meant = rules_meant(&rules->problems[i]);

                print("%s: %s: ", check->path, rules->problems[i].is_error ? "error" : "note");
                text_put(stdout, rules->problems[i].where);
                print("%s", rules->problems[i].where.n ? " " : "");
                text_put(stdout, rules->problems[i].what);
                if (meant)
                        print("; is it %s?", meant);
                putchar('\n');
        }
        print("%s: %s; rules: %zu, jobs: %zu%s, watched folders: %zu%s\n", check->path,
              is_fine(check) ? "fine" : "a running daemon would not take it", rules->n_rules, rules->n_jobs,
              rules->is_scheduling ? "" : " (off)", rules->n_watches, rules->is_watching ? "" : " (off)");
}

static void write_problem(JsonWriter *w, const RuleProblem *problem) {
        const char *meant = rules_meant(problem);

        jw_begin_object(w);
        jw_field_bool(w, "error", problem->is_error);
        jw_field_str(w, "where", problem->where);
        jw_field_str(w, "what", problem->what);
        if (meant)
                jw_field_cstr(w, "nearest", meant);
        jw_end_object(w);
}

static int rules_check_print_json(const Check *check) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;
        JsonWriter w = JSON_WRITER(&out);
        const RuleSet *rules = check->rules;

        jw_begin_object(&w);
        jw_field_bool(&w, "ok", is_fine(check));
        jw_field_uint(&w, "rules", rules ? rules->n_rules : 0);
        jw_field_uint(&w, "jobs", rules ? rules->n_jobs : 0);
        jw_field_uint(&w, "watches", rules ? rules->n_watches : 0);
        jw_key(&w, "problems");
        jw_begin_array(&w);
        if (!rules)
                write_problem(&w, &(RuleProblem){.is_error = true,
                                                 .where = STR(""),
                                                 .what = str_from(check->refused)});
        for (size_t i = 0; rules && i < rules->n_problems; i++)
                write_problem(&w, &rules->problems[i]);
        jw_end_array(&w);
        jw_end_object(&w);
        if (w.failed)
                return complain(CLI_FAILED, "out of memory");
        json_put_text(stdout, buf_str(&out));
        return CLI_OK;
}

int rules_check(const char *path, bool json) {
        _cleanup_(check_deinit) Check check = {.path = path};
        int r = rules_look(&check);

        if (r == FILE_E_MISSING)
                return complain(CLI_FAILED, "%s: it is not there", path);
        if (r)
                return complain(CLI_FAILED, "%s: %s", path, strerror(-r));
        if (json)
                r = rules_check_print_json(&check);
        else
                rules_check_print_text(&check);
        if (r)
                return r;
        return is_fine(&check) ? CLI_OK : CLI_FAILED;
}

RulesVerdict rules_verdict(const char *path, char *reterr, size_t n_reterr) {
        _cleanup_(check_deinit) Check check = {.path = path};
        int r = rules_look(&check);

        if (r < 0 || (!r && !check.rules)) {
                snprintf(reterr, n_reterr, "%s", r ? strerror(-r) : check.refused);
                return RULES_REFUSED;
        }
        for (size_t i = 0; !r && i < check.rules->n_problems; i++) {
                const RuleProblem *problem = &check.rules->problems[i];

                if (!problem->is_error)
                        continue;
                snprintf(reterr, n_reterr, STR_FMT "%s" STR_FMT, STR_ARG(problem->where),
                         problem->where.n ? " " : "", STR_ARG(problem->what));
                return RULES_WRONG;
        }
        return RULES_FINE;
}
