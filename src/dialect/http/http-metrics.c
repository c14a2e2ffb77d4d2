/* SPDX-License-Identifier: MIT */
/* GET /metrics: the text of the operation daemon.metrics, so who may read it is the operation's matter. */
#include "base/metrics.h"
#include "dialect/http/http-request.h"
#include "gen/native-ops.h"

static void http_metrics_answer(HttpRequest *request) {
        Json *json = NULL;

        if (request->error)
                http_answer_status(request, request->error == CALL_E_FORBIDDEN ? 403 : 500);
        else if (json_parse(&request->arena, request->out.data, request->out.n, NULL, &json, NULL))
                http_answer_status(request, 500);
        else
                http_answer(request, &(HttpReply){.status = 200,
                                                  .type = METRICS_TYPE,
                                                  .body = json_text_of(json, "text")});
}

void http_metrics_get(HttpRequest *request, _unused_ Str body) {
        http_run_op(request, &native_ops, "daemon.metrics", NULL, http_metrics_answer);
}
