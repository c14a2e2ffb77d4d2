/* SPDX-License-Identifier: MIT */
/* A zone, as a file or (the first byte is odd) as a text: what clocks show there is turned back into the same moment, or into one that shows the same. */
#include "base/macro.h"
#include "core/limits/zone.h"
#include "fuzz.h"

enum { FUZZ_OFFSET_S = 30 * 3600 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static const int64_t moments[] = {INT64_C(-62167219200), 0,
                                          INT64_C(1783771200),   INT64_C(4102444800),
                                          INT64_C(253402300799), INT64_MAX / 4};
        Zone zone;
        Str bytes;

        if (!n)
                return 0;
        bytes = (Str){(const char *)data + 1, n - 1};
        (void)zone_is_name(bytes);
        if (!(data[0] & 1 ? zone_read_text(&zone, bytes) : zone_read(&zone, bytes)))
                return 0;
        for (size_t i = 0; i < ARRAY_SIZE(moments); i++) {
                int32_t offset_s = zone_offset_s(&zone, moments[i]);
                int64_t back_s = zone_utc_s(&zone, moments[i]);

                FUZZ_CHECK(offset_s >= -FUZZ_OFFSET_S && offset_s <= FUZZ_OFFSET_S);
                FUZZ_CHECK(back_s - moments[i] >= -FUZZ_OFFSET_S && back_s - moments[i] <= FUZZ_OFFSET_S);
        }
        zone_deinit(&zone);
        return 0;
}
