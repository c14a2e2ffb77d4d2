/* SPDX-License-Identifier: MIT */
/*
 * What an agent prints in its structured form, in pieces, and the same bytes as the end of a transcript: whatever they say, texts are cut and can
 * be shown, and the state is one that a program can tell.
 */
#include <string.h>

#include "base/macro.h"
#include "core/agents/protocol.h"
#include "core/agents/state.h"
#include "core/agents/tail.h"
#include "fuzz.h"

static void check_text(const char *text, size_t n) {
        size_t length = strnlen(text, n);

        FUZZ_CHECK(length < n);
        for (size_t i = 0; i < length; i++)
                FUZZ_CHECK((unsigned char)text[i] >= 0x20 && text[i] != 0x7f);
}

static void check_fact(const AgentFact *fact) {
        check_text(fact->session, sizeof(fact->session));
        check_text(fact->turn, sizeof(fact->turn));
        check_text(fact->tool, sizeof(fact->tool));
        check_text(fact->detail, sizeof(fact->detail));
        check_text(fact->event, sizeof(fact->event));
        FUZZ_CHECK(fact->kind < _AGENT_FACT_KINDS && fact->until_us >= 0);
}

static void take(void *user, AgentFact *fact) {
        AgentState *state = user;

        check_fact(fact);
        FUZZ_CHECK(fact->source == AGENT_PROTOCOL);
        (void)agent_state_take(state, fact);
        FUZZ_CHECK(state->kind < AGENT_IS_ENDED && fact->verdict < _AGENT_VERDICTS);
}

static void check_tokens(const UsageTokens *tokens) {
        const int64_t numbers[] = {tokens->in, tokens->cached, tokens->cache_write, tokens->out};

        for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
                FUZZ_CHECK(numbers[i] >= 0);
        FUZZ_CHECK(tokens->reasoning >= 0);
}

static void take_usage(void *user _unused_, const TranscriptItem *item) {
        FUZZ_CHECK(usage_tokens_sum(&item->tokens) > 0 && item->cost_usd <= 1e9);
        FUZZ_CHECK(item->id.n < (size_t)2 * TRANSCRIPT_ID_MAX && item->model.n < TRANSCRIPT_ID_MAX);
        check_tokens(&item->tokens);
        check_tokens(&item->last);
        check_tokens(&item->all);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const char *text = (const char *)data;
        size_t step = n ? (size_t)data[0] * 8 + 1 : 1;
        AgentProtocol protocol = {0};
        AgentState state;
        const ProtocolTold told = {take, take_usage, &state};
        AgentFact fact;

        agent_state_init(&state, true, 1);
        for (size_t at = 0; at < n; at += step)
                protocol_feed(&protocol, (Str){text + at, n - at < step ? n - at : step},
                              (int64_t)(at + 2) * 1000000, &told);
        protocol_end(&protocol, (Str){text, n}, INT64_C(1000000), &told);
        protocol_deinit(&protocol);
        for (unsigned i = 0; i < 2; i++)
                if (tail_read(i ? STR("claude") : STR("codex"), (Str){text, n}, 1000000, &fact)) {
                        check_fact(&fact);
                        FUZZ_CHECK(fact.source == AGENT_TRANSCRIPT && fact.said_us > 0 &&
                                   fact.said_us <= 1000000);
                }
        return 0;
}
