/* SPDX-License-Identifier: MIT */
/*
 * Which words daemon.json may have: keys, names and sources of events. Strange ones are noted, never
 * refused: the original ignores them in silence, and a newer one may know them.
 */
#include "base/macro.h"
#include "base/utf8.h"
#include "tasks/rules/rule.h"

enum { WORD_SHOWN = 64 };

typedef const char *const RuleWords[]; /* NULL at the end */

static RuleWords config_keys = {"daemon", "watch", "webhook", "schedule", "automation", "rules", NULL};
static RuleWords daemon_keys = {"heartbeat_interval_seconds",
                                "max_parallel_actions",
                                "action_timeout_minutes",
                                "max_queue_size",
                                "task_retention_days",
                                "agent_command",
                                "agent_args",
                                "agent_runtime",
                                "log",
                                NULL};
static RuleWords log_keys = {"max_size_mb", "max_files", "level", NULL};
static RuleWords watch_keys = {"enabled", "paths", "ignore", "debounce_ms", "use_polling", NULL};
static RuleWords path_keys = {"path", "events", "ignore", "extensions", NULL};
static RuleWords webhook_keys = {"enabled",   "port",        "host",    "secret_env",
                                 "endpoints", "allow_hosts", "ca_file", NULL};
static RuleWords schedule_keys = {"enabled", "jobs", NULL};
static RuleWords job_keys = {"id", "name", "cron", "action", "description", NULL};
static RuleWords automation_keys = {"max_per_minute", "max_chain", "approver", NULL};
static RuleWords rule_keys = {"id",      "trigger",    "conditions",       "condition",   "action",
                              "enabled", "cooldownMs", "requiresApproval", "description", NULL};
static RuleWords trigger_keys = {"type",  "source", "pattern", "glob",  "path", "paths", "patterns",
                                 "globs", "cron",   "job",     "event", "name", "topic", NULL};
static RuleWords conditions_keys = {"field", "operator", "value", NULL};
static RuleWords condition_keys = {"type", "ms", "delay_ms", "debounce_ms", "interval_ms", "delay", NULL};
static RuleWords action_keys = {"type", "prompt", "agent", "priority", "message", "channel", "url", NULL};

static RuleWords events = {"file.create",    "file.modify", "file.delete",    "cron.fired",
                           "task.completed", "task.failed", "task.cancelled", NULL};
static RuleWords types = {"file.create", "file.modify",    "file.delete", "cron.fired", "task.completed",
                          "task.failed", "task.cancelled", "file_change", "schedule",   "event",
                          NULL};
static RuleWords sources = {"watch", "schedule", "task", NULL};

static bool rule_has_word(RuleWords words, Str word) {
        for (size_t i = 0; words[i]; i++)
                if (str_is(word, words[i]))
                        return true;
        return false;
}

