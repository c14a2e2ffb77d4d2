/* SPDX-License-Identifier: MIT */
#include "wire/test-conn-fixture.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"

const Framing lines = {.kind = FRAMING_LINE, .n_max = 1 << 20};
const Framing short_lines = {.kind = FRAMING_LINE, .n_max = 100};
const Framing lengths = {.kind = FRAMING_LENGTH, .n_max = 1 << 20};
const Framing raw = {.kind = FRAMING_RAW};
const ConnLimits plain = {.high_water = 1 << 20, .low_water = 1 << 19};

/* ---- bench ----------------------------------------------------------------------------------- */

static size_t count_fds(void) {
        DIR *dir = opendir("/proc/self/fd");
        size_t n = 0;

        assert_non_null(dir);
        while (readdir(dir))
                n++;
        closedir(dir);
        return n;
}

static void count_freed(void *user) {
        ((Bench *)user)->n_freed++;
}

int make_bench(void **state) {
        Bench *bench = calloc(1, sizeof(*bench));

        if (loop_new(&bench->loop, NULL))
                return -1;
        bench->n_fds = count_fds();
        loop_clock_freeze(bench->loop, 0);
        bench->shared = (ConnShared){.loop = bench->loop, .fd_freed = count_freed, .user = bench};
        bench->shared.read_buffer = malloc(CONN_READ_MAX);
        *state = bench;
        return 0;
}

int check_bench(void **state) {
        Bench *bench = *state;

        loop_turn(bench->loop);
        assert_int_equal(bench->shared.n_open, 0);
        assert_int_equal(bench->shared.n_accepted, bench->shared.n_closed);
        assert_int_equal(bench->n_freed, bench->shared.n_closed);
        for (Account *a = bench->accounts.first; a; a = a->next) {
                assert_int_equal(a->n_conns, 0);
                assert_int_equal(a->n_bytes, 0);
        }
        accounts_deinit(&bench->accounts);
        assert_int_equal(count_fds(), bench->n_fds);
        loop_free(bench->loop);
        free(bench->shared.read_buffer);
        free(bench);
        return 0;
}

void turns(Bench *bench, int n) {
        while (n--)
                loop_turn(bench->loop);
}

void turn_after(Bench *bench, int64_t ms) {
        loop_clock_advance(bench->loop, ms);
        turns(bench, 2);
}

static void stop_loop(void *user) {
        loop_stop(user);
}

static void *stop_soon(void *user) {
        usleep(150000);
        loop_post(user, stop_loop, user);
        return NULL;
}

static double cpu_ms(void) {
        struct timespec ts;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
        return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

void assert_sleeps(Bench *bench) {
        double begin = cpu_ms();
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, stop_soon, bench->loop), 0);
        loop_run(bench->loop);
        pthread_join(thread, NULL);
        assert_true(cpu_ms() - begin < 30);
}

/* ---- handler --------------------------------------------------------------------------------- */

static void on_frame(void *user, Str frame) {
        Link *link = user;

        assert_int_equal(link->n_closed, 0);
        assert_int_equal(buf_append_str(&link->frames, frame), 0);
        assert_int_equal(buf_append(&link->frames, "|", 1), 0);
        link->n_frames++;
        if (link->on_frame)
                link->on_frame(link, frame);
}

static void on_eof(void *user, Str rest) {
        Link *link = user;

        assert_int_equal(link->n_closed, 0);
        link->n_eof++;
        assert_int_equal(buf_append_str(&link->rest, rest), 0);
        if (link->on_eof)
                link->on_eof(link);
}

static void on_oversize(void *user) {
        Link *link = user;

        assert_int_equal(link->n_closed, 0);
        link->n_oversize++;
        if (link->on_oversize)
                link->on_oversize(link);
}

static void on_drained(void *user) {
        Link *link = user;

        assert_int_equal(link->n_closed, 0);
        link->n_drained++;
        if (link->on_drained)
                link->on_drained(link);
}

static void on_closed(void *user, const char *reason) {
        Link *link = user;

        link->n_closed++;
        link->reason = reason;
        /* Whatever is called from here does no harm. */
        assert_true(conn_is_closing(link->conn));
        conn_abort(link->conn, "again");
        conn_finish(link->conn, "again");
        conn_pause(link->conn);
        conn_resume(link->conn);
        assert_int_equal(conn_write(link->conn, STR("late")), 0);
        conn_flush_soon(link->conn);
}

static const ConnHandler handler = {.frame = on_frame,
                                    .eof = on_eof,
                                    .oversize = on_oversize,
                                    .drained = on_drained,
                                    .closed = on_closed};

