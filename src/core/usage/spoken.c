/* SPDX-License-Identifier: MIT */
#include "core/usage/spoken.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/macro.h"
#include "core/usage/skim.h"
#include "core/usage/transcript-internal.h"

enum { SPOKEN_ID_MAX = 2 * TRANSCRIPT_ID_MAX };

typedef struct SpokenLine {
        Spoken *self;
        Str session, text;
        TranscriptFn fn;
        void *user;
        Arena *scratch;
} SpokenLine;

static void spoken_tell(const SpokenLine *line, TranscriptItem *item) {
        if (!item->session.n)
                item->session = line->session;
        if (!usage_tokens_sum(&item->tokens))
                return;
        line->self->has_said = true;
        line->fn(line->user, item);
}

static bool spoken_is(Str object, const char *member, const char *word) {
        return str_is(skim_text(skim_get(object, member)), word);
}

/* The value of the member whose name is written so; empty: there is none. */
static Str spoken_member(Str object, Str name) {
        Skim skim = skim_of(object);
        Str key, value;

        while (skim_next(&skim, &key, &value))
                if (str_eq(key, name))
                        return value;
        return STR_NULL;
}

/* The name of a member, which is a model: it stands between quotes. */
static Str spoken_model(Str key) {
        return transcript_id((Str){key.data - 1, key.n + 2});
}

/* ---- Claude Code ----------------------------------------------------------------------------- */

static void spoken_less_one(int64_t *from, int64_t *counted) {
        int64_t n = MAX(MIN(*from, *counted), (int64_t)0);

        *from -= n;
        *counted -= n;
}

/* What lines have told is taken off, as far as it goes; what is left of it is of another model. */
static void spoken_less(UsageTokens *from, UsageTokens *counted) {
        spoken_less_one(&from->in, &counted->in);
        spoken_less_one(&from->cached, &counted->cached);
        spoken_less_one(&from->cache_write, &counted->cache_write);
        spoken_less_one(&from->out, &counted->out);
}

/* Several lines tell of one response: of each that counts which has the most output, as it does in the table. */
static void spoken_count(Spoken *self, Str id, const UsageTokens *tokens) {
        uint64_t hash = hash_bytes(HASH_START, id.data, id.n);
        SpokenResponse *open = NULL;

        for (unsigned i = 0; i < MIN(self->n_open, (unsigned)SPOKEN_OPEN) && !open; i++)
                if (self->open[i].id == hash)
                        open = &self->open[i];
        if (!open) {
                open = &self->open[self->n_open++ % SPOKEN_OPEN];
                *open = (SpokenResponse){.id = hash};
        } else if (tokens->out <= open->tokens.out)
                return;
        spoken_less(&self->counted, &open->tokens);
        usage_tokens_add(&self->counted, tokens);
        open->tokens = *tokens;
}

static void spoken_claude_response(const SpokenLine *line) {
        Str message = skim_get(line->text, "message");
        TranscriptItem item = {.cost_usd = -1,
                               .id = transcript_id(skim_get(message, "id")),
                               .model = transcript_id(skim_get(message, "model"))};

        if (!item.id.n ||
            !transcript_claude_usage(skim_get(message, "usage"), line->scratch, &item.tokens) ||
            !usage_tokens_sum(&item.tokens))
                return;
        transcript_keep(line->self->model, item.model);
        spoken_count(line->self, item.id, &item.tokens);
        spoken_tell(line, &item);
}

static UsageTokens spoken_claude_tokens(Str counts, Arena *scratch) {
        const Json *json = transcript_object(counts, scratch);

        return (UsageTokens){.in = transcript_count(json, "inputTokens"),
                             .cached = transcript_count(json, "cacheReadInputTokens"),
                             .cache_write = transcript_count(json, "cacheCreationInputTokens"),
                             .out = transcript_count(json, "outputTokens")};
}

typedef struct SpokenTurn {
        Str models,
                since; /* objects of tokens by model: of the session until now; of this turn, where the program says it */
        UsageTokens all, all_since, counted;
} SpokenTurn;

static void spoken_claude_model(const SpokenLine *line, const SpokenTurn *turn, Str key, Str total) {
        Spoken *self = line->self;
        Str since = spoken_member(turn->since, key);
        TranscriptItem item = {.is_session = true,
                               .has_before = turn->since.n > 0,
                               .has_last = !self->is_partial,
                               .all = turn->all,
                               .all_counted = turn->counted,
                               .tokens = spoken_claude_tokens(total, line->scratch),
                               .cost_usd = -1,
                               .id = line->session,
                               .model = spoken_model(key)};

        item.last = turn->since.n ? spoken_claude_tokens(since, line->scratch) : item.tokens;
        item.before = usage_tokens_minus(&item.tokens, &item.last);
        item.all_before = usage_tokens_minus(&turn->all, &turn->all_since);
        spoken_less(&item.last, &self->counted);
        if (!usage_tokens_sum(&turn->counted) && !turn->since.n)
                item.cost_usd = transcript_cost(skim_get(total, "costUSD"), line->scratch);
        spoken_tell(line, &item);
}

