/* SPDX-License-Identifier: MIT */
/* The typed view of group.yaml: what is missing or of a wrong type reads as its default. */
#include <errno.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/group-doc.h"

enum { SECONDS_MAX = INT32_MAX }; /* 68 years: nobody sees the end of it, and no sum overflows */

static Str text_or(const Json *object, const char *key, const char *fallback) {
        Str s = json_str(json_get(object, key));

        return s.n ? s : str_from(fallback);
}

static bool truth_or(const Json *object, const char *key, bool fallback) {
        bool truth = fallback;

        json_bool(json_get(object, key), &truth);
        return truth;
}

/* Hand-written files spell numbers as they like: fractions are cut, text does not count. */
static int64_t group_view_number_or(const Json *object, const char *key, int64_t fallback) {
        const Json *value = json_get(object, key);
        int64_t n = fallback;
        double real;

        if (!json_int64(value, &n) && json_double(value, &real) && real > -0x1p62 && real < 0x1p62)
                n = (int64_t)real;
        return n;
}

static int64_t clamp(int64_t n, int64_t min, int64_t max) {
        return n < min ? min : n > max ? max : n;
}

/* Within bounds that can be reckoned with; what is below zero means the same as zero. */
static int64_t seconds_or(const Json *object, const char *key, int64_t fallback) {
        return clamp(group_view_number_or(object, key, fallback), 0, SECONDS_MAX);
}

/* What is there and no text is no word that anybody knows, and not "nothing was said". */
static Str view_word(const Json *object, const char *key) {
        const Json *value = json_get(object, key);

        return json_is(value, JSON_STRING)           ? json_str(value)
               : !value || json_is(value, JSON_NULL) ? STR("")
                                                     : STR("(no text)");
}

static void view_scope(ScopeView *scope, Json *json) {
        *scope = (ScopeView){.key = json_str(json_get(json, "scope_key")),
                             .url = json_str(json_get(json, "url")),
                             .label = json_str(json_get(json, "label")),
                             .git_remote = json_str(json_get(json, "git_remote")),
                             .json = json};
}

static void view_actor(ActorView *actor, Json *json) {
        const Json *command = json_get(json, "command"), *env = json_get(json, "env");

        *actor = (ActorView){.id = json_str(json_get(json, "id")),
                             .title = text_or(json, "title", ""),
                             .default_scope_key = text_or(json, "default_scope_key", ""),
                             .submit = text_or(json, "submit", "enter"),
                             .runner = text_or(json, "runner", "pty"),
                             .runtime = text_or(json, "runtime", "codex"),
                             .created_at = text_or(json, "created_at", ""),
                             .sandbox = view_word(json, "sandbox"),
                             .sandbox_network = view_word(json, "sandbox_network"),
                             .is_enabled = truth_or(json, "enabled", true),
                             .command = json_is(command, JSON_ARRAY) ? command : NULL,
                             .env = json_is(env, JSON_OBJECT) ? env : NULL,
                             .json = json};
        if (!time_parse(actor->created_at, &actor->created_us))
                actor->created_us = 0;
}

static int view_scopes(GroupDoc *doc) {
        const Json *list = json_get(doc->json, "scopes");
        size_t n = json_is(list, JSON_ARRAY) ? json_count(list) : 0;

        doc->n_scopes = 0;
        doc->scopes = arena_alloc(&doc->document->arena, n * sizeof(*doc->scopes));
        if (!doc->scopes)
                return error_origin(-ENOMEM);
        json_each (item, n ? list : NULL)
                if (json_str(json_get(item, "scope_key")).n)
                        view_scope(&doc->scopes[doc->n_scopes++], item);
        return 0;
}

static int view_actors(GroupDoc *doc) {
        const Json *list = json_get(doc->json, "actors");
        size_t n = json_is(list, JSON_ARRAY) ? json_count(list) : 0;

        doc->n_actors = 0;
        doc->actors = arena_alloc(&doc->document->arena, n * sizeof(*doc->actors));
        if (!doc->actors)
                return error_origin(-ENOMEM);
        json_each (item, n ? list : NULL)
                if (json_str(json_get(item, "id")).n)
                        view_actor(&doc->actors[doc->n_actors++], item);
        return 0;
}

static TranscriptVisibility visibility(Str word) {
        if (str_is(word, "off"))
                return TRANSCRIPT_OFF;
        return str_is(word, "all") ? TRANSCRIPT_ALL : TRANSCRIPT_FOREMAN;
}

static void view_settings(GroupDoc *doc) {
        const Json *automation = json_get(doc->json, "automation"), *ledger = json_get(doc->json, "ledger"),
                   *transcript = json_get(doc->json, "terminal_transcript");

        doc->settings = (GroupSettings){
                .is_broadcast =
                        str_is(json_str(json_get(json_get(doc->json, "messaging"), "default_send_to")),
                               "broadcast"),
                .min_interval_s = seconds_or(json_get(doc->json, "delivery"), "min_interval_seconds", 0),
                .nudge_after_s = seconds_or(automation, "nudge_after_seconds", 300),
                .actor_idle_timeout_s = seconds_or(automation, "actor_idle_timeout_seconds", 600),
                .keepalive_delay_s = seconds_or(automation, "keepalive_delay_seconds", 120),
                .keepalive_max_per_actor = group_view_number_or(automation, "keepalive_max_per_actor", 3),
                .silence_timeout_s = seconds_or(automation, "silence_timeout_seconds", 600),
                .standup_interval_s = seconds_or(automation, "standup_interval_seconds", 900),
                .help_nudge_interval_s = seconds_or(automation, "help_nudge_interval_seconds", 600),
                .help_nudge_min_messages = group_view_number_or(automation, "help_nudge_min_messages", 10),
                .transcript_visibility = visibility(json_str(json_get(transcript, "visibility"))),
                .transcript_notify_tail = truth_or(transcript, "notify_tail", true),
                .transcript_notify_lines =
                        clamp(group_view_number_or(transcript, "notify_lines", 20), 1, 80),
                .ledger_max_active_bytes = group_view_number_or(ledger, "max_active_bytes", 50000000),
                .ledger_keep_tail_lines = group_view_number_or(ledger, "keep_tail_lines", 2000),
                .ledger_min_interval_s = seconds_or(ledger, "min_interval_seconds", 300),
        };
}

int group_doc_view(GroupDoc *doc) {
        int r;

        doc->title = json_str(json_get(doc->json, "title"));
        doc->topic = json_str(json_get(doc->json, "topic"));
        doc->created_at = json_str(json_get(doc->json, "created_at"));
        doc->updated_at = json_str(json_get(doc->json, "updated_at"));
        doc->active_scope_key = json_str(json_get(doc->json, "active_scope_key"));
        doc->sandbox = view_word(doc->json, "sandbox");
        doc->sandbox_network = view_word(doc->json, "sandbox_network");
        doc->is_running = truth_or(doc->json, "running", false);
        if (!group_state_from(str_trim(json_str(json_get(doc->json, "state"))), &doc->state))
                doc->state = GROUP_ACTIVE;
        view_settings(doc);
        r = view_scopes(doc);
        if (!r)
                r = view_actors(doc);
        return error_trace(r);
}
