/* SPDX-License-Identifier: MIT */
#include "base/loop/test-loop-fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include "base/macro.h"

char trail[1024];
size_t n_trail;

void note(char letter) {
        assert_true(n_trail + 1 < sizeof(trail));
        trail[n_trail++] = letter;
        trail[n_trail] = 0;
}

void on_note(void *user) {
        note(*(char *)user);
}

void assert_ran(const char *letters) {
        assert_string_equal(trail, letters);
        trail[n_trail = 0] = 0;
}

static size_t count_fds(void) {
        DIR *dir = opendir("/proc/self/fd");
        size_t n = 0;

        assert_non_null(dir);
        while (readdir(dir))
                n++;
        closedir(dir);
        return n;
}

static size_t n_fds;

int make_loop(void **state) {
        int r = loop_new((Loop **)state, NULL);

        trail[n_trail = 0] = 0;
        n_fds = count_fds();
        return r;
}

int free_loop(void **state) {
        loop_turn(*state);
        assert_int_equal(count_fds(), n_fds); /* none is lost */
        *state = loop_free(*state);
        return 0;
}

uint32_t next_random(uint32_t *seed) {
        *seed = *seed * 1664525 + 1013904223;
        return *seed >> 8;
}

/* Stops a loop from another thread after a while, unless it was called off. */
typedef struct Watchdog {
        Loop *loop;
        int limit_ms, off[2];
        bool has_bitten; /* on the loop's thread */
        pthread_t thread;
} Watchdog;

static void bite(void *user) {
        Watchdog *dog = user;

        dog->has_bitten = true;
        loop_stop(dog->loop);
}

static void *watch_over(void *user) {
        Watchdog *dog = user;
        struct pollfd off = {.fd = dog->off[0], .events = POLLIN};

        if (poll(&off, 1, dog->limit_ms) == 0)
                loop_post(dog->loop, bite, dog);
        return NULL;
}

bool run_within(Loop *loop, int limit_ms) {
        Watchdog dog = {.loop = loop, .limit_ms = limit_ms};

        assert_int_equal(pipe2(dog.off, O_CLOEXEC), 0);
        assert_int_equal(pthread_create(&dog.thread, NULL, watch_over, &dog), 0);
        loop_run(loop);
        close(dog.off[1]); /* hangs up */
        pthread_join(dog.thread, NULL);
        close(dog.off[0]);
        if (!dog.has_bitten)
                loop_turn(loop); /* it may have bitten too late */
        return !dog.has_bitten;
}

static void on_named(Timer *timer) {
        NamedTimer *named = container_of(timer, NamedTimer, timer);

        assert_false(timer_is_set(timer));
        note(named->name);
        if (named->victim)
                timer_clear(named->victim);
        if (named->again_ms >= 0 && named->n_left-- > 0)
                assert_int_equal(timer_set(timer, named->again_ms), 0);
}

void named_init(NamedTimer *named, Loop *loop, char name) {
        *named = (NamedTimer){.name = name, .again_ms = -1};
        timer_init(&named->timer, loop, on_named);
}

void on_stop_timer(Timer *timer) {
        loop_stop(timer->loop);
}
