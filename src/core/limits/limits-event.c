/* SPDX-License-Identifier: MIT */
/* What programs without a terminal say of limits in their structured output, line by line. */
#include <stdio.h>
#include <string.h>

#include "core/limits/limits-internal.h"

enum { LIMIT_CODEX_WINDOWS = 2 };
#define LIMIT_SECONDS_MAX INT64_C(100000000000)
#define LIMIT_CODEX_EVENT "account/rateLimits/updated"

/* 0: it is not said. */
static int64_t limit_event_reset_us(const Json *info) {
        int64_t seconds = 0;

        if (!json_int64(json_get(info, "resetsAt"), &seconds) || seconds <= 0 ||
            seconds >= LIMIT_SECONDS_MAX)
                return 0;
        return seconds * 1000000;
}

/* Claude Code: {"type": "rate_limit_event", "rate_limit_info": {"status", "resetsAt", "rateLimitType", "utilization"}} */
static void limit_event_claude(LimitAgent *agent, const Json *info) {
        Str window = json_text_of(info, "rateLimitType"), status = json_text_of(info, "status");
        Limits *self = agent->limits;
        LimitSeen seen = {str_from(agent->account),
                          {.used_percent = -1,
                           .resets_us = limit_event_reset_us(info),
                           .seen_us = limits_now_us(self),
                           .source = LIMIT_BY_PROTOCOL,
                           .is_reached = str_is(status, "rejected")}};
        double used;

        if (json_double(json_get(info, "utilization"), &used) && used >= 0 && used <= 1e6)
                seen.limit.used_percent = used <= 1 ? used * 100 : used;
        agent_text(seen.limit.window, sizeof(seen.limit.window), window.n ? window : STR("usage"));
        limits_see(self, &seen);
}

/* Codex, as app-server: {"method": "account/rateLimits/updated", "params": {"rateLimits": {"limitId", "primary", "secondary"}}}, each window with
 * usedPercent, windowDurationMins and resetsAt. What is left out has not changed; what is of one model only (limitId) is no limit of the account. */
static void limit_event_codex(LimitAgent *agent, const Json *limits) {
        static const char *const names[LIMIT_CODEX_WINDOWS] = {"primary", "secondary"};
        Str id = json_text_of(limits, "limitId");

        for (size_t i = 0; i < ARRAY_SIZE(names) && (!id.n || str_is(id, "codex")); i++) {
                const Json *window = json_get(limits, names[i]);
                LimitSeen seen = {str_from(agent->account),
                                  {.resets_us = limit_event_reset_us(window),
                                   .seen_us = limits_now_us(agent->limits),
                                   .source = LIMIT_BY_PROTOCOL}};
                int64_t minutes = 0;

                if (!json_double(json_get(window, "usedPercent"), &seen.limit.used_percent) ||
                    !json_int64(json_get(window, "windowDurationMins"), &minutes) ||
                    seen.limit.used_percent < 0 || seen.limit.used_percent > 1e6 || minutes <= 0)
                        continue;
                seen.limit.is_reached = seen.limit.used_percent >= 100;
                limit_put_window(&seen.limit, minutes);
                limits_see(agent->limits, &seen);
        }
}

static void limit_event_read(LimitAgent *agent, const Json *json) {
        const Json *info = json_get(json, "rate_limit_info"),
                   *limits = json_get(json_get(json, "params"), "rateLimits");

        if (!strcmp(agent->runtime, "claude") && str_is(json_text_of(json, "type"), "rate_limit_event") &&
            json_is(info, JSON_OBJECT))
                limit_event_claude(agent, info);
        else if (!strcmp(agent->runtime, "codex") && str_is(json_text_of(json, "method"), LIMIT_CODEX_EVENT))
                limit_event_codex(agent, limits);
}

static bool limit_event_has(Str line, const char *word) {
        return line.data && memmem(line.data, line.n, word, strlen(word));
}

static void limit_event_line(LimitAgent *agent, Str line) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *json = NULL;

        line = str_trim(line);
        if (!line.n || line.data[0] != '{' || !agent->account ||
            (!limit_event_has(line, "rate_limit_event") && !limit_event_has(line, LIMIT_CODEX_EVENT)))
                return;
        if (!json_parse(&arena, line.data, line.n, NULL, &json, NULL))
                limit_event_read(agent, json);
}

/* Lines; what is longer than any of these events is passed over. */
static void limit_on_output(Viewer *viewer, HostOutput *output) {
        LimitAgent *agent = container_of(viewer, LimitAgent, viewer);
        Str rest = output->bytes;

        while (rest.n && !output->is_stderr) {
                const char *end = memchr(rest.data, '\n', rest.n);
                Str piece = {rest.data, end ? (size_t)(end - rest.data) : rest.n};

                agent->is_long |= agent->line.n + piece.n > LIMIT_EVENT_MAX;
                if (agent->is_long || buf_append_str(&agent->line, piece))
                        agent->line.n = 0;
                if (end && !agent->is_long)
                        limit_event_line(agent, buf_str(&agent->line));
                if (end) {
                        agent->line.n = 0;
                        agent->is_long = false;
                }
                rest = end ? (Str){end + 1, rest.n - piece.n - 1} : STR_NULL;
        }
}

void limit_agent_listen(LimitAgent *agent) {
        Hosted *hosted = agent->viewer.hosted ? NULL : limit_agent_hosted(agent);

        if (!hosted || hosted->kind != SHIM_PIPES ||
            (strcmp(agent->runtime, "claude") != 0 && strcmp(agent->runtime, "codex") != 0))
                return;
        agent->viewer = (Viewer){.is_passive = true, .output = limit_on_output};
        viewer_attach(&agent->viewer, hosted);
}
