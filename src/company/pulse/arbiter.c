/* SPDX-License-Identifier: MIT */
#include "company/pulse/arbiter.h"

#include <errno.h>
#include <stdio.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/time.h"

enum { ARBITER_HOUR_MAX = 64 };

static const int64_t arbiter_hour_us = INT64_C(3600) * 1000 * 1000;

/* 2026-01-02-03, in UTC: names of hours sort as their times do. */
static void arbiter_hour(int64_t us, char ret[ARBITER_HOUR_MAX]) {
        Civil at = time_civil(us);

        (void)snprintf(ret, ARBITER_HOUR_MAX, "%04u-%02u-%02u-%02u", at.year, at.month, at.day, at.hour);
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static void arbiter_clean_keys(Arbiter *arbiter) {
        Json *keys = json_get(arbiter->state, "idempotency");

        for (Json *entry = json_first(keys), *next; entry; entry = next) {
                int64_t until_us;

                next = entry->next;
                if (!time_parse(json_text_of(entry, "expires_at"), &until_us) || until_us <= arbiter->now_us)
                        (void)json_remove(keys, json_key(entry));
        }
}

void arbiter_clean(Arbiter *arbiter) {
        Json *hours = json_get(arbiter->state, "hourly_action_counters");
        char oldest[ARBITER_HOUR_MAX];

        arbiter_clean_keys(arbiter);
        arbiter_hour(arbiter->now_us - ARBITER_HOURS * arbiter_hour_us, oldest);
        for (Json *hour = json_first(hours), *next; hour; hour = next) {
                Str key = json_key(hour), limit = str_from(oldest);

                next = hour->next;
                if (key.n != limit.n || memcmp(key.data, limit.data, key.n) < 0)
                        (void)json_remove(hours, key);
        }
}

/* ---- judging --------------------------------------------------------------------------------- */

const Json *arbiter_known(const Arbiter *arbiter, const Json *action) {
        return json_get_str(json_get(arbiter->state, "idempotency"),
                            json_text_of(action, "idempotency_key"));
}

static int64_t arbiter_n_hour(const Arbiter *arbiter) {
        char hour[ARBITER_HOUR_MAX];
        int64_t n = 0;

        arbiter_hour(arbiter->now_us, hour);
        (void)json_int64(json_get(json_get(arbiter->state, "hourly_action_counters"), hour), &n);
        return n;
}

bool arbiter_needs_approval(const Arbiter *arbiter, const Json *action) {
        const PulseConfig *config = arbiter->config;
        Str kind = json_text_of(action, "kind");

        return str_is(kind, "create_approval_item") || json_truth_of(action, "needs_approval") ||
               !str_is(json_text_of(action, "risk"), "low") ||
               (arbiter->is_quiet && str_is(kind, "add_comment")) ||
               arbiter->n_executed >= config->max_auto_actions_per_tick ||
               arbiter_n_hour(arbiter) >= config->max_auto_actions_per_hour;
}

ArbiterVerdict arbiter_judge(const Arbiter *arbiter, const Json *action) {
        if (arbiter_known(arbiter, action))
                return ARBITER_DEDUPED;
        if (!arbiter_needs_approval(arbiter, action))
                return ARBITER_ALLOWED;
        return json_text_of(action, "project_id").n ? ARBITER_QUEUED : ARBITER_SKIPPED;
}

/* ---- remembering ----------------------------------------------------------------------------- */

static int arbiter_set_time(Arbiter *arbiter, Json *entry, const char *key, int64_t us) {
        char text[TIME_TEXT_MAX];

        time_format_ms(us, text);
        return json_set(arbiter->arena, entry, str_from(key), json_new_str(arbiter->arena, str_from(text)));
}

static int arbiter_set_str(Arbiter *arbiter, Json *entry, const char *key, Str text) {
        return json_set(arbiter->arena, entry, str_from(key), json_new_str(arbiter->arena, text));
}

int arbiter_note(Arbiter *arbiter, const Json *action, bool is_executed) {
        Str key = json_text_of(action, "idempotency_key");
        Json *entry = json_new(arbiter->arena, JSON_OBJECT);
        int64_t until_us = arbiter->now_us + arbiter->config->idempotency_ttl_days * 24 * arbiter_hour_us;

        if (!entry || arbiter_set_str(arbiter, entry, "idempotency_key", key) ||
            arbiter_set_str(arbiter, entry, "action_kind", json_text_of(action, "kind")) ||
            arbiter_set_time(arbiter, entry, "first_seen_at", arbiter->now_us) ||
            arbiter_set_time(arbiter, entry, "last_seen_at", arbiter->now_us) ||
            arbiter_set_time(arbiter, entry, "expires_at", until_us) ||
            arbiter_set_str(arbiter, entry, "status", is_executed ? STR("executed") : STR("queued")) ||
            json_set(arbiter->arena, entry, STR("execution_count"),
                     json_new_int(arbiter->arena, is_executed)) ||
            json_set(arbiter->arena, json_get(arbiter->state, "idempotency"), key, entry))
                return error_origin(-ENOMEM);
        return is_executed ? error_trace(arbiter_count(arbiter)) : 0;
}

int arbiter_count(Arbiter *arbiter) {
        char hour[ARBITER_HOUR_MAX];

        arbiter_hour(arbiter->now_us, hour);
        arbiter->n_executed++;
        return error_trace(json_set(arbiter->arena, json_get(arbiter->state, "hourly_action_counters"),
                                    str_from(hour),
                                    json_new_int(arbiter->arena, arbiter_n_hour(arbiter) + 1)));
}

int arbiter_add_stat(Arbiter *arbiter, const char *name, int64_t n) {
        Json *stats = json_get(arbiter->state, "stats");
        int64_t before = 0;

        (void)json_int64(json_get(stats, name), &before);
        return n ? error_trace(json_set(arbiter->arena, stats, str_from(name),
                                        json_new_int(arbiter->arena, before + n)))
                 : 0;
}
