#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Tokens: all that lets somebody in over the web, and the only place that says whether a secret does.
 *
 *   tokens_create() ──► code ── tokens_login() ──► device ── tokens_revoke(), its time ──► gone
 *          └──────────────────────────────────────► ▲                                       │
 *   tokens_begin_server() ──► server ── tokens_end_server() ────────────────────────────────┤
 *                                                              every TokenWatch is told ◄───┘
 *
 * Devices and codes are kept in <home>/web/tokens.json (0600, digests only): a change is on the disk before it
 * counts and before whoever asked for it is told, one after the other; when it cannot be written nothing has
 * changed. A server's token is kept with its server (core/web/servers.h). The last use of a device reaches the disk
 * within TOKENS_SAVE_MS, so a crash can cost it that much of its life. A file that cannot be read is put aside, and
 * then nobody is let in by it.
 *
 * Bounds: TOKENS_MAX devices, then none is made; TOKENS_CODES_MAX codes, then the oldest goes; changes that wait:
 * TOKENS_WAITING_MAX, then -ENOBUFS. Loop thread only; owned by the Daemon. No secret is ever logged.
 */
#include "base/log/log.h"
#include "base/loop/loop.h"
#include "core/feed.h"
#include "core/web/token.h"

enum {
        TOKENS_MAX = 1000,
        TOKENS_CODES_MAX = 64,
        TOKENS_WAITING_MAX = 256,
        TOKENS_SAVE_MS = 3600000,
};

enum {
        _TOKENS_E_SUCCESS,
        TOKENS_E_WRONG,   /* nobody's, or not good for this */
        TOKENS_E_EXPIRED, /* its time is over */
        TOKENS_E_MISSING, /* no token has that id */
        TOKENS_E_SERVER,  /* a server's: that goes with its server */
        TOKENS_E_FULL,    /* there are TOKENS_MAX of them */
};

typedef struct Tokens Tokens;

/* Reads what earlier daemons have left: blocks, for start-up. */
int tokens_open(Tokens **ret, Loop *loop, Log *log, Feed *feed, const char *home); /* feed may be NULL */
Tokens *tokens_free(Tokens *tokens); /* whoever watches one is not told */

/* Whose secret this is, for one request at the server whose token that is (NULL: at none): *ret is good until the
 * loop's next turn, or with a TokenWatch until that is told. It counts as use. Conditions: TOKENS_E_WRONG,
 * TOKENS_E_EXPIRED. */
int tokens_check(Tokens *tokens, Str secret, const Token *server, Token **ret);

/* How a change ended: 0, negative (the disk), or a condition. token: the one that was made, or is about to go; its
 * secret, which the function that it is given to must not keep, or NULL. */
typedef void (*TokensFn)(void *user, int r, const Token *token, const char *secret);
/* Each returns 0, and fn is called in a later turn; or negative, and it is not. */
int tokens_create(Tokens *tokens, const TokenSpec *spec, TokensFn fn,
                  void *user); /* a device or a code; TOKENS_E_FULL */
/* The code becomes a device, called `label` if the code has no label. TOKENS_E_WRONG, _EXPIRED, _FULL. */
int tokens_login(Tokens *tokens, Str code, Str label, TokensFn fn, void *user);
int tokens_revoke(Tokens *tokens, Str id, TokensFn fn, void *user); /* TOKENS_E_MISSING, _SERVER */

/* The token of a server that begins, by its secret or, of one that an earlier daemon had, by the digest. NULL without
 * memory. */
Token *tokens_begin_server(Tokens *tokens, WebScope scope, Str label, const char digest[SHA256_HEX_MAX]);
void tokens_end_server(Tokens *tokens, Token *token, const char *why); /* NULL: fine */

/* Whoever let somebody in and goes on with it: gone() is told once, in the turn in which the token ends, why: "revoked",
 * "expired", "server closed". It must not change tokens; it may unwatch. */
struct TokenWatch {
        Token *token; /* NULL: it watches none */
        void (*gone)(TokenWatch *watch, const char *why);
        TokenWatch *next, **link;
};
void token_watch(Token *token, TokenWatch *watch, void (*gone)(TokenWatch *watch, const char *why));
void token_unwatch(TokenWatch *watch); /* fine for one that watches none */

/* All of them that hold, oldest first. */
Token *tokens_first(Tokens *tokens);
Token *tokens_find(Tokens *tokens, Str id); /* NULL: there is none */
