/* SPDX-License-Identifier: MIT */
/* One approval: made of the line that asks for it, and told as JSON. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "base/time.h"
#include "base/utf8.h"
#include "core/approval/approval-internal.h"

/* ---- words ----------------------------------------------------------------------------------- */

static const char *const approval_effects[] = {
        [APPROVAL_ALLOW] = "allow", [APPROVAL_DENY] = "deny", [APPROVAL_CHOOSE] = "choose"};
static const char *const approval_scopes[] = {
        [APPROVAL_ONCE] = "once", [APPROVAL_SESSION] = "session", [APPROVAL_ALWAYS] = "always"};

const char *approval_effect_name(ApprovalEffect effect) {
        return approval_effects[effect];
}

const char *approval_scope_name(ApprovalScope scope) {
        return approval_scopes[scope];
}

static const char *const approval_ways[] = {
        [APPROVAL_BY_CORE] = "core", [APPROVAL_BY_READ] = "read", [APPROVAL_BY_HOOK] = "hook"};

static ApprovalWay approval_way_read(Str word) {
        for (size_t i = 0; i < ARRAY_SIZE(approval_ways); i++)
                if (str_is(word, approval_ways[i]))
                        return (ApprovalWay)i;
        return APPROVAL_BY_READ;
}

bool approval_effect_read(Str word, ApprovalEffect *ret) {
        for (size_t i = 0; i < ARRAY_SIZE(approval_effects); i++)
                if (str_is(word, approval_effects[i])) {
                        *ret = (ApprovalEffect)i;
                        return true;
                }
        return false;
}

bool approval_scope_read(Str word, ApprovalScope *ret) {
        for (size_t i = 0; i < ARRAY_SIZE(approval_scopes); i++)
                if (str_is(word, approval_scopes[i])) {
                        *ret = (ApprovalScope)i;
                        return true;
                }
        return false;
}

const char *approval_state_name(ApprovalState state) {
        static const char *const names[] = {
                [APPROVAL_OPEN] = "open",           [APPROVAL_ANSWERED] = "answered",
                [APPROVAL_DELIVERED] = "delivered", [APPROVAL_UNDELIVERABLE] = "undeliverable",
                [APPROVAL_EXPIRED] = "expired",     [APPROVAL_WITHDRAWN] = "withdrawn"};

        return names[state];
}

/* ---- made ------------------------------------------------------------------------------------ */

Approval *approval_free(Approval *approval) {
        if (!approval)
                return NULL;
        arena_deinit(&approval->arena);
        free(approval);
        return NULL;
}

static bool approval_copy(Approval *approval, const Json *json, const char *name, Str *ret) {
        Str text = json_text_of(json, name);

        *ret = text.n ? arena_str(&approval->arena, text) : STR_NULL;
        approval->n_bytes += text.n;
        return !text.n || ret->data;
}

static bool approval_take_options(Approval *approval, const Json *options) {
        json_each (json, options) {
                ApprovalOption *option = &approval->options[approval->n_options];

                if (approval->n_options == APPROVAL_OPTIONS_MAX ||
                    !approval_copy(approval, json, "id", &option->id) || !option->id.n ||
                    !approval_copy(approval, json, "label", &option->label) ||
                    !approval_effect_read(json_text_of(json, "effect"), &option->effect) ||
                    !approval_scope_read(json_text_of(json, "scope"), &option->scope))
                        return false;
                approval->n_options++;
        }
        return approval->n_options > 0;
}

static bool approval_take_evidence(Approval *approval, const Json *json) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const Json *evidence = json_get(json, "evidence");
        Str digest = json_text_of(json, "digest");

        if (digest.n >= sizeof(approval->digest))
                return false;
        memcpy(approval->digest, digest.n ? digest.data : "", digest.n);
        if (!evidence)
                return true;
        if (json_write_es(&text, evidence))
                return false;
        approval->evidence = arena_str(&approval->arena, buf_str(&text));
        approval->n_bytes += text.n;
        return approval->evidence.data != NULL;
}

static bool approval_fill(Approval *approval, const Json *json) {
        Str id = json_text_of(json, "id");

        if (id.n != APPROVAL_ID_DIGITS)
                return false;
        memcpy(approval->id, id.data, id.n);
        return approval_copy(approval, json, "key", &approval->key) &&
               approval_copy(approval, json, "asker", &approval->asker) &&
               approval_copy(approval, json, "kind", &approval->kind) &&
               approval_copy(approval, json, "title", &approval->title) &&
               approval_copy(approval, json, "body", &approval->body) &&
               approval_copy(approval, json, "default", &approval->fallback) &&
               approval_copy(approval, json, "tool", &approval->tool) &&
               approval_copy(approval, json, "subject", &approval->subject) &&
               time_parse(json_text_of(json, "asked_at"), &approval->asked_us) &&
               time_parse(json_text_of(json, "expires_at"), &approval->expires_us) &&
               approval_take_options(approval, json_get(json, "options")) &&
               approval_take_evidence(approval, json);
}

Approval *approval_new(const Json *json) {
        Approval *approval = calloc(1, sizeof(*approval));

        if (!approval)
                return NULL;
        LIST_INIT(&approval->waits);
        LIST_INIT(&approval->answers);
        approval->n_bytes = sizeof(*approval);
        if (!approval_fill(approval, json))
                return approval_free(approval);
        approval->key_hash = hash_str(approval->key);
        approval->way = approval_way_read(json_text_of(json, "way"));
        return approval;
}

/* ---- asked of it ----------------------------------------------------------------------------- */

bool approval_is_over(const Approval *approval) {
        return approval->state != APPROVAL_OPEN;
}

