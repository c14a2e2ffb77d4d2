/* SPDX-License-Identifier: MIT */
/*
 * The output of a program, in pieces as the first byte says and at once: the same things are found in it,
 * and they are within their bounds.
 */
#include <stdlib.h>

#include "base/macro.h"
#include "core/usage/usage-meter.h"
#include "fuzz.h"

typedef struct {
        unsigned n_counts, n_cycles;
        int64_t n_tokens;
} Found;

static void check_cycle(void *user, _unused_ UsageSource source, const UsageCycle *cycle) {
        Found *found = user;

        if (cycle->n < 1 || !cycle->path.n || cycle->path.n > USAGE_NAME_MAX)
                abort();
        if (++found->n_cycles > USAGE_CYCLES_MAX)
                abort();
}

static void check_count(void *user, const UsageCount *count) {
        Found *found = user;

        if (count->n_total < 0 || count->n_input < USAGE_UNSAID || count->from.n > USAGE_NAME_MAX)
                abort();
        if (++found->n_counts > USAGE_COUNTS_MAX)
                abort();
        found->n_tokens ^= count->n_total;
}

static void read_in_pieces(UsageMeter *meter, Str text, size_t n_piece, Found *found) {
        const UsageTold told = {.cycle = check_cycle, .count = check_count, .user = found};

        for (size_t at = 0; at < text.n; at += n_piece)
                if (usage_meter_feed(meter, USAGE_STDOUT, (Str){text.data + at, MIN(n_piece, text.n - at)},
                                     &told))
                        abort();
        usage_meter_end(meter, &told);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Str text = {(const char *)data + (n > 0), n - (n > 0)};
        _cleanup_(usage_meter_deinit) UsageMeter whole = {0};
        _cleanup_(usage_meter_deinit) UsageMeter pieces = {0};
        Found in_whole = {0}, in_pieces = {0};
        UsageCount best, other;
        UsageRates rates = {.input = 1.5, .cached = 0.5, .output = 2, .reasoning = 3};

        read_in_pieces(&whole, text, text.n + 1, &in_whole);
        read_in_pieces(&pieces, text, n ? (size_t)data[0] + 1 : 1, &in_pieces);
        if (in_whole.n_counts != in_pieces.n_counts || in_whole.n_cycles != in_pieces.n_cycles ||
            in_whole.n_tokens != in_pieces.n_tokens || whole.n_cycles != pieces.n_cycles)
                abort();
        if (usage_meter_units(&whole) != usage_meter_units(&pieces) ||
            usage_meter_units(&whole) > (int64_t)text.n)
                abort();
        if (usage_meter_best(&whole, &best) != usage_meter_best(&pieces, &other) ||
            best.n_total != other.n_total || !(usage_cost(&best, &rates) >= 0))
                abort();
        return 0;
}
