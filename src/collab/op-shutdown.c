/* SPDX-License-Identifier: MIT */
/*
 * shutdown, by docs/decisions/0020-shutdown-keeps-cccc-open.md: where we stand in for the original it ends
 * the daemon and its actors. Where the daemon serves more than this contract nothing ends. The published
 * command line says it whenever people press Ctrl+C in it, and starts a daemon of its own when the socket is
 * gone, which would run every actor a second time.
 */
#include <unistd.h>

#include "collab/collab.h"
#include "collab/runner.h"
#include "gen/cccc-ops.h"

static void shutdown_stand_in(Call *call) {
        runners_end_all(call->daemon->collab);
        daemon_stop_endpoint(call->daemon, call->client->endpoint, client_pid(call->client));
}

static void shutdown_decline(Call *call) {
        Endpoint *endpoint = call->client->endpoint;

        if (endpoint->state == ENDPOINT_LISTENING)
                endpoint_note(endpoint, client_pid(call->client),
                              "asked for a shutdown: it stays open, and nothing ended");
}

static bool shutdown_is_for_us(const Json *pid) {
        int64_t value;

        return !pid || (json_int64(pid, &value) && value == getpid());
}

int op_cccc_shutdown(Call *call, const CcccShutdownArgs *args) {
        bool is_stand_in = daemon_is_stand_in(call->daemon);
        JsonWriter *w;

        if (!shutdown_is_for_us(args->expected_pid))
                return call_fail(call, CALL_E_DAEMON_OWNER_MISMATCH,
                                 "expected_pid is not %d, which serves here", (int)getpid());
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "message",
                      is_stand_in ? "shutting down"
                                  : "muster serves more than CCCC and goes on: muster down ends it");
        jw_end_object(w);
        call_after(call, is_stand_in ? shutdown_stand_in : shutdown_decline);
        return 0;
}
