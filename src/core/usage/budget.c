/* SPDX-License-Identifier: MIT */
#include "core/usage/budget.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/json/json-writer.h"
#include "core/usage/budget-internal.h"
#include "core/usage/usage-book.h"
#include "core/usage/usage.h"

static const char *const budget_scopes[] = {[BUDGET_ALL] = "all",
                                            [BUDGET_NAME] = "name",
                                            [BUDGET_GROUP] = "group",
                                            [BUDGET_PROJECT] = "project",
                                            [BUDGET_ACCOUNT] = "account"};
static const char *const budget_metrics[] = {[BUDGET_TOKENS] = "tokens",
                                             [BUDGET_USD] = "usd",
                                             [BUDGET_TURNS] = "turns",
                                             [BUDGET_MINUTES] = "minutes"};
static const char *const budget_pers[] = {
        [BUDGET_DAY] = "day", [BUDGET_RUN] = "run", [BUDGET_EVER] = "ever"};
static const char *const budget_levels[] = {
        [BUDGET_NONE] = "none", [BUDGET_WARN] = "warn", [BUDGET_SOFT] = "soft", [BUDGET_HARD] = "hard"};

const char *budget_metric_name(BudgetMetric metric) {
        return budget_metrics[metric];
}

const char *budget_per_name(BudgetPer per) {
        return budget_pers[per];
}

const char *budget_level_name(BudgetLevel level) {
        return budget_levels[level];
}

static bool budget_word_of(const char *const *names, size_t n, Str text, unsigned *ret) {
        for (size_t i = 0; i < n; i++)
                if (str_is(text, names[i])) {
                        *ret = (unsigned)i;
                        return true;
                }
        return false;
}

bool budget_scope_read(Str text, BudgetScope *ret, Str *ret_word) {
        const char *colon = text.n ? memchr(text.data, ':', text.n) : NULL;
        Str kind = {text.data, colon ? (size_t)(colon - text.data) : text.n};
        unsigned scope;

        if (!budget_word_of(budget_scopes, _BUDGET_SCOPES, kind, &scope))
                return false;
        *ret = (BudgetScope)scope;
        *ret_word = colon ? (Str){colon + 1, text.n - kind.n - 1} : STR_NULL;
        return (scope == BUDGET_ALL) == !ret_word->n && ret_word->n < BUDGET_WORD_MAX;
}

/* ---- one ------------------------------------------------------------------------------------- */

void budget_free(Budget *budget) {
        free(budget->word);
        free(budget->runs);
        free(budget);
}

void budget_make_id(Budget *budget) {
        uint64_t hash = hash_str(str_from(budget->word ? budget->word : ""));
        const unsigned char parts[] = {(unsigned char)budget->scope, (unsigned char)budget->metric,
                                       (unsigned char)budget->per};

        snprintf(budget->id, sizeof(budget->id), "%08" PRIx64, hash_bytes(hash, parts, sizeof(parts)) >> 32);
}

static void budget_write_settings(JsonWriter *w, const Budget *budget) {
        static const char *const names[] = {
                [BUDGET_WARN] = "warn", [BUDGET_SOFT] = "soft", [BUDGET_HARD] = "hard"};
        char scope[BUDGET_WORD_MAX + 16];

        snprintf(scope, sizeof(scope), "%s%s%s", budget_scopes[budget->scope], *budget->word ? ":" : "",
                 budget->word);
        jw_field_cstr(w, "id", budget->id);
        jw_field_cstr(w, "scope", scope);
        jw_field_cstr(w, "metric", budget_metrics[budget->metric]);
        jw_field_cstr(w, "per", budget_pers[budget->per]);
        for (BudgetLevel level = BUDGET_WARN; level <= BUDGET_HARD; level++)
                if (budget->bounds[level] >= 0) {
                        jw_key(w, names[level]);
                        jw_double(w, budget->bounds[level]);
                }
        jw_field_cstr(w, "on_hard", budget->stops ? "stop" : "pause");
}

void budgets_show(JsonWriter *w, const Budget *budget) {
        jw_begin_object(w);
        budget_write_settings(w, budget);
        jw_key(w, "used");
        jw_double(w, usage_round(budget->used));
        jw_field_cstr(w, "reached", budget_level_name(budget->level));
        if (budget->bounds[BUDGET_HARD] >= 0 && budget->used > budget->bounds[BUDGET_HARD]) {
                jw_key(w, "over");
                jw_double(w, usage_round(budget->used - budget->bounds[BUDGET_HARD]));
        }
        jw_field_bool(w, "judged", budget->is_judged);
        if (!budget->is_judged)
                jw_field_cstr(w, "why", "cannot be judged: some of what was used has no price");
        jw_end_object(w);
}

