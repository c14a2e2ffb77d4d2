#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Token: the record of one secret that lets somebody in over the web. The secret itself is given out once, when it
 * is made; what is kept is its SHA-256.
 *
 *   server   of one server (`muster serve`): holds while that server is there, and at that server only
 *   device   of one browser or program: holds at every server until it is revoked, or was not used for TOKEN_IDLE_DAYS,
 *            or for as long as was said when it was made
 *   code     stands in a link, holds for TOKEN_CODE_MINUTES, and is good for one thing, once: becoming a device
 *
 * Times are of the wall clock. One that is put back makes no token live longer than it was made for (token_settle()).
 * Here are records, secrets and times; which tokens there are: core/web/tokens.h, which owns them.
 */
#include <stdint.h>

#include "base/json/json-writer.h"
#include "base/sha256.h"
#include "core/principal/web-scope.h"

enum {
        TOKEN_ID_DIGITS = 12,
        TOKEN_SERVER_BYTES = 16, /* of chance */
        TOKEN_DEVICE_BYTES = 32,
        TOKEN_TEXT_MAX = 44,  /* of one that we make, with its NUL */
        TOKEN_GIVEN_MIN = 22, /* characters of one that somebody chose, for a server that others can reach */
        TOKEN_SECRET_MAX = 512, /* a longer one is nobody's */
        TOKEN_LABEL_MAX = 80,   /* characters; the rest is left out */
        TOKEN_OBJECT_MAX = 512, /* bytes of a name */
        TOKEN_IDLE_DAYS = 30,
        TOKEN_CODE_MINUTES = 10,
        TOKEN_HOURS_MAX = 24 * 366, /* that one can be made for */
};
#define TOKEN_IDLE_US (TOKEN_IDLE_DAYS * INT64_C(86400000000))
#define TOKEN_CODE_US (TOKEN_CODE_MINUTES * INT64_C(60000000))

typedef enum TokenKind { TOKEN_SERVER, TOKEN_DEVICE, TOKEN_CODE, _TOKEN_KINDS } TokenKind;

/* What a token is to be. Texts are copied, labels cut. */
typedef struct TokenSpec {
        TokenKind kind;
        WebScope scope;
        Str label;
        Str object; /* whole name in the fleet of the only thing that it is for; empty: everything */
        Str user;   /* whose it is; empty: the owner of the daemon */
        int64_t for_us; /* how long it holds, or the device that a code becomes; 0: until TOKEN_IDLE_DAYS unused */
} TokenSpec;

typedef struct Token Token;
typedef struct TokenWatch TokenWatch;

struct Token {
        Token *next;
        char id[TOKEN_ID_DIGITS + 1]; /* no secret: it names the token in lists and logs */
        TokenKind kind;
        WebScope scope;
        char digest[SHA256_HEX_MAX];
        char *label, *object, *user; /* "": none */
        int64_t made_us;
        int64_t used_us;  /* last; made_us: never yet */
        int64_t life_us;  /* 0: as long as its server */
        int64_t then_us;  /* of a code: for_us of the device that it becomes */
        bool is_sliding;  /* its life counts from its last use */
        int64_t saved_us; /* used_us as it is kept on disk */
        uint64_t n_watches;
        TokenWatch *watches; /* core/web/tokens.h */
};

const char *token_kind_name(TokenKind kind);
/* A record without a secret; NULL without memory or without chance. */
Token *token_new(const TokenSpec *spec, int64_t now_us);
Token *token_free(Token *token);
/* A secret of so many bytes of chance, in the alphabet of base64url, without padding. 0 or negative. */
int token_make_secret(size_t n_bytes, char out[TOKEN_TEXT_MAX]);
int token_digest(Str secret, char out[SHA256_HEX_MAX]); /* 0 or -ENOMEM */
/* In a time that does not depend on where they differ. */
bool token_digest_eq(const char a[SHA256_HEX_MAX], const char b[SHA256_HEX_MAX]);
/* The clock says this now: a time that lies ahead of it was of a clock that has been put back. */
void token_settle(Token *token, int64_t now_us);
int64_t token_expires_us(const Token *token); /* 0: with its server */
bool token_has_expired(const Token *token, int64_t now_us);
/* As it is kept, and read again: NULL without memory, or when the object is no such record. */
void token_write(const Token *token, JsonWriter *w);
Token *token_read(const Json *json);
