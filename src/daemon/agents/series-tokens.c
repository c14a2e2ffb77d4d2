/* SPDX-License-Identifier: MIT */
#include "daemon/agents/series-tokens.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct TokensPoint {
        uint64_t id;
        int64_t at_s, n;
} TokensPoint;

typedef struct TokensPoints {
        const LoadQuestion *question;
        TokensPoint *points;
        size_t n, n_room;
        bool is_cut;
} TokensPoints;

static bool tokens_are_asked(const LoadQuestion *q, uint64_t id) {
        for (size_t i = 0; i < q->n_ids; i++)
                if (q->ids[i] == id)
                        return true;
        return !q->ids;
}

static void tokens_take(void *user, const UsageRecord *record) {
        TokensPoints *self = user;
        const LoadQuestion *q = self->question;
        uint64_t id = strtoull(record->process.n ? record->process.data : "0", NULL, 16);
        int64_t at_s = record->ts_us / 1000000;

        if (at_s >= q->to_s || !id || !tokens_are_asked(q, id))
                return;
        if (self->n == self->n_room) {
                size_t n = self->n_room ? self->n_room * 2 : 256;
                TokensPoint *more =
                        n <= (size_t)LOAD_POINTS_MAX * 2 ? realloc(self->points, n * sizeof(*more)) : NULL;

                self->is_cut |= !more;
                if (!more)
                        return;
                self->points = more;
                self->n_room = n;
        }
        self->points[self->n++] =
                (TokensPoint){id, at_s - (at_s - q->from_s) % q->step_s, usage_tokens_sum(&record->tokens)};
}

static int tokens_compare(const void *a, const void *b) {
        const TokensPoint *x = a, *y = b;

        if (x->id != y->id)
                return x->id < y->id ? -1 : 1;
        return x->at_s < y->at_s ? -1 : x->at_s > y->at_s;
}

/* Points of one process from i on; returns where the next begins. */
static size_t tokens_write_one(const TokensPoints *self, size_t i, JsonWriter *w) {
        char id[17];
        uint64_t of = self->points[i].id;

        snprintf(id, sizeof(id), "%016" PRIx64, of);
        jw_begin_object(w);
        jw_field_cstr(w, "id", id);
        jw_field_cstr(w, "metric", "tokens");
        jw_key(w, "points");
        jw_begin_array(w);
        while (i < self->n && self->points[i].id == of) {
                int64_t at_s = self->points[i].at_s, n = 0;

                for (; i < self->n && self->points[i].id == of && self->points[i].at_s == at_s; i++)
                        n += self->points[i].n;
                jw_begin_array(w);
                jw_int(w, at_s);
                jw_int(w, n);
                jw_end_array(w);
        }
        jw_end_array(w);
        jw_end_object(w);
        return i;
}

bool series_tokens_write(const UsageTable *table, const LoadQuestion *question, JsonWriter *w) {
        TokensPoints self = {.question = question};

        if (table)
                usage_table_each(table, question->from_s * 1000000, tokens_take, &self);
        if (self.n)
                qsort(self.points, self.n, sizeof(*self.points), tokens_compare);
        for (size_t i = 0; i < self.n;)
                i = tokens_write_one(&self, i, w);
        free(self.points);
        return !self.is_cut;
}
