/* SPDX-License-Identifier: MIT */
/*
 * The whole HTTP dialect at the native socket, where no token is asked for: heads, bodies, routes, upgrades, and what is
 * said on WebSockets behind them. The client's frames are masked with zeros in the corpus, so that text in them can be
 * changed as text.
 */
#include "dialect/aiwg/aiwg.h"
#include "dialect/cccc/cccc.h"
#include "dialect/coop/coop.h"
#include "dialect/native/native.h"
#include "fuzz-server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static Endpoint *door;
        FuzzRun run;

        if (!door) {
                (void)fuzz_serve(&cccc_endpoint);
                (void)fuzz_serve(&coop_endpoint);
                (void)fuzz_serve(&aiwg_endpoint);
                door = fuzz_serve(&native_endpoint);
        }
        run = fuzz_run(door, data, n);
        if (str_starts(run.answer, STR("HTTP/1.1 ")))
                fuzz_check_http(&run);
        return 0;
}
