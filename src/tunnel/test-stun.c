/* SPDX-License-Identifier: MIT */
/*
 * STUN: the sample messages of RFC 5769, ours there and back, and every way to be wrong.
 */
#include "tunnel/stun.h"

#include "base/test-cmocka.h"
#include "base/macro.h"

#define SAMPLE_PWD STR("VOkJxbRl1RmTxUk/WvJxBt")

/* RFC 5769, 2.1: a request with ICE attributes. */
static const uint8_t sample_request[] = {
        0x00, 0x01, 0x00, 0x58, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86,
        0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x10, 0x53, 0x54, 0x55, 0x4e, 0x20, 0x74, 0x65, 0x73,
        0x74, 0x20, 0x63, 0x6c, 0x69, 0x65, 0x6e, 0x74, 0x00, 0x24, 0x00, 0x04, 0x6e, 0x00, 0x01, 0xff,
        0x80, 0x29, 0x00, 0x08, 0x93, 0x2f, 0xf9, 0xb1, 0x51, 0x26, 0x3b, 0x36, 0x00, 0x06, 0x00, 0x09,
        0x65, 0x76, 0x74, 0x6a, 0x3a, 0x68, 0x36, 0x76, 0x59, 0x20, 0x20, 0x20, 0x00, 0x08, 0x00, 0x14,
        0x9a, 0xea, 0xa7, 0x0c, 0xbf, 0xd8, 0xcb, 0x56, 0x78, 0x1e, 0xf2, 0xb5, 0xb2, 0xd3, 0xf2, 0x49,
        0xc1, 0xb5, 0x71, 0xa2, 0x80, 0x28, 0x00, 0x04, 0xe5, 0x7a, 0x3b, 0xcf,
};

/* RFC 5769, 2.2 and 2.3: responses with an address of IPv4 and of IPv6. */
static const uint8_t sample_response4[] = {
        0x01, 0x01, 0x00, 0x3c, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86,
        0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x0b, 0x74, 0x65, 0x73, 0x74, 0x20, 0x76, 0x65, 0x63,
        0x74, 0x6f, 0x72, 0x20, 0x00, 0x20, 0x00, 0x08, 0x00, 0x01, 0xa1, 0x47, 0xe1, 0x12, 0xa6, 0x43,
        0x00, 0x08, 0x00, 0x14, 0x2b, 0x91, 0xf5, 0x99, 0xfd, 0x9e, 0x90, 0xc3, 0x8c, 0x74, 0x89, 0xf9,
        0x2a, 0xf9, 0xba, 0x53, 0xf0, 0x6b, 0xe7, 0xd7, 0x80, 0x28, 0x00, 0x04, 0xc0, 0x7d, 0x4c, 0x96,
};
static const uint8_t sample_response6[] = {
        0x01, 0x01, 0x00, 0x48, 0x21, 0x12, 0xa4, 0x42, 0xb7, 0xe7, 0xa7, 0x01, 0xbc, 0x34, 0xd6, 0x86,
        0xfa, 0x87, 0xdf, 0xae, 0x80, 0x22, 0x00, 0x0b, 0x74, 0x65, 0x73, 0x74, 0x20, 0x76, 0x65, 0x63,
        0x74, 0x6f, 0x72, 0x20, 0x00, 0x20, 0x00, 0x14, 0x00, 0x02, 0xa1, 0x47, 0x01, 0x13, 0xa9, 0xfa,
        0xa5, 0xd3, 0xf1, 0x79, 0xbc, 0x25, 0xf4, 0xb5, 0xbe, 0xd2, 0xb9, 0xd9, 0x00, 0x08, 0x00, 0x14,
        0xa3, 0x82, 0x95, 0x4e, 0x4b, 0xe6, 0x7b, 0xf1, 0x17, 0x84, 0xc9, 0x7c, 0x82, 0x92, 0xc2, 0x75,
        0xbf, 0xe3, 0xed, 0x41, 0x80, 0x28, 0x00, 0x04, 0xc8, 0xfb, 0x0b, 0x4c,
};

static Str bytes_of(const uint8_t *bytes, size_t n) {
        return (Str){(const char *)bytes, n};
}

static void test_sample_request(_unused_ void **state) {
        Str datagram = bytes_of(sample_request, sizeof(sample_request));
        StunMessage message;

        assert_int_equal(stun_parse(datagram, &message), 0);
        assert_int_equal(message.type, STUN_BINDING_REQUEST);
        assert_true(str_is(message.username, "evtj:h6vY"));
        assert_int_equal(message.priority, 0x6e0001ff);
        assert_false(message.has_use_candidate || message.has_unknown);
        assert_true(stun_is_proved(datagram, &message, SAMPLE_PWD));
        assert_false(stun_is_proved(datagram, &message, STR("VOkJxbRl1RmTxUk/WvJxBu")));
        assert_false(stun_is_proved(datagram, &message, STR_NULL));
}

