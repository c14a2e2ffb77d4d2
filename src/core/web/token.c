/* SPDX-License-Identifier: MIT */
#include "core/web/token.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/id.h"
#include "base/utf8.h"

static const char *const token_kind_names[_TOKEN_KINDS] = {
        [TOKEN_SERVER] = "server",
        [TOKEN_DEVICE] = "device",
        [TOKEN_CODE] = "code",
};

const char *token_kind_name(TokenKind kind) {
        return token_kind_names[kind];
}

Token *token_free(Token *token) {
        if (!token)
                return NULL;
        assert(!token->watches);
        free(token->label);
        free(token->object);
        free(token->user);
        free(token);
        return NULL;
}

static Token *token_set_texts(Token *self, Str label, Str object, Str user) {
        self->label = str_dup(utf8_first(label, TOKEN_LABEL_MAX));
        self->object = str_dup(object);
        self->user = str_dup(user);
        return self->label && self->object && self->user ? self : token_free(self);
}

Token *token_new(const TokenSpec *spec, int64_t now_us) {
        Token *self = calloc(1, sizeof(*self));

        if (!self)
                return NULL;
        self->kind = spec->kind;
        self->scope = spec->scope;
        self->made_us = self->used_us = self->saved_us = now_us;
        if (spec->kind == TOKEN_CODE) {
                self->life_us = TOKEN_CODE_US;
                self->then_us = spec->for_us;
        } else if (spec->kind == TOKEN_DEVICE) {
                self->life_us = spec->for_us ? spec->for_us : TOKEN_IDLE_US;
                self->is_sliding = !spec->for_us;
        }
        if (id_hex(self->id, TOKEN_ID_DIGITS))
                return token_free(self);
        return token_set_texts(self, spec->label, spec->object, spec->user);
}

/* ---- secrets --------------------------------------------------------------------------------- */

int token_make_secret(size_t n_bytes, char out[TOKEN_TEXT_MAX]) {
        unsigned char bytes[TOKEN_DEVICE_BYTES];
        int r;

        assert(n_bytes <= sizeof(bytes));
        r = random_bytes(bytes, n_bytes);
        if (!r)
                base64url_put((Str){(const char *)bytes, n_bytes}, out);
        explicit_bzero(bytes, sizeof(bytes));
        return error_trace(r);
}

int token_digest(Str secret, char out[SHA256_HEX_MAX]) {
        return error_trace(sha256_hex(secret, out));
}

/* All of both is looked at, whatever differs, in words: every request compares with every token. */
bool token_digest_eq(const char a[SHA256_HEX_MAX], const char b[SHA256_HEX_MAX]) {
        volatile uint64_t differs = 0;

        for (size_t i = 0; i < SHA256_HEX_MAX - 1; i += sizeof(uint64_t)) {
                uint64_t x, y;

                memcpy(&x, a + i, sizeof(x));
                memcpy(&y, b + i, sizeof(y));
                differs = differs | (x ^ y);
        }
        return !differs;
}
_Static_assert((SHA256_HEX_MAX - 1) % sizeof(uint64_t) == 0, "a digest is made of whole words");

/* ---- times ----------------------------------------------------------------------------------- */

void token_settle(Token *token, int64_t now_us) {
        token->made_us = MIN(token->made_us, now_us);
        token->used_us = MIN(token->used_us, now_us);
        token->saved_us = MIN(token->saved_us, now_us);
}

int64_t token_expires_us(const Token *token) {
        int64_t from_us = token->is_sliding ? token->used_us : token->made_us;

        return token->life_us ? from_us + token->life_us : 0;
}

bool token_has_expired(const Token *token, int64_t now_us) {
        return token->life_us && token_expires_us(token) <= now_us;
}

/* ---- as it is kept --------------------------------------------------------------------------- */

void token_write(const Token *token, JsonWriter *w) {
        jw_begin_object(w);
        jw_field_cstr(w, "id", token->id);
        jw_field_cstr(w, "kind", token_kind_name(token->kind));
        jw_field_cstr(w, "scope", web_scope_name(token->scope));
        jw_field_cstr(w, "sha256", token->digest);
        jw_field_cstr(w, "label", token->label);
        jw_field_cstr(w, "object", token->object);
        jw_field_cstr(w, "user", token->user);
        jw_field_int(w, "made_us", token->made_us);
        jw_field_int(w, "used_us", token->used_us);
        jw_field_int(w, "life_us", token->life_us);
        jw_field_bool(w, "sliding", token->is_sliding);
        if (token->then_us)
                jw_field_int(w, "then_us", token->then_us);
        jw_end_object(w);
}

static bool token_is_hex(Str text, size_t n) {
        return text.n == n && strspn(text.data, "0123456789abcdef") >= n;
}

static bool token_kind_from_name(Str name, TokenKind *ret) {
        for (int i = 0; i < _TOKEN_KINDS; i++)
                if (str_is(name, token_kind_names[i])) {
                        *ret = (TokenKind)i;
                        return true;
                }
        return false;
}

static bool token_time_of(const Json *json, const char *key, int64_t *ret) {
        return json_int64(json_get(json, key), ret) && *ret >= 0 && *ret < INT64_MAX / 4;
}

/* What has to be right for the record to be one: anything else would let somebody in for longer, or for more. */
static bool token_read_facts(Token *self, const Json *json, Str id, Str digest) {
        Json *then = json_get(json, "then_us");

        if (!token_is_hex(id, TOKEN_ID_DIGITS) || !token_is_hex(digest, SHA256_HEX_MAX - 1) ||
            !token_kind_from_name(json_text_of(json, "kind"), &self->kind) ||
            !web_scope_from_name(json_text_of(json, "scope"), &self->scope) ||
            !token_time_of(json, "made_us", &self->made_us) ||
            !token_time_of(json, "used_us", &self->used_us) ||
            !token_time_of(json, "life_us", &self->life_us) ||
            (then && !token_time_of(json, "then_us", &self->then_us)))
                return false;
        memcpy(self->id, id.data, id.n);
        memcpy(self->digest, digest.data, digest.n);
        self->saved_us = self->used_us;
        self->is_sliding = json_truth_of(json, "sliding");
        return (self->life_us == 0) == (self->kind == TOKEN_SERVER);
}

Token *token_read(const Json *json) {
        Token *self = calloc(1, sizeof(*self));
        Str object = json_text_of(json, "object");

        if (!self)
                return NULL;
        if (!token_read_facts(self, json, json_text_of(json, "id"), json_text_of(json, "sha256")) ||
            object.n > TOKEN_OBJECT_MAX)
                return token_free(self);
        return token_set_texts(self, json_text_of(json, "label"), object, json_text_of(json, "user"));
}