static UsageTokens spoken_claude_sum(Str models, Arena *scratch) {
        UsageTokens sum = {0};
        Skim skim = skim_of(models);
        Str key, value;

        while (skim_next(&skim, &key, &value)) {
                UsageTokens tokens = spoken_claude_tokens(value, scratch);

                usage_tokens_add(&sum, &tokens);
        }
        return sum;
}

/* The model of the responses first: what they have told is most likely of that. */
static void spoken_claude_result(const SpokenLine *line) {
        SpokenTurn turn = {.models = skim_get(line->text, "modelUsage"),
                           .since = skim_get(line->text, "model_usage_since_last_result"),
                           .counted = line->self->counted};
        Str key, value;

        turn.all = spoken_claude_sum(turn.models, line->scratch);
        turn.all_since = spoken_claude_sum(turn.since, line->scratch);
        for (unsigned is_other = 0; is_other < 2; is_other++)
                for (Skim skim = skim_of(turn.models); skim_next(&skim, &key, &value);)
                        if (str_is(spoken_model(key), line->self->model) == !is_other)
                                spoken_claude_model(line, &turn, key, value);
}

static void spoken_claude(const SpokenLine *line) {
        Spoken *self = line->self;

        if (spoken_is(line->text, "type", "assistant"))
                spoken_claude_response(line);
        else if (spoken_is(line->text, "type", "result")) {
                spoken_claude_result(line);
                self->counted = (UsageTokens){0};
                self->n_open = 0;
                self->is_partial = false;
        } else if (self->is_partial && spoken_is(line->text, "subtype", "init")) {
                self->counted = (UsageTokens){0};
                self->is_partial = false;
        }
}

/* ---- Codex ----------------------------------------------------------------------------------- */

/* Of the thread until now. */
static void spoken_codex(const SpokenLine *line) {
        TranscriptItem item = {.is_session = true, .has_last = true, .cost_usd = -1, .id = line->session};

        if (!spoken_is(line->text, "type", "turn.completed") ||
            !transcript_codex_tokens(transcript_object(skim_get(line->text, "usage"), line->scratch),
                                     &item.tokens))
                return;
        item.last = item.all = item.tokens;
        spoken_tell(line, &item);
}

static bool spoken_server_tokens(const Json *counts, UsageTokens *ret) {
        int64_t in = transcript_count(counts, "inputTokens");

        *ret = (UsageTokens){.cached = MIN(transcript_count(counts, "cachedInputTokens"), in),
                             .out = transcript_count(counts, "outputTokens"),
                             .reasoning = transcript_count(counts, "reasoningOutputTokens")};
        ret->in = in - ret->cached;
        ret->reasoning = MIN(ret->reasoning, ret->out);
        return json_is(counts, JSON_OBJECT);
}

static void spoken_server(const SpokenLine *line) {
        Str params = skim_get(line->text, "params"), thread = transcript_id(skim_get(params, "threadId"));
        TranscriptItem item = {.is_session = true, .cost_usd = -1};
        const Json *used;

        if (!spoken_is(line->text, "method", "thread/tokenUsage/updated"))
                return;
        used = transcript_object(skim_get(params, "tokenUsage"), line->scratch);
        if (!spoken_server_tokens(json_get(used, "total"), &item.tokens))
                return;
        item.id = item.session = thread.n ? thread : line->session;
        item.all = item.tokens;
        item.has_last = spoken_server_tokens(json_get(used, "last"), &item.last);
        spoken_tell(line, &item);
}

/* ---- Gemini ---------------------------------------------------------------------------------- */

/* when: by it and the model it is known again. */
static void spoken_gemini_tell(const SpokenLine *line, Str when, Str model, UsageTokens tokens) {
        char id[SPOKEN_ID_MAX];
        TranscriptItem item = {
                .is_of_process = true, .tokens = tokens, .cost_usd = -1, .model = model, .id = {id, 0}};

        item.id.n = (size_t)snprintf(id, sizeof(id), STR_FMT "/" STR_FMT, STR_ARG(when), STR_ARG(model));
        spoken_tell(line, &item);
}

