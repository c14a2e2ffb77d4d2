/* SPDX-License-Identifier: MIT */
#include "core/usage/transcript.h"

#include <stdio.h>

#include "base/json/json.h"
#include "base/macro.h"
#include "base/time.h"
#include "core/usage/skim.h"
#include "core/usage/transcript-internal.h"
#include "core/usage/usage.h"

enum {
        TRANSCRIPT_SMALL_MAX = 64 << 10,
        TRANSCRIPT_VALUES = 4096
};                               /* of what is parsed: an object of counts */
enum { TRANSCRIPT_DIGITS = 15 }; /* of a number that is certainly below … */
#define TRANSCRIPT_NUMBER_MAX (INT64_C(1) << 53)
#define TRANSCRIPT_RESET_MAX  INT64_C(100000000000) /* seconds */

int64_t usage_tokens_sum(const UsageTokens *tokens) {
        return tokens->in + tokens->cached + tokens->cache_write + tokens->out;
}

UsageTokens usage_tokens_minus(const UsageTokens *a, const UsageTokens *b) {
        return (UsageTokens){a->in - b->in, a->cached - b->cached, a->cache_write - b->cache_write,
                             a->out - b->out, a->reasoning - b->reasoning};
}

static void tokens_add_one(int64_t *to, int64_t more) {
        *to = MIN(*to + more, USAGE_SUM_MAX);
}

void usage_tokens_add(UsageTokens *to, const UsageTokens *more) {
        tokens_add_one(&to->in, more->in);
        tokens_add_one(&to->cached, more->cached);
        tokens_add_one(&to->cache_write, more->cache_write);
        tokens_add_one(&to->out, more->out);
        tokens_add_one(&to->reasoning, more->reasoning);
}

TranscriptForm transcript_form(Str runtime) {
        static const char *const names[] = {[TRANSCRIPT_CLAUDE] = "claude",
                                            [TRANSCRIPT_CODEX] = "codex",
                                            [TRANSCRIPT_GEMINI] = "gemini"};

        for (size_t i = 1; i < ARRAY_SIZE(names); i++)
                if (str_is(runtime, names[i]))
                        return (TranscriptForm)i;
        return TRANSCRIPT_NONE;
}

/* ---- members --------------------------------------------------------------------------------- */

Str transcript_id(Str value) {
        Str text = skim_text(value);

        for (size_t i = 0; i < text.n; i++)
                if (text.data[i] <= ' ' || text.data[i] > '~')
                        return STR_NULL;
        return text.n < TRANSCRIPT_ID_MAX ? text : STR_NULL;
}

void transcript_keep(char to[TRANSCRIPT_ID_MAX], Str text) {
        if (!text.n)
                return;
        memcpy(to, text.data, text.n); /* it is shorter: see transcript_id() */
        to[text.n] = '\0';
}

static int64_t transcript_time(Str value) {
        int64_t us = 0;

        return time_parse(skim_text(value), &us) && us > 0 ? us : 0;
}

const Json *transcript_object(Str value, Arena *scratch) {
        static const JsonLimits limits = {
                .n_bytes = TRANSCRIPT_SMALL_MAX, .n_values = TRANSCRIPT_VALUES, .is_lenient = true};
        Json *json = NULL;

        if (!value.n || value.data[0] != '{' ||
            json_parse(scratch, value.data, value.n, &limits, &json, NULL))
                return NULL;
        return json;
}

int64_t transcript_count(const Json *object, const char *name) {
        const char *const names[] = {name, NULL};
        int64_t n = usage_number(object, names);

        return MAX(n, (int64_t)0);
}

static bool transcript_is_nothing(const UsageTokens *tokens) {
        return !usage_tokens_sum(tokens);
}

/* ---- Claude Code ----------------------------------------------------------------------------- */

typedef struct ClaudeLine {
        Str id, model, usage; /* of the message */
        Str session, at, request, uuid, cost, version;
        bool may_jump, has_jumped; /* over what a response says */
} ClaudeLine;

typedef struct ClaudeMember {
        Str name;
        Str *value;
} ClaudeMember;

