/* SPDX-License-Identifier: MIT */
/*
 * An answer that somebody pasted: whatever is taken of it stands in it, and the ends of its lines do not matter.
 */
#include <stdio.h>

#include "base/buf.h"
#include "base/macro.h"
#include "tunnel/sdp-answer.h"
#include "fuzz.h"

/* The fingerprint, as a browser writes it, stands somewhere in the text. */
static bool has_fingerprint(Str text, const uint8_t *fingerprint) {
        char written[32 * 3 + 1];

        for (unsigned i = 0; i < 32; i++)
                snprintf(written + 3 * (size_t)i, 4, "%02X:", fingerprint[i]);
        for (size_t i = 0; i + 95 <= text.n; i++)
                if (str_eq_nocase((Str){text.data + i, 95}, (Str){written, 95}))
                        return true;
        return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Str text = {(const char *)data, n};
        SdpAnswer answer, again;
        _cleanup_(buf_deinit) Buf crlf = BUF_NULL;

        if (sdp_answer_parse(text, &answer))
                return 0;
        FUZZ_CHECK(answer.sctp_port > 0 && has_fingerprint(text, answer.fingerprint));
        for (size_t i = 0; i < n; i++) {
                if (data[i] == '\n' && (i == 0 || data[i - 1] != '\r'))
                        FUZZ_CHECK(!buf_append(&crlf, "\r", 1));
                FUZZ_CHECK(!buf_append(&crlf, data + i, 1));
        }
        if (crlf.n > SDP_ANSWER_MAX)
                return 0;
        FUZZ_CHECK(sdp_answer_parse(buf_str(&crlf), &again) == 0);
        FUZZ_CHECK(again.sctp_port == answer.sctp_port &&
                   !memcmp(again.fingerprint, answer.fingerprint, 32));
        return 0;
}
