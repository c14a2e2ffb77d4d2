/* SPDX-License-Identifier: MIT */
/*
 * Any text is taken or refused with a reason. What is taken has a next time that fits and that nothing
 * before it does, or never fits.
 */
#include <stdlib.h>

#include "core/schedule/cron.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_next(const Cron *cron, int64_t from_us) {
        int64_t next = 0;
        bool has_next = cron_next(cron, from_us, &next);

        if (has_next && (next <= from_us || next % 60000000 || !cron_fits(cron, next)))
                abort();
        for (int64_t t = from_us / 60000000 * 60000000 + 60000000, i = 0; i < 300; i++, t += 60000000)
                if (cron_fits(cron, t) && (!has_next || next > t))
                        abort();
                else if (has_next && next <= t)
                        return;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const char *wrong = NULL;
        Cron cron;

        if (n < 4)
                return 0;
        if (cron_parse(&cron, (Str){(const char *)data + 4, n - 4}, data[0], &wrong)) {
                if (!wrong)
                        abort();
                return 0;
        }
        check_next(&cron, (int64_t)((unsigned)data[1] << 16 | (unsigned)data[2] << 8 | data[3]) * 240000000);
        return 0;
}
