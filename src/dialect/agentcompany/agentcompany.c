/* SPDX-License-Identifier: MIT */
#include "dialect/agentcompany/agentcompany.h"

#include "company/live/live.h"
#include "gen/agentcompany-ops.h"

static void agentcompany_error_word(int error, JsonWriter *w) {
        jw_int(w, agentcompany_error_code(error));
}

const JsonRpcDialect agentcompany_dialect = {
        .dialect = {.name = "agentcompany",
                    .ops = &agentcompany_ops,
                    .error_word = agentcompany_error_word,
                    JSONRPC_FUNCTIONS,
                    .drained = live_drained},
        .error_code = agentcompany_error_code,
        .id_before_result = true,
        .has_issues = true,
        .skips_bom = true,
        .eof_ends_line = true,
        .unknown_method = "Unknown method: ",
};