static void transcript_claude_keep(const ClaudeMember *members, size_t n, Str key, Str value) {
        for (size_t i = 0; i < n; i++)
                if (str_eq(key, members[i].name))
                        *members[i].value = value;
}

/* The id of the response, its model and its usage, which stands behind all that is long: that is not looked at, if it may be jumped over, for
 * the message of a response always has its usage. */
static bool transcript_claude_message(Skim *skim, ClaudeLine *line) {
        const ClaudeMember members[] = {
                {STR("id"), &line->id}, {STR("model"), &line->model}, {STR("usage"), &line->usage}};
        Skim inner = skim_within(skim);
        bool is_response = false;
        Str key, value;

        while (skim_key(&inner, &key)) {
                if (is_response && line->may_jump && str_is(key, "content") &&
                    skim_jump(&inner, STR(",\"usage\":{"))) {
                        line->may_jump = false;
                        line->has_jumped = true;
                        continue;
                }
                if (!skim_pass(&inner, &value))
                        break;
                if (str_is(key, "role"))
                        is_response = str_is(value, "\"assistant\"");
                transcript_claude_keep(members, ARRAY_SIZE(members), key, value);
        }
        return skim_behind(skim, &inner);
}

/* False: it is no response. The type stands in front of what is long in most lines that are none. */
static bool transcript_claude_members(Skim *skim, ClaudeLine *line) {
        const ClaudeMember members[] = {{STR("sessionId"), &line->session}, {STR("timestamp"), &line->at},
                                        {STR("requestId"), &line->request}, {STR("uuid"), &line->uuid},
                                        {STR("version"), &line->version},   {STR("costUSD"), &line->cost}};
        Str key, value;

        while (skim_key(skim, &key)) {
                if (str_is(key, "message")) {
                        if (!transcript_claude_message(skim, line))
                                return false;
                        continue;
                }
                if (!skim_pass(skim, &value))
                        break;
                if (str_is(key, "type") && !str_is(value, "\"assistant\""))
                        return false;
                transcript_claude_keep(members, ARRAY_SIZE(members), key, value);
        }
        return line->usage.n;
}

/* False: it is no response. A jump that did not end where it should is undone: then all of the line is looked at. */
static bool transcript_claude_skim(Str text, ClaudeLine *line) {
        Skim skim = skim_of(text);
        bool is_response;

        *line = (ClaudeLine){.may_jump = true};
        is_response = transcript_claude_members(&skim, line);
        if (!line->has_jumped || (is_response && skim_is_whole(&skim)))
                return is_response;
        skim = skim_of(text);
        *line = (ClaudeLine){0};
        return transcript_claude_members(&skim, line);
}

double transcript_cost(Str value, Arena *scratch) {
        Json *json = NULL;
        double usd = -1;

        if (!value.n || json_parse(scratch, value.data, value.n, NULL, &json, NULL) ||
            !json_double(json, &usd) || usd < 0 || usd > 1e9)
                return -1;
        return usd;
}

/* Digits, as nearly all are; what else can be a number is left to the parser. False: it is none. */
static bool transcript_number(Str value, Arena *scratch, int64_t *ret) {
        Json *json = NULL;
        double number;

        *ret = 0;
        for (size_t i = 0; i < value.n && value.n <= TRANSCRIPT_DIGITS; i++) {
                if (value.data[i] < '0' || value.data[i] > '9' || (i && value.data[0] == '0'))
                        break;
                *ret = *ret * 10 + value.data[i] - '0';
                if (i + 1 == value.n)
                        return true;
        }
        *ret = 0;
        if (!value.n || value.n > TRANSCRIPT_ID_MAX ||
            json_parse(scratch, value.data, value.n, NULL, &json, NULL))
                return false;
        if (json_double(json, &number) && number >= 0 && number < (double)TRANSCRIPT_NUMBER_MAX)
                *ret = (int64_t)number;
        return json_is(json, JSON_NUMBER) || json_is(json, JSON_NULL);
}

