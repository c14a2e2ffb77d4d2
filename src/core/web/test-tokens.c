/* SPDX-License-Identifier: MIT */
#include "core/web/tokens.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/file.h"
#include "base/loop/test-loop-fixture.h"

/* A store in a folder of its own, with a clock that stands still. */
typedef struct Fixture {
        Loop *loop;
        Log log;
        Tokens *tokens;
        char dir[64];
        bool is_done; /* of the last change */
        int r;
        char id[TOKEN_ID_DIGITS + 1], secret[TOKEN_TEXT_MAX], label[128];
        TokenWatch watch;
        char why[32]; /* the watch was told */
} Fixture;

enum { NOW_S = 1700000000 };

static void tokens_reopen(Fixture *f) {
        f->tokens = tokens_free(f->tokens);
        assert_int_equal(tokens_open(&f->tokens, f->loop, &f->log, NULL, f->dir), 0);
}

static int tokens_setup(void **state) {
        Fixture *f = calloc(1, sizeof(*f));

        if (!f || make_loop((void **)&f->loop))
                return -1;
        log_init(&f->log);
        log_set_level(&f->log, 0, LOG_ERR);
        loop_clock_freeze(f->loop, NOW_S * INT64_C(1000000));
        snprintf(f->dir, sizeof(f->dir), "/tmp/tokens-test-XXXXXX");
        if (!mkdtemp(f->dir))
                return -1;
        tokens_reopen(f);
        *state = f;
        return 0;
}

static int tokens_teardown(void **state) {
        Fixture *f = *state;
        char command[192];

        tokens_free(f->tokens);
        free_loop((void **)&f->loop);
        log_deinit(&f->log);
        snprintf(command, sizeof(command), "chmod -R u+w %s; rm -rf %s", f->dir, f->dir);
        if (system(command) != 0) // NOLINT(cert-env33-c)
                return -1;
        free(f);
        return 0;
}

static void on_change(void *user, int r, const Token *token, const char *secret) {
        Fixture *f = user;

        f->is_done = true;
        f->r = r;
        snprintf(f->id, sizeof(f->id), "%s", token ? token->id : "");
        snprintf(f->label, sizeof(f->label), "%s", token ? token->label : "");
        snprintf(f->secret, sizeof(f->secret), "%s", secret ? secret : "");
}

static int tokens_wait(Fixture *f, int r) {
        f->is_done = false;
        assert_int_equal(r, 0);
        while (!f->is_done)
                loop_turn_wait(f->loop);
        return f->r;
}

static void tokens_make_one(Fixture *f, const TokenSpec *spec) {
        assert_int_equal(tokens_wait(f, tokens_create(f->tokens, spec, on_change, f)), 0);
}

static int tokens_try(Fixture *f, const char *secret) {
        Token *token = NULL;
        int r = tokens_check(f->tokens, str_from(secret), NULL, &token);

        assert_true(!r == !!token);
        return r;
}

static void on_gone(TokenWatch *watch, const char *why) {
        Fixture *f = container_of(watch, Fixture, watch);

        snprintf(f->why, sizeof(f->why), "%s", why);
}

static void tokens_watch_one(Fixture *f, const char *secret, const Token *server) {
        Token *token = NULL;

        assert_int_equal(tokens_check(f->tokens, str_from(secret), server, &token), 0);
        token_watch(token, &f->watch, on_gone);
        *f->why = '\0';
}

/* Turns the clock, and lets what is due happen. */
static void tokens_pass(Fixture *f, int64_t ms) {
        loop_clock_advance(f->loop, ms);
        for (int i = 0; i < 3 || loop_n_work(f->loop); i++)
                loop_n_work(f->loop) ? loop_turn_wait(f->loop) : loop_turn(f->loop);
}

static const char *tokens_file(Fixture *f, Buf *text) {
        _cleanup_(freep) char *path = path_join(f->dir, "web/tokens.json");

        text->n = 0;
        assert_int_equal(file_read(path, 1 << 20, text), 0);
        return buf_cstr(text);
}

static const TokenSpec device = {.kind = TOKEN_DEVICE, .scope = WEB_SCOPE_VIEW, .label = {"phone", 5}};
static const TokenSpec code = {
        .kind = TOKEN_CODE, .scope = WEB_SCOPE_CONTROL, .object = {"session:nlst", 12}};

