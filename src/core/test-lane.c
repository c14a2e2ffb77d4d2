/* SPDX-License-Identifier: MIT */
#include "core/lane.h"

#include <errno.h>

#include "base/loop/test-loop-fixture.h"

/* An object whose work leaves letters: what it does with an item on a worker is in capitals. */
typedef struct Desk {
        Lane lane;
        struct Paper *at; /* of the turn under way */
        LaneItems served;
        bool is_refusing;
} Desk;

typedef struct Paper {
        LaneItem item;
        char name;
} Paper;

static Paper *paper_of(LaneItem *item) {
        return item ? container_of(item, Paper, item) : NULL;
}

static Desk *desk_of(Lane *lane) {
        return container_of(lane, Desk, lane);
}

static void desk_run(Lane *lane) {
        desk_of(lane)->at->name = (char)(desk_of(lane)->at->name - 'a' + 'A');
}

static void desk_done(Lane *lane) {
        note(desk_of(lane)->at->name);
        lane_over(lane);
        if (lane_is_idle(lane))
                loop_stop(lane->loop);
}

static void desk_begin(Lane *lane) {
        Desk *desk = desk_of(lane);

        desk->at = paper_of(lane_take(lane));
        note(desk->at->name);
        if (desk->is_refusing)
                lane_over(lane);
        else
                assert_int_equal(lane_work(lane, desk_run, desk_done), 0);
}

static const LaneType one_by_one = {.begin = desk_begin};

static void desk_add(Desk *desk, Paper *papers, const char *names) {
        for (size_t i = 0; names[i]; i++) {
                papers[i].name = names[i];
                assert_int_equal(lane_add(&desk->lane, &papers[i].item), 0);
        }
}

static void test_one_at_a_time_in_order(void **state) {
        Desk desk = {0};
        Paper papers[3];

        lane_init(&desk.lane, *state, &one_by_one);
        assert_true(lane_is_idle(&desk.lane));
        desk_add(&desk, papers, "abc");
        assert_ran(""); /* never inside of the call that asks */
        assert_int_equal(desk.lane.n_waiting, 3);
        assert_true(run_within(*state, 60000));
        assert_ran("aAbBcC");
        assert_true(lane_is_idle(&desk.lane));
        lane_deinit(&desk.lane);
}

/* Each turn ends inside of begin(): ten thousand of them need no stack. */
static void test_a_turn_may_end_at_once(void **state) {
        enum { N = 10000 };
        static Paper papers[N];
        Desk desk = {.is_refusing = true};

        lane_init(&desk.lane, *state, &one_by_one);
        for (int i = 0; i < N; i++) {
                papers[i].name = 'x';
                assert_int_equal(lane_add(&desk.lane, &papers[i].item), 0);
        }
        for (int i = 0; i < N; i++) {
                loop_turn(*state);
                assert_ran("x");
        }
        assert_true(lane_is_idle(&desk.lane));
        lane_deinit(&desk.lane);
}

static void test_more_than_the_bound_is_refused(void **state) {
        static Paper papers[LANE_WAITING_MAX + 1];
        static const LaneType never = {.needs_kick = true, .n_max = LANE_WAITING_MAX};
        Desk desk;

        lane_init(&desk.lane, *state, &never);
        for (int i = 0; i < LANE_WAITING_MAX; i++)
                assert_int_equal(lane_add(&desk.lane, &papers[i].item), 0);
        assert_int_equal(lane_add(&desk.lane, &papers[LANE_WAITING_MAX].item), -ENOBUFS);
        assert_ptr_equal(lane_take(&desk.lane), &papers[0].item);
        assert_int_equal(lane_add(&desk.lane, &papers[LANE_WAITING_MAX].item), 0);
        lane_deinit(&desk.lane);
}

static void desk_begin_all(Lane *lane) {
        Desk *desk = desk_of(lane);
        LaneItem *item;

        note('(');
        lane_take_all(lane, &desk->served);
        STAILQ_FOREACH (item, &desk->served, next)
                note(paper_of(item)->name);
        note(')');
}

static const LaneType together = {.begin = desk_begin_all, .needs_kick = true};

static void test_one_turn_for_all_when_its_owner_says_so(void **state) {
        Desk desk = {.served = STAILQ_HEAD_INITIALIZER(desk.served)};
        Paper early[2], late[1];

        lane_init(&desk.lane, *state, &together);
        desk_add(&desk, early, "ab");
        loop_turn(*state);
        assert_ran("");
        lane_kick(&desk.lane);
        lane_kick(&desk.lane);
        loop_turn(*state);
        assert_ran("(ab)");
        desk_add(&desk, late, "c");
        lane_kick(&desk.lane); /* one is under way */
        loop_turn(*state);
        assert_ran("");
        lane_put_back(&desk.lane, &desk.served); /* it went wrong: they come first the next time */
        assert_int_equal(desk.lane.n_waiting, 3);
        lane_over(&desk.lane);
        loop_turn(*state);
        assert_ran("");
        lane_kick(&desk.lane);
        loop_turn(*state);
        assert_ran("(abc)");
        STAILQ_INIT(&desk.served);
        lane_over(&desk.lane);
        lane_kick(&desk.lane); /* also without anything that waits */
        loop_turn(*state);
        assert_ran("()");
        lane_over(&desk.lane);
        lane_deinit(&desk.lane);
}

static void test_none_begins_after_the_end(void **state) {
        Desk desk = {.is_refusing = true};
        Paper paper = {.name = 'a'};

        lane_init(&desk.lane, *state, &one_by_one);
        assert_int_equal(lane_add(&desk.lane, &paper.item), 0);
        lane_deinit(&desk.lane);
        loop_turn(*state);
        assert_ran("");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                loop_test(test_one_at_a_time_in_order),
                loop_test(test_a_turn_may_end_at_once),
                loop_test(test_more_than_the_bound_is_refused),
                loop_test(test_one_turn_for_all_when_its_owner_says_so),
                loop_test(test_none_begins_after_the_end),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
