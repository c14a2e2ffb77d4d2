/* SPDX-License-Identifier: MIT */
#include "core/agents/fact.h"

#include "base/macro.h"
#include "base/time.h"
#include "base/utf8.h"

static const char *const fact_sources[] = {
        [AGENT_OUTPUT] = "output", [AGENT_SELF] = "self",         [AGENT_TRANSCRIPT] = "transcript",
        [AGENT_HOOK] = "hook",     [AGENT_PROTOCOL] = "protocol", [AGENT_OS] = "os"};

static const char *const fact_kinds[] = {
        [AGENT_STARTED] = "started", [AGENT_ADOPTED] = "adopted", [AGENT_ENDED] = "ended",
        [AGENT_LOST] = "lost",       [AGENT_BEGAN] = "began",     [AGENT_LEFT] = "left",
        [AGENT_TURN] = "turn",       [AGENT_TOOL] = "tool",       [AGENT_TOOL_DONE] = "tool_done",
        [AGENT_ASKS] = "asks",       [AGENT_STOPPED] = "stopped", [AGENT_LIMITED] = "limited",
        [AGENT_FAILED] = "failed",   [AGENT_NOTED] = "noted",     [AGENT_PRINTS] = "prints",
        [AGENT_QUIET] = "quiet"};

static const char *const fact_verdicts[] = {
        [AGENT_DECIDED] = "decided", [AGENT_CONFIRMED] = "confirmed", [AGENT_WEAKER] = "weaker",
        [AGENT_SUB] = "subagent",    [AGENT_ANOTHER] = "another",     [AGENT_LATE] = "late",
        [AGENT_HEARD] = "heard"};

static bool fact_word(const char *const *words, int n, Str name, int *ret) {
        for (int i = 0; i < n; i++)
                if (str_is(name, words[i])) {
                        *ret = i;
                        return true;
                }
        return false;
}

const char *agent_source_name(AgentSource source) {
        return fact_sources[source];
}

bool agent_source_from_name(Str name, AgentSource *ret) {
        int at;

        if (!fact_word(fact_sources, _AGENT_SOURCES, name, &at))
                return false;
        *ret = (AgentSource)at;
        return true;
}

const char *agent_fact_kind_name(AgentFactKind kind) {
        return fact_kinds[kind];
}

bool agent_fact_kind_from_name(Str name, AgentFactKind *ret) {
        int at;

        if (!fact_word(fact_kinds, _AGENT_FACT_KINDS, name, &at))
                return false;
        *ret = (AgentFactKind)at;
        return true;
}

const char *agent_verdict_name(AgentVerdict verdict) {
        return fact_verdicts[verdict];
}

bool agent_verdict_from_name(Str name, AgentVerdict *ret) {
        int at;

        if (!fact_word(fact_verdicts, _AGENT_VERDICTS, name, &at))
                return false;
        *ret = (AgentVerdict)at;
        return true;
}

/* Control characters, marks of direction and of no width, and what is no UTF-8: people read these texts. */
static bool fact_is_shown(int32_t code) {
        return code >= 0x20 && !(code >= 0x7f && code < 0xa0) && !(code >= 0x200b && code <= 0x200f) &&
               !(code >= 0x202a && code <= 0x202e) && !(code >= 0x2060 && code <= 0x206f) && code != 0xfeff;
}

void agent_text(char *to, size_t n, Str text) {
        size_t at = 0;

        while (text.n) {
                int32_t code;
                size_t step = utf8_next(text, &code), need = fact_is_shown(code) ? step : 1;

                if (at + need >= n)
                        break;
                if (fact_is_shown(code))
                        memcpy(to + at, text.data, step);
                else
                        to[at] = code == '\t' || code == '\n' ? ' ' : '?';
                at += need;
                text = (Str){text.data + step, text.n - step};
        }
        to[at] = '\0';
}

static void fact_field(JsonWriter *w, const char *key, const char *text) {
        if (*text)
                jw_field_cstr(w, key, text);
}

void agent_fact_write(JsonWriter *w, const AgentFact *fact, int64_t now_us) {
        jw_begin_object(w);
        jw_field_time_ms(w, "at", fact->at_us);
        if (now_us)
                jw_field_int(w, "age_s", MAX((now_us - fact->at_us) / 1000000, (int64_t)0));
        jw_field_cstr(w, "source", agent_source_name(fact->source));
        jw_field_cstr(w, "kind", agent_fact_kind_name(fact->kind));
        jw_field_cstr(w, "verdict", agent_verdict_name(fact->verdict));
        fact_field(w, "runtime", fact->runtime);
        fact_field(w, "event", fact->event);
        fact_field(w, "session", fact->session);
        fact_field(w, "turn", fact->turn);
        fact_field(w, "tool", fact->tool);
        fact_field(w, "detail", fact->detail);
        if (fact->is_sub)
                jw_field_bool(w, "subagent", true);
        if (fact->n_background)
                jw_field_uint(w, "background", fact->n_background);
        if (fact->until_us)
                jw_field_time_ms(w, "until", fact->until_us);
        jw_end_object(w);
}

bool agent_fact_read(const Json *json, AgentFact *ret) {
        AgentSource source;
        AgentFactKind kind;
        AgentVerdict verdict;
        int64_t n = 0;

        *ret = (AgentFact){0};
        if (!time_parse(json_text_of(json, "at"), &ret->at_us) ||
            !agent_source_from_name(json_text_of(json, "source"), &source) ||
            !agent_fact_kind_from_name(json_text_of(json, "kind"), &kind) ||
            !agent_verdict_from_name(json_text_of(json, "verdict"), &verdict))
                return false;
        ret->source = source;
        ret->kind = kind;
        ret->verdict = verdict;
        ret->is_sub = json_truth_of(json, "subagent");
        if (json_int64(json_get(json, "background"), &n) && n > 0)
                ret->n_background = (uint32_t)MIN(n, (int64_t)UINT32_MAX);
        (void)time_parse(json_text_of(json, "until"), &ret->until_us);
        agent_put(ret->runtime, json_text_of(json, "runtime"));
        agent_put(ret->event, json_text_of(json, "event"));
        agent_put(ret->session, json_text_of(json, "session"));
        agent_put(ret->turn, json_text_of(json, "turn"));
        agent_put(ret->tool, json_text_of(json, "tool"));
        agent_put(ret->detail, json_text_of(json, "detail"));
        return true;
}
