/* SPDX-License-Identifier: MIT */
/*
 * A connection of each JSON-RPC profile: whatever is sent, every line that comes back is a response or a
 * batch of them.
 */
#include "dialect/agentcompany/agentcompany.h"
#include "dialect/aiwg/aiwg.h"
#include "dialect/native/native.h"
#include "fuzz-server.h"

/* AgentCompany and native have no endpoint of their own: clients come through the native socket's first
 * bytes. */
static Endpoint *serve_profile(const char *name, const JsonRpcDialect *profile) {
        EndpointType type = native_endpoint;

        type.name = name;
        type.dialect = &profile->dialect;
        return fuzz_serve(&type);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static Endpoint *endpoints[3];
        FuzzRun run;

        if (!endpoints[0]) {
                endpoints[0] = fuzz_serve(&aiwg_endpoint);
                endpoints[1] = serve_profile("agentcompany", &agentcompany_dialect);
                endpoints[2] = serve_profile("native", &native_dialect);
        }
        run = fuzz_run(endpoints[n ? (data[0] >> FUZZ_CHOICE_SHIFT) % 3 : 0], data, n);
        fuzz_check_jsonrpc(&run);
        return 0;
}
