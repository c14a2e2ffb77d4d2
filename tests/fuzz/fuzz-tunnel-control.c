/* SPDX-License-Identifier: MIT */
/*
 * What a process that was taken over may say to musterd: a message is taken, or not; what is taken is written as the same bytes.
 */
#include "base/macro.h"
#include "tunnel/tunnel-control.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        uint8_t written[TUNNEL_MESSAGE_MAX];
        TunnelMessage message;
        int n_written;

        if (tunnel_decode((Str){(const char *)data, n}, &message))
                return 0;
        n_written = tunnel_encode(&message, written);
        FUZZ_CHECK(n_written >= 0 && (size_t)n_written == n && memcmp(written, data, n) == 0);
        FUZZ_CHECK(tunnel_n_fds(&message) <= TUNNEL_SOCKETS_MAX);
        return 0;
}
