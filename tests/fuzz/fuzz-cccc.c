/* SPDX-License-Identifier: MIT */
/*
 * A CCCC connection: whatever is sent, one reply line with the four members (and heartbeats behind it if it
 * was a stream).
 */
#include "dialect/cccc/cccc.h"
#include "fuzz-server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static Endpoint *endpoint;
        FuzzRun run;

        if (!endpoint)
                endpoint = fuzz_serve(&cccc_endpoint);
        run = fuzz_run(endpoint, data, n);
        fuzz_check_cccc(&run);
        return 0;
}