static void test_sample_responses(_unused_ void **state) {
        StunMessage message;
        const TunnelAddress four = {.family = 4, .bytes = {192, 0, 2, 1}, .port = 32853};
        const TunnelAddress six = {.family = 6,
                                   .bytes = {0x20, 1, 0xd, 0xb8, 0x12, 0x34, 0x56, 0x78, 0, 0x11, 0x22, 0x33,
                                             0x44, 0x55, 0x66, 0x77},
                                   .port = 32853};

        assert_int_equal(stun_parse(bytes_of(sample_response4, sizeof(sample_response4)), &message), 0);
        assert_true(tunnel_address_eq(&message.mapped, &four));
        assert_int_equal(stun_parse(bytes_of(sample_response6, sizeof(sample_response6)), &message), 0);
        assert_true(tunnel_address_eq(&message.mapped, &six));
        assert_true(
                stun_is_proved(bytes_of(sample_response6, sizeof(sample_response6)), &message, SAMPLE_PWD));
}

static void test_our_answers(_unused_ void **state) {
        const uint8_t id[STUN_ID] = "abcdefghijk";
        const TunnelAddress addresses[] = {{.family = 4, .bytes = {10, 1, 2, 3}, .port = 5},
                                           {.family = 6, .bytes = {0xfe, 0x80, [15] = 1}, .port = 65535}};
        uint8_t reply[STUN_REPLY_MAX];
        StunMessage message;

        for (size_t i = 0; i < ARRAY_SIZE(addresses); i++) {
                Str datagram = bytes_of(reply, stun_write_success(reply, id, &addresses[i], SAMPLE_PWD));

                assert_int_equal(stun_parse(datagram, &message), 0);
                assert_int_equal(message.type, STUN_BINDING_SUCCESS);
                assert_memory_equal(message.id, id, STUN_ID);
                assert_true(tunnel_address_eq(&message.mapped, &addresses[i]));
                assert_true(stun_is_proved(datagram, &message, SAMPLE_PWD));
        }
        assert_int_equal(stun_write_request(reply, id), STUN_HEADER);
        assert_int_equal(stun_parse(bytes_of(reply, STUN_HEADER), &message), 0);
        assert_int_equal(message.integrity_at, 0);
        assert_false(stun_is_proved(bytes_of(reply, STUN_HEADER), &message, SAMPLE_PWD));
}

/* Every bit of a check counts, but for those of the FINGERPRINT behind it, which may be left out. */
static void test_every_bit_counts(_unused_ void **state) {
        uint8_t check[STUN_REPLY_MAX * 2];
        size_t n = stun_write_check(check, (const uint8_t *)"0123456789ab", STR("ours:theirs"), SAMPLE_PWD,
                                    true);
        StunMessage message;

        assert_int_equal(stun_parse(bytes_of(check, n), &message), 0);
        assert_true(message.has_use_candidate);
        assert_true(stun_is_proved(bytes_of(check, n), &message, SAMPLE_PWD));
        for (size_t bit = 0; bit < (n - 8) * 8; bit++) {
                check[bit / 8] ^= (uint8_t)(1 << bit % 8);
                assert_false(stun_parse(bytes_of(check, n), &message) == 0 &&
                             stun_is_proved(bytes_of(check, n), &message, SAMPLE_PWD));
                check[bit / 8] ^= (uint8_t)(1 << bit % 8);
        }
        for (size_t i = 0; i < n; i++)
                assert_int_equal(stun_parse(bytes_of(check, i), &message), STUN_E_INVALID);
}

/* What stands behind the proof is not proved, and not taken. */
static void test_attributes_behind_the_proof(_unused_ void **state) {
        uint8_t check[STUN_REPLY_MAX * 2];
        size_t n = stun_write_check(check, (const uint8_t *)"0123456789ab", STR("a:b"), SAMPLE_PWD, false);
        StunMessage message;

        n -= 8; /* without the FINGERPRINT */
        memcpy(check + n, (uint8_t[]){0, 0x25, 0, 0, 0x7f, 0xff, 0, 0}, 8);
        assert_int_equal(check[3], n + 8 - STUN_HEADER);
        assert_int_equal(stun_parse(bytes_of(check, n + 8), &message), 0);
        assert_false(message.has_use_candidate || message.has_unknown);
        assert_true(stun_is_proved(bytes_of(check, n + 8), &message, SAMPLE_PWD));
}

static void test_unknown_attributes(_unused_ void **state) {
        uint8_t message[STUN_HEADER + 4];
        StunMessage parsed;

        stun_write_request((uint8_t[STUN_REPLY_MAX]){0}, (const uint8_t *)"0123456789ab");
        memcpy(message, sample_request, STUN_HEADER);
        message[3] = 4;
        memcpy(message + STUN_HEADER, (uint8_t[]){0x7f, 0xff, 0, 0}, 4);
        assert_int_equal(stun_parse(bytes_of(message, sizeof(message)), &parsed), 0);
        assert_true(parsed.has_unknown);
        message[STUN_HEADER] = 0xff;
        assert_int_equal(stun_parse(bytes_of(message, sizeof(message)), &parsed), 0);
        assert_false(parsed.has_unknown);
        message[STUN_HEADER + 3] = 1; /* longer than what is there */
        assert_int_equal(stun_parse(bytes_of(message, sizeof(message)), &parsed), STUN_E_INVALID);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sample_request),
                cmocka_unit_test(test_sample_responses),
                cmocka_unit_test(test_our_answers),
                cmocka_unit_test(test_every_bit_counts),
                cmocka_unit_test(test_attributes_behind_the_proof),
                cmocka_unit_test(test_unknown_attributes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