bool transcript_claude_usage(Str usage, Arena *scratch, UsageTokens *ret) {
        Skim skim = skim_of(usage);
        bool is_right = true;
        Str key, value;

        *ret = (UsageTokens){0};
        while (is_right && skim_next(&skim, &key, &value)) {
                if (str_is(key, "input_tokens"))
                        is_right = transcript_number(value, scratch, &ret->in);
                else if (str_is(key, "cache_read_input_tokens"))
                        is_right = transcript_number(value, scratch, &ret->cached);
                else if (str_is(key, "cache_creation_input_tokens"))
                        is_right = transcript_number(value, scratch, &ret->cache_write);
                else if (str_is(key, "output_tokens"))
                        is_right = transcript_number(value, scratch, &ret->out);
        }
        return is_right && !skim.is_wrong;
}

static void transcript_claude(Transcript *self, Str line, Arena *scratch, TranscriptFn fn, void *user) {
        TranscriptItem item = {0};
        ClaudeLine parts;

        if (!transcript_claude_skim(line, &parts))
                return;
        item.id = transcript_id(parts.id);
        if (!item.id.n)
                item.id = transcript_id(parts.request);
        if (!item.id.n)
                item.id = transcript_id(parts.uuid);
        if (!item.id.n || !transcript_claude_usage(parts.usage, scratch, &item.tokens)) {
                self->n_wrong++;
                return;
        }
        transcript_keep(self->session, transcript_id(parts.session));
        transcript_keep(self->version, transcript_id(parts.version));
        item.at_us = transcript_time(parts.at);
        item.cost_usd = transcript_cost(parts.cost, scratch);
        item.model = transcript_id(parts.model);
        item.session = str_from(self->session);
        if (!transcript_is_nothing(&item.tokens))
                fn(user, &item);
}

/* ---- Codex ----------------------------------------------------------------------------------- */

bool transcript_codex_tokens(const Json *counts, UsageTokens *ret) {
        int64_t in = transcript_count(counts, "input_tokens");

        if (!json_is(counts, JSON_OBJECT))
                return false;
        *ret = (UsageTokens){.cached = MIN(transcript_count(counts, "cached_input_tokens"), in),
                             .out = transcript_count(counts, "output_tokens"),
                             .reasoning = transcript_count(counts, "reasoning_output_tokens")};
        ret->in = in - ret->cached;
        ret->reasoning = MIN(ret->reasoning, ret->out);
        return true;
}

/* Seconds since 1970, or from when it was written on. */
static int64_t transcript_codex_reset(const Json *limit, int64_t at_us) {
        int64_t at = transcript_count(limit, "resets_at"), in = transcript_count(limit, "resets_in_seconds");

        if (at)
                return at < TRANSCRIPT_RESET_MAX ? at * 1000000 : 0;
        return in && at_us && in < TRANSCRIPT_RESET_MAX ? at_us + in * 1000000 : 0;
}

static void transcript_codex_limits(const Json *limits, TranscriptItem *item) {
        static const char *const names[TRANSCRIPT_LIMITS_MAX] = {"primary", "secondary"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                const Json *limit = json_get(limits, names[i]);
                double used;

                if (!json_double(json_get(limit, "used_percent"), &used) || used < 0 || used > 1e6)
                        continue;
                item->limits[item->n_limits++] =
                        (TranscriptLimit){.used_percent = used,
                                          .window_minutes = transcript_count(limit, "window_minutes"),
                                          .resets_us = transcript_codex_reset(limit, item->at_us)};
        }
}

static void transcript_codex_count(Transcript *self, Str payload, int64_t at_us, Arena *scratch,
                                   TranscriptFn fn, void *user) {
        TranscriptItem item = {.is_total = true,
                               .at_us = at_us,
                               .cost_usd = -1,
                               .id = str_from(self->thread),
                               .model = str_from(self->model),
                               .session = str_from(self->session)};
        const Json *json = transcript_object(payload, scratch), *info = json_get(json, "info");

        transcript_codex_limits(json_get(json, "rate_limits"), &item);
        if (json_is(info, JSON_NULL)) { /* only limits are told */
                if (item.n_limits)
                        fn(user, &item);
                return;
        }
        if (!transcript_codex_tokens(json_get(info, "total_token_usage"), &item.tokens) || !*self->thread) {
                self->n_wrong++;
                return;
        }
        item.has_last = transcript_codex_tokens(json_get(info, "last_token_usage"), &item.last);
        if (!transcript_is_nothing(&item.tokens) || item.n_limits)
                fn(user, &item);
}

