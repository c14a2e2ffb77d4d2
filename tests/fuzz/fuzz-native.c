/* SPDX-License-Identifier: MIT */
/*
 * The native socket: the first bytes decide the dialect, and what comes back is of that dialect or says why
 * not.
 */
#include "dialect/aiwg/aiwg.h"
#include "dialect/cccc/cccc.h"
#include "dialect/coop/coop.h"
#include "dialect/native/native.h"
#include "fuzz-server.h"

static void check(const FuzzRun *run) {
        if (!run->answer.n)
                return;
        if (run->answer.data[0] == 0)
                fuzz_check_coop(run);
        else if (str_starts(run->answer, STR("HTTP/1.1 ")))
                fuzz_check_http(run);
        else if (str_starts(run->answer, STR("{\"v\":")))
                fuzz_check_cccc(run);
        else
                fuzz_check_jsonrpc(run);
}

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
        check(&run);
        return 0;
}