static void test_a_secret_is_its_length_of_chance(_unused_ void **state) {
        char a[TOKEN_TEXT_MAX], b[TOKEN_TEXT_MAX];

        assert_int_equal(token_make_secret(TOKEN_SERVER_BYTES, a), 0);
        assert_int_equal(strlen(a), TOKEN_GIVEN_MIN);
        assert_int_equal(token_make_secret(TOKEN_DEVICE_BYTES, a), 0);
        assert_int_equal(token_make_secret(TOKEN_DEVICE_BYTES, b), 0);
        assert_int_equal(strlen(a), TOKEN_TEXT_MAX - 1);
        assert_string_not_equal(a, b);
        assert_int_equal(strspn(a, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
                         strlen(a));
        base64url_put((Str){"\xfb\xff\xfe\x01", 4}, a);
        assert_string_equal(a, "-__-AQ");
        base64url_put(STR("foobar"), a);
        assert_string_equal(a, "Zm9vYmFy");
        base64url_put(STR_NULL, a);
        assert_string_equal(a, "");
}

static void test_a_device_is_let_in_and_kept_as_a_digest(void **state) {
        Fixture *f = *state;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        _cleanup_(freep) char *path = path_join(f->dir, "web/tokens.json");
        char secret[TOKEN_TEXT_MAX];
        struct stat of;
        Token *token;

        tokens_make_one(f, &device);
        memcpy(secret, f->secret, sizeof(secret));
        assert_int_equal(tokens_check(f->tokens, str_from(secret), NULL, &token), 0);
        assert_string_equal(token->id, f->id);
        assert_string_equal(token->label, "phone");
        assert_int_equal(token->scope, WEB_SCOPE_VIEW);
        assert_null(strstr(tokens_file(f, &text), secret));
        assert_non_null(strstr(text.data, token->digest));
        assert_int_equal(stat(path, &of), 0);
        assert_int_equal(of.st_mode & 07777, 0600);
        assert_int_equal(tokens_try(f, token->digest), TOKENS_E_WRONG);
        tokens_reopen(f);
        assert_int_equal(tokens_try(f, secret), 0);
}

static void test_what_is_no_token(void **state) {
        Fixture *f = *state;
        char longer[TOKEN_SECRET_MAX + 2], secret[TOKEN_TEXT_MAX];

        memset(longer, 'a', sizeof(longer));
        longer[sizeof(longer) - 1] = '\0';
        tokens_make_one(f, &device);
        assert_int_equal(tokens_try(f, ""), TOKENS_E_WRONG);
        assert_int_equal(tokens_try(f, longer), TOKENS_E_WRONG);
        memcpy(secret, f->secret, sizeof(secret));
        for (size_t i = 0; secret[i]; i++) {
                char was = secret[i];

                secret[i] = was == 'x' ? 'y' : 'x';
                assert_int_equal(tokens_try(f, secret), TOKENS_E_WRONG);
                secret[i] = was;
        }
        secret[strlen(secret) - 1] = '\0';
        assert_int_equal(tokens_try(f, secret), TOKENS_E_WRONG);
}

static void test_a_code_is_good_once(void **state) {
        Fixture *f = *state;
        char secret[TOKEN_TEXT_MAX];
        Token *token;

        tokens_make_one(f, &code);
        memcpy(secret, f->secret, sizeof(secret));
        assert_int_equal(tokens_try(f, secret), TOKENS_E_WRONG);
        assert_int_equal(
                tokens_wait(f, tokens_login(f->tokens, str_from(secret), STR("Firefox"), on_change, f)), 0);
        assert_string_equal(f->label, "Firefox");
        assert_int_equal(tokens_check(f->tokens, str_from(f->secret), NULL, &token), 0);
        assert_int_equal(token->scope, WEB_SCOPE_CONTROL);
        assert_string_equal(token->object, "session:nlst");
        assert_int_equal(tokens_wait(f, tokens_login(f->tokens, str_from(secret), STR(""), on_change, f)),
                         TOKENS_E_WRONG);
        tokens_reopen(f);
        assert_int_equal(tokens_wait(f, tokens_login(f->tokens, str_from(secret), STR(""), on_change, f)),
                         TOKENS_E_WRONG);
}

static void test_two_who_have_one_code(void **state) {
        Fixture *f = *state;
        char secret[TOKEN_TEXT_MAX];
        int n_in = 0;

        tokens_make_one(f, &code);
        memcpy(secret, f->secret, sizeof(secret));
        assert_int_equal(tokens_login(f->tokens, str_from(secret), STR("a"), on_change, f), 0);
        assert_int_equal(tokens_login(f->tokens, str_from(secret), STR("b"), on_change, f), 0);
        for (int i = 0; i < 2; i++)
                n_in += !tokens_wait(f, 0);
        assert_int_equal(n_in, 1);
}

static void test_a_code_has_ten_minutes(void **state) {
        Fixture *f = *state;
        char secret[TOKEN_TEXT_MAX];

        tokens_make_one(f, &code);
        memcpy(secret, f->secret, sizeof(secret));
        tokens_pass(f, TOKEN_CODE_MINUTES * 60000);
        assert_int_equal(tokens_wait(f, tokens_login(f->tokens, str_from(secret), STR(""), on_change, f)),
                         TOKENS_E_WRONG);
        assert_null(tokens_first(f->tokens));
}

static void test_a_device_that_is_used_stays(void **state) {
        Fixture *f = *state;
        char secret[TOKEN_TEXT_MAX];

        tokens_make_one(f, &device);
        memcpy(secret, f->secret, sizeof(secret));
        for (int i = 0; i < 3; i++) {
                tokens_pass(f, TOKEN_IDLE_DAYS * INT64_C(86400000) - 1);
                assert_int_equal(tokens_try(f, secret), 0);
                tokens_pass(f, 0);
        }
        tokens_reopen(f); /* the last use is on disk */
        tokens_pass(f, TOKEN_IDLE_DAYS * INT64_C(86400000) - 1);
        assert_int_equal(tokens_try(f, secret), 0);
        tokens_pass(f, TOKEN_IDLE_DAYS * INT64_C(86400000));
        assert_int_equal(tokens_try(f, secret), TOKENS_E_WRONG);
}

static void test_who_is_in_when_it_expires(void **state) {
        Fixture *f = *state;
        TokenSpec hour = device;
        char secret[TOKEN_TEXT_MAX];

        hour.for_us = INT64_C(3600000000);
        tokens_make_one(f, &hour);
        memcpy(secret, f->secret, sizeof(secret));
        tokens_watch_one(f, secret, NULL);
        tokens_pass(f, 3599999);
        assert_string_equal(f->why, "");
        tokens_pass(f, 2);
        assert_string_equal(f->why, "expired");
        assert_null(f->watch.token);
        assert_int_equal(tokens_try(f, secret), TOKENS_E_WRONG);
}

/* One that is looked at all the time is in use, and stays. */
static void test_who_is_in_keeps_a_device_alive(void **state) {
        Fixture *f = *state;
        char secret[TOKEN_TEXT_MAX];

        tokens_make_one(f, &device);
        memcpy(secret, f->secret, sizeof(secret));
        tokens_watch_one(f, secret, NULL);
        for (int i = 0; i < 3; i++)
                tokens_pass(f, TOKEN_IDLE_DAYS * INT64_C(86400000) + 1);
        assert_string_equal(f->why, "");
        token_unwatch(&f->watch);
        assert_int_equal(tokens_try(f, secret), 0);
}

static void test_a_clock_that_is_put_back(_unused_ void **state) {
        TokenSpec hour = {.kind = TOKEN_DEVICE, .for_us = INT64_C(3600000000)};
        int64_t now_us = NOW_S * INT64_C(1000000), before_us = now_us - INT64_C(86400000000000);
        Token *token = token_new(&hour, now_us);

        assert_int_equal(token_expires_us(token), now_us + hour.for_us);
        token_settle(token, before_us);
        assert_int_equal(token_expires_us(token), before_us + hour.for_us);
        assert_false(token_has_expired(token, before_us));
        assert_true(token_has_expired(token, INT64_MAX));
        token_free(token);
}

static void test_revoking_tells_who_is_in(void **state) {
        Fixture *f = *state;
        char secret[TOKEN_TEXT_MAX];

        tokens_make_one(f, &device);
        memcpy(secret, f->secret, sizeof(secret));
        tokens_watch_one(f, secret, NULL);
        assert_int_equal(tokens_wait(f, tokens_revoke(f->tokens, str_from(f->id), on_change, f)), 0);
        assert_string_equal(f->label, "phone");
        assert_string_equal(f->why, "revoked");
        assert_int_equal(tokens_try(f, secret), TOKENS_E_WRONG);
        assert_int_equal(tokens_wait(f, tokens_revoke(f->tokens, STR("0123456789ab"), on_change, f)),
                         TOKENS_E_MISSING);
        assert_int_equal(tokens_wait(f, tokens_revoke(f->tokens, STR("../etc"), on_change, f)),
                         TOKENS_E_MISSING);
}

static void test_the_token_of_a_server(void **state) {
        Fixture *f = *state;
        char digest[SHA256_HEX_MAX];
        Token *one, *other, *found;

        assert_int_equal(token_digest(STR("sesame-sesame-sesame"), digest), 0);
        one = tokens_begin_server(f->tokens, WEB_SCOPE_CONTROL, STR("127.0.0.1:8888"), digest);
        assert_int_equal(token_digest(STR("another"), digest), 0);
        other = tokens_begin_server(f->tokens, WEB_SCOPE_VIEW, STR("127.0.0.1:8889"), digest);
        assert_int_equal(tokens_check(f->tokens, STR("sesame-sesame-sesame"), one, &found), 0);
        assert_ptr_equal(found, one);
        assert_int_equal(tokens_check(f->tokens, STR("sesame-sesame-sesame"), other, &found),
                         TOKENS_E_WRONG);
        assert_int_equal(tokens_wait(f, tokens_revoke(f->tokens, str_from(one->id), on_change, f)),
                         TOKENS_E_SERVER);
        tokens_watch_one(f, "sesame-sesame-sesame", one);
        tokens_pass(f, INT64_C(365) * 86400000); /* it has no time of its own */
        assert_string_equal(f->why, "");
        tokens_end_server(f->tokens, one, "server closed");
        assert_string_equal(f->why, "server closed");
        assert_int_equal(tokens_check(f->tokens, STR("sesame-sesame-sesame"), other, &found),
                         TOKENS_E_WRONG);
}

/* The folder's place is taken by a file: as a full disk, and for root, too. */
static void test_nothing_half_made(void **state) {
        Fixture *f = *state;
        char folder[96], away[96], secret[TOKEN_TEXT_MAX];

        snprintf(folder, sizeof(folder), "%s/web", f->dir);
        snprintf(away, sizeof(away), "%s/away", f->dir);
        assert_int_equal(file_replace(folder, STR("in the way"), 0600, FILE_RUNTIME), 0);
        assert_true(tokens_wait(f, tokens_create(f->tokens, &device, on_change, f)) < 0);
        assert_string_equal(f->secret, "");
        assert_null(tokens_first(f->tokens));
        assert_int_equal(unlink(folder), 0);
        tokens_make_one(f, &code);
        memcpy(secret, f->secret, sizeof(secret));
        assert_int_equal(rename(folder, away), 0);
        assert_int_equal(file_replace(folder, STR("in the way"), 0600, FILE_RUNTIME), 0);
        assert_true(tokens_wait(f, tokens_login(f->tokens, str_from(secret), STR(""), on_change, f)) < 0);
        assert_string_equal(f->secret, "");
        assert_int_equal(tokens_first(f->tokens)->kind, TOKEN_CODE); /* it is still good */
        assert_int_equal(unlink(folder), 0);
        assert_int_equal(rename(away, folder), 0);
        assert_int_equal(tokens_wait(f, tokens_login(f->tokens, str_from(secret), STR(""), on_change, f)),
                         0);
}

static void test_a_revocation_that_cannot_be_kept(void **state) {
        Fixture *f = *state;
        char folder[96], away[96], secret[TOKEN_TEXT_MAX], id[TOKEN_ID_DIGITS + 1];

        snprintf(folder, sizeof(folder), "%s/web", f->dir);
        snprintf(away, sizeof(away), "%s/away", f->dir);
        tokens_make_one(f, &device);
        memcpy(secret, f->secret, sizeof(secret));
        memcpy(id, f->id, sizeof(id));
        tokens_watch_one(f, secret, NULL);
        assert_int_equal(rename(folder, away), 0);
        assert_int_equal(file_replace(folder, STR("in the way"), 0600, FILE_RUNTIME), 0);
        assert_true(tokens_wait(f, tokens_revoke(f->tokens, str_from(id), on_change, f)) < 0);
        assert_string_equal(f->why, ""); /* nothing has changed */
        assert_int_equal(tokens_try(f, secret), 0);
        assert_int_equal(unlink(folder), 0);
        assert_int_equal(tokens_wait(f, tokens_revoke(f->tokens, str_from(id), on_change, f)), 0);
        assert_string_equal(f->why, "revoked");
}

static void test_a_broken_file_lets_nobody_in(void **state) {
        Fixture *f = *state;
        static const char *const texts[] = {"", "[]", "{\"tokens\":7}", "{\"v\":1,\"tokens\":[", "\x01\x02"};
        char path[96], aside[128];

        snprintf(path, sizeof(path), "%s/web/tokens.json", f->dir);
        snprintf(aside, sizeof(aside), "%s.broken", path);
        tokens_make_one(f, &device);
        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                assert_int_equal(file_replace(path, str_from(texts[i]), 0600, FILE_RUNTIME), 0);
                tokens_reopen(f);
                assert_null(tokens_first(f->tokens));
                assert_int_equal(access(path, F_OK), -1);
                assert_int_equal(unlink(aside), 0);
        }
}

