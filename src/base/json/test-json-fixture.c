/* SPDX-License-Identifier: MIT */
#include "base/json/test-json-fixture.h"

Arena arena;
Buf out;

int setup(void **state) {
        (void)state;
        arena = ARENA_NULL;
        out = BUF_NULL;
        return 0;
}

int teardown(void **state) {
        (void)state;
        arena_deinit(&arena);
        buf_deinit(&out);
        return 0;
}

Json *parse(const char *text) {
        Json *json = NULL;
        JsonFault fault = {0};

        if (json_parse(&arena, text, strlen(text), NULL, &json, &fault))
                fail_msg("%s: %s at %zu", text, fault.what, fault.offset);
        return json;
}

void assert_str(Str s, const char *expected) {
        if (!str_is(s, expected))
                fail_msg("\"" STR_FMT "\" instead of \"%s\"", STR_ARG(s), expected);
}

void assert_written(const Json *json, const char *expected) {
        out.n = 0;
        assert_int_equal(json_write(&out, json), 0);
        assert_str(buf_str(&out), expected);
}
