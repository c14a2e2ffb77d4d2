/* SPDX-License-Identifier: MIT */
/* Sums over a UsageTable, by what somebody asks for. */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/usage/usage-table-internal.h"

#define REPORT_HOUR_US (INT64_C(3600) * 1000000)
#define REPORT_DAY_US  (24 * REPORT_HOUR_US)

bool usage_by_from_name(Str name, UsageBy *ret) {
        static const char *const names[] = {[USAGE_BY_NAME] = "name",       [USAGE_BY_GROUP] = "group",
                                            [USAGE_BY_PROJECT] = "project", [USAGE_BY_ACCOUNT] = "account",
                                            [USAGE_BY_RUNTIME] = "runtime", [USAGE_BY_MODEL] = "model",
                                            [USAGE_BY_SESSION] = "session", [USAGE_BY_DAY] = "day",
                                            [USAGE_BY_HOUR] = "hour"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (str_is(name, names[i])) {
                        *ret = (UsageBy)i;
                        return true;
                }
        return false;
}

/* What stands between the kind and the last slash. */
static Str report_place(Str name, Str kind) {
        const char *slash;

        if (!str_starts(name, kind))
                return STR_NULL;
        name = (Str){name.data + kind.n, name.n - kind.n};
        slash = name.n ? memrchr(name.data, '/', name.n) : NULL;
        return slash ? (Str){name.data, (size_t)(slash - name.data)} : STR_NULL;
}

Str usage_group_of(Str name) {
        return report_place(name, STR("actor:"));
}

Str usage_project_of(Str name) {
        return report_place(name, STR("task:"));
}

static void report_add(UsageSum *sum, const UsageEntry *entry) {
        usage_tokens_add(&sum->tokens, &entry->tokens);
        sum->n_responses += !entry->is_turn;
        sum->n_turns += entry->is_turn;
        sum->n_ms += entry->n_ms;
        if (entry->basis == USAGE_REPORTED) {
                sum->reported_usd += entry->cost_usd;
                sum->n_reported++;
        } else if (entry->basis == USAGE_PRICED) {
                sum->priced_usd += entry->cost_usd;
                sum->n_priced++;
        } else
                sum->n_unpriced = MIN(sum->n_unpriced + usage_tokens_sum(&entry->tokens), USAGE_SUM_MAX);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A row is told apart by a text or a time. */
static void report_key(const UsageTable *table, const UsageEntry *entry, UsageBy by, UsageRow *ret) {
        static const uint8_t words[] = {[USAGE_BY_NAME] = USAGE_WORD_NAME,
                                        [USAGE_BY_ACCOUNT] = USAGE_WORD_ACCOUNT,
                                        [USAGE_BY_RUNTIME] = USAGE_WORD_RUNTIME,
                                        [USAGE_BY_MODEL] = USAGE_WORD_MODEL,
                                        [USAGE_BY_SESSION] = USAGE_WORD_SESSION};
        int64_t step_us = by == USAGE_BY_DAY ? REPORT_DAY_US : REPORT_HOUR_US;

        *ret = (UsageRow){0};
        if (by == USAGE_BY_DAY || by == USAGE_BY_HOUR)
                ret->at_us = entry->ts_us - entry->ts_us % step_us;
        else if (by == USAGE_BY_GROUP)
                ret->key = usage_group_of(table->words[entry->words[USAGE_WORD_NAME]]);
        else if (by == USAGE_BY_PROJECT)
                ret->key = usage_project_of(table->words[entry->words[USAGE_WORD_NAME]]);
        else
                ret->key = table->words[entry->words[words[by]]];
}

enum { REPORT_SLOTS = 4 * USAGE_ROWS_MAX };

typedef struct Report {
        UsageAnswer *answer;
        uint16_t slots[REPORT_SLOTS]; /* number of a row + 1 */
} Report;

/* NULL: there are too many. */
static UsageRow *report_row(const UsageTable *table, Report *report, const UsageRow *key) {
        UsageAnswer *answer = report->answer;
        uint64_t hash =
                key->key.n ? siphash(table->key, key->key) : (uint64_t)key->at_us * 0x9e3779b97f4a7c15;
        size_t at = (size_t)(hash >> 16) % REPORT_SLOTS;

        for (; report->slots[at]; at = (at + 1) % REPORT_SLOTS) {
                UsageRow *row = &answer->rows[report->slots[at] - 1];

                if (row->at_us == key->at_us && str_eq(row->key, key->key))
                        return row;
        }
        if (answer->n == USAGE_ROWS_MAX)
                return NULL;
        answer->rows[answer->n] = *key;
        report->slots[at] = (uint16_t)++answer->n;
        return &answer->rows[answer->n - 1];
}

static int report_compare(const void *a, const void *b) {
        const UsageRow *x = a, *y = b;
        int64_t n = usage_tokens_sum(&x->sum.tokens), m = usage_tokens_sum(&y->sum.tokens);

        if (x->at_us != y->at_us)
                return x->at_us < y->at_us ? -1 : 1;
        return n > m ? -1 : n < m;
}

int usage_table_ask(const UsageTable *table, const UsageQuestion *question, UsageAnswer *ret) {
        Report *report = calloc(1, sizeof(*report));

        *ret = (UsageAnswer){.rows = calloc(USAGE_ROWS_MAX, sizeof(*ret->rows))};
        if (!report || !ret->rows) {
                free(report);
                free(ret->rows);
                return error_origin(-ENOMEM);
        }
        report->answer = ret;
        for (size_t i = 0; i < table->n; i++) {
                const UsageEntry *entry = &table->entries[i];
                UsageRow key, *row;

                if (entry->ts_us < question->since_us ||
                    (question->until_us && entry->ts_us >= question->until_us) ||
                    (question->name.n &&
                     !str_eq(question->name, table->words[entry->words[USAGE_WORD_NAME]])))
                        continue;
                report_key(table, entry, question->by, &key);
                row = report_row(table, report, &key);
                if (row)
                        report_add(&row->sum, entry);
                ret->is_cut |= !row;
                report_add(&ret->total, entry);
        }
        free(report);
        qsort(ret->rows, ret->n, sizeof(*ret->rows), report_compare);
        return 0;
}

void usage_table_each(const UsageTable *table, int64_t since_us, UsageEachFn fn, void *user) {
        for (size_t i = 0; i < table->n; i++) {
                const UsageEntry *entry = &table->entries[i];
                const uint32_t *words = entry->words;

                if (entry->ts_us < since_us)
                        continue;
                fn(user, &(UsageRecord){.ts_us = entry->ts_us,
                                        .name = table->words[words[USAGE_WORD_NAME]],
                                        .account = table->words[words[USAGE_WORD_ACCOUNT]],
                                        .runtime = table->words[words[USAGE_WORD_RUNTIME]],
                                        .model = table->words[words[USAGE_WORD_MODEL]],
                                        .session = table->words[words[USAGE_WORD_SESSION]],
                                        .process = table->words[words[USAGE_WORD_PROCESS]],
                                        .tokens = entry->tokens,
                                        .cost_usd = entry->cost_usd,
                                        .basis = (UsageBasis)entry->basis,
                                        .n_turns = entry->is_turn,
                                        .n_ms = entry->n_ms});
        }
}