/* A record that says more than one of ours ever would is none; the others stay. */
static void test_records_that_are_none(void **state) {
        Fixture *f = *state;
        _cleanup_(buf_deinit) Buf text = BUF_NULL, changed = BUF_NULL;
        static const char *const swaps[][2] = {
                {"\"kind\":\"device\"", "\"kind\":\"server\""},
                {"\"scope\":\"view\"", "\"scope\":\"root\""},
                {"\"life_us\":2592000000000", "\"life_us\":0"},
                {"\"life_us\":2592000000000", "\"life_us\":-1"},
                {"\"made_us\":1", "\"made_us\":9999999"},
                {"\"id\":\"", "\"id\":\"/"},
                {"\"sha256\":\"", "\"sha256\":\"0"},
        };
        char path[96];

        snprintf(path, sizeof(path), "%s/web/tokens.json", f->dir);
        tokens_make_one(f, &device);
        (void)tokens_file(f, &text);
        for (size_t i = 0; i < ARRAY_SIZE(swaps); i++) {
                const char *at = strstr(text.data, swaps[i][0]);

                assert_non_null(at);
                changed.n = 0;
                assert_int_equal(buf_append(&changed, text.data, (size_t)(at - text.data)), 0);
                assert_int_equal(buf_append_str(&changed, str_from(swaps[i][1])), 0);
                assert_int_equal(buf_append_str(&changed, str_from(at + strlen(swaps[i][0]))), 0);
                assert_int_equal(file_replace(path, buf_str(&changed), 0600, FILE_RUNTIME), 0);
                tokens_reopen(f);
                assert_null(tokens_first(f->tokens));
        }
}

