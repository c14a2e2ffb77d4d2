/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/web"

#include "core/web/tokens.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/lane.h"
#include "core/web/news.h"
#include "core/web/web-file.h"

typedef enum TokensVerb { TOKENS_CREATE, TOKENS_LOGIN, TOKENS_REVOKE, TOKENS_TIDY } TokensVerb;

typedef struct TokensChange {
        LaneItem item;
        TokensVerb verb;
        TokensFn fn;
        void *user;
        Token *coming;                       /* created; of a login, once its code was found */
        Token *leaving;                      /* revoked; the code that was used */
        char digest[SHA256_HEX_MAX];         /* of the code */
        char id[TOKEN_ID_DIGITS + 1];        /* to be revoked */
        char label[TOKEN_LABEL_MAX * 4 + 1]; /* of who logs in */
        char secret[TOKEN_TEXT_MAX];
} TokensChange;

struct Tokens {
        Loop *loop;
        Log *log;
        Feed *feed; /* NULL: nobody is told */
        char *path;
        Token *first;
        size_t n_codes, n_devices;
        Lane lane;
        TokensChange *at; /* being written */
        TokensChange tidy;
        bool is_tidy_waiting;
        Buf text; /* of the file: made on the loop, written by the worker */
        int r;    /* of the worker */
        Timer expiry;
};

/* ---- who watches ----------------------------------------------------------------------------- */

void token_watch(Token *token, TokenWatch *watch, void (*gone)(TokenWatch *watch, const char *why)) {
        *watch = (TokenWatch){.token = token, .gone = gone, .next = token->watches, .link = &token->watches};
        if (watch->next)
                watch->next->link = &watch->next;
        token->watches = watch;
        token->n_watches++;
}

void token_unwatch(TokenWatch *watch) {
        if (!watch->token)
                return;
        *watch->link = watch->next;
        if (watch->next)
                watch->next->link = watch->link;
        watch->token->n_watches--;
        watch->token = NULL;
        watch->next = NULL;
        watch->link = NULL;
}

static void tokens_tell(Token *token, const char *why) {
        while (token->watches) {
                TokenWatch *watch = token->watches;

                token_unwatch(watch);
                if (why)
                        watch->gone(watch, why);
        }
}

/* ---- the list -------------------------------------------------------------------------------- */

Token *tokens_first(Tokens *tokens) {
        return tokens->first;
}

Token *tokens_find(Tokens *tokens, Str id) {
        for (Token *token = tokens->first; token; token = token->next)
                if (str_is(id, token->id))
                        return token;
        return NULL;
}

static void tokens_count(Tokens *self, const Token *token, size_t n) {
        self->n_codes += token->kind == TOKEN_CODE ? n : 0;
        self->n_devices += token->kind == TOKEN_DEVICE ? n : 0;
}

static void tokens_insert(Tokens *self, Token *token) {
        Token **at = &self->first;

        while (*at)
                at = &(*at)->next;
        *at = token;
        token->next = NULL;
        tokens_count(self, token, 1);
}

/* Takes it off the list, tells whoever came in by it, and frees it. */
static void tokens_drop(Tokens *self, Token *token, const char *why) {
        Token **at = &self->first;

        while (*at != token)
                at = &(*at)->next;
        *at = token->next;
        tokens_count(self, token, (size_t)-1);
        tokens_tell(token, why);
        token_free(token);
}

static Token *tokens_find_digest(Tokens *self, const char digest[SHA256_HEX_MAX]) {
        Token *found = NULL;

        for (Token *token = self->first; token; token = token->next) /* all of them, wherever it stands */
                if (token_digest_eq(token->digest, digest))
                        found = token;
        return found;
}

static Token *tokens_oldest_code(Tokens *self) {
        Token *token = self->first;

        while (token->kind != TOKEN_CODE)
                token = token->next;
        return token;
}

