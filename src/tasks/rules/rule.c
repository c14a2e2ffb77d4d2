/* SPDX-License-Identifier: MIT */
/*
 * The parts of daemon.json around the rules: lists, jobs, watched folders, problems.
 */
#include "tasks/rules/rule.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"

enum { DEBOUNCE_MAX_MS = 3600 * 1000 };

/* ---- problems -------------------------------------------------------------------------------- */

const char *rule_problem(RuleReader *reader, bool is_error, const char *member, const char *format, ...) {
        RuleSet *set = reader->set;
        char text[256];
        Str where, what;
        va_list args;

        va_start(args, format);
        vsnprintf(text, sizeof(text), format, args); // NOLINT(clang-analyzer-valist.Uninitialized): it is
        va_end(args);
        what = arena_printf(&set->arena, "%s%s%s", member, member[0] ? ": " : "", text);
        where = reader->list ? arena_printf(&set->arena, "%s[%zu]", reader->list, reader->index)
                             : arena_str(&set->arena, STR(""));
        if (!what.data || !where.data) {
                reader->r = -ENOMEM;
                return "out of memory";
        }
        set->n_errors += is_error;
        if (set->n_problems < RULE_PROBLEMS_MAX)
                set->problems[set->n_problems++] =
                        (RuleProblem){.is_error = is_error, .where = where, .what = what};
        return what.data;
}

static bool is_on(const Json *section) {
        bool enabled = false;

        return json_bool(json_get(section, "enabled"), &enabled) && enabled;
}

int rule_config_parse(Arena *arena, Str text, Json **ret, char reterr[RULE_WHY_MAX]) {
        JsonFault fault = {0};
        int r = json_parse(arena, text.data, text.n, NULL, ret, &fault);
        JsonPlace place;

        if (r <= 0)
                return error_trace(r);
        place = json_place(text.data, text.n, fault.offset);
        snprintf(reterr, RULE_WHY_MAX, "not valid JSON: %s at line %zu, column %zu", fault.what, place.line,
                 place.column);
        return RULE_E_NO_JSON;
}

