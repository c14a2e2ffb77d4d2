#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Rule: "when such an event comes, do that", as daemon.json has it. RuleSet: everything in that file that
 * automation is made of, read, checked and ready to use: rules, scheduled jobs, watched folders.
 *
 * Reading never fails for what the file says: what is wrong is listed, and a rule or job that is wrong is
 * kept but never matches (is_broken). These files know no loop, no daemon and no file, so that the command
 * line checks with the same code. A RuleSet is not changed after it was read; it lives as long as somebody
 * has a reference.
 */
#include "base/json/json.h"
#include "core/regex.h"
#include "core/schedule/cron.h"

enum {
        RULES_MAX = 1000, /* of each kind; more are left out and told */
        RULE_PROBLEMS_MAX = 100,
        RULE_DEBOUNCE_MS = 500,      /* watch.debounce_ms, when the file has none */
        RULE_CHAIN_MAX = 20,         /* how often a rule may follow its own tasks */
        RULE_PER_MINUTE = 60,        /* how often a rule may fire */
        RULE_CONFIG_BYTES = 4 << 20, /* of daemon.json */
        RULE_WHY_MAX = 160,
};

enum { RULE_E_NO_JSON = 1 };

typedef enum RuleActionKind {
        RULE_ACT_NOTHING,
        RULE_ACT_AGENT,
        RULE_ACT_NOTIFY,
        RULE_ACT_WEBHOOK
} RuleActionKind;

typedef enum RuleOperator {
        RULE_OP_UNKNOWN,
        RULE_OP_EQ,
        RULE_OP_NEQ,
        RULE_OP_CONTAINS,
        RULE_OP_MATCHES,
        RULE_OP_GT,
        RULE_OP_LT,
        RULE_OP_GTE,
        RULE_OP_LTE,
        RULE_OP_EXISTS,
        RULE_OP_NOT_EXISTS,
} RuleOperator;

typedef struct RuleCondition {
        Str field; /* dotted path into the event */
        RuleOperator op;
        const Json *value; /* may be NULL */
        Regex *regex;      /* RULE_OP_MATCHES */
} RuleCondition;

/* Everything that is given must fit. */
typedef struct RuleTrigger {
        Str type, source; /* data == NULL: not given */
        Regex *pattern;   /* searched in <type>:<source> */
        bool is_file;     /* any file.* event */
        Regex *glob;      /* is_file: payload.path; NULL: any */
        Str job;          /* payload.job_id; data == NULL: not given */
} RuleTrigger;

typedef struct Rule {
        Str id;
        const Json *trigger_json, *action_json, *cooldown_json; /* as configured; the last may be NULL */
        RuleTrigger trigger;
        RuleCondition *conditions;
        size_t n_conditions;
        RuleActionKind action;
        int64_t cooldown_ms;
        int64_t debounce_ms; /* the guide's condition; 0: none */
        bool is_enabled, requires_approval;
        bool is_broken;
        const char *fault; /* is_broken: why */
} Rule;

typedef struct RuleJob {
        Str id;
        Cron cron;
        Str cron_text;
        const Json *action; /* may be NULL */
        bool is_broken;
        const char *fault;
} RuleJob;

enum { RULE_WATCH_CREATE = 1, RULE_WATCH_MODIFY = 2, RULE_WATCH_DELETE = 4 };

typedef struct RuleWatch {
        Str path;        /* as configured; NUL-terminated */
        unsigned events; /* RULE_WATCH_* */
        Str *ignore, *extensions;
        size_t n_ignore, n_extensions;
} RuleWatch;

typedef struct RuleProblem {
        bool is_error;            /* a reload is refused because of it */
        Str where, what;          /* rules[2].trigger.pattern; what is wrong */
        Str word;                 /* one that is not known … */
        const char *const *known; /* … and those that are, NULL at the end; NULL: it is not about a word */
} RuleProblem;

typedef struct RuleSet {
        unsigned n_refs; /* counted on the loop only; workers read */
        Arena arena;
        Rule *rules;
        RuleJob *jobs;
        RuleWatch *watches;
        size_t n_rules, n_jobs, n_watches;
        bool is_watching, is_scheduling; /* watch.enabled, schedule.enabled */
        int64_t debounce_ms;
        Str *hosts; /* webhook.allow_hosts */
        size_t n_hosts;
        Str ca_file;                   /* webhook.ca_file; NUL-terminated; empty: the system's store */
        int64_t per_minute, chain_max; /* automation.max_per_minute, automation.max_chain */
        bool has_approver;             /* automation.approver is the user */
        RuleProblem *problems;
        size_t n_problems, n_errors;
} RuleSet;

/* Reads what is in config (the tree of daemon.json), which need not live on. Fails only without memory. */
int rule_set_new(RuleSet **ret, const Json *config);
RuleSet *rule_set_ref(RuleSet *set);
RuleSet *rule_set_unref(RuleSet *set);           /* takes NULL, returns NULL */
Rule *rule_set_find(const RuleSet *set, Str id); /* NULL: none */
/* The text of daemon.json as JSON; RULE_E_NO_JSON: reterr says why and where. */
int rule_config_parse(Arena *arena, Str text, Json **ret, char reterr[RULE_WHY_MAX]);
/* Whether daemon.json as a whole can be used; NULL, or a static text that says what the original refuses,
 * too. */
const char *rule_config_refused(const Json *config);

/* Whether an event ({source, type, payload}) fits. *reterr is set when that could not be decided (then: no).
 */
bool rule_fits(const Rule *rule, const Json *event, const char **reterr);
/* What is at a dotted path; NULL: nothing. */
const Json *rule_lookup(const Json *event, Str path);
/* Replaces {{path}} by what is there in the event; unknown paths stay as they are. */
int rule_expand(Buf *out, Str template, const Json *event);

/* A glob (*, **, ?) as a regular expression for whole paths; without a slash it is for names in any folder.
 * Condition of regex_new(). */
int rule_glob_new(Regex **ret, const Str *globs, size_t n_globs, char reterr[REGEX_WHY_MAX]);
/* watch.paths[].ignore: the parts between the stars, in this order, anywhere in the name. */
bool rule_ignore_fits(Str pattern, Str name);
/* Whether a watched folder tells of this path at all; and whether of this event. */
bool rule_watch_ignores(const RuleWatch *watch, Str path, bool is_dir);
bool rule_watch_wants(const RuleWatch *watch, unsigned event, Str path);

/* ---- between rule*.c ---- */
typedef struct RuleReader {
        RuleSet *set;
        int r;            /* negative: no memory */
        const char *list; /* rules, schedule.jobs, watch.paths */
        size_t index;
        Str *ignore; /* watch.ignore */
        size_t n_ignore;
} RuleReader;

/* Notes what is wrong; returns the text, which lives as long as the set. */
const char *rule_problem(RuleReader *reader, bool is_error, const char *member, const char *format, ...)
        __attribute__((format(printf, 4, 5)));
/* rule-words.c: notes a word that is not among the known ones, which live for ever. */
void rule_strange(RuleReader *reader, const char *member, const char *text, Str word,
                  const char *const *known);
void rule_check_words(RuleReader *reader, const Json *config);
Str rule_event_of(Str topic); /* the guide's task:failed is task.failed; anything else as it is */
void rule_read(RuleReader *reader, const Json *json,
               Rule *rule); /* rule-read.c; id, trigger, action are there */
