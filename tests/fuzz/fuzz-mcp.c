/* SPDX-License-Identifier: MIT */
/*
 * A connection that speaks MCP: whatever is sent, every line that comes back is a response. Tools are called on a home with one group.
 */
#include "dialect/aiwg/aiwg.h"
#include "dialect/mcp/mcp.h"
#include "dialect/native/native.h"
#include "fuzz-server.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static Endpoint *door;
        EndpointType type = native_endpoint;
        FuzzRun run;

        if (!door) {
                (void)fuzz_serve(&aiwg_endpoint);
                type.name = "mcp";
                type.dialect = &mcp_dialect;
                door = fuzz_serve(&type);
        }
        run = fuzz_run(door, data, n);
        fuzz_check_jsonrpc(&run);
        return 0;
}
