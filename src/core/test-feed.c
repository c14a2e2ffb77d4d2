/* SPDX-License-Identifier: MIT */
#include "core/feed.h"

#include "base/loop/test-loop-fixture.h"

static void push(Feed *feed, const char *kind, const char *payload) {
        FeedPlace place;

        feed_place(&place, "collab", STR("g_1"), str_from(kind), 7);
        feed_push(feed, &place, payload ? chunk_new(str_from(payload)) : NULL);
}

static void on_more(FeedReader *reader _unused_) {
        note('m');
}

static void test_order_and_resume(void **state) {
        FeedReader reader, late;
        FeedItem item;
        Feed *feed;

        assert_int_equal(feed_new(&feed, *state, 0), 0);
        push(feed, "a", "1");
        feed_reader_init(&reader, feed, 0, on_more);
        feed_reader_init(&late, feed, UINT64_MAX, on_more);
        loop_turn(*state);
        assert_ran("m"); /* the late one wants nothing yet */
        push(feed, "b", "2");
        push(feed, "c", NULL);
        loop_turn(*state);
        assert_ran("m"); /* only the late one: the other was told and has not looked */
        for (uint64_t i = 1; i <= 3; i++) {
                assert_int_equal(feed_reader_next(&reader, &item), 0);
                assert_int_equal(item.number, i);
        }
        assert_string_equal(item.place.kind, "c");
        assert_string_equal(item.place.owner, "g_1");
        assert_int_equal(item.place.position, 7);
        assert_null(item.payload);
        assert_int_equal(feed_reader_next(&reader, &item), FEED_E_EMPTY);
        assert_int_equal(feed_reader_next(&late, &item), 0);
        assert_int_equal(item.number, 2);
        assert_memory_equal(item.payload->data, "2", 1);
        feed_reader_deinit(&late);

        push(feed, "d", "4");
        loop_turn(*state);
        assert_ran("m");
        feed_reader_deinit(&reader);
        feed_reader_init(&reader, feed, 3, on_more); /* comes back with a number */
        assert_int_equal(feed_reader_next(&reader, &item), 0);
        assert_int_equal(item.number, 4);
        feed_reader_deinit(&reader);
        feed_reader_init(&reader, feed, 400, on_more); /* of another epoch */
        assert_int_equal(feed_reader_next(&reader, &item), FEED_E_EMPTY);
        feed_reader_deinit(&reader);
        loop_turn(*state);
        assert_ran("");
        feed_free(feed);
}

static void test_gap(void **state) {
        FeedReader reader;
        FeedItem item;
        Feed *feed;

        assert_int_equal(feed_new(&feed, *state, 0), 0);
        feed_reader_init(&reader, feed, 0, on_more);
        for (int i = 0; i < FEED_ITEMS + 10; i++)
                push(feed, "a", "x");
        assert_int_equal(feed_oldest(feed), 11);
        assert_int_equal(feed_reader_next(&reader, &item), FEED_E_GAP);
        assert_int_equal(item.number, 10);
        assert_int_equal(feed_reader_next(&reader, &item), 0);
        assert_int_equal(item.number, 11);
        feed_reader_deinit(&reader);
        feed_free(feed);
}

static void test_bound_of_bytes(void **state) {
        enum { N = FEED_BYTES_MAX / FEED_PAYLOAD_MAX };
        static char big[FEED_PAYLOAD_MAX + 1];
        FeedReader reader;
        FeedItem item;
        FeedPlace place;
        Feed *feed;

        assert_int_equal(feed_new(&feed, *state, 0), 0);
        feed_place(&place, "tasks", STR("p"), STR("k"), 0);
        for (int i = 0; i < N + 6; i++)
                feed_push(feed, &place, chunk_new((Str){big, FEED_PAYLOAD_MAX}));
        assert_int_equal(feed_last(feed), N + 6);
        assert_int_equal(feed_oldest(feed), 7);
        assert_int_equal(feed_push(feed, &place, chunk_new((Str){big, sizeof(big)})), N + 7);
        feed_reader_init(&reader, feed, N + 6, on_more);
        assert_int_equal(feed_reader_next(&reader, &item), 0);
        assert_null(item.payload); /* too long */
        feed_reader_deinit(&reader);
        feed_free(feed);
}

static void test_configured_bound(void **state) {
        Feed *feed;

        assert_int_equal(feed_new(&feed, *state, 3), 0);
        for (int i = 0; i < 10; i++)
                push(feed, "a", "x");
        assert_int_equal(feed_oldest(feed), 8);
        feed_free(feed);
}

static FeedReader leavers[3];

static void on_leave(FeedReader *reader _unused_) {
        note('l');
        for (size_t i = 0; i < ARRAY_SIZE(leavers); i++)
                feed_reader_deinit(&leavers[i]);
}

static void test_leave_while_told(void **state) {
        Feed *feed;

        assert_int_equal(feed_new(&feed, *state, 0), 0);
        for (size_t i = 0; i < ARRAY_SIZE(leavers); i++)
                feed_reader_init(&leavers[i], feed, 0, on_leave);
        push(feed, "a", NULL);
        loop_turn(*state);
        assert_ran("l");
        feed_free(feed);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_order_and_resume), loop_test(test_gap),
                loop_test(test_bound_of_bytes),   loop_test(test_configured_bound),
                loop_test(test_leave_while_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
