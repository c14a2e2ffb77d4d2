/* SPDX-License-Identifier: MIT */
/*
 * A hook's payload: read as a fact and taken into a state, behind what a turn has told before. Whatever it says, texts are cut and can be shown,
 * and the state is one; what a file keeps of it is read back as the same.
 */
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "core/agents/hook.h"
#include "core/agents/state.h"
#include "fuzz.h"

static void check_text(const char *text, size_t n) {
        size_t length = strnlen(text, n);

        if (length == n)
                abort();
        for (size_t i = 0; i < length; i++)
                if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
                        abort();
}

static void check_fact(const AgentFact *fact) {
        check_text(fact->session, sizeof(fact->session));
        check_text(fact->turn, sizeof(fact->turn));
        check_text(fact->tool, sizeof(fact->tool));
        check_text(fact->detail, sizeof(fact->detail));
        check_text(fact->event, sizeof(fact->event));
        if (fact->kind >= _AGENT_FACT_KINDS || fact->source != AGENT_HOOK)
                abort();
}

static void check_kept(const AgentState *state) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        AgentState back;
        Json *json = NULL;

        agent_state_write(&w, state);
        if (w.failed)
                return;
        if (json_parse(&arena, text.data, text.n, NULL, &json, NULL) || !agent_state_read(json, &back) ||
            back.kind != state->kind || strcmp(back.session, state->session) != 0)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static const char *const runtimes[] = {"claude", "codex", "gemini", "opencode"};
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const char *at = (const char *)data, *end = at + n;
        int64_t now_us = 1000000;
        AgentState state;

        agent_state_init(&state, n % 2, now_us);
        while (at < end) { /* a line is a payload */
                const char *next = memchr(at, '\n', (size_t)(end - at));
                size_t length = next ? (size_t)(next - at) : (size_t)(end - at);
                Json *json = NULL;
                AgentFact fact;

                now_us += 1000000;
                if (!json_parse(&arena, at, length, NULL, &json, NULL) &&
                    hook_read(str_from(runtimes[n % 4]), STR_NULL, json, now_us, &fact)) {
                        check_fact(&fact);
                        (void)agent_state_take(&state, &fact);
                        if (state.kind >= AGENT_IS_ENDED || fact.verdict >= _AGENT_VERDICTS)
                                abort();
                }
                at += length + (next != NULL);
        }
        check_kept(&state);
        return 0;
}
