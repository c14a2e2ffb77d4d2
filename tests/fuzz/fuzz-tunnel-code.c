/* SPDX-License-Identifier: MIT */
/*
 * Any text is a code or is not. What is one is written again as the very same text, but for flags that mean nothing yet, and has an offer. A short
 * code that was read is read again as itself.
 */
#include <stdlib.h>

#include "core/tunnel/tunnel-code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_code(Str text) {
        Buf again = BUF_NULL, offer = BUF_NULL;
        TunnelCode code, second;

        if (tunnel_code_decode(text, &code))
                return;
        if (tunnel_code_encode(&code, &again) || tunnel_code_offer(&code, &offer))
                abort();
        if (again.n != text.n || memcmp(again.data + 3, text.data + 3, text.n - 3) != 0)
                abort(); /* the first three digits have the version and the flags */
        if (tunnel_code_decode(buf_str(&again), &second) || second.is_view != code.is_view ||
            second.n_candidates != code.n_candidates)
                abort();
        buf_deinit(&again);
        buf_deinit(&offer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Str text = {(const char *)data, n};
        char code[SHORT_CODE_DIGITS + 1], again[SHORT_CODE_DIGITS + 1];

        check_code(text);
        if (short_code_read(text, code) &&
            (!short_code_read(str_from(code), again) || strcmp(code, again) != 0))
                abort();
        return 0;
}
