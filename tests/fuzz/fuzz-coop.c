/* SPDX-License-Identifier: MIT */
/*
 * A coop connection: whatever is sent, what comes back are whole frames.
 */
#include "dialect/coop/coop.h"
#include "fuzz-server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static Endpoint *endpoint;
        FuzzRun run;

        if (!endpoint)
                endpoint = fuzz_serve(&coop_endpoint);
        run = fuzz_run(endpoint, data, n);
        fuzz_check_coop(&run);
        return 0;
}
