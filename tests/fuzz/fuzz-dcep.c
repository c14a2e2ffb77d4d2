/* SPDX-License-Identifier: MIT */
/*
 * A DCEP message of a browser: what is taken of it lies inside of it, and is written as the same.
 */
#include "base/macro.h"
#include "tunnel/dcep.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Str message = {(const char *)data, n};
        uint8_t written[DCEP_MAX];
        DcepOpen open, again;

        if (dcep_parse(message, &open))
                return 0;
        FUZZ_CHECK(open.label.data + open.label.n == open.protocol.data);
        FUZZ_CHECK(open.protocol.data + open.protocol.n == message.data + n);
        FUZZ_CHECK(dcep_write_open(written, &open) == n);
        FUZZ_CHECK(dcep_parse((Str){(const char *)written, n}, &again) == 0);
        FUZZ_CHECK(str_eq(again.label, open.label) && str_eq(again.protocol, open.protocol));
        FUZZ_CHECK(again.channel_type == open.channel_type);
        return 0;
}