/* ---- link ------------------------------------------------------------------------------------ */

void link_new(Link *link, Bench *bench, int fd_in, int fd_out) {
        ConnPeer peer = {.uid = 7, .pid = 8};

        link->bench = bench;
        assert_int_equal(account_open_user(&bench->accounts, peer.uid, &link->account), 0);
        assert_int_equal(conn_new(&link->conn, &bench->shared, fd_in, fd_out, &peer, link->account), 0);
        assert_int_equal(conn_peer(link->conn)->pid, 8);
}

void link_open(Link *link, Bench *bench) {
        int fds[2];

        *link = (Link){0};
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
        /* The kernel takes a few kilobytes and no more, so that queues fill soon. */
        assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int)), 0);
        link->peer_in = link->peer_out = fds[1];
        link_new(link, bench, fds[0], fds[0]);
}

void link_open_pipes(Link *link, Bench *bench) {
        int in[2], out[2];

        *link = (Link){0};
        assert_int_equal(pipe2(in, O_NONBLOCK | O_CLOEXEC), 0);
        assert_int_equal(pipe2(out, O_NONBLOCK | O_CLOEXEC), 0);
        fcntl(out[1], F_SETPIPE_SZ, 4096);
        link->peer_out = in[1];
        link->peer_in = out[0];
        link_new(link, bench, in[0], out[1]);
}

void link_start(Link *link, const Framing *framing, const ConnLimits *limits) {
        conn_start(link->conn, framing, limits, &handler, link);
}

void link_begin(Link *link, Bench *bench) {
        link_open(link, bench);
        link_start(link, &lines, &plain);
}

void peer_ends(Link *link) {
        if (link->peer_in == link->peer_out)
                assert_int_equal(shutdown(link->peer_out, SHUT_WR), 0);
        else
                link->peer_out = close_fd(link->peer_out);
}

void peer_goes(Link *link) {
        if (link->peer_in != link->peer_out)
                close_fd(link->peer_in);
        link->peer_in = link->peer_out = close_fd(link->peer_out);
}

static void link_deinit(Link *link) {
        assert_int_equal(link->n_closed, 1); /* told exactly once */
        peer_goes(link);
        buf_deinit(&link->frames);
        buf_deinit(&link->rest);
        buf_deinit(&link->heard);
}

void link_end(Link *link) {
        if (!link->n_closed)
                conn_abort(link->conn, "the test is over");
        turns(link->bench, 2);
        link_deinit(link);
}

void peer_says(Link *link, const char *data, size_t n) {
        for (int patience = 100000; n && patience; patience--) {
                ssize_t k = write(link->peer_out, data, n);
                if (k < 0)
                        assert_int_equal(errno, EAGAIN);
                if (k < 0)
                        loop_turn(link->bench->loop);
                data += MAX(k, 0);
                n -= (size_t)MAX(k, 0);
        }
        assert_int_equal(n, 0);
}

void peer_says_text(Link *link, const char *text) {
        peer_says(link, text, strlen(text));
}

void peer_hears(Link *link) {
        char block[65536];
        ssize_t k;

        while ((k = read(link->peer_in, block, sizeof(block))) > 0)
                assert_int_equal(buf_append(&link->heard, block, (size_t)k), 0);
        link->heard_end |= k == 0;
        if (k < 0 && errno != EAGAIN)
                link->hear_error = errno;
}

void hear_until(Link *link, size_t n) {
        for (int patience = 100000; link->heard.n < n && patience; patience--) {
                peer_hears(link);
                loop_turn(link->bench->loop);
        }
        assert_int_equal(link->heard.n, n);
}

void assert_frames(Link *link, const char *frames) {
        assert_string_equal(buf_cstr(&link->frames), frames);
}

void assert_closed(const Link *link, const char *reason) {
        assert_int_equal(link->n_closed, 1);
        assert_string_equal(link->reason, reason);
}

/* ---- hooks ----------------------------------------------------------------------------------- */

void answer(Link *link, _unused_ Str frame) {
        assert_int_equal(buf_reserve(conn_out(link->conn), link->n_answer), 0);
        memset(conn_out(link->conn)->data + conn_out(link->conn)->n, 'A', link->n_answer);
        conn_out(link->conn)->n += link->n_answer;
}

void pause_here(Link *link, _unused_ Str frame) {
        conn_pause(link->conn);
}

void choose_framing(Link *link, Str frame) {
        if (link->n_frames == 1)
                conn_reframe(link->conn, frame.data[0] ? &lines : &lengths);
}
