/* SPDX-License-Identifier: MIT */
#include "core/usage/prices.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json/toml.h"
#include "base/macro.h"
#include "base/time.h"

extern const char prices_ours[];

static bool prices_fits(Str pattern, Str text) {
        size_t at = 0, star = SIZE_MAX, back = 0, i = 0;

        while (i < text.n) {
                if (at < pattern.n && pattern.data[at] == '*') {
                        star = at++;
                        back = i;
                } else if (at < pattern.n && pattern.data[at] == text.data[i]) {
                        at++;
                        i++;
                } else if (star != SIZE_MAX) {
                        at = star + 1;
                        i = ++back;
                } else
                        return false;
        }
        while (at < pattern.n && pattern.data[at] == '*')
                at++;
        return at == pattern.n;
}

static bool prices_is_better(const Price *a, const Price *b) {
        if (a->is_users != b->is_users)
                return a->is_users;
        return a->model.n != b->model.n ? a->model.n > b->model.n : a->from_us > b->from_us;
}

const Price *prices_find(const Prices *prices, Str model, int64_t at_us) {
        const Price *best = NULL;

        for (size_t i = 0; i < prices->n && model.n; i++) {
                const Price *row = &prices->rows[i];

                if (row->from_us <= at_us && prices_fits(row->model, model) &&
                    (!best || prices_is_better(row, best)))
                        best = row;
        }
        return best;
}

double price_cost(const Price *price, const UsageTokens *tokens) {
        return ((double)tokens->in * price->input + (double)tokens->cached * price->cached +
                (double)tokens->cache_write * price->cache_write + (double)tokens->out * price->output) /
               1e6;
}

static bool prices_number(const Json *row, const char *name, double *ret) {
        double value;

        if (!json_get(row, name))
                return true;
        if (!json_double(json_get(row, name), &value) || value < 0)
                return false;
        *ret = value;
        return true;
}

static bool prices_read(Prices *prices, const Json *row, bool is_users, Price *ret) {
        Str from = json_text_of(row, "from");

        *ret = (Price){.is_users = is_users, .input = -1, .output = -1};
        if (!json_text_of(row, "model").n || !prices_number(row, "input", &ret->input) ||
            !prices_number(row, "output", &ret->output) || ret->input < 0 || ret->output < 0)
                return false;
        ret->cached = ret->cache_write = ret->input;
        if (!prices_number(row, "cached", &ret->cached) ||
            !prices_number(row, "cache_write", &ret->cache_write))
                return false;
        if (from.n == 10) /* a date */
                from = arena_printf(&prices->arena, STR_FMT "T00:00:00Z", STR_ARG(from));
        if (from.n && !time_parse(from, &ret->from_us))
                return false;
        ret->model = arena_str(&prices->arena, json_text_of(row, "model"));
        return ret->model.data;
}

static int prices_push(Prices *prices, const Price *price) {
        if (prices->n == prices->n_room) {
                size_t n = prices->n_room ? prices->n_room * 2 : 32;
                Price *more = realloc(prices->rows, n * sizeof(*more));

                if (!more)
                        return error_origin(-ENOMEM);
                prices->rows = more;
                prices->n_room = n;
        }
        prices->rows[prices->n++] = *price;
        return 0;
}

int prices_add(Prices *prices, Str toml, bool is_users, const char **ret_why) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *json = NULL;
        TomlFault fault;
        size_t n = 0;
        int r = toml_parse_text(&arena, toml, &json, &fault);

        *ret_why = r > 0 ? "it is no TOML" : NULL;
        if (r)
                return r > 0 ? 0 : error_trace(r);
        json_each (row, json_get(json, "price")) {
                Price price;

                if (n++ == PRICES_MAX)
                        *ret_why = "it has too many rows";
                if (n > PRICES_MAX)
                        break;
                if (!prices_read(prices, row, is_users, &price))
                        *ret_why = "a row needs model, input and output, and numbers that are not negative";
                else if (prices_push(prices, &price))
                        return error_origin(-ENOMEM);
        }
        return 0;
}

int prices_add_ours(Prices *prices) {
        const char *why = NULL;

        return error_trace(prices_add(prices, str_from(prices_ours), false, &why));
}

void prices_deinit(Prices *prices) {
        free(prices->rows);
        arena_deinit(&prices->arena);
        *prices = (Prices){0};
}