/* False: it is none. */
static bool budget_read(const Json *json, Budget *ret) {
        static const char *const names[] = {
                [BUDGET_WARN] = "warn", [BUDGET_SOFT] = "soft", [BUDGET_HARD] = "hard"};
        unsigned metric, per;
        Str word;

        *ret = (Budget){.stops = str_is(json_text_of(json, "on_hard"), "stop"),
                        .bounds = {-1, -1, -1, -1},
                        .is_judged = true};
        if (!budget_scope_read(json_text_of(json, "scope"), &ret->scope, &word) ||
            !budget_word_of(budget_metrics, _BUDGET_METRICS, json_text_of(json, "metric"), &metric) ||
            !budget_word_of(budget_pers, _BUDGET_PERS, json_text_of(json, "per"), &per))
                return false;
        ret->metric = (BudgetMetric)metric;
        ret->per = (BudgetPer)per;
        for (BudgetLevel level = BUDGET_WARN; level <= BUDGET_HARD; level++)
                (void)json_double(json_get(json, names[level]), &ret->bounds[level]);
        ret->word = str_dup(word);
        return ret->word;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static bool budget_is_same(const Budget *a, const Budget *b) {
        return a->scope == b->scope && a->metric == b->metric && a->per == b->per &&
               !strcmp(a->word, b->word);
}

void budget_list_deinit(BudgetList *list) {
        while (list->first) {
                Budget *budget = list->first;

                list->first = budget->next;
                budget_free(budget);
        }
        free(list->path);
        list->path = NULL;
}

static Budget **budget_list_end(BudgetList *list) {
        Budget **end = &list->first;

        while (*end)
                end = &(*end)->next;
        return end;
}

int budget_list_set(BudgetList *list, const Budget *budget) {
        Budget *copy = malloc(sizeof(*copy)), **link = &list->first;

        if (!copy)
                return error_origin(-ENOMEM);
        *copy = *budget;
        copy->next = NULL;
        copy->runs = NULL;
        copy->n_runs = 0;
        copy->word = strdup(budget->word);
        if (!copy->word) {
                free(copy);
                return error_origin(-ENOMEM);
        }
        budget_make_id(copy);
        while (*link && !budget_is_same(*link, copy))
                link = &(*link)->next;
        if (*link) {
                copy->next = (*link)->next;
                budget_free(*link);
        }
        *link = copy;
        return 0;
}

bool budget_list_remove(BudgetList *list, Str id) {
        for (Budget **link = &list->first; *link; link = &(*link)->next)
                if (str_is(id, (*link)->id)) {
                        Budget *gone = *link;

                        *link = gone->next;
                        budget_free(gone);
                        return true;
                }
        return false;
}

int budget_list_copy(const Budgets *self, BudgetList *ret) {
        *ret = (BudgetList){.path = strdup(self->path)};
        for (const Budget *budget = self->first; budget && ret->path; budget = budget->next)
                if (budget_list_set(ret, budget)) {
                        budget_list_deinit(ret);
                        break;
                }
        return ret->path ? 0 : error_origin(-ENOMEM);
}

int budget_list_write(BudgetList *list) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        _cleanup_(freep) char *folder = strdup(list->path);
        JsonWriter w = JSON_WRITER(&text);
        int r = folder ? 0 : -ENOMEM;

        jw_begin_object(&w);
        jw_key(&w, "budgets");
        jw_begin_array(&w);
        for (const Budget *budget = list->first; budget; budget = budget->next) {
                jw_begin_object(&w);
                budget_write_settings(&w, budget);
                jw_end_object(&w);
        }
        jw_end_array(&w);
        jw_end_object(&w);
        if (!r) {
                *strrchr(folder, '/') = '\0';
                r = w.failed ? -ENOMEM : dir_make(folder, 0700);
        }
        return error_trace(r ? r : file_replace(list->path, buf_str(&text), 0600, FILE_DURABLE));
}

void budgets_take(Budgets *self, BudgetList *list) {
        Budget *old = self->first;

        self->first = steal(&list->first);
        list->first = old; /* goes with it */
}

/* ---- life ------------------------------------------------------------------------------------ */

const Budget *budgets_first(const Budgets *self) {
        return self ? self->first : NULL;
}

const Budget *budgets_find(const Budgets *self, Str id) {
        for (const Budget *budget = budgets_first(self); budget; budget = budget->next)
                if (str_is(id, budget->id))
                        return budget;
        return NULL;
}

bool *budgets_is_changing(Budgets *self) {
        return &self->is_changing;
}

void budgets_on_release(Budgets *self, void (*released)(Daemon *daemon)) {
        self->released = released;
}

static int budgets_load(Budgets *self) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        BudgetList list = {0};
        Json *json = NULL;
        int r = file_read(self->path, BUDGETS_FILE_MAX, &text);

        if (r)
                return r == FILE_E_MISSING ? 0 : error_trace(r > 0 ? -EFBIG : r);
        if (json_parse(&arena, text.data, text.n, NULL, &json, NULL))
                return error_origin(-EBADMSG);
        json_each (item, json_get(json, "budgets")) {
                Budget budget;
                Budget **end = budget_list_end(&list);

                if (!budget_read(item, &budget))
                        continue;
                *end = calloc(1, sizeof(**end));
                if (!*end) {
                        free(budget.word);
                        budget_list_deinit(&list);
                        return error_origin(-ENOMEM);
                }
                budget_make_id(&budget);
                **end = budget;
        }
        self->first = list.first;
        return 0;
}

Budgets *budgets_free(Budgets *self) {
        if (!self)
                return NULL;
        timer_clear(&self->again);
        budget_questions_free(self);
        while (self->first) {
                Budget *budget = self->first;

                self->first = budget->next;
                budget_free(budget);
        }
        free(self->folder);
        free(self->path);
        free(self);
        return NULL;
}

int budgets_new(Budgets **ret, Daemon *daemon, UsageBook *book) {
        Budgets *self = calloc(1, sizeof(*self));
        int r;

        if (!self)
                return error_origin(-ENOMEM);
        self->daemon = daemon;
        timer_init(&self->again, daemon->loop, budgets_on_again);
        self->folder = path_join(daemon->home, "usage");
        self->path = self->folder ? path_join(self->folder, "budgets.json") : NULL;
        r = self->path ? budgets_load(self) : -ENOMEM;
        if (r) {
                budgets_free(self);
                return error_trace(r);
        }
        *ret = self;
        usage_book_on_change(book, budgets_judge);
        if (self->first)
                (void)timer_set(&self->again, 1);
        return 0;
}