const ApprovalOption *approval_option(const Approval *approval, Str id) {
        for (size_t i = 0; i < approval->n_options; i++)
                if (str_eq(approval->options[i].id, id))
                        return &approval->options[i];
        return NULL;
}

static bool approval_is_said(Str text, Str name) {
        return name.n && text.n == name.n && !strncasecmp(text.data, name.data, name.n);
}

const ApprovalOption *approval_option_said(const Approval *approval, Str text) {
        for (size_t i = 0; i < approval->n_options; i++) {
                const ApprovalOption *option = &approval->options[i];

                if (approval_is_said(text, option->id) || approval_is_said(text, option->label) ||
                    (option->effect == APPROVAL_ALLOW && option->scope == APPROVAL_ALWAYS &&
                     approval_is_said(text, STR("allow always"))))
                        return option;
        }
        return NULL;
}

const ApprovalOption *approval_verdict(const Approval *approval) {
        return approval->option.n ? approval_option(approval, approval->option) : NULL;
}

/* ---- as JSON --------------------------------------------------------------------------------- */

static void approval_write_options(const ApprovalOption *options, size_t n, JsonWriter *w) {
        jw_key(w, "options");
        jw_begin_array(w);
        for (size_t i = 0; i < n; i++) {
                jw_begin_object(w);
                jw_field_str(w, "id", options[i].id);
                jw_field_str(w, "label", options[i].label.n ? options[i].label : options[i].id);
                jw_field_cstr(w, "effect", approval_effect_name(options[i].effect));
                jw_field_cstr(w, "scope", approval_scope_name(options[i].scope));
                jw_end_object(w);
        }
        jw_end_array(w);
}

static void approval_field(JsonWriter *w, const char *key, Str text) {
        if (text.n)
                jw_field_str(w, key, text);
}

void approval_offer_always(ApprovalAsk *ask) {
        const ApprovalOption options[] = {
                {.id = STR("allow"), .label = STR("Allow once"), .effect = APPROVAL_ALLOW},
                {.id = STR("always"),
                 .label = STR("Allow always"),
                 .effect = APPROVAL_ALLOW,
                 .scope = APPROVAL_ALWAYS},
                {.id = STR("deny"), .label = STR("Deny"), .effect = APPROVAL_DENY}};

        memcpy(ask->options, options, sizeof(options));
        ask->n_options = ARRAY_SIZE(options);
}

void approval_write_asked(const ApprovalAsk *ask, const char *id, Str evidence, const char *digest,
                          int64_t now_us, JsonWriter *w) {
        const ApprovalOption usual[] = {
                {.id = STR("allow"), .label = STR("Allow"), .effect = APPROVAL_ALLOW},
                {.id = STR("deny"), .label = STR("Deny"), .effect = APPROVAL_DENY}};
        int64_t expires_s = ask->expires_s ? ask->expires_s : APPROVAL_EXPIRES_S;

        jw_begin_object(w);
        jw_field_cstr(w, "id", id);
        approval_field(w, "key", ask->key);
        jw_field_cstr(w, "digest", digest);
        jw_field_str(w, "asker", ask->asker);
        jw_field_str(w, "kind", ask->kind);
        jw_field_str(w, "title", utf8_first(ask->title, APPROVAL_TITLE_MAX));
        approval_field(w, "body", ask->body);
        if (evidence.n) {
                jw_key(w, "evidence");
                jw_raw(w, evidence);
        }
        approval_write_options(ask->n_options ? ask->options : usual,
                               ask->n_options ? ask->n_options : ARRAY_SIZE(usual), w);
        approval_field(w, "default", ask->fallback);
        approval_field(w, "tool", ask->tool);
        approval_field(w, "subject", ask->subject);
        jw_field_cstr(w, "way", approval_ways[ask->way]);
        jw_field_time_us(w, "asked_at", now_us);
        jw_field_time_us(w, "expires_at", now_us + expires_s * 1000000);
        jw_end_object(w);
}

static void approval_write_answer(const Approval *approval, JsonWriter *w) {
        jw_key(w, "answer");
        jw_begin_object(w);
        jw_field_str(w, "option", approval->option);
        jw_field_str(w, "by", approval->by);
        jw_field_str(w, "via", approval->via);
        jw_field_time_ms(w, "at", approval->decided_us);
        approval_field(w, "note", approval->note);
        jw_end_object(w);
}

void approval_write(const Approval *approval, bool is_whole, JsonWriter *w) {
        jw_begin_object(w);
        jw_field_cstr(w, "id", approval->id);
        approval_field(w, "key", approval->key);
        jw_field_cstr(w, "digest", approval->digest);
        jw_field_str(w, "asker", approval->asker);
        jw_field_str(w, "kind", approval->kind);
        jw_field_str(w, "title", approval->title);
        if (is_whole) {
                approval_field(w, "body", approval->body);
                jw_key(w, "evidence");
                jw_raw(w, approval->evidence.n ? approval->evidence : STR("{}"));
        }
        approval_field(w, "tool", approval->tool);
        approval_write_options(approval->options, approval->n_options, w);
        approval_field(w, "default", approval->fallback);
        jw_field_time_ms(w, "asked_at", approval->asked_us);
        jw_field_time_ms(w, "expires_at", approval->expires_us);
        jw_field_cstr(w, "state", approval_state_name(approval->state));
        approval_field(w, "why", approval->why);
        if (approval->way == APPROVAL_BY_HOOK && !LIST_EMPTY(&approval->waits))
                jw_field_bool(w, "held", true);
        if (approval->option.n)
                approval_write_answer(approval, w);
        if (approval->delivered_us) {
                jw_key(w, "delivery");
                jw_begin_object(w);
                jw_field_time_ms(w, "at", approval->delivered_us);
                jw_end_object(w);
        }
        jw_end_object(w);
}
