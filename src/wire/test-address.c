/* SPDX-License-Identifier: MIT */
#include "wire/address.h"

#include <string.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

static TcpEnd end_of(const char *text, uint16_t port) {
        struct sockaddr_storage address;
        TcpEnd end;

        assert_true(address_parse(text, port, &address) > 0);
        assert_true(address_from_socket(&address, &end));
        return end;
}

static void test_texts(void **state) {
        static const char *const cases[][2] = {
                {"1.2.3.4", "1.2.3.4"},
                {"255.255.255.255", "255.255.255.255"},
                {"::1", "::1"},
                {"::", "::"},
                {"FE80:0::0001", "fe80::1"},
                {"::ffff:1.2.3.4", "1.2.3.4"},
                {"2001:db8::5", "2001:db8::5"},
                {"0.0.0.0", "0.0.0.0"},
        };
        static const char *const bad[] = {"",           "localhost", "1.2.3", "1.2.3.4.5",
                                          "256.1.1.1",  "[::1]",     ":::",   "::1%lo",
                                          "1.2.3.4:80", "0x7f.1",    " ::1"};
        struct sockaddr_storage address;
        char text[ADDRESS_TEXT_MAX];

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                TcpEnd end = end_of(cases[i][0], 4711);

                assert_int_equal(end.port, 4711);
                address_text(&end.ip, text);
                assert_string_equal(text, cases[i][1]);
        }
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                assert_int_equal(address_parse(bad[i], 1, &address), 0);
        address.ss_family = AF_UNIX;
        assert_false(address_from_socket(&address, &(TcpEnd){0}));
}

static void test_networks(void **state) {
        TcpEnd a = end_of("2001:db8:1:2:3:4:5:6", 1), b = end_of("2001:db8:1:2:9::", 1),
               c = end_of("2001:db8:1:3::", 1);
        TcpEnd four = end_of("127.0.0.2", 1), other = end_of("127.0.0.3", 1),
               mapped = end_of("::ffff:127.0.0.2", 1);
        struct in6_addr x, y;

        (void)state;
        assert_false(address_eq(&a.ip, &b.ip));
        x = address_network(&a.ip);
        y = address_network(&b.ip);
        assert_true(address_eq(&x, &y));
        assert_int_equal(address_number(&a.ip), address_number(&b.ip));
        y = address_network(&c.ip);
        assert_false(address_eq(&x, &y));
        assert_int_not_equal(address_number(&a.ip), address_number(&c.ip));
        x = address_network(&four.ip);
        y = address_network(&other.ip);
        assert_false(address_eq(&x, &y));
        assert_true(address_eq(&four.ip, &mapped.ip));
        assert_int_equal(address_number(&four.ip), 0x7f000002);
}

static void test_loopback(void **state) {
        static const struct {
                const char *text;
                bool is;
        } cases[] = {{"127.0.0.1", true},  {"127.9.9.9", true}, {"::1", true},  {"::ffff:127.0.0.1", true},
                     {"128.0.0.1", false}, {"::", false},       {"::2", false}, {"7f00::", false},
                     {"0.0.0.0", false}};

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                TcpEnd end = end_of(cases[i].text, 1);
                assert_int_equal(address_is_loopback(&end.ip), cases[i].is);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_texts),
                cmocka_unit_test(test_networks),
                cmocka_unit_test(test_loopback),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