void rule_strange(RuleReader *reader, const char *member, const char *text, Str word,
                  const char *const *known) {
        RuleSet *set = reader->set;
        size_t n = set->n_problems;

        rule_problem(reader, false, member, "%s", text);
        if (set->n_problems > n) {
                set->problems[n].word = word;
                set->problems[n].known = known;
        }
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* People keep remarks in JSON under such names. */
static bool rule_is_remark(Str key) {
        return key.n && (key.data[0] == '_' || key.data[0] == '$' || str_starts(key, STR("//")));
}

static void rule_check_keys(RuleReader *reader, const Json *object, const char *prefix, RuleWords known) {
        if (!json_is(object, JSON_OBJECT))
                return;
        json_each (member, object) {
                Str key = {member->key, member->key_n}, shown = utf8_fit(key, WORD_SHOWN), name;

                if (rule_has_word(known, key) || rule_is_remark(key))
                        continue;
                name = arena_printf(&reader->set->arena, "%s" STR_FMT, prefix, STR_ARG(shown));
                rule_strange(reader, name.data ? name.data : prefix, "unknown, and not used", key, known);
        }
}

static void rule_check_list(RuleReader *reader, const char *name, const Json *list,
                            void (*look)(RuleReader *reader, const Json *item)) {
        reader->list = name;
        reader->index = 0;
        if (json_is(list, JSON_ARRAY))
                for (const Json *item = json_first(list); item && reader->index < RULES_MAX;
                     item = item->next, reader->index++)
                        look(reader, item);
        reader->list = NULL;
}

static void rule_check_path(RuleReader *reader, const Json *path) {
        rule_check_keys(reader, path, "", path_keys);
}

static void rule_check_job(RuleReader *reader, const Json *job) {
        rule_check_keys(reader, job, "", job_keys);
}

/* ---- events ---------------------------------------------------------------------------------- */

Str rule_event_of(Str topic) {
        for (size_t i = 0; events[i]; i++) {
                Str event = str_from(events[i]);
                size_t at = strcspn(event.data, ".");

                if (topic.n == event.n && topic.data[at] == ':' && !memcmp(topic.data, event.data, at) &&
                    !memcmp(topic.data + at + 1, event.data + at + 1, event.n - at - 1))
                        return event;
        }
        return topic;
}

static void rule_check_event(RuleReader *reader, const char *member, Str name, RuleWords known) {
        Str shown = utf8_fit(name, WORD_SHOWN), text;

        if (!name.n || rule_has_word(known, name))
                return;
        text = arena_printf(&reader->set->arena, "no event %s " STR_FMT ": the rule never fires",
                            known == sources ? "has the source" : "is called", STR_ARG(shown));
        rule_strange(reader, member, text.data ? text.data : "unknown", name, known);
}

static void rule_check_trigger(RuleReader *reader, const Json *trigger) {
        static const struct {
                const char *key, *member;
        } names[] = {{"event", "trigger.event"}, {"name", "trigger.name"}, {"topic", "trigger.topic"}};

        rule_check_keys(reader, trigger, "trigger.", trigger_keys);
        rule_check_event(reader, "trigger.type", json_str(json_get(trigger, "type")), types);
        rule_check_event(reader, "trigger.source", json_str(json_get(trigger, "source")), sources);
        if (str_is(json_str(json_get(trigger, "type")), "event"))
                for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                        rule_check_event(reader, names[i].member,
                                         rule_event_of(json_str(json_get(trigger, names[i].key))), events);
}

static void rule_check_rule(RuleReader *reader, const Json *rule) {
        const Json *conditions = json_get(rule, "conditions");

        rule_check_keys(reader, rule, "", rule_keys);
        rule_check_trigger(reader, json_get(rule, "trigger"));
        if (json_is(conditions, JSON_ARRAY))
                json_each (item, conditions)
                        rule_check_keys(reader, item, "conditions.", conditions_keys);
        rule_check_keys(reader, json_get(rule, "condition"), "condition.", condition_keys);
        rule_check_keys(reader, json_get(rule, "action"), "action.", action_keys);
}

void rule_check_words(RuleReader *reader, const Json *config) {
        const Json *daemon = json_get(config, "daemon"), *watch = json_get(config, "watch");
        const Json *schedule = json_get(config, "schedule");

        reader->list = NULL;
        rule_check_keys(reader, config, "", config_keys);
        rule_check_keys(reader, daemon, "daemon.", daemon_keys);
        rule_check_keys(reader, json_get(daemon, "log"), "daemon.log.", log_keys);
        rule_check_keys(reader, watch, "watch.", watch_keys);
        rule_check_list(reader, "watch.paths", json_get(watch, "paths"), rule_check_path);
        rule_check_keys(reader, json_get(config, "webhook"), "webhook.", webhook_keys);
        rule_check_keys(reader, schedule, "schedule.", schedule_keys);
        rule_check_list(reader, "schedule.jobs", json_get(schedule, "jobs"), rule_check_job);
        rule_check_keys(reader, json_get(config, "automation"), "automation.", automation_keys);
        rule_check_list(reader, "rules", json_get(config, "rules"), rule_check_rule);
}