/* What is neither input nor what was read from a cache is output: thoughts are in the total only. */
static UsageTokens spoken_gemini_tokens(Str stats, Arena *scratch) {
        const Json *json = transcript_object(stats, scratch);
        int64_t in = transcript_count(json, "input_tokens"), out = transcript_count(json, "output_tokens"),
                cached = MIN(transcript_count(json, "cached"), in);

        return (UsageTokens){.in = in - cached,
                             .cached = cached,
                             .out = MAX(transcript_count(json, "total_tokens") - in, out)};
}

static void spoken_gemini(const SpokenLine *line) {
        Str stats = skim_get(line->text, "stats"), when = transcript_id(skim_get(line->text, "timestamp"));
        Skim models = skim_of(skim_get(stats, "models"));
        bool is_by_model = false;
        Str key, value;

        if (spoken_is(line->text, "type", "init"))
                transcript_keep(line->self->model, transcript_id(skim_get(line->text, "model")));
        if (!spoken_is(line->text, "type", "result"))
                return;
        while (skim_next(&models, &key, &value)) {
                is_by_model = true;
                spoken_gemini_tell(line, when, spoken_model(key),
                                   spoken_gemini_tokens(value, line->scratch));
        }
        if (!is_by_model)
                spoken_gemini_tell(line, when, str_from(line->self->model),
                                   spoken_gemini_tokens(stats, line->scratch));
}

/* `--output-format json`: thoughts are paid for as output, and are not part of it. */
static void spoken_gemini_document(const SpokenLine *line) {
        Skim models = skim_of(skim_get(skim_get(line->text, "stats"), "models"));
        Str key, value;

        while (skim_next(&models, &key, &value)) {
                const Json *json = transcript_object(skim_get(value, "tokens"), line->scratch);
                int64_t in = transcript_count(json, "prompt"),
                        cached = MIN(transcript_count(json, "cached"), in);
                UsageTokens tokens = {.in = in - cached + transcript_count(json, "tool"),
                                      .cached = cached,
                                      .reasoning = transcript_count(json, "thoughts")};

                tokens.out = transcript_count(json, "candidates") + tokens.reasoning;
                spoken_gemini_tell(line, STR("end"), spoken_model(key), tokens);
        }
}

/* ---- OpenCode -------------------------------------------------------------------------------- */

/* Where there is a total, output has no reasoning in it. A cost of 0 is that of a model without a price. */
static void spoken_opencode(const SpokenLine *line) {
        Str part = skim_get(line->text, "part");
        TranscriptItem item = {.id = transcript_id(skim_get(part, "id"))};
        const Json *tokens, *cache;

        if (!spoken_is(line->text, "type", "step_finish") || !item.id.n)
                return;
        tokens = transcript_object(skim_get(part, "tokens"), line->scratch);
        cache = json_get(tokens, "cache");
        item.tokens = (UsageTokens){.in = transcript_count(tokens, "input"),
                                    .cached = transcript_count(cache, "read"),
                                    .cache_write = transcript_count(cache, "write"),
                                    .out = transcript_count(tokens, "output"),
                                    .reasoning = transcript_count(tokens, "reasoning")};
        if (json_get(tokens, "total"))
                item.tokens.out += item.tokens.reasoning;
        item.cost_usd = transcript_cost(skim_get(part, "cost"), line->scratch);
        if (item.cost_usd <= 0)
                item.cost_usd = -1;
        spoken_tell(line, &item);
}

/* ---- whose it is ----------------------------------------------------------------------------- */

void spoken_line(Spoken *self, SpokenForm form, Str session, Str text, TranscriptFn fn, void *user) {
        _cleanup_(arena_deinit) Arena scratch = ARENA_NULL;
        const SpokenLine line = {self, session, text, fn, user, &scratch};

        switch (form) {
        case SPOKEN_NONE: break;
        case SPOKEN_CLAUDE: spoken_claude(&line); break;
        case SPOKEN_CODEX: spoken_codex(&line); break;
        case SPOKEN_SERVER: spoken_server(&line); break;
        case SPOKEN_GEMINI: spoken_gemini(&line); break;
        case SPOKEN_OPENCODE: spoken_opencode(&line); break;
        }
}

void spoken_missed(Spoken *self) {
        self->is_partial = true;
}

void spoken_document(Spoken *self, Str text, TranscriptFn fn, void *user) {
        _cleanup_(arena_deinit) Arena scratch = ARENA_NULL;
        SpokenLine line = {self, STR_NULL, str_trim(text), fn, user, &scratch};

        if (self->has_said || text.n > SPOKEN_DOCUMENT_MAX || !str_starts(line.text, STR("{")))
                return;
        line.session = transcript_id(skim_get(line.text, "session_id"));
        spoken_gemini_document(&line);
}