/* What happens to them, for the log and the feed: never a secret. */
static void tokens_news(const Tokens *self, const Token *token, const char *what) {
        log_notice(self->log, token->id, "token %s kind=%s scope=%s", what, token_kind_name(token->kind),
                   web_scope_name(token->scope));
        web_news_token(self->feed, token, what);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void tokens_tidy_soon(Tokens *self) {
        if (!self->is_tidy_waiting)
                self->is_tidy_waiting = !lane_add(&self->lane, &self->tidy.item);
}

static void tokens_on_expiry(Timer *timer) {
        tokens_tidy_soon(container_of(timer, Tokens, expiry));
}

/* A device that somebody is in by is in use. */
static void tokens_settle_all(Tokens *self, int64_t now_us) {
        for (Token *token = self->first; token; token = token->next) {
                token_settle(token, now_us);
                if (token->watches)
                        token->used_us = now_us;
        }
}

static void tokens_set_timer(Tokens *self) {
        int64_t now_us = loop_wall_us(self->loop), first_us = INT64_MAX;

        for (const Token *token = self->first; token; token = token->next)
                if (token->life_us)
                        first_us = MIN(first_us, token_expires_us(token));
        if (first_us == INT64_MAX)
                timer_clear(&self->expiry);
        else
                (void)timer_set(&self->expiry, MAX(first_us - now_us, 0) / 1000 + 1);
}

static void tokens_drop_expired(Tokens *self) {
        int64_t now_us = loop_wall_us(self->loop);
        Token *next;

        tokens_settle_all(self, now_us);
        for (Token *token = self->first; token; token = next) {
                next = token->next;
                if (!token_has_expired(token, now_us))
                        continue;
                tokens_news(self, token, "expired");
                tokens_drop(self, token, "expired");
        }
}

/* ---- checking -------------------------------------------------------------------------------- */

static void tokens_use(Tokens *self, Token *token, int64_t now_us) {
        token_settle(token, now_us);
        token->used_us = now_us;
        if (token->kind == TOKEN_DEVICE && now_us - token->saved_us >= TOKENS_SAVE_MS * INT64_C(1000))
                tokens_tidy_soon(self);
}

int tokens_check(Tokens *tokens, Str secret, const Token *server, Token **ret) {
        int64_t now_us = loop_wall_us(tokens->loop);
        char digest[SHA256_HEX_MAX];
        Token *token;
        int r;

        if (!secret.n || secret.n > TOKEN_SECRET_MAX)
                return TOKENS_E_WRONG;
        r = token_digest(secret, digest);
        if (r)
                return error_trace(r);
        token = tokens_find_digest(tokens, digest);
        if (!token || token->kind == TOKEN_CODE || (token->kind == TOKEN_SERVER && token != server))
                return TOKENS_E_WRONG;
        if (token_has_expired(token, now_us))
                return TOKENS_E_EXPIRED;
        tokens_use(tokens, token, now_us);
        *ret = token;
        return 0;
}

/* ---- the file -------------------------------------------------------------------------------- */

static int tokens_write_text(Tokens *self, const Token *coming, const Token *leaving, const Token *besides) {
        JsonWriter w = JSON_WRITER(&self->text);

        self->text.n = 0;
        jw_begin_object(&w);
        jw_field_int(&w, "v", 1);
        jw_key(&w, "tokens");
        jw_begin_array(&w);
        for (const Token *token = self->first; token; token = token->next)
                if (token->kind != TOKEN_SERVER && token != leaving && token != besides)
                        token_write(token, &w);
        if (coming)
                token_write(coming, &w);
        jw_end_array(&w);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

static bool tokens_take_read(Tokens *self, Token *token) {
        if (!token || token->kind == TOKEN_SERVER || tokens_find(self, str_from(token->id)) ||
            self->n_codes + self->n_devices >= TOKENS_MAX + TOKENS_CODES_MAX) {
                token_free(token);
                return false;
        }
        tokens_insert(self, token);
        return true;
}

static int tokens_load(Tokens *self) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const Json *list;
        size_t n_wrong = 0;
        int r = web_file_load(self->path, "tokens", self->log, &arena, &text, &list);

        json_each (item, list)
                n_wrong += !tokens_take_read(self, token_read(item));
        if (n_wrong)
                log_warning(self->log, self->path, "records that are none were left out n=%zu", n_wrong);
        return error_trace(r);
}

/* ---- changes --------------------------------------------------------------------------------- */

static void tokens_change_free(TokensChange *change) {
        token_free(change->coming);
        explicit_bzero(change->secret, sizeof(change->secret));
        free(change);
}

/* The turn ends: whoever asked is told how. */
static void tokens_end_change(Tokens *self, int r) {
        TokensChange *change = steal(&self->at);
        Token *leaving = change->leaving, *made = r ? NULL : change->coming;
        const char *secret = made ? change->secret : NULL;

        if (made) {
                tokens_insert(self, steal(&change->coming));
                made->saved_us = made->used_us;
        }
        if (made)
                tokens_news(self, made, change->verb == TOKENS_LOGIN ? "from_code" : "created");
        else if (!r && leaving)
                tokens_news(self, leaving, "revoked");
        if (change->fn)
                change->fn(change->user, r, r ? NULL : made ? made : leaving, secret);
        if (!r && leaving)
                tokens_drop(self, leaving, "revoked");
        while (self->n_codes > TOKENS_CODES_MAX)
                tokens_drop(self, tokens_oldest_code(self), "expired");
        if (change != &self->tidy)
                tokens_change_free(change);
        tokens_set_timer(self);
        lane_over(&self->lane);
}

static void tokens_run(Lane *lane) {
        Tokens *self = container_of(lane, Tokens, lane);

        self->r = web_file_store(self->path, buf_str(&self->text));
}

static void tokens_done(Lane *lane) {
        Tokens *self = container_of(lane, Tokens, lane);

        if (self->r)
                log_warning(self->log, self->path, "cannot be written: %s", strerror(-self->r));
        for (Token *token = self->first; token; token = token->next)
                token->saved_us =
                        token->used_us; /* a last use that could not be kept is tried with the next */
        tokens_end_change(self, self->r);
}

/* The device that a code becomes. Conditions as tokens_login(). */
static int tokens_find_code(Tokens *self, TokensChange *change) {
        Token *code = tokens_find_digest(self, change->digest);
        TokenSpec spec = {.kind = TOKEN_DEVICE};

        if (!code || code->kind != TOKEN_CODE)
                return TOKENS_E_WRONG;
        if (self->n_devices >= TOKENS_MAX)
                return TOKENS_E_FULL;
        spec.scope = code->scope;
        spec.label = *code->label ? str_from(code->label) : str_from(change->label);
        spec.object = str_from(code->object);
        spec.user = str_from(code->user);
        spec.for_us = code->then_us;
        change->coming = token_new(&spec, loop_wall_us(self->loop));
        change->leaving = code;
        return change->coming ? 0 : error_origin(-ENOMEM);
}

static int tokens_prepare(Tokens *self, TokensChange *change) {
        switch (change->verb) {
        case TOKENS_CREATE:
                return change->coming->kind == TOKEN_DEVICE && self->n_devices >= TOKENS_MAX ? TOKENS_E_FULL
                                                                                             : 0;
        case TOKENS_LOGIN: return tokens_find_code(self, change);
        case TOKENS_REVOKE:
                change->leaving = tokens_find(self, str_from(change->id));
                if (!change->leaving)
                        return TOKENS_E_MISSING;
                return change->leaving->kind == TOKEN_SERVER ? TOKENS_E_SERVER : 0;
        default: self->is_tidy_waiting = false; return 0;
        }
}

static int tokens_make(Token *token, char secret[TOKEN_TEXT_MAX]) {
        int r = token_make_secret(TOKEN_DEVICE_BYTES, secret);

        return error_trace(r ? r : token_digest(str_from(secret), token->digest));
}

static void tokens_begin(Lane *lane) {
        Tokens *self = container_of(lane, Tokens, lane);
        TokensChange *change = self->at = container_of(lane_take(lane), TokensChange, item);
        const Token *besides;
        int r;

        tokens_drop_expired(self);
        r = tokens_prepare(self, change);
        if (!r && change->coming)
                r = tokens_make(change->coming, change->secret);
        besides = change->coming && change->coming->kind == TOKEN_CODE && self->n_codes >= TOKENS_CODES_MAX
                          ? tokens_oldest_code(self)
                          : NULL;
        if (!r)
                r = tokens_write_text(self, change->coming, change->leaving, besides);
        if (!r)
                r = lane_work(lane, tokens_run, tokens_done);
        if (r)
                tokens_end_change(self, r);
}

static const LaneType tokens_lane = {.begin = tokens_begin, .n_max = TOKENS_WAITING_MAX};

static TokensChange *tokens_change_new(TokensVerb verb, TokensFn fn, void *user) {
        TokensChange *change = calloc(1, sizeof(*change));

        if (change) {
                change->verb = verb;
                change->fn = fn;
                change->user = user;
        }
        return change;
}

/* Takes it. */
static int tokens_add(Tokens *self, TokensChange *change, int r) {
        r = r ? r : lane_add(&self->lane, &change->item);
        if (r)
                tokens_change_free(change);
        return error_trace(r);
}

int tokens_create(Tokens *tokens, const TokenSpec *spec, TokensFn fn, void *user) {
        TokensChange *change = tokens_change_new(TOKENS_CREATE, fn, user);

        assert(spec->kind != TOKEN_SERVER);
        if (!change)
                return error_origin(-ENOMEM);
        change->coming = token_new(spec, loop_wall_us(tokens->loop));
        return tokens_add(tokens, change, change->coming ? 0 : -ENOMEM);
}

int tokens_login(Tokens *tokens, Str code, Str label, TokensFn fn, void *user) {
        TokensChange *change = tokens_change_new(TOKENS_LOGIN, fn, user);

        if (!change)
                return error_origin(-ENOMEM);
        label = utf8_first(label, TOKEN_LABEL_MAX);
        snprintf(change->label, sizeof(change->label), STR_FMT, STR_ARG(label));
        if (code.n > TOKEN_SECRET_MAX)
                code = STR_NULL; /* nobody's */
        return tokens_add(tokens, change, token_digest(code, change->digest));
}

int tokens_revoke(Tokens *tokens, Str id, TokensFn fn, void *user) {
        TokensChange *change = tokens_change_new(TOKENS_REVOKE, fn, user);

        if (!change)
                return error_origin(-ENOMEM);
        if (id.n == TOKEN_ID_DIGITS)
                memcpy(change->id, id.data, id.n);
        return tokens_add(tokens, change, 0);
}

/* ---- servers --------------------------------------------------------------------------------- */

Token *tokens_begin_server(Tokens *tokens, WebScope scope, Str label, const char digest[SHA256_HEX_MAX]) {
        TokenSpec spec = {.kind = TOKEN_SERVER, .scope = scope, .label = label};
        Token *token = token_new(&spec, loop_wall_us(tokens->loop));

        if (!token)
                return NULL;
        memcpy(token->digest, digest, SHA256_HEX_MAX);
        tokens_insert(tokens, token);
        return token;
}

void tokens_end_server(Tokens *tokens, Token *token, const char *why) {
        if (token)
                tokens_drop(tokens, token, why);
}

/* ---- beginning and end ----------------------------------------------------------------------- */

int tokens_open(Tokens **ret, Loop *loop, Log *log, Feed *feed, const char *home) {
        Tokens *self = calloc(1, sizeof(*self));
        int r;

        if (!self)
                return error_origin(-ENOMEM);
        self->loop = loop;
        self->log = log;
        self->feed = feed;
        self->tidy.verb = TOKENS_TIDY;
        lane_init(&self->lane, loop, &tokens_lane);
        timer_init(&self->expiry, loop, tokens_on_expiry);
        self->path = web_file_path(home, "tokens.json");
        r = self->path ? tokens_load(self) : -ENOMEM;
        if (r) {
                tokens_free(self);
                return error_trace(r);
        }
        tokens_drop_expired(self);
        tokens_set_timer(self);
        *ret = self;
        return 0;
}

Tokens *tokens_free(Tokens *tokens) {
        LaneItem *item;

        if (!tokens)
                return NULL;
        assert(!tokens->at);
        while ((item = lane_take(&tokens->lane)))
                if (item != &tokens->tidy.item)
                        tokens_change_free(container_of(item, TokensChange, item));
        while (tokens->first)
                tokens_drop(tokens, tokens->first, NULL);
        lane_deinit(&tokens->lane);
        timer_clear(&tokens->expiry);
        buf_deinit(&tokens->text);
        free(tokens->path);
        free(tokens);
        return NULL;
}