/* A fork tells whom it comes from, and repeats the lines of that one: so both count in one thread. */
static void transcript_codex_meta(Transcript *self, Str payload) {
        Str id = transcript_id(skim_get(payload, "id")),
            from = transcript_id(skim_get(payload, "forked_from_id"));

        if (!*self->session)
                transcript_keep(self->session, id);
        transcript_keep(self->thread, from.n ? from : id);
}

static void transcript_codex(Transcript *self, Str line, Arena *scratch, TranscriptFn fn, void *user) {
        Skim skim = skim_of(line);
        Str key, value, type = STR_NULL, at = STR_NULL, payload = STR_NULL;

        while (skim_next(&skim, &key, &value)) {
                if (str_is(key, "type")) {
                        type = skim_text(value);
                        if (!str_is(type, "event_msg") && !str_is(type, "turn_context") &&
                            !str_is(type, "session_meta"))
                                return;
                } else if (str_is(key, "timestamp"))
                        at = value;
                else if (str_is(key, "payload"))
                        payload = value;
        }
        if (str_is(type, "session_meta"))
                transcript_codex_meta(self, payload);
        else if (str_is(type, "turn_context"))
                transcript_keep(self->model, transcript_id(skim_get(payload, "model")));
        else if (str_is(type, "event_msg") && str_is(skim_get(payload, "type"), "\"token_count\""))
                transcript_codex_count(self, payload, transcript_time(at), scratch, fn, user);
}

/* ---- Gemini ---------------------------------------------------------------------------------- */

/* input has what was read from the cache; thoughts are paid for as output, and are not part of it. */
static void transcript_gemini(Transcript *self, Str line, Arena *scratch, TranscriptFn fn, void *user) {
        Str counts = skim_get(line, "tokens"), session = transcript_id(skim_get(line, "sessionId"));
        TranscriptItem item = {.cost_usd = -1};
        const Json *tokens;
        int64_t in;

        transcript_keep(self->session, session);
        if (!counts.n || counts.data[0] != '{')
                return;
        tokens = transcript_object(counts, scratch);
        item.id = transcript_id(skim_get(line, "id"));
        if (!tokens || !item.id.n) {
                self->n_wrong++;
                return;
        }
        in = transcript_count(tokens, "input");
        item.tokens = (UsageTokens){.cached = MIN(transcript_count(tokens, "cached"), in),
                                    .out = transcript_count(tokens, "output"),
                                    .reasoning = transcript_count(tokens, "thoughts")};
        item.tokens.in = in - item.tokens.cached + transcript_count(tokens, "tool");
        item.tokens.out += item.tokens.reasoning;
        item.at_us = transcript_time(skim_get(line, "timestamp"));
        item.model = transcript_id(skim_get(line, "model"));
        item.session = str_from(self->session);
        if (!transcript_is_nothing(&item.tokens))
                fn(user, &item);
}

void transcript_document(Transcript *self, Str text, Arena *scratch, TranscriptFn fn, void *user) {
        Skim skim = skim_of(skim_get(text, "messages"));
        Str message;

        if (self->form != TRANSCRIPT_GEMINI)
                return;
        transcript_keep(self->session, transcript_id(skim_get(text, "sessionId")));
        while (skim_element(&skim, &message)) {
                arena_reset(scratch);
                transcript_gemini(self, message, scratch, fn, user);
        }
        if (skim.is_wrong)
                self->n_wrong++;
}

void transcript_line(Transcript *self, Str line, Arena *scratch, TranscriptFn fn, void *user) {
        arena_reset(scratch);
        switch (self->form) {
        case TRANSCRIPT_NONE: break;
        case TRANSCRIPT_CLAUDE: transcript_claude(self, line, scratch, fn, user); break;
        case TRANSCRIPT_CODEX: transcript_codex(self, line, scratch, fn, user); break;
        case TRANSCRIPT_GEMINI: transcript_gemini(self, line, scratch, fn, user); break;
        }
}
