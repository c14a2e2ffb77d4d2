#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Bill: what a run has used and what it cost, as its document, token_usage.json and events have it. Made
 * from what core/usage found; it borrows all texts.
 */
#include "base/json/json-writer.h"
#include "core/usage/usage-meter.h"

typedef struct Bill {
        UsageCount count;
        bool is_estimate;
        Str provider;
        bool has_cost; /* there is a rate card */
        double usd;
        UsageRates rates;
} Bill;

/* What the provider said last but largest, else an estimate. cards: of machine.yaml, or NULL. */
void bill_make(Bill *bill, const UsageMeter *meter, int64_t n_input_units, Str provider, const Json *cards);

/* Payload of usage.reported: one count, as it is found. */
void bill_write_reported(JsonWriter *w, const UsageCount *count, Str provider);
void bill_write_estimated(JsonWriter *w, const Bill *bill); /* payload of usage.estimated */
void bill_write_usage(JsonWriter *w, const Bill *bill);     /* `usage` of run.yaml, and token_usage.json */
void bill_write_cost(JsonWriter *w,
                     const Bill *bill); /* payload of usage.cost_computed; only with has_cost */
void bill_write_cycles(JsonWriter *w, const UsageMeter *meter); /* `context_cycles` of run.yaml */
/* Payload of context.cycle.detected. */
void bill_write_cycle(JsonWriter *w, UsageSource source, const UsageCycle *cycle);
