/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a document of a workspace, plain or as front matter: it is refused, or it fits shapes or does not, and
 * written again and read it is the same tree, with every member that nobody knows and with its body untouched.
 */
#include <string.h>

#include "base/arena.h"
#include "base/macro.h"
#include "core/document.h"
#include "core/shape.h"
#include "fuzz.h"
#include "gen/shapes.h"

static const Shape *const shapes[] = {
        &shape_agent,        &shape_artifact_any, &shape_comment,          &shape_company,
        &shape_context_pack, &shape_conversation, &shape_heartbeat_config, &shape_heartbeat_state,
        &shape_help_request, &shape_job_record,   &shape_machine,          &shape_message,
        &shape_mistake_log,  &shape_policy,       &shape_project,          &shape_repo_links,
        &shape_review,       &shape_run,          &shape_session_record,   &shape_share_pack,
        &shape_task,         &shape_team};

/* What fits has no issues, and what has none fits. */
static void fuzz_shapes(Arena *arena, const Json *json) {
        for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
                Issues issues = ISSUES(arena);

                FUZZ_CHECK(shape_check(shapes[i], json, NULL, &issues) == !issues.first);
        }
}

static void fuzz_again(Arena *arena, const Json *json, DocumentFormat format, Str body) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        _cleanup_(buf_deinit) Buf twice = BUF_NULL;
        char what[DOCUMENT_WHAT_MAX] = "";
        Str other = STR_NULL;
        Json *again = NULL;

        FUZZ_CHECK(document_text(json, format, body, &text) == 0);
        FUZZ_CHECK(document_parse(arena, buf_str(&text), format, &again, &other, what) == 0);
        FUZZ_CHECK(document_text(again, format, other, &twice) == 0);
        FUZZ_CHECK(str_eq(buf_str(&text), buf_str(&twice)));
        FUZZ_CHECK(format != DOCUMENT_MATTER || str_eq(body, other));
        FUZZ_CHECK(json_equal(json, again));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static const DocumentFormat formats[] = {DOCUMENT_YAML, DOCUMENT_MATTER};
        const Str text = {(const char *)data, n};

        for (size_t i = 0; n && i < 2; i++) {
                _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
                char what[DOCUMENT_WHAT_MAX] = "";
                Str body = STR_NULL;
                Json *json = NULL;

                if (document_parse(&arena, text, formats[i], &json, &body, what))
                        continue;
                fuzz_shapes(&arena, json);
                fuzz_again(&arena, json, formats[i], body);
        }
        return 0;
}