const char *rule_config_refused(const Json *config) {
        const Json *watch = json_get(config, "watch"), *webhook = json_get(config, "webhook");
        const Json *schedule = json_get(config, "schedule");
        int64_t port;

        if (!json_is(json_get(config, "daemon"), JSON_OBJECT))
                return "daemon: an object is required";
        if (is_on(watch) && !json_is(json_get(watch, "paths"), JSON_ARRAY))
                return "watch.paths: a list is required while watch.enabled is true";
        if (is_on(webhook) && (!json_int64(json_get(webhook, "port"), &port) || port < 1 || port > 65535))
                return "webhook.port: 1 to 65535 is required while webhook.enabled is true";
        if (is_on(schedule) && !json_is(json_get(schedule, "jobs"), JSON_ARRAY))
                return "schedule.jobs: a list is required while schedule.enabled is true";
        return NULL;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void *alloc_list(RuleReader *reader, size_t n, size_t n_each) {
        void *list = arena_alloc(&reader->set->arena, MAX(n, 1) * n_each);

        if (!list)
                reader->r = -ENOMEM;
        else
                memset(list, 0, MAX(n, 1) * n_each);
        return list;
}

static Str *rule_read_strings(RuleReader *reader, const char *member, const Json *list, size_t *ret_n) {
        Str *strings;

        *ret_n = 0;
        if (!list || list->type == JSON_NULL)
                return NULL;
        strings = alloc_list(reader, json_count(list), sizeof(*strings));
        if (!strings)
                return NULL;
        if (!json_is(list, JSON_ARRAY))
                rule_problem(reader, true, member, "want a list of strings");
        json_each (item, list)
                if (json_is(item, JSON_STRING))
                        strings[(*ret_n)++] = json_str(item);
                else
                        rule_problem(reader, true, member, "want strings");
        return strings;
}

/* Room for the items of a list: at most RULES_MAX. */
static void *begin_list(RuleReader *reader, const char *name, const Json *list, size_t n_more,
                        size_t n_each) {
        reader->list = NULL;
        if (list && !json_is(list, JSON_ARRAY) && !json_is(list, JSON_NULL))
                rule_problem(reader, true, name, "want a list");
        if (json_count(list) > RULES_MAX)
                rule_problem(reader, true, name, "more than %d: the rest is left out", RULES_MAX);
        reader->list = name;
        reader->index = 0;
        return alloc_list(reader, MIN(json_count(list), (size_t)RULES_MAX) + n_more, n_each);
}

/* ---- rules ----------------------------------------------------------------------------------- */

Rule *rule_set_find(const RuleSet *set, Str id) {
        for (size_t i = 0; i < set->n_rules; i++)
                if (str_eq(set->rules[i].id, id))
                        return &set->rules[i];
        return NULL;
}

/* What the original drops without a word. */
static bool is_usable(RuleReader *reader, const Json *json) {
        const char *missing = NULL;

        if (!json_str(json_get(json, "id")).n)
                missing = "id";
        else if (!json_is(json_get(json, "trigger"), JSON_OBJECT))
                missing = "trigger";
        else if (!json_is(json_get(json, "action"), JSON_OBJECT))
                missing = "action";
        if (missing)
                rule_problem(reader, false, "", "left out: it has no %s", missing);
        else if (rule_set_find(reader->set, json_str(json_get(json, "id")))) {
                rule_problem(reader, true, "id", "left out: another rule has it");
                return false;
        }
        return !missing;
}

static void read_rules(RuleReader *reader, const Json *config) {
        const Json *list = json_get(config, "rules");
        RuleSet *set = reader->set;

        set->rules = begin_list(reader, "rules", list, 0, sizeof(Rule));
        if (!set->rules || !json_is(list, JSON_ARRAY))
                return;
        for (const Json *item = json_first(list); item && reader->index < RULES_MAX && !reader->r;
             item = item->next, reader->index++)
                if (is_usable(reader, item)) {
                        rule_read(reader, item, &set->rules[set->n_rules]);
                        set->n_rules++;
                }
}

/* ---- schedule -------------------------------------------------------------------------------- */

static bool rule_read_cron(RuleReader *reader, const char *member, const Json *cron, RuleJob *job) {
        const char *wrong = NULL;

        job->cron_text = json_str(cron);
        if (!json_is(cron, JSON_STRING))
                wrong = "want a string with five fields";
        else if (!cron_parse(&job->cron, job->cron_text, CRON_STEP_DIVIDES, &wrong))
                return true;
        job->is_broken = true;
        job->fault = rule_problem(reader, true, member, "%s", wrong);
        return false;
}

static void read_job(RuleReader *reader, const Json *json) {
        RuleJob *job = &reader->set->jobs[reader->set->n_jobs];

        job->id = json_str(json_get(json, "id"));
        if (!job->id.n)
                job->id = json_str(json_get(json, "name")); /* the guide's word */
        job->action = json_get(json, "action");
        if (!job->id.n) {
                rule_problem(reader, false, "", "left out: it has no id");
                return;
        }
        (void)rule_read_cron(reader, "cron", json_get(json, "cron"), job);
        reader->set->n_jobs++;
}

/* Rules with {"type":"schedule","cron":…} are jobs of their own, under the rule's name. */
static void add_rule_jobs(RuleReader *reader) {
        RuleSet *set = reader->set;

        reader->list = "rules";
        for (reader->index = 0; reader->index < set->n_rules; reader->index++) {
                Rule *rule = &set->rules[reader->index];
                const Json *cron = json_get(rule->trigger_json, "cron");
                RuleJob *job = &set->jobs[set->n_jobs];

                if (!str_is(json_str(json_get(rule->trigger_json, "type")), "schedule") || !cron)
                        continue;
                *job = (RuleJob){.id = rule->id};
                if (rule_read_cron(reader, "trigger.cron", cron, job))
                        set->n_jobs++;
                else {
                        rule->is_broken = true;
                        rule->fault = job->fault;
                }
        }
}

static void rule_read_schedule(RuleReader *reader, const Json *config) {
        const Json *section = json_get(config, "schedule"), *list = json_get(section, "jobs");
        RuleSet *set = reader->set;

        set->is_scheduling = is_on(section);
        set->jobs = begin_list(reader, "schedule.jobs", list, set->n_rules, sizeof(RuleJob));
        if (!set->jobs)
                return;
        if (json_is(list, JSON_ARRAY))
                for (const Json *item = json_first(list); item && reader->index < RULES_MAX && !reader->r;
                     item = item->next, reader->index++)
                        read_job(reader, item);
        add_rule_jobs(reader);
}

/* ---- watcher, limits ------------------------------------------------------------------------- */

static unsigned read_events(RuleReader *reader, const Json *list) {
        static const char *const words[] = {"create", "modify", "delete"};
        unsigned events = 0;

        if (!json_is(list, JSON_ARRAY))
                return RULE_WATCH_CREATE | RULE_WATCH_MODIFY | RULE_WATCH_DELETE;
        json_each (item, list) {
                unsigned known = events;
                for (unsigned i = 0; i < ARRAY_SIZE(words); i++)
                        if (str_is(json_str(item), words[i]))
                                events |= 1U << i;
                if (events == known)
                        rule_problem(reader, false, "events", "want create, modify or delete");
        }
        return events;
}

/* What the entry leaves out, and what the guide's watch.ignore leaves out for all of them. */
static void rule_read_ignores(RuleReader *reader, const Json *list, RuleWatch *watch) {
        size_t n_own = 0;
        Str *own = rule_read_strings(reader, "ignore", list, &n_own);

        watch->ignore = alloc_list(reader, n_own + reader->n_ignore, sizeof(Str));
        if (!watch->ignore)
                return;
        for (size_t i = 0; i < n_own; i++)
                watch->ignore[watch->n_ignore++] = own[i];
        for (size_t i = 0; i < reader->n_ignore; i++)
                watch->ignore[watch->n_ignore++] = reader->ignore[i];
}

/* The guide's entries are strings. */
static void read_watch(RuleReader *reader, const Json *json) {
        RuleWatch *watch = &reader->set->watches[reader->set->n_watches];

        watch->path = json_str(json_is(json, JSON_STRING) ? json : json_get(json, "path"));
        if (!watch->path.n || memchr(watch->path.data, '\0', watch->path.n)) {
                rule_problem(reader, true, "path", "want the path of a folder");
                return;
        }
        watch->events = read_events(reader, json_get(json, "events"));
        rule_read_ignores(reader, json_get(json, "ignore"), watch);
        watch->extensions =
                rule_read_strings(reader, "extensions", json_get(json, "extensions"), &watch->n_extensions);
        reader->set->n_watches++;
}

static int64_t read_number(RuleReader *reader, const Json *section, const char *name, int64_t fallback,
                           int64_t max) {
        const Json *json = json_get(section, name);
        double value;

        if (!json || json->type == JSON_NULL)
                return fallback;
        if (json_double(json, &value) && value >= 0)
                return (int64_t)MIN(value, (double)max);
        rule_problem(reader, true, name, "want a number that is not negative");
        return fallback;
}

static void read_watches(RuleReader *reader, const Json *config) {
        const Json *section = json_get(config, "watch"), *list = json_get(section, "paths");
        RuleSet *set = reader->set;

        set->is_watching = is_on(section);
        reader->list = NULL;
        reader->ignore =
                rule_read_strings(reader, "watch.ignore", json_get(section, "ignore"), &reader->n_ignore);
        set->watches = begin_list(reader, "watch.paths", list, 0, sizeof(RuleWatch));
        if (set->watches && json_is(list, JSON_ARRAY))
                for (const Json *item = json_first(list); item && reader->index < RULES_MAX && !reader->r;
                     item = item->next, reader->index++)
                        read_watch(reader, item);
        reader->list = NULL;
        set->debounce_ms = read_number(reader, section, "debounce_ms", RULE_DEBOUNCE_MS, DEBOUNCE_MAX_MS);
}

static void read_webhook(RuleReader *reader, const Json *section) {
        const Json *ca_file = json_get(section, "ca_file");
        Str path = json_str(ca_file);

        reader->set->hosts = rule_read_strings(reader, "webhook.allow_hosts",
                                               json_get(section, "allow_hosts"), &reader->set->n_hosts);
        if (!ca_file || ca_file->type == JSON_NULL)
                return;
        if (!path.n || memchr(path.data, '\0', path.n))
                rule_problem(reader, true, "webhook.ca_file", "want the path of a file");
        else
                reader->set->ca_file = path;
}

/* Without one, rules that require approval are skipped, as the contract has it. */
static void rule_read_approver(RuleReader *reader, const Json *json) {
        reader->set->has_approver = str_is(json_str(json), "user");
        if (json && json->type != JSON_NULL && !reader->set->has_approver && !str_is(json_str(json), "none"))
                rule_problem(reader, true, "automation.approver", "want \"user\" or \"none\"");
}

static void read_limits(RuleReader *reader, const Json *config) {
        const Json *section = json_get(config, "automation");
        RuleSet *set = reader->set;

        set->per_minute = read_number(reader, section, "max_per_minute", RULE_PER_MINUTE, 100000);
        set->chain_max = read_number(reader, section, "max_chain", RULE_CHAIN_MAX, 100000);
        rule_read_approver(reader, json_get(section, "approver"));
        read_webhook(reader, json_get(config, "webhook"));
}

/* ---- life ------------------------------------------------------------------------------------ */

int rule_set_new(RuleSet **ret, const Json *config) {
        RuleSet *set = calloc(1, sizeof(*set));
        RuleReader reader = {.set = set};
        const Json *copy;

        if (!set)
                return error_origin(-ENOMEM);
        set->n_refs = 1;
        copy = json_clone(&set->arena, config);
        set->problems = copy ? alloc_list(&reader, RULE_PROBLEMS_MAX, sizeof(RuleProblem)) : NULL;
        if (!set->problems) {
                rule_set_unref(set);
                return error_origin(-ENOMEM);
        }
        read_rules(&reader, copy);
        if (!reader.r)
                rule_read_schedule(&reader, copy);
        if (!reader.r)
                read_watches(&reader, copy);
        if (!reader.r)
                read_limits(&reader, copy);
        if (!reader.r)
                rule_check_words(&reader, copy);
        if (reader.r) {
                rule_set_unref(set);
                return error_origin(-ENOMEM);
        }
        *ret = set;
        return 0;
}

RuleSet *rule_set_ref(RuleSet *set) {
        set->n_refs++;
        return set;
}

RuleSet *rule_set_unref(RuleSet *set) {
        if (!set || --set->n_refs)
                return NULL;
        for (size_t i = 0; i < set->n_rules; i++) {
                Rule *rule = &set->rules[i];
                regex_free(rule->trigger.pattern);
                regex_free(rule->trigger.glob);
                for (size_t j = 0; j < rule->n_conditions; j++)
                        regex_free(rule->conditions[j].regex);
        }
        arena_deinit(&set->arena);
        free(set);
        return NULL;
}
