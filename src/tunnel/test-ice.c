/* SPDX-License-Identifier: MIT */
/*
 * Who is listened to, from where, and for how long.
 */
#include "tunnel/ice.h"

#include <stdio.h>

#include "base/test-cmocka.h"
#include "base/macro.h"

#define PWD STR("0123456789abcdefghijkl")

static Ice ice;
static uint8_t reply[STUN_REPLY_MAX];

static IceSource source_of(uint16_t port) {
        return (IceSource){.address = {.family = 4, .bytes = {127, 0, 0, 1}, .port = port}};
}

static IceVerdict take(const char *username, uint16_t port, bool is_chosen, int64_t now_ms) {
        uint8_t check[STUN_REPLY_MAX * 2];
        size_t n =
                stun_write_check(check, (const uint8_t *)"0123456789ab", str_from(username), PWD, is_chosen);
        IceSource from = source_of(port);
        IceVerdict verdict = ice_take(&ice, (Str){(const char *)check, n}, &from, now_ms, reply, &n);

        assert_true((n > 0) == (verdict != ICE_NOTHING && verdict != ICE_OTHER));
        return verdict;
}

static void test_one_browser(_unused_ void **state) {
        ice_init(&ice, STR("ours"), PWD);
        assert_int_equal(take("other:a", 1, true, 0), ICE_NOTHING);
        assert_int_equal(take("ours", 1, true, 0), ICE_NOTHING);
        assert_int_equal(take("ours:", 1, true, 0), ICE_NOTHING);
        assert_int_equal(take("ours:a", 1, false, 0), ICE_NEW);
        assert_int_equal(take("ours:a", 2, false, 10), ICE_SAME);
        assert_int_equal(ice.selected.address.port, 1);
        assert_int_equal(take("ours:a", 2, true, 20), ICE_MOVED);
        assert_int_equal(take("ours:a", 2, true, 30), ICE_SAME);
        assert_true(ice_is_known(&ice, &(IceSource){source_of(1).address, 0}));
        assert_false(ice_is_known(&ice, &(IceSource){source_of(1).address, 1})); /* at another socket */
        assert_false(ice_is_known(&ice, &(IceSource){source_of(3).address, 0}));
        assert_true(ice_has_consent(&ice, 30 + ICE_CONSENT_MS - 1));
        assert_false(ice_has_consent(&ice, 30 + ICE_CONSENT_MS));
}

static void test_another_one_waits(_unused_ void **state) {
        ice_init(&ice, STR("ours"), PWD);
        assert_int_equal(take("ours:a", 1, true, 0), ICE_NEW);
        assert_int_equal(take("ours:b", 2, true, ICE_QUIET_MS - 1), ICE_NOTHING);
        ice.heard_ms = 5;
        assert_int_equal(take("ours:b", 2, true, ICE_QUIET_MS), ICE_NOTHING);
        assert_int_equal(take("ours:b", 2, true, ICE_QUIET_MS + 5), ICE_OTHER);
        ice_end(&ice);
        assert_int_equal(take("ours:b", 2, true, ICE_QUIET_MS + 5), ICE_NEW);
        assert_int_equal(take("ours:a", 1, true, ICE_QUIET_MS + 6), ICE_NOTHING); /* for good */
        assert_false(ice_is_known(&ice, &(IceSource){source_of(1).address, 0}));
}

/* The ring of those that were here forgets the oldest, and nothing else. */
static void test_spent(_unused_ void **state) {
        char name[32];

        ice_init(&ice, STR("ours"), PWD);
        for (unsigned i = 0; i < ICE_SPENT_MAX + 1; i++) {
                snprintf(name, sizeof(name), "ours:%u", i);
                assert_int_equal(take(name, 1, true, 0), ICE_NEW);
                ice_end(&ice);
        }
        assert_int_equal(take("ours:1", 1, true, 0), ICE_NOTHING);
        assert_int_equal(take("ours:0", 1, true, 0), ICE_NEW);
}

static void test_many_sources(_unused_ void **state) {
        ice_init(&ice, STR("ours"), PWD);
        assert_int_equal(take("ours:a", 1000, true, 0), ICE_NEW);
        for (int i = 1; i <= 3 * ICE_SOURCES_MAX; i++)
                assert_int_equal(take("ours:a", (uint16_t)i, false, i), ICE_SAME);
        assert_int_equal(ice.n_sources, ICE_SOURCES_MAX);
        assert_true(ice_is_known(&ice, &ice.selected)); /* however old it is */
        assert_true(ice_is_known(&ice, &(IceSource){source_of(3 * ICE_SOURCES_MAX).address, 0}));
        assert_false(ice_is_known(&ice, &(IceSource){source_of(1).address, 0}));
}

static void test_early(_unused_ void **state) {
        IceSource one = source_of(1), two = source_of(2);
        Str datagram;

        ice_init(&ice, STR("ours"), PWD);
        for (const char *i = "abcdef"; *i; i++)
                ice_keep(&ice, (Str){i, 1}, *i == 'e' ? &two : &one);
        assert_false(ice_take_early(&ice, NULL, &datagram)); /* nobody has proved itself */
        assert_int_equal(take("ours:a", 1, true, 0), ICE_NEW);
        assert_true(ice_take_early(&ice, NULL, &datagram) && str_is(datagram, "c"));
        assert_true(ice_take_early(&ice, &one, &datagram) && str_is(datagram, "d"));
        assert_true(ice_take_early(&ice, NULL, &datagram) && str_is(datagram, "f"));
        assert_false(ice_take_early(&ice, NULL, &datagram));
        assert_true(ice_take_early(&ice, &two, &datagram) && str_is(datagram, "e"));
        assert_int_equal(ice.n_early, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_browser), cmocka_unit_test(test_another_one_waits),
                cmocka_unit_test(test_spent),       cmocka_unit_test(test_many_sources),
                cmocka_unit_test(test_early),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
