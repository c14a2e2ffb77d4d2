/* SPDX-License-Identifier: MIT */
/*
 * What answers must look like, whatever was sent.
 */
#include <stdio.h>
#include <stdlib.h>

#include "fuzz-server.h"

static Arena arena;

/* The next line of text, with its LF taken off; every line must have one. */
static bool next_line(Str *text, Str *ret) {
        const char *end;

        if (!text->n)
                return false;
        end = memchr(text->data, '\n', text->n);
        FUZZ_CHECK(end);
        *ret = (Str){text->data, (size_t)(end - text->data)};
        *text = (Str){end + 1, text->n - ret->n - 1};
        return true;
}

static const Json *parse(Str text) {
        Json *json = NULL;

        arena_reset(&arena);
        FUZZ_CHECK(json_parse(&arena, text.data, text.n, NULL, &json, NULL) == 0);
        return json;
}

static bool member_bool(const Json *object, const char *key) {
        bool truth = false;

        FUZZ_CHECK(json_bool(json_get(object, key), &truth));
        return truth;
}

/* ---- CCCC
 * ------------------------------------------------------------------------------------------------------- */

/* Returns whether it says ok. */
static bool check_cccc_reply(Str line) {
        const Json *reply = parse(line), *error = json_get(reply, "error");
        bool is_ok;

        FUZZ_CHECK(json_is(reply, JSON_OBJECT) && json_count(reply) == 4);
        FUZZ_CHECK(str_is(json_raw(json_get(reply, "v")), "1"));
        FUZZ_CHECK(json_is(json_get(reply, "result"), JSON_OBJECT));
        is_ok = member_bool(reply, "ok");
        if (is_ok) {
                FUZZ_CHECK(json_is(error, JSON_NULL));
                return true;
        }
        FUZZ_CHECK(json_count(error) == 3 && json_is(json_get(error, "code"), JSON_STRING));
        FUZZ_CHECK(json_is(json_get(error, "message"), JSON_STRING));
        FUZZ_CHECK(json_is(json_get(error, "details"), JSON_OBJECT));
        return false;
}

void fuzz_check_cccc(const FuzzRun *run) {
        Str rest = run->answer, line;
        bool is_stream;

        if (run->flags & FUZZ_CUT)
                return;
        FUZZ_CHECK(!rest.n == !run->sent.n); /* every request gets its answer, nothing gets none */
        if (!next_line(&rest, &line))
                return;
        is_stream = check_cccc_reply(line);
        while (next_line(&rest, &line))
                FUZZ_CHECK(is_stream && str_is(json_str(json_get(parse(line), "t")), "heartbeat"));
}

/* ---- JSON-RPC
 * --------------------------------------------------------------------------------------------------- */

static void check_response(const Json *response) {
        const Json *result = json_get(response, "result"), *error = json_get(response, "error");
        int64_t code;

        FUZZ_CHECK(json_is(response, JSON_OBJECT) && json_count(response) == 3);
        FUZZ_CHECK(str_is(json_str(json_get(response, "jsonrpc")), "2.0"));
        FUZZ_CHECK(json_get(response, "id"));
        FUZZ_CHECK(!result != !error);
        if (error) {
                FUZZ_CHECK(json_int64(json_get(error, "code"), &code) && code < 0);
                FUZZ_CHECK(json_is(json_get(error, "message"), JSON_STRING));
        }
}

void fuzz_check_jsonrpc(const FuzzRun *run) {
        Str rest = run->answer, line;

        if (run->flags & FUZZ_CUT)
                return;
        while (next_line(&rest, &line)) {
                const Json *json = parse(line);
                if (!json_is(json, JSON_ARRAY)) {
                        check_response(json);
                        continue;
                }
                FUZZ_CHECK(json_count(json));
                json_each (response, json)
                        check_response(response);
        }
}

/* ---- coop
 * ------------------------------------------------------------------------------------------------------- */

void fuzz_check_coop(const FuzzRun *run) {
        const Framing framing = {.kind = FRAMING_LENGTH, .n_max = 1 << 20};
        Str rest = run->answer, frame;

        if (run->flags & FUZZ_CUT)
                return;
        while (rest.n) {
                size_t n_scanned = 0, n;
                const Json *json;

                FUZZ_CHECK(framing_next(&framing, rest, &n_scanned, &frame, &n) == 0);
                json = parse(frame);
                FUZZ_CHECK(json_is(json, JSON_OBJECT));
                if (!member_bool(json, "ok")) {
                        FUZZ_CHECK(json_is(json_get(json, "error"), JSON_STRING));
                        FUZZ_CHECK(json_is(json_get(json, "message"), JSON_STRING));
                }
                rest = (Str){rest.data + n, rest.n - n};
        }
}

/* ---- HTTP
 * ------------------------------------------------------------------------------------------------------- */

/* Frames of ours: whole, unmasked, in one part, of a known kind. */
static void check_frames(Str text) {
        while (text.n) {
                unsigned first = (unsigned char)text.data[0], kind = first & 0x0f, length;
                size_t n_head = 2, n;

                FUZZ_CHECK(text.n >= 2 && (first & 0xf0) == 0x80);
                FUZZ_CHECK(kind == 1 || kind == 2 || (kind >= 8 && kind <= 10));
                length = (unsigned char)text.data[1];
                if (length == 127) /* `rpc.discover` is */
                        return;
                n = length;
                if (length == 126) {
                        FUZZ_CHECK(text.n >= 4);
                        n = (size_t)(unsigned char)text.data[2] << 8 | (unsigned char)text.data[3];
                        n_head = 4;
                }
                FUZZ_CHECK(text.n >= n_head + n);
                text = (Str){text.data + n_head + n, text.n - n_head - n};
        }
}

void fuzz_check_http(const FuzzRun *run) {
        Str text = run->answer;
        const char *end;

        if ((run->flags & FUZZ_CUT) || !text.n)
                return;
        FUZZ_CHECK(str_starts(text, STR("HTTP/1.1 ")) && text.n > 12);
        for (size_t i = 9; i < 12; i++)
                FUZZ_CHECK(text.data[i] >= '0' && text.data[i] <= '9');
        end = memmem(text.data, text.n, "\r\n\r\n", 4);
        FUZZ_CHECK(end);
        end += 4;
        if (str_starts(text, STR("HTTP/1.1 101 ")))
                check_frames((Str){end, text.n - (size_t)(end - text.data)});
}
