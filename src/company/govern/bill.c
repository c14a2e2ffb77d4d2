/* SPDX-License-Identifier: MIT */
#include "company/govern/bill.h"

static const char bill_method[] = "estimated from character counts using tokens≈chars/4";

void bill_make(Bill *bill, const UsageMeter *meter, int64_t n_input_units, Str provider, const Json *cards) {
        *bill = (Bill){.provider = provider};
        bill->is_estimate = !usage_meter_best(meter, &bill->count);
        if (bill->is_estimate)
                usage_estimate(n_input_units, usage_meter_units(meter), &bill->count);
        bill->has_cost = usage_rates_find(cards, provider, &bill->rates);
        if (bill->has_cost)
                bill->usd = usage_cost(&bill->count, &bill->rates);
}

static void bill_field_said(JsonWriter *w, const char *key, int64_t n) {
        if (n != USAGE_UNSAID)
                jw_field_int(w, key, n);
}

/* Without the braces. */
static void bill_write_count(JsonWriter *w, const UsageCount *count, bool is_estimate, Str provider) {
        jw_field_cstr(w, "source", is_estimate ? "estimated_chars" : "provider_reported");
        jw_field_cstr(w, "confidence", is_estimate ? "low" : "high");
        if (is_estimate)
                jw_field_cstr(w, "estimate_method", bill_method);
        jw_field_str(w, "provider", provider);
        bill_field_said(w, "input_tokens", count->n_input);
        bill_field_said(w, "cached_input_tokens", count->n_cached);
        bill_field_said(w, "output_tokens", count->n_output);
        bill_field_said(w, "reasoning_output_tokens", count->n_reasoning);
        jw_field_int(w, "total_tokens", count->n_total);
        if (count->from.n)
                jw_field_str(w, "captured_from_event_type", count->from);
}

void bill_write_reported(JsonWriter *w, const UsageCount *count, Str provider) {
        jw_begin_object(w);
        bill_write_count(w, count, false, provider);
        jw_end_object(w);
}

void bill_write_estimated(JsonWriter *w, const Bill *bill) {
        jw_begin_object(w);
        bill_write_count(w, &bill->count, true, bill->provider);
        jw_end_object(w);
}

void bill_write_usage(JsonWriter *w, const Bill *bill) {
        jw_begin_object(w);
        bill_write_count(w, &bill->count, bill->is_estimate, bill->provider);
        if (bill->has_cost) {
                jw_key(w, "cost_usd");
                jw_double(w, bill->usd);
                jw_field_cstr(w, "cost_currency", "USD");
        }
        jw_field_cstr(w, "cost_source", bill->has_cost ? "provider_rate_card" : "no_rate_card");
        if (bill->has_cost)
                jw_field_str(w, "cost_rate_card_provider", bill->rates.name);
        jw_end_object(w);
}

void bill_write_cost(JsonWriter *w, const Bill *bill) {
        jw_begin_object(w);
        jw_key(w, "cost_usd");
        jw_double(w, bill->usd);
        jw_field_cstr(w, "currency", "USD");
        jw_field_cstr(w, "source", "provider_rate_card");
        jw_field_str(w, "rate_card_provider", bill->rates.name);
        jw_end_object(w);
}

void bill_write_cycle(JsonWriter *w, UsageSource source, const UsageCycle *cycle) {
        jw_begin_object(w);
        jw_field_int(w, "count", cycle->n);
        jw_field_str(w, "signal_type", cycle->path);
        jw_field_cstr(w, "source", source == USAGE_LINE ? "provider_jsonl" : "provider_notification");
        jw_end_object(w);
}

/* One path may have been a sign several times. */
static bool bill_is_repeated(const UsageMeter *meter, const UsageSeen *seen) {
        for (const UsageSeen *other = meter->cycles; other != seen; other = other->next)
                if (str_eq(other->cycle.path, seen->cycle.path))
                        return true;
        return false;
}

void bill_write_cycles(JsonWriter *w, const UsageMeter *meter) {
        jw_begin_object(w);
        jw_field_int(w, "count", meter->n_cycles);
        jw_field_cstr(w, "source", meter->cycles ? "provider_signal" : "unavailable");
        if (meter->cycles) {
                jw_key(w, "signal_types");
                jw_begin_array(w);
                for (const UsageSeen *seen = meter->cycles; seen; seen = seen->next)
                        if (!bill_is_repeated(meter, seen))
                                jw_str(w, seen->cycle.path);
                jw_end_array(w);
        }
        jw_end_object(w);
}
