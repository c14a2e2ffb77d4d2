/* SPDX-License-Identifier: MIT */
#include "base/macro.h"
#include "base/test-cmocka.h"
#include "core/tunnel/tunnel-code.h"

static TunnelCode sample(void) {
        TunnelCode code = {.n_candidates = 3};

        memset(code.ufrag, 0xfb, sizeof(code.ufrag));
        for (size_t i = 0; i < sizeof(code.pwd); i++)
                code.pwd[i] = (uint8_t)(i + 1);
        memset(code.token, 0xff, sizeof(code.token));
        memset(code.fingerprint, 0xab, sizeof(code.fingerprint));
        code.candidates[0] =
                (TunnelCandidate){.address = {.family = 4, .bytes = {192, 0, 2, 7}, .port = 40000}};
        code.candidates[1] = (TunnelCandidate){
                .address = {.family = 6, .bytes = {0x20, 1, 0xd, 0xb8, [15] = 7}, .port = 40001}};
        code.candidates[2] = (TunnelCandidate){
                .is_reflexive = true, .address = {.family = 4, .bytes = {198, 51, 100, 4}, .port = 1}};
        return code;
}

static void test_code_there_and_back(void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        TunnelCode code = sample(), back;

        (void)state;
        code.is_view = true;
        assert_int_equal(tunnel_code_encode(&code, &text), 0);
        assert_int_equal(tunnel_code_decode(buf_str(&text), &back), 0);
        assert_memory_equal(&code.ufrag, &back.ufrag, sizeof(code.ufrag));
        assert_memory_equal(&code.pwd, &back.pwd, sizeof(code.pwd));
        assert_memory_equal(&code.token, &back.token, sizeof(code.token));
        assert_memory_equal(&code.fingerprint, &back.fingerprint, sizeof(code.fingerprint));
        assert_true(back.is_view);
        assert_int_equal(back.n_candidates, 3);
        for (size_t i = 0; i < 3; i++) {
                assert_int_equal(back.candidates[i].is_reflexive, i == 2);
                assert_int_equal(back.candidates[i].address.family, code.candidates[i].address.family);
                assert_memory_equal(back.candidates[i].address.bytes, code.candidates[i].address.bytes, 16);
                assert_int_equal(back.candidates[i].address.port, code.candidates[i].address.port);
        }
}

static void test_code_length(void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        TunnelCode code = sample();

        (void)state;
        code.candidates[1] = code.candidates[0];
        code.n_candidates = 2;
        assert_int_equal(tunnel_code_encode(&code, &text), 0);
        assert_int_equal(text.n, 118); /* of 88 bytes, as docs/tunnel-wire.md says */
}

/* Cut anywhere, it is none, but where exactly its last candidates are missing. */
static void test_code_cut(void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        TunnelCode code = sample(), back;
        size_t n_good = 0;

        (void)state;
        assert_int_equal(tunnel_code_encode(&code, &text), 0);
        for (size_t n = 0; n < text.n; n++)
                n_good += !tunnel_code_decode((Str){text.data, n}, &back);
        assert_in_range(n_good, 0, 2);
}

static void assert_wrong(Buf *text, size_t at, char c) {
        char before = text->data[at];
        TunnelCode back;

        text->data[at] = c;
        assert_int_equal(tunnel_code_decode(buf_str(text), &back), TUNNEL_CODE_E_WRONG);
        text->data[at] = before;
}

static void test_code_wrong(void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        TunnelCode code = sample(), back;

        (void)state;
        assert_int_equal(tunnel_code_encode(&code, &text), 0);
        assert_wrong(&text, 0, 'B'); /* the version */
        assert_wrong(&text, 20, '+');
        assert_wrong(&text, 20, '=');
        assert_wrong(&text, 20, '\0');
        assert_int_equal(tunnel_code_decode(STR(""), &back), TUNNEL_CODE_E_WRONG);
        code.candidates[2].address.port = 0;
        text.n = 0;
        assert_int_equal(tunnel_code_encode(&code, &text), 0);
        assert_int_equal(tunnel_code_decode(buf_str(&text), &back), TUNNEL_CODE_E_WRONG);
}

static void test_offer(void **state) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        TunnelCode code = sample();

        (void)state;
        assert_int_equal(tunnel_code_offer(&code, &text), 0);
        assert_non_null(buf_cstr(&text));
        assert_string_equal(
                text.data,
                "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\na=ice-lite\r\n"
                "m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n"
                "a=ice-ufrag:+/v7+/v7\r\na=ice-pwd:AQIDBAUGBwgJCgsMDQ4PEBES\r\n"
                "a=fingerprint:sha-256 "
                "AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:AB:"
                "AB:AB:AB:AB:AB:AB:AB\r\n"
                "a=setup:actpass\r\na=sctp-port:5000\r\na=max-message-size:262144\r\n"
                "a=candidate:1 1 udp 2130706431 192.0.2.7 40000 typ host\r\n"
                "a=candidate:2 1 udp 2130706175 2001:db8::7 40001 typ host\r\n"
                "a=candidate:3 1 udp 1694498303 198.51.100.4 1 typ srflx raddr 0.0.0.0 rport 0\r\n"
                "a=end-of-candidates\r\n");
}

static void test_short_code(void **state) {
        char made[SHORT_CODE_DIGITS + 1], read[SHORT_CODE_DIGITS + 1];

        (void)state;
        assert_int_equal(short_code_make(made), 0);
        assert_true(short_code_read(str_from(made), read));
        assert_string_equal(made, read);
        assert_true(short_code_read(STR("o1i-lz z"), read));
        assert_string_equal(read, "0111ZZ");
        assert_false(short_code_read(STR("12345"), read));
        assert_false(short_code_read(STR("1234567"), read));
        assert_false(short_code_read(STR("12345U"), read));
        assert_false(short_code_read(STR("12345\0"), read));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_code_there_and_back),
                cmocka_unit_test(test_code_length),
                cmocka_unit_test(test_code_cut),
                cmocka_unit_test(test_code_wrong),
                cmocka_unit_test(test_offer),
                cmocka_unit_test(test_short_code),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