static void test_the_bounds(void **state) {
        Fixture *f = *state;
        size_t n = 0;

        for (int i = 0; i < TOKENS_CODES_MAX + 3; i++)
                tokens_make_one(f, &code);
        for (const Token *token = tokens_first(f->tokens); token; token = token->next)
                n++;
        assert_int_equal(n, TOKENS_CODES_MAX);
        tokens_reopen(f);
        for (const Token *token = (n = 0, tokens_first(f->tokens)); token; token = token->next)
                n++;
        assert_int_equal(n, TOKENS_CODES_MAX);
        for (size_t i = 0; i < TOKENS_WAITING_MAX; i++)
                assert_int_equal(tokens_create(f->tokens, &code, on_change, f), 0);
        assert_int_equal(tokens_create(f->tokens, &code, on_change, f), -ENOBUFS);
        for (size_t i = 0; i < TOKENS_WAITING_MAX; i++)
                assert_int_equal(tokens_wait(f, 0), 0);
}

#define tokens_test(name) cmocka_unit_test_setup_teardown(name, tokens_setup, tokens_teardown)

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_secret_is_its_length_of_chance),
                cmocka_unit_test(test_a_clock_that_is_put_back),
                tokens_test(test_a_device_is_let_in_and_kept_as_a_digest),
                tokens_test(test_what_is_no_token),
                tokens_test(test_a_code_is_good_once),
                tokens_test(test_two_who_have_one_code),
                tokens_test(test_a_code_has_ten_minutes),
                tokens_test(test_a_device_that_is_used_stays),
                tokens_test(test_who_is_in_when_it_expires),
                tokens_test(test_who_is_in_keeps_a_device_alive),
                tokens_test(test_revoking_tells_who_is_in),
                tokens_test(test_the_token_of_a_server),
                tokens_test(test_a_revocation_that_cannot_be_kept),
                tokens_test(test_nothing_half_made),
                tokens_test(test_a_broken_file_lets_nobody_in),
                tokens_test(test_records_that_are_none),
                tokens_test(test_the_bounds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
