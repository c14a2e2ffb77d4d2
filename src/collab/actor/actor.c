/* SPDX-License-Identifier: MIT */
#include "collab/actor/actor.h"

#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/time.h"
#include "base/utf8.h"
#include "collab/actor/runner.h"
#include "collab/collab.h"
#include "collab/group/actor-sandbox.h"
#include "collab/group/group-doc.h"
#include "collab/unicode.h"
#include "core/runtimes.h"
#include "core/secret.h"

bool actor_id_is_reserved(Str id) {
        static const char *const words[] = {"user",  "all",   "system", "foreman",
                                            "peers", "admin", "root",   "cccc"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (id.n == strlen(words[i]) && !strncasecmp(id.data, words[i], id.n))
                        return true;
        return false;
}

bool actor_id_is_valid(Str id) {
        Str rest = id;
        size_t n = 0;

        if (utf8_valid_prefix(id.data, id.n) != id.n)
                return false;
        for (; rest.n; n++) {
                uint32_t c = unicode_take(&rest);

                if (!unicode_is_word(c) && (c != '-' || n == 0))
                        return false;
        }
        return n >= 1 && n <= ACTOR_ID_MAX;
}

const char *actor_id_fault(Str id) {
        static const struct {
                const char *characters, *fault;
        } forbidden[] = {{" \t\r\n", "a name has no spaces in it"},
                         {".", "a name has no dots in it"},
                         {"@", "a name has no @ in it"},
                         {"/\\", "a name has no slashes in it"}};

        if (actor_id_is_valid(id))
                return NULL;
        if (!id.n)
                return "a name is missing";
        if (utf8_count(id) > ACTOR_ID_MAX)
                return "a name has at most 32 characters";
        for (size_t i = 0; i < ARRAY_SIZE(forbidden); i++)
                for (const char *c = forbidden[i].characters; *c; c++)
                        if (memchr(id.data, *c, id.n))
                                return forbidden[i].fault;
        return "a name has letters, digits, hyphens and underscores only, and no hyphen first";
}

/* ---- words ----------------------------------------------------------------------------------- */

/* The runtimes of this contract; others that the daemon knows are not among them. */
static const char *const runtimes[] = {"amp",     "auggie",   "claude", "codex",  "copilot",
                                       "cursor",  "custom",   "droid",  "gemini", "kilocode",
                                       "neovate", "opencode", NULL};
static const char *const runners[] = {"pty", "headless", NULL};
static const char *const submits[] = {"enter", "newline", "none", NULL};

static bool actor_is_one_of(Str word, const char *const words[]) {
        for (; *words; words++)
                if (str_is(word, *words))
                        return true;
        return false;
}

bool actor_runtime_is_known(Str word) {
        return actor_is_one_of(word, runtimes);
}

void actor_write_runtimes(JsonWriter *w, const char *key) {
        jw_key(w, key);
        jw_begin_array(w);
        for (const char *const *word = runtimes; *word; word++)
                jw_cstr(w, *word);
        jw_end_array(w);
}

bool actor_runner_is_known(Str word) {
        return actor_is_one_of(word, runners);
}

bool actor_submit_is_known(Str word) {
        return actor_is_one_of(word, submits);
}

const char *actor_fault(Str runtime, Str runner, Str submit, const Json *command) {
        if (!actor_runner_is_known(runner))
                return "invalid runner (must be pty or headless)";
        if (!actor_runtime_is_known(runtime))
                return "invalid runtime";
        if (!actor_submit_is_known(submit))
                return "invalid submit (must be enter, newline or none)";
        if (str_is(runtime, "custom") && str_is(runner, "pty") && !json_count(command))
                return "a custom runtime needs a command";
        return NULL;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool actor_push_text(Arena *arena, Json *list, const char *text) {
        Json *item = json_new_str(arena, str_from(text));

        return item && !json_push(list, item);
}

Json *actor_default_command(Arena *arena, Str name) {
        const Runtime *runtime = runtime_find(name);
        Json *list = json_new(arena, JSON_ARRAY);

        if (!list || !runtime || !runtime->program)
                return list;
        if (!actor_push_text(arena, list, runtime->program))
                return NULL;
        for (size_t i = 0; i < RUNTIME_ARGS_MAX && runtime->interactive[i]; i++)
                if (!actor_push_text(arena, list, runtime->interactive[i]))
                        return NULL;
        return list;
}

static bool holds_strings(const Json *given, JsonType type) {
        json_each (item, json_is(given, type) ? given : NULL)
                if (!json_is(item, JSON_STRING))
                        return false;
        return json_is(given, type);
}

Json *actor_strings(Arena *arena, const Json *given) {
        Json *list = json_new(arena, JSON_ARRAY);

        json_each (item, holds_strings(given, JSON_ARRAY) ? given : NULL)
                if (list && str_trim(json_str(item)).n) {
                        Json *copy = json_new_str(arena, json_str(item));
                        list = copy && !json_push(list, copy) ? list : NULL;
                }
        return list;
}

Json *actor_env(Arena *arena, const Json *given) {
        return holds_strings(given, JSON_OBJECT) ? json_clone(arena, given) : json_new(arena, JSON_OBJECT);
}

int actor_check_sizes(Call *call, const Json *command, const Json *env) {
        if (json_count(command) > ACTOR_WORDS_MAX)
                return call_fail(call, CALL_E_TOO_LARGE, "command has more than %d words", ACTOR_WORDS_MAX);
        if (json_count(env) > ACTOR_WORDS_MAX)
                return call_fail(call, CALL_E_TOO_LARGE, "env has more than %d members", ACTOR_WORDS_MAX);
        return 0;
}

Str actor_free_id(Arena *arena, const GroupDoc *doc, Str runtime) {
        for (unsigned n = 1;; n++) {
                char text[64];
                int k = snprintf(text, sizeof(text), STR_FMT "-%u", STR_ARG(runtime), n);
                Str id = {text, (size_t)k};
                if (!group_doc_actor(doc, id))
                        return arena_str(arena, id);
        }
}

/* ---- for clients ----------------------------------------------------------------------------- */

static void field_or(JsonWriter *w, const char *key, const Json *value, const char *empty) {
        jw_key(w, key);
        if (value)
                jw_value(w, value);
        else
                jw_raw(w, str_from(empty));
}

void actor_write_members(const Group *group, const ActorView *actor, JsonWriter *w) {
        json_each (member, actor->json)
                if (!str_is(json_key(member), "role") && !actor_sandbox_is_key(json_key(member)))
                        group_doc_write_member(&group->collab->daemon->config, member, w);
        actor_sandbox_write(group->doc, actor, w);
        jw_field_cstr(w, "role", group_role(group->doc, actor->id));
}

void actor_write(const Group *group, const ActorView *actor, JsonWriter *w) {
        jw_begin_object(w);
        actor_write_members(group, actor, w);
        jw_end_object(w);
}

void actor_write_added(const Config *config, const GroupDoc *doc, const ActorView *actor, JsonWriter *w) {
        jw_begin_object(w);
        jw_key(w, "actor");
        jw_begin_object(w);
        jw_field_int(w, "v", 1);
        jw_field_str(w, "id", actor->id);
        jw_field_cstr(w, "role", group_role(doc, actor->id));
        jw_field_str(w, "title", actor->title);
        field_or(w, "command", actor->command, "[]");
        jw_key(w, "env");
        secret_write_env(config, w, actor->env);
        jw_field_str(w, "default_scope_key", actor->default_scope_key);
        jw_field_str(w, "submit", actor->submit);
        jw_field_bool(w, "enabled", actor->is_enabled);
        jw_field_str(w, "runner", actor->runner);
        jw_field_str(w, "runtime", actor->runtime);
        jw_field_str(w, "created_at", actor->created_at);
        jw_field_str(w, "updated_at", json_str(json_get(actor->json, "updated_at")));
        actor_sandbox_write(doc, actor, w);
        jw_end_object(w);
        jw_end_object(w);
}

/* Ours, and only of one that runs in a sandbox. */
static void actor_write_notes(const Group *group, Str id, JsonWriter *w) {
        const Runner *runner = runner_find(group->collab, str_from(group->id), id);

        if (!runner || !runner->notes.n)
                return;
        jw_key(w, "notes");
        jw_begin_array(w);
        for (size_t i = 0; i < runner->notes.n; i++)
                jw_cstr(w, runner->notes.items[i]);
        jw_end_array(w);
}

void actor_change_reply(Call *call, GroupChange *change) {
        const ActorView *actor = group_doc_actor(change->group->doc, change->word);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        if (actor) {
                jw_key(w, "actor");
                actor_write(change->group, actor, w);
        }
        group_change_write_event(change, w, "event", 0);
        actor_write_notes(change->group, change->word, w);
        jw_end_object(w);
}

/* ---- changes --------------------------------------------------------------------------------- */

void actor_change_event(GroupChange *change, const char *kind, Str by, Str actor, Str runner) {
        JsonWriter *w = group_change_event(change, kind, by, STR(""));

        jw_begin_object(w);
        jw_field_str(w, "actor_id", actor);
        if (runner.n)
                jw_field_str(w, "runner", runner);
        else
                jw_field_null(w, "runner");
        jw_field_null(w, "runner_effective");
        jw_end_object(w);
}

void actor_change_enabled(GroupChange *change, Str id, bool is_enabled) {
        GroupDoc *doc = group_change_doc(change);
        const ActorView *actor = doc ? group_doc_actor(doc, id) : NULL;
        char now[TIME_TEXT_MAX];

        if (!actor || actor->is_enabled == is_enabled)
                return;
        time_format_us(loop_wall_us(change->group->collab->daemon->loop), now);
        change_try(change, document_set_bool(doc->document, actor->json, "enabled", is_enabled));
        change_try(change, document_set_str(doc->document, actor->json, "updated_at", str_from(now)));
        change_try(change, group_doc_view(doc));
}

void actor_change_running(GroupChange *change) {
        GroupDoc *doc = group_change_doc(change);

        if (doc && doc->is_running && !group_foreman(doc))
                change_try(change, group_doc_set_bool(doc, "running", false));
}
