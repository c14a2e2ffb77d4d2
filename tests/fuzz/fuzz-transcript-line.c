/* SPDX-License-Identifier: MIT */
/*
 * A line of a transcript: the first byte says whose. What is skimmed of an object that is JSON is what the parser says of it, and what is
 * told of tokens is within its bounds. A response of Claude Code tells the same without all that is jumped over.
 */
#include <string.h>

#include "base/buf.h"
#include "base/json/json.h"
#include "base/macro.h"
#include "core/usage/skim.h"
#include "core/usage/transcript.h"
#include "fuzz.h"

static void fuzz_check_tokens(const UsageTokens *tokens) {
        FUZZ_CHECK(tokens->in >= 0 && tokens->cached >= 0 && tokens->cache_write >= 0 && tokens->out >= 0);
        FUZZ_CHECK(tokens->reasoning >= 0 && tokens->reasoning <= tokens->out &&
                   usage_tokens_sum(tokens) >= 0);
}

static void fuzz_on_item(void *user, const TranscriptItem *item) {
        unsigned *n = user;

        fuzz_check_tokens(&item->tokens);
        FUZZ_CHECK(item->id.n < TRANSCRIPT_ID_MAX && item->model.n < TRANSCRIPT_ID_MAX);
        FUZZ_CHECK(item->n_limits <= TRANSCRIPT_LIMITS_MAX);
        FUZZ_CHECK((item->id.n && usage_tokens_sum(&item->tokens) > 0) || item->n_limits);
        for (unsigned i = 0; i < item->n_limits; i++)
                FUZZ_CHECK(item->limits[i].used_percent >= 0 && item->limits[i].resets_us >= 0 &&
                           item->limits[i].window_minutes >= 0);
        if (item->has_last)
                fuzz_check_tokens(&item->last);
        ++*n;
}

/* Members in order, each with the same bytes. */
static void fuzz_compare(Str text, const Json *json) {
        Skim skim = skim_of(text);
        Str key, value;

        json_each (item, json) {
                FUZZ_CHECK(skim_next(&skim, &key, &value));
                FUZZ_CHECK(str_eq(value, json_raw(item)));
                if (!memchr(key.data, '\\', key.n))
                        FUZZ_CHECK(str_eq(key, json_key(item)));
                if (json_is(item, JSON_STRING) && !memchr(value.data, '\\', value.n))
                        FUZZ_CHECK(str_eq(skim_text(value), json_str(item)));
        }
        FUZZ_CHECK(!skim_next(&skim, &key, &value) && !skim.is_wrong);
}

/* ---- a response, with and without what it says ----------------------------------------------- */

typedef struct FuzzTold {
        unsigned n;
        UsageTokens tokens;
        char id[TRANSCRIPT_ID_MAX];
} FuzzTold;

static void fuzz_on_told(void *user, const TranscriptItem *item) {
        FuzzTold *told = user;

        told->n++;
        told->tokens = item->tokens;
        memcpy(told->id, item->id.data, item->id.n); /* it is shorter: fuzz_on_item() */
}

static void fuzz_tell(Str line, FuzzTold *ret) {
        _cleanup_(arena_deinit) Arena scratch = ARENA_NULL;
        Transcript reader = {.form = TRANSCRIPT_CLAUDE};

        *ret = (FuzzTold){0};
        transcript_line(&reader, line, &scratch, fuzz_on_told, ret);
}

static void fuzz_put(Buf *buf, Str text) {
        FUZZ_CHECK(!buf_append_str(buf, text));
}

static void fuzz_put_member(Buf *buf, Str object, const char *name) {
        Str value = skim_get(object, name);

        if (!value.n)
                return;
        fuzz_put(buf, STR(",\""));
        fuzz_put(buf, str_from(name));
        fuzz_put(buf, STR("\":"));
        fuzz_put(buf, value);
}

/* Without its role nothing of a message is jumped over. */
static void fuzz_compare_response(Str text) {
        _cleanup_(buf_deinit) Buf plain = {0};
        Str type = skim_get(text, "type"), message = skim_get(text, "message");
        FuzzTold as_is, as_plain;

        if ((type.n && !str_is(type, "\"assistant\"")) || !str_starts(message, STR("{")) ||
            !str_starts(skim_get(message, "usage"), STR("{")))
                return;
        fuzz_put(&plain, STR("{\"message\":{\"type\":0"));
        fuzz_put_member(&plain, message, "id");
        fuzz_put_member(&plain, message, "usage");
        fuzz_put(&plain, STR("}"));
        fuzz_put_member(&plain, text, "requestId");
        fuzz_put_member(&plain, text, "uuid");
        fuzz_put(&plain, STR("}"));
        fuzz_tell(text, &as_is);
        fuzz_tell(buf_str(&plain), &as_plain);
        FUZZ_CHECK(as_is.n == as_plain.n && !strcmp(as_is.id, as_plain.id));
        FUZZ_CHECK(!memcmp(&as_is.tokens, &as_plain.tokens, sizeof(as_is.tokens)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(arena_deinit) Arena scratch = ARENA_NULL;
        Str text = {(const char *)data + (n > 0), n - (n > 0)};
        Transcript reader = {.form = n ? 1 + data[0] % 3 : TRANSCRIPT_CLAUDE};
        Json *json = NULL;
        unsigned n_items = 0;

        if (text.n && !json_parse(&arena, text.data, text.n, NULL, &json, NULL) &&
            json_is(json, JSON_OBJECT)) {
                fuzz_compare(text, json);
                fuzz_compare_response(text);
        }
        while (text.n) {
                const char *newline = memchr(text.data, '\n', text.n);
                Str line = {text.data, newline ? (size_t)(newline - text.data) : text.n};

                transcript_line(&reader, line, &scratch, fuzz_on_item, &n_items);
                text = (Str){line.data + line.n + (newline != NULL), text.n - line.n - (newline != NULL)};
        }
        transcript_document(&reader, (Str){(const char *)data + (n > 0), n - (n > 0)}, &scratch,
                            fuzz_on_item, &n_items);
        return 0;
}
