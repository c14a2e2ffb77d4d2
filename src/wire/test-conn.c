/* SPDX-License-Identifier: MIT */
#include "wire/conn.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"

/* What a daemon would own, with the clock stopped. */
typedef struct Bench {
        Loop *loop;
        Accounts accounts;
        ConnShared shared;
        int n_freed; /* calls of fd_freed */
        size_t n_fds;
} Bench;

/* One connection, what its handler was told, and its peer. */
typedef struct Link Link;
struct Link {
        Bench *bench;
        Conn *conn;
        Account *account;
        int peer_out, peer_in; /* the same for sockets */
        void (*on_frame)(Link *link, Str frame);
        void (*on_eof)(Link *link);
        void (*on_oversize)(Link *link);
        void (*on_drained)(Link *link);
        Link *other; /* for the hooks */
        Framing next_framing;
        size_t n_answer; /* bytes written for each frame by answer() */

        Buf frames; /* each with a '|' behind it */
        int n_frames, n_eof, n_oversize, n_drained, n_closed;
        Buf rest;
        const char *reason;
        Buf heard; /* by the peer */
        bool heard_end;
        int hear_error;
};

static const Framing lines = {.kind = FRAMING_LINE, .n_max = 1 << 20};
static const Framing short_lines = {.kind = FRAMING_LINE, .n_max = 100};
static const Framing lengths = {.kind = FRAMING_LENGTH, .n_max = 1 << 20};
static const Framing raw = {.kind = FRAMING_RAW};
static const ConnLimits plain = {.high_water = 1 << 20, .low_water = 1 << 19};

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

static int make_bench(void **state) {
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

/* No connection is left, nothing is charged, no descriptor is lost. */
static int check_bench(void **state) {
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

static void turns(Bench *bench, int n) {
        while (n--)
                loop_turn(bench->loop);
}

static void turn_after(Bench *bench, int64_t ms) {
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

/* Left alone for a while, the loop waits: nothing keeps it busy. */
static void assert_sleeps(Bench *bench) {
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

static void link_new(Link *link, Bench *bench, int fd_in, int fd_out) {
        ConnPeer peer = {.uid = 7, .pid = 8};

        link->bench = bench;
        assert_int_equal(account_open(&bench->accounts, false, peer.uid, &link->account), 0);
        assert_int_equal(conn_new(&link->conn, &bench->shared, fd_in, fd_out, &peer, link->account), 0);
        assert_int_equal(conn_peer(link->conn)->pid, 8);
}

static void link_open(Link *link, Bench *bench) {
        int fds[2];

        *link = (Link){0};
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
        /* The kernel takes a few kilobytes and no more, so that queues fill soon. */
        assert_int_equal(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &(int){4096}, sizeof(int)), 0);
        link->peer_in = link->peer_out = fds[1];
        link_new(link, bench, fds[0], fds[0]);
}

/* Two pipes, as standard input and output are. */
static void link_open_pipes(Link *link, Bench *bench) {
        int in[2], out[2];

        *link = (Link){0};
        assert_int_equal(pipe2(in, O_NONBLOCK | O_CLOEXEC), 0);
        assert_int_equal(pipe2(out, O_NONBLOCK | O_CLOEXEC), 0);
        fcntl(out[1], F_SETPIPE_SZ, 4096);
        link->peer_out = in[1];
        link->peer_in = out[0];
        link_new(link, bench, in[0], out[1]);
}

static void link_start(Link *link, const Framing *framing, const ConnLimits *limits) {
        conn_start(link->conn, framing, limits, &handler, link);
}

static void link_begin(Link *link, Bench *bench) {
        link_open(link, bench);
        link_start(link, &lines, &plain);
}

static void peer_ends(Link *link) {
        if (link->peer_in == link->peer_out)
                assert_int_equal(shutdown(link->peer_out, SHUT_WR), 0);
        else
                link->peer_out = close_fd(link->peer_out);
}

static void peer_goes(Link *link) {
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

static void link_end(Link *link) {
        if (!link->n_closed)
                conn_abort(link->conn, "the test is over");
        turns(link->bench, 2);
        link_deinit(link);
}

/* Sends all of it, letting the connection have its turns while the kernel's queue is full. */
static void peer_says(Link *link, const char *data, size_t n) {
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

static void peer_says_text(Link *link, const char *text) {
        peer_says(link, text, strlen(text));
}

/* Reads what is there. */
static void peer_hears(Link *link) {
        char block[65536];
        ssize_t k;

        while ((k = read(link->peer_in, block, sizeof(block))) > 0)
                assert_int_equal(buf_append(&link->heard, block, (size_t)k), 0);
        link->heard_end |= k == 0;
        if (k < 0 && errno != EAGAIN)
                link->hear_error = errno;
}

static void hear_until(Link *link, size_t n) {
        for (int patience = 100000; link->heard.n < n && patience; patience--) {
                peer_hears(link);
                loop_turn(link->bench->loop);
        }
        assert_int_equal(link->heard.n, n);
}

static void assert_frames(Link *link, const char *frames) {
        assert_string_equal(buf_cstr(&link->frames), frames);
}

static void assert_closed(const Link *link, const char *reason) {
        assert_int_equal(link->n_closed, 1);
        assert_string_equal(link->reason, reason);
}

/* Hooks. */
static void answer(Link *link, _unused_ Str frame) {
        assert_int_equal(buf_reserve(conn_out(link->conn), link->n_answer), 0);
        memset(conn_out(link->conn)->data + conn_out(link->conn)->n, 'A', link->n_answer);
        conn_out(link->conn)->n += link->n_answer;
}

static void echo(Link *link, Str frame) {
        assert_int_equal(conn_write(link->conn, frame), 0);
}

static void pause_here(Link *link, _unused_ Str frame) {
        conn_pause(link->conn);
}

static void finish_here(Link *link, Str frame) {
        answer(link, frame);
        conn_finish(link->conn, "finished");
}

static void abort_here(Link *link, _unused_ Str frame) {
        conn_abort(link->conn, "aborted");
}

static void abort_other(Link *link, _unused_ Str frame) {
        conn_abort(link->other->conn, "aborted by the other");
}

static void refuse(Link *link) {
        assert_int_equal(conn_write(link->conn, STR("too long")), 0);
        conn_finish(link->conn, "oversize");
}

/* ---- input ----------------------------------------------------------------------------------- */

static void test_frames(void **state) {
        Link link;

        link_open(&link, *state);
        peer_says_text(&link, "zero\n");
        link_start(&link, &lines, &plain);
        assert_frames(&link, "zero|"); /* at once: it was there already */
        peer_says_text(&link, "one\n\ntwo\nthr");
        turns(*state, 1);
        assert_frames(&link, "zero|one||two|");
        peer_says_text(&link, "e");
        turns(*state, 1);
        peer_says_text(&link, "e\nx");
        turns(*state, 1);
        assert_frames(&link, "zero|one||two|three|");
        assert_int_equal(link.account->n_requests, 5);
        assert_false(conn_is_closing(link.conn));
        link_end(&link);
        assert_closed(&link, "the test is over");
}

/* Random pieces, paused after every frame, resumed a little later: order is kept and nothing is lost. */
static void test_pause_and_resume(void **state) {
        Bench *bench = *state;
        _cleanup_(buf_deinit) Buf stream = BUF_NULL, want = BUF_NULL;
        uint32_t seed = 9;
        Link link;

        link_begin(&link, bench);
        link.on_frame = pause_here;
        for (int i = 0; i < 700; i++) {
                assert_int_equal(buf_printf(&stream, "%d%*s\n", i, i * 37 % 300, ""), 0);
                assert_int_equal(buf_printf(&want, "%d%*s|", i, i * 37 % 300, ""), 0);
        }
        for (size_t at = 0, n; at < stream.n; at += n) {
                int n_frames;
                seed = seed * 1664525 + 1013904223;
                n = MIN((seed >> 8) % 1000, stream.n - at);
                peer_says(&link, stream.data + at, n);
                turns(bench, (int)(seed >> 30));
                n_frames = link.n_frames;
                conn_resume(link.conn);
                assert_int_equal(link.n_frames, n_frames); /* not from inside resume */
                turns(bench, 2);
                assert_true(link.n_frames <= n_frames + 1);
        }
        peer_ends(&link);
        for (int i = 0; i < 3000; i++) {
                assert_true(link.n_eof == 0 || link.n_frames == 700);
                conn_resume(link.conn);
                turns(bench, 1);
        }
        assert_int_equal(link.frames.n, want.n);
        assert_memory_equal(link.frames.data, want.data, want.n);
        assert_int_equal(link.n_eof, 1); /* after the last frame, though it came while paused */
        link_end(&link);
}

static void test_paused_input_is_bounded(void **state) {
        Bench *bench = *state;
        _cleanup_(freep) char *block = malloc(4096);
        size_t n = 0;
        ssize_t k;
        Link link;

        memset(block, '\n', 4096);
        link_begin(&link, bench);
        link.on_frame = pause_here;
        for (int i = 0; i < 2000; i++) {
                while ((k = write(link.peer_out, block, 4096)) > 0)
                        n += (size_t)k;
                turns(bench, 1);
        }
        assert_true(n < 3 << 20); /* the peer was stopped … */
        assert_int_equal(link.n_frames, 1);
        assert_true(link.account->n_bytes <= 4 * CONN_READ_MAX); /* … and little was kept */
        assert_sleeps(bench);
        link.on_frame = NULL;
        conn_resume(link.conn);
        for (int i = 0; i < 100000 && link.n_frames < (int)n; i++)
                turns(bench, 1);
        assert_int_equal(link.n_frames, n);
        link_end(&link);
}

static void resume_here(Link *link, _unused_ Str frame) {
        conn_pause(link->conn);
        conn_resume(link->conn); /* a call that was answered at once */
}

static void test_resume_inside_the_frame(void **state) {
        Link link;

        link_begin(&link, *state);
        link.on_frame = resume_here;
        peer_says_text(&link, "a\nb\nc");
        turns(*state, 2);
        peer_says_text(&link, "\nd\ne\nf");
        turns(*state, 2);
        assert_frames(&link, "a|b|c|d|e|");
        peer_ends(&link);
        turns(*state, 3);
        assert_int_equal(link.n_eof, 1);
        assert_string_equal(buf_cstr(&link.rest), "f");
        link_end(&link);
}

/* A flood is handled in slices, and others are served in between. */
static void test_budget_per_turn(void **state) {
        Bench *bench = *state;
        char flood[3 * CONN_TURN_FRAMES + 10];
        Link link, other;

        link_begin(&link, bench);
        link_begin(&other, bench);
        memset(flood, '\n', sizeof(flood));
        peer_says(&link, flood, sizeof(flood));
        turns(bench, 1);
        assert_int_equal(link.n_frames, CONN_TURN_FRAMES);
        peer_says_text(&other, "hello\n");
        turns(bench, 1);
        assert_int_equal(link.n_frames, 2 * CONN_TURN_FRAMES);
        assert_frames(&other, "hello|");
        turns(bench, 1);
        assert_int_equal(link.n_frames, 3 * CONN_TURN_FRAMES);
        turns(bench, 1); /* the rest, though the peer sent nothing new */
        assert_int_equal(link.n_frames, 3 * CONN_TURN_FRAMES + 10);
        assert_sleeps(bench);
        peer_says_text(&link, "x\n");
        turns(bench, 1);
        assert_int_equal(link.n_frames, 3 * CONN_TURN_FRAMES + 11);
        link_end(&link);
        link_end(&other);
}

static void test_budget_at_start(void **state) {
        char flood[CONN_TURN_FRAMES + 1];
        Link link;

        link_open(&link, *state);
        memset(flood, '\n', sizeof(flood));
        peer_says(&link, flood, sizeof(flood));
        link_start(&link, &lines, &plain);
        assert_int_equal(link.n_frames, CONN_TURN_FRAMES);
        turns(*state, 1);
        assert_int_equal(link.n_frames, CONN_TURN_FRAMES + 1);
        link_end(&link);
}

/* One frame larger than a turn's worth of bytes, and small ones behind it. */
static void test_large_frame(void **state) {
        Bench *bench = *state;
        enum { N = CONN_TURN_BYTES + 50000 };
        _cleanup_(freep) char *large = malloc(N);
        char prefix[4];
        Link link;

        for (size_t i = 0; i < N; i++)
                large[i] = (char)(i * 31 >> 3);
        link_open(&link, bench);
        link_start(&link, &lengths, &plain);
        framing_put_length(prefix, N);
        peer_says(&link, prefix, 4);
        peer_says(&link, large, N - 1);
        turns(bench, 20);
        assert_int_equal(link.n_frames, 0);
        peer_says(&link, large + N - 1, 1);
        for (int i = 0; i < 100; i++) {
                framing_put_length(prefix, 1);
                peer_says(&link, prefix, 4);
                peer_says(&link, "x", 1);
        }
        turns(bench, 1);
        assert_int_equal(link.n_frames, 1); /* enough for one turn */
        turns(bench, 20);
        assert_int_equal(link.n_frames, 101);
        assert_int_equal(link.frames.n, N + 1 + 200);
        assert_memory_equal(link.frames.data, large, N);
        assert_int_equal(link.account->n_bytes, 0); /* an idle connection holds no input memory */
        link_end(&link);
}

static void take_framing(Link *link, _unused_ Str frame) {
        conn_set_framing(link->conn, &link->next_framing);
}

static void test_set_framing(void **state) {
        static const char stream[] = "switch\n\0\0\0\2a\n\0\0\0"; /* and the NUL behind it */
        Link link;

        for (size_t cut = 0; cut <= sizeof(stream); cut++) {
                link_begin(&link, *state);
                link.on_frame = take_framing;
                link.next_framing = lengths;
                peer_says(&link, stream, cut);
                turns(*state, 1);
                peer_says(&link, stream + cut, sizeof(stream) - cut);
                turns(*state, 1);
                assert_frames(&link, "switch|a\n||");
                link_end(&link);
        }
}

static void choose_framing(Link *link, Str frame) {
        if (link->n_frames == 1)
                conn_reframe(link->conn, frame.data[0] ? &lines : &lengths);
}

/* The first bytes are seen raw, and then once more as what they turn out to be, however they arrive. */
static void test_reframe(void **state) {
        static const Str streams[] = {STR("ab\nc\nd"), STR("\0\0\0\2a\n\0\0\0\1b\0\0\0\4")};
        static const char *frames[] = {"ab|c|", "a\n|b|"};
        Link link;

        for (size_t i = 0; i < 2; i++)
                for (size_t cut = 1; cut < streams[i].n; cut++) {
                        link_open(&link, *state);
                        link.on_frame = choose_framing;
                        peer_says(&link, streams[i].data, cut);
                        link_start(&link, &raw, &plain);
                        assert_memory_equal(link.frames.data, streams[i].data, cut);
                        buf_consume(&link.frames, cut + 1); /* the raw one */
                        peer_says(&link, streams[i].data + cut, streams[i].n - cut);
                        turns(*state, 2);
                        assert_frames(&link, frames[i]);
                        assert_int_equal(link.account->n_requests, 2); /* the raw one is not one */
                        link_end(&link);
                        link.account->n_requests = 0;
                }
}

static void reframe_and_pause(Link *link, _unused_ Str frame) {
        if (link->n_frames == 1) {
                conn_reframe(link->conn, &lines);
                conn_pause(link->conn);
        }
}

static void test_reframe_and_pause(void **state) {
        Link link;

        link_open(&link, *state);
        link.on_frame = reframe_and_pause;
        link_start(&link, &raw, &plain);
        peer_says_text(&link, "a\nb\n");
        turns(*state, 2);
        assert_frames(&link, "a\nb\n|");
        conn_resume(link.conn);
        turns(*state, 2);
        assert_frames(&link, "a\nb\n|a|b|");
        link_end(&link);
}

/* ---- the peer ends its side ------------------------------------------------------------------ */

static void test_eof_with_rest(void **state) {
        Link link;

        link_begin(&link, *state);
        peer_says_text(&link, "one\nunfinished");
        peer_ends(&link);
        turns(*state, 3);
        assert_frames(&link, "one|");
        assert_int_equal(link.n_eof, 1);
        assert_string_equal(buf_cstr(&link.rest), "unfinished");
        assert_int_equal(link.n_closed, 0); /* that is up to the handler */
        turns(*state, 3);
        assert_int_equal(link.n_eof, 1);
        assert_sleeps(*state);
        link_end(&link);
}

static void test_eof_at_once(void **state) {
        Link link;

        link_open(&link, *state);
        peer_goes(&link);
        link_start(&link, &lines, &plain);
        turns(*state, 2);
        assert_int_equal(link.n_eof, 1);
        assert_int_equal(link.rest.n, 0);
        link_end(&link);
}

/* All frames of a backlog come before the end. */
static void test_eof_behind_a_backlog(void **state) {
        char flood[CONN_TURN_FRAMES * 2 + 5];
        Link link;

        link_begin(&link, *state);
        memset(flood, '\n', sizeof(flood));
        peer_says(&link, flood, sizeof(flood));
        peer_ends(&link);
        for (int i = 0; i < 8; i++) {
                turns(*state, 1);
                assert_true(link.n_eof == 0 || link.n_frames == CONN_TURN_FRAMES * 2 + 5);
        }
        assert_int_equal(link.n_eof, 1);
        link_end(&link);
}

/* Who ends its side early still gets every answer. */
static void test_half_close_gets_answers(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = answer;
        link.n_answer = 10000;
        peer_says_text(&link, "a\nb\nc\n");
        peer_ends(&link);
        turns(bench, 4);
        assert_int_equal(link.n_eof, 1);
        assert_true(conn_pending(link.conn) > 0);
        hear_until(&link, 30000);
        assert_false(link.heard_end);
        assert_int_equal(conn_write(link.conn, STR("later")), 0); /* an answer that took its time */
        turns(bench, 2);
        hear_until(&link, 30005);
        assert_int_equal(link.n_eof, 1); /* not once more for every answer */
        conn_finish(link.conn, "done");
        turns(bench, 2);
        peer_hears(&link);
        assert_true(link.heard_end);
        assert_closed(&link, "done");
        link_end(&link);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void test_output_order(void **state) {
        Chunk *chunk = chunk_new(STR("[chunk]"));
        Link link;

        link_begin(&link, *state);
        assert_int_equal(conn_write(link.conn, STR("one,")), 0);
        assert_int_equal(conn_write_chunk(link.conn, chunk), 0);
        assert_int_equal(buf_append_str(conn_out(link.conn), STR("two")), 0);
        conn_flush_soon(link.conn);
        assert_int_equal(conn_pending(link.conn), 14);
        peer_hears(&link);
        assert_int_equal(link.heard.n, 0); /* once per turn */
        turns(*state, 1);
        peer_hears(&link);
        assert_string_equal(buf_cstr(&link.heard), "one,[chunk]two");
        assert_int_equal(conn_pending(link.conn), 0);
        assert_int_equal(chunk->n_refs, 1);
        conn_write_chunk(link.conn, chunk);
        link_end(&link);
        assert_int_equal(chunk->n_refs, 1); /* unsent, and released */
        chunk_unref(chunk);
}

/* The peer sends requests and takes no answers: reading stops at high water and goes on below low water. */
static void test_high_and_low_water(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 20000, .low_water = 5000};
        Link link;
        int n_stopped;

        link_open(&link, bench);
        link.on_frame = answer;
        link.n_answer = 1000;
        link_start(&link, &lines, &limits);
        for (int i = 0; i < 300; i++)
                peer_says_text(&link, "x\n");
        turns(bench, 50);
        n_stopped = link.n_frames;
        assert_in_range(n_stopped, 20, 60);
        assert_true(conn_pending(link.conn) <= 21000);
        peer_says_text(&link, "one more\n");
        turns(bench, 50);
        assert_int_equal(link.n_frames, n_stopped);
        assert_sleeps(bench);

        while (conn_pending(link.conn) > 5000 && link.n_frames == n_stopped) { /* slowly */
                char block[500];
                (void)!read(link.peer_in, block, sizeof(block));
                turns(bench, 1);
                if (conn_pending(link.conn) > 5000)
                        assert_int_equal(link.n_frames, n_stopped);
        }
        turns(bench, 2);
        assert_true(link.n_frames > n_stopped);
        for (int i = 0; i < 1000; i++) {
                peer_hears(&link);
                turns(bench, 1);
        }
        assert_int_equal(link.n_frames, 301);
        assert_int_equal(conn_pending(link.conn), 0);
        link_end(&link);
}

static void want_more(Link *link) {
        if (link->n_drained < 20) {
                link->n_answer = 7000;
                answer(link, STR_NULL);
                conn_want_drained(link->conn);
        }
}

/* A long stream in pieces: each is written when the one before it is nearly gone, and never more. */
static void test_drained(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 20000, .low_water = 5000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        link.n_answer = 30000;
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(bench, 3);
        assert_int_equal(link.n_drained, 0); /* nobody asked */
        link.on_drained = want_more;
        conn_want_drained(link.conn);
        turns(bench, 5);
        assert_int_equal(link.n_drained, 0); /* far above low water */
        assert_sleeps(bench);
        for (int i = 0; i < 2000 && link.heard.n < 30000 + 19 * 7000; i++) {
                char block[500];
                ssize_t k = read(link.peer_in, block, sizeof(block));
                assert_int_equal(buf_append(&link.heard, block, (size_t)MAX(k, 0)), 0);
                turns(bench, 1);
                assert_true(link.n_drained == 0 || conn_pending(link.conn) <= 5000 + 7000);
        }
        turns(bench, 3);
        assert_int_equal(link.n_drained, 20); /* once for each time it was asked for */
        peer_hears(&link);
        assert_int_equal(link.heard.n, 30000 + 19 * 7000);
        assert_sleeps(bench);
        link_end(&link);
}

static void abort_when_drained(Link *link) {
        conn_abort(link->conn, "aborted");
}

static void test_abort_inside_drained(void **state) {
        Link link;

        link_begin(&link, *state);
        link.on_drained = abort_when_drained;
        conn_want_drained(link.conn);
        turns(*state, 2);
        assert_int_equal(link.n_drained, 1);
        assert_closed(&link, "aborted");
        link_end(&link);
}

static void finish_when_drained(Link *link) {
        assert_int_equal(conn_write(link->conn, STR("the last piece")), 0);
        conn_finish(link->conn, "finished");
}

static void test_finish_inside_drained(void **state) {
        Link link;

        link_begin(&link, *state);
        link.on_drained = finish_when_drained;
        conn_want_drained(link.conn);
        turns(*state, 3);
        peer_hears(&link);
        assert_string_equal(buf_cstr(&link.heard), "the last piece");
        assert_closed(&link, "finished");
        link_end(&link);
}

static void test_hard_limit(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .low_water = 500, .hard_limit = 100000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        link.n_answer = 90000;
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(bench, 2);
        assert_int_equal(link.n_closed, 0);
        link.n_answer = 100001 - conn_pending(link.conn);
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(bench, 1);
        assert_closed(&link, "slow reader");
        link_end(&link);
}

static void test_hard_limit_is_not_reached(void **state) {
        ConnLimits limits = {.high_water = 1000, .low_water = 500, .hard_limit = 100000};
        Link link;

        link_open(&link, *state);
        link_start(&link, &lines, &limits);
        link.n_answer = 60000;
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(*state, 2);
        link.n_answer = 100000 - conn_pending(link.conn); /* exactly */
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(*state, 2);
        assert_int_equal(link.n_closed, 0);
        link_end(&link);
}

static void test_peer_is_gone(void **state) {
        Link link;

        link_begin(&link, *state);
        conn_pause(link.conn);
        turns(*state, 1);
        peer_goes(&link);
        assert_int_equal(conn_write(link.conn, STR("x")), 0);
        turns(*state, 1);
        assert_closed(&link, "peer is gone");
        link_end(&link);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static void test_handshake_deadline(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .handshake_ms = 1000};
        Link late, early;

        link_open(&late, bench);
        link_start(&late, &lines, &limits);
        link_open(&early, bench);
        peer_says_text(&early, "there already\n");
        link_start(&early, &lines, &limits);
        peer_says_text(&late, "unfinished");
        turn_after(bench, 999);
        assert_int_equal(late.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&late, "handshake timeout");
        turn_after(bench, 1000000);
        assert_int_equal(early.n_closed, 0);
        link_end(&late);
        link_end(&early);
}

static void test_handshake_in_time(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .handshake_ms = 1000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        turn_after(bench, 999);
        peer_says_text(&link, "\n");
        turns(bench, 1);
        turn_after(bench, 1000000);
        assert_int_equal(link.n_closed, 0);
        link_end(&link);
}

/* What was only looked at to choose a framing is no frame yet. */
static void test_handshake_and_reframe(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .handshake_ms = 1000};
        Link link;

        link_open(&link, bench);
        link.on_frame = choose_framing;
        link_start(&link, &raw, &limits);
        peer_says_text(&link, "unfinished");
        turn_after(bench, 500);
        assert_int_equal(link.n_frames, 1);
        turn_after(bench, 500);
        assert_closed(&link, "handshake timeout");
        link_end(&link);
}

static void test_idle_deadline(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .handshake_ms = 500, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        turn_after(bench, 400);
        peer_says_text(&link, "hello\n");
        turns(bench, 1);
        for (int i = 0; i < 10; i++) {
                turn_after(bench, 900);
                assert_int_equal(link.n_closed, 0);
                peer_says_text(&link, "."); /* any byte counts */
                turns(bench, 1);
        }
        turn_after(bench, 999);
        assert_int_equal(link.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&link, "idle");
        link_end(&link);
}

static void test_idle_without_handshake(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        peer_says_text(&link, "hello\n");
        link_start(&link, &lines, &limits);
        turn_after(bench, 999);
        assert_int_equal(link.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&link, "idle");
        link_end(&link);
}

/* No handshake deadline is asked for: an unfinished first frame may take as long as it keeps coming. */
static void test_idle_before_the_first_frame(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        for (int i = 0; i < 5; i++) {
                turn_after(bench, 900);
                assert_int_equal(link.n_closed, 0);
                peer_says_text(&link, ".");
                turns(bench, 1);
        }
        turn_after(bench, 1000);
        assert_closed(&link, "idle");
        link_end(&link);
}

/* Silence is counted from the last byte, not from the end of a longer handshake deadline. */
static void test_idle_shorter_than_handshake(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .handshake_ms = 60000, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        turn_after(bench, 5000);
        assert_int_equal(link.n_closed, 0);
        peer_says_text(&link, "hello\n");
        turns(bench, 1);
        turn_after(bench, 999);
        assert_int_equal(link.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&link, "idle");
        link_end(&link);
}

/* Bytes that are queued for a peer that takes none are not bytes in either direction. */
static void test_idle_ignores_a_stuck_queue(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        link.n_answer = 100000;
        link_start(&link, &lines, &limits);
        peer_says_text(&link, "hello\n");
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(bench, 2);
        assert_true(conn_pending(link.conn) > 0);
        for (int i = 0; i < 4; i++) {
                assert_int_equal(link.n_closed, 0);
                assert_int_equal(conn_write(link.conn, STR("event")), 0);
                turn_after(bench, 250);
        }
        assert_closed(&link, "idle");
        link_end(&link);
}

/* Bytes that the peer takes count, too: it may only be listening. */
static void test_idle_counts_output(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .idle_ms = 1000};
        Link link;

        link_open(&link, bench);
        peer_says_text(&link, "hello\n");
        link_start(&link, &lines, &limits);
        for (int i = 0; i < 5; i++) {
                turn_after(bench, 900);
                assert_int_equal(link.n_closed, 0);
                assert_int_equal(conn_write(link.conn, STR("event")), 0);
                turns(bench, 1);
                peer_hears(&link);
        }
        turn_after(bench, 1000);
        assert_closed(&link, "idle");
        link_end(&link);
}

/* Limits that change later: none, and then one. */
static void test_idle_limit_changes(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 1000, .idle_ms = 1000}, none = {.high_water = 1000};
        Link link;

        link_open(&link, bench);
        link_start(&link, &lines, &limits);
        peer_says_text(&link, "hello\n");
        turns(bench, 1);
        conn_set_limits(link.conn, &none);
        turn_after(bench, 100000);
        assert_int_equal(link.n_closed, 0);
        conn_set_limits(link.conn, &limits); /* counts from here */
        turn_after(bench, 999);
        assert_int_equal(link.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&link, "idle");
        link_end(&link);
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void test_finish_sends_everything(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = finish_here;
        link.n_answer = 1 << 19;
        peer_says_text(&link, "x\n");
        turns(bench, 3);
        assert_true(conn_is_closing(link.conn));
        assert_int_equal(link.n_closed, 0);
        conn_finish(link.conn, "twice"); /* the first one counts */
        hear_until(&link, 1 << 19);
        turns(bench, 1);
        peer_hears(&link);
        assert_true(link.heard_end);
        assert_closed(&link, "finished");
        link_end(&link);
}

static void test_finish_from_outside(void **state) {
        Link link;

        link_begin(&link, *state);
        assert_int_equal(conn_write(link.conn, STR("bye")), 0);
        conn_finish(link.conn, "finished");
        assert_int_equal(link.n_closed, 0); /* deferred */
        turns(*state, 1);
        assert_closed(&link, "finished");
        peer_hears(&link);
        assert_string_equal(buf_cstr(&link.heard), "bye");
        link_end(&link);
}

/* Frames behind the one that finished are not handed out; the peer gets its answer nevertheless. */
static void test_finish_with_backlog(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = finish_here;
        link.n_answer = 5;
        peer_says_text(&link, "a\nb\nc\nd");
        turns(bench, 3);
        assert_frames(&link, "a|");
        assert_int_equal(link.n_closed, 0); /* lingers */
        peer_says_text(&link, "e\nf\n");
        turns(bench, 3);
        peer_hears(&link);
        assert_int_equal(link.heard.n, 5);
        assert_true(link.heard_end);
        assert_sleeps(bench);
        peer_goes(&link);
        turns(bench, 2);
        assert_closed(&link, "finished");
        assert_frames(&link, "a|");
        assert_int_equal(link.n_eof, 0);
        link_end(&link);
}

static void test_drain_limit(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = finish_here;
        link.n_answer = 1 << 19;
        peer_says_text(&link, "x\n");
        turns(bench, 3);
        turn_after(bench, CONN_DRAIN_MS / 2);
        peer_hears(&link); /* takes a little: that does not buy more time */
        turn_after(bench, CONN_DRAIN_MS / 2 - 1);
        assert_int_equal(link.n_closed, 0);
        assert_sleeps(bench);
        turn_after(bench, 1);
        assert_closed(&link, "finished");
        link_end(&link);
}

/* Nor does it keep the loop busy when frames are left that nobody will handle. */
static void test_drain_with_backlog_sleeps(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = finish_here;
        link.n_answer = 1 << 19;
        peer_says_text(&link, "x\ny\n");
        turns(bench, 3);
        assert_sleeps(bench);
        turn_after(bench, CONN_DRAIN_MS);
        assert_closed(&link, "finished");
        link_end(&link);
}

/* A peer that writes all it has before it reads anything gets the answers that were queued for it. */
static void test_drain_reads_on(void **state) {
        Bench *bench = *state;
        _cleanup_(freep) char *block = calloc(1, 1 << 20);
        Link link;

        link_open(&link, bench);
        link_start(&link, &short_lines, &plain);
        link.on_frame = answer;
        link.n_answer = 50000;
        link.on_oversize = refuse;
        peer_says_text(&link, "x\n");
        turns(bench, 2);
        peer_says(&link, block, 1 << 20);
        hear_until(&link, 50008);
        link_end(&link);
}

/* The peer writes on long after its line was found too long, and only then reads: the answer is there. */
static void test_oversize_lingers(void **state) {
        Bench *bench = *state;
        _cleanup_(freep) char *block = malloc(1 << 20);
        Link link;

        memset(block, 'x', 1 << 20);
        link_open(&link, bench);
        link_start(&link, &short_lines, &plain);
        link.on_oversize = refuse;
        peer_says_text(&link, "fine\n");
        peer_says(&link, block, 100);
        turns(bench, 2);
        assert_int_equal(link.n_oversize, 0); /* exactly at the limit */
        peer_says(&link, block, 1 << 20);
        peer_says_text(&link, "\nnot any more\n");
        turns(bench, 20);
        assert_int_equal(link.n_oversize, 1);
        assert_frames(&link, "fine|");
        assert_int_equal(link.n_closed, 0);
        peer_hears(&link);
        assert_string_equal(buf_cstr(&link.heard), "too long");
        assert_true(link.heard_end);
        assert_int_equal(link.hear_error, 0);
        peer_ends(&link);
        turns(bench, 2);
        assert_closed(&link, "oversize");
        link_end(&link);
}

static void test_linger_limits(void **state) {
        Bench *bench = *state;
        _cleanup_(freep) char *block = malloc(1 << 16);
        size_t n = 0;
        ssize_t k;
        Link slow, endless;

        memset(block, 'x', 1 << 16);
        link_open(&slow, bench);
        link_start(&slow, &short_lines, &plain);
        slow.on_oversize = refuse;
        peer_says(&slow, block, 200);
        turns(bench, 2);
        turn_after(bench, CONN_LINGER_MS - 1);
        assert_int_equal(slow.n_closed, 0);
        turn_after(bench, 1);
        assert_closed(&slow, "oversize");
        link_end(&slow);

        link_open(&endless, bench);
        link_start(&endless, &short_lines, &plain);
        endless.on_oversize = refuse;
        signal(SIGPIPE, SIG_IGN);
        while (!endless.n_closed && n < 2u * CONN_LINGER_BYTES) {
                k = write(endless.peer_out, block, 1 << 16);
                n += (size_t)MAX(k, 0);
                turns(bench, 1);
        }
        signal(SIGPIPE, SIG_DFL);
        assert_in_range(n, CONN_LINGER_BYTES, CONN_LINGER_BYTES + (4 << 20));
        assert_closed(&endless, "oversize");
        link_end(&endless);
}

/* While it lingers, the end of the peer's side ends it, even if an answer is still owed and input is paused.
 */
static void test_linger_of_a_paused_one(void **state) {
        Bench *bench = *state;
        Link link;

        link_begin(&link, bench);
        link.on_frame = pause_here;
        peer_says_text(&link, "a\nb\n");
        turns(bench, 2);
        conn_finish(link.conn, "finished");
        turns(bench, 2);
        assert_int_equal(link.n_closed, 0);
        peer_goes(&link);
        turns(bench, 3);
        assert_closed(&link, "finished");
        link_end(&link);
}

/* A handler may let an oversize pass; what follows must not be read from beyond the input. */
static void test_oversize_not_finished(void **state) {
        char block[300];
        Link link;

        memset(block, 'x', sizeof(block));
        link_open(&link, *state);
        link_start(&link, &short_lines, &plain);
        peer_says(&link, block, sizeof(block));
        turns(*state, 1);
        assert_int_equal(link.n_oversize, 1);
        peer_says_text(&link, "a\nb\n");
        turns(*state, 1);
        assert_frames(&link, "a|b|");
        link_end(&link);
}

static void test_abort_inside_the_frame(void **state) {
        Link link;

        link_begin(&link, *state);
        link.on_frame = abort_here;
        peer_says_text(&link, "a\nb\nc\n");
        turns(*state, 1);
        assert_frames(&link, "a|");
        assert_closed(&link, "aborted");
        peer_hears(&link);
        turns(*state, 2);
        link_end(&link);
}

static void test_abort_inside_start(void **state) {
        Link link;

        link_open(&link, *state);
        link.on_frame = abort_here;
        peer_says_text(&link, "a\nb\n");
        link_start(&link, &lines, &plain);
        turns(*state, 1);
        assert_frames(&link, "a|");
        assert_closed(&link, "aborted");
        link_end(&link);
}

static void abort_at_eof(Link *link) {
        conn_abort(link->conn, "aborted at the end");
}

static void test_abort_inside_eof(void **state) {
        Link link;

        link_begin(&link, *state);
        link.on_eof = abort_at_eof;
        peer_ends(&link);
        turns(*state, 2);
        assert_closed(&link, "aborted at the end");
        link_end(&link);
}

/* Both have input in the same turn; whichever comes first closes the other, which then gets nothing. */
static void test_abort_from_another(void **state) {
        Link a, b;

        link_begin(&a, *state);
        link_begin(&b, *state);
        a.on_frame = b.on_frame = abort_other;
        a.other = &b;
        b.other = &a;
        peer_says_text(&a, "x\n");
        peer_says_text(&b, "x\n");
        turns(*state, 1);
        assert_int_equal(a.n_frames + b.n_frames, 1);
        turns(*state, 1);
        assert_int_equal(a.n_closed + b.n_closed, 1);
        assert_closed(a.n_closed ? &a : &b, "aborted by the other");
        link_end(&a);
        link_end(&b);
}

/* One whose backlog is waiting for the next turn. */
static void test_abort_with_backlog(void **state) {
        char flood[CONN_TURN_FRAMES * 2];
        Link a, b;

        link_begin(&a, *state);
        link_begin(&b, *state);
        memset(flood, '\n', sizeof(flood));
        peer_says(&a, flood, sizeof(flood));
        turns(*state, 1);
        assert_int_equal(a.n_frames, CONN_TURN_FRAMES);
        conn_abort(a.conn, "aborted");
        assert_true(conn_is_closing(a.conn));
        turns(*state, 2);
        assert_int_equal(a.n_frames, CONN_TURN_FRAMES);
        assert_closed(&a, "aborted");
        link_end(&a);
        link_end(&b);
}

/* Nobody is told: there is no handler yet. */
static void test_abort_before_start(void **state) {
        Bench *bench = *state;
        Link a, b;

        link_open(&a, bench);
        link_open(&b, bench);
        assert_int_equal(bench->shared.n_open, 2);
        conn_abort(a.conn, "never mind");
        conn_finish(b.conn, "never mind");
        turns(bench, 2);
        assert_int_equal(bench->shared.n_open, 0);
        assert_int_equal(a.n_closed + b.n_closed, 0);
        peer_goes(&a);
        peer_goes(&b);
}

static void test_finish_and_abort(void **state) {
        Link link;

        link_begin(&link, *state);
        link.n_answer = 1 << 19;
        answer(&link, STR_NULL);
        conn_finish(link.conn, "finished");
        turns(*state, 2);
        conn_abort(link.conn, "aborted"); /* did not take its last bytes */
        conn_finish(link.conn, "too late");
        conn_abort(link.conn, "too late");
        turns(*state, 2);
        assert_closed(&link, "aborted");
        link_end(&link);
}

/* ---- pipes and files ------------------------------------------------------------------------- */

static void test_pipes(void **state) {
        Bench *bench = *state;
        Link link;

        link_open_pipes(&link, bench);
        link.on_frame = echo;
        link_start(&link, &lines, &plain);
        peer_says_text(&link, "hello\n");
        turns(bench, 1);
        hear_until(&link, 5);
        link.on_frame = answer;
        link.n_answer = 100000;
        peer_says_text(&link, "x\n"); /* more than the pipe takes */
        turns(bench, 3);
        assert_true(conn_pending(link.conn) > 0);
        assert_sleeps(bench);
        hear_until(&link, 100005);
        peer_says_text(&link, "rest");
        peer_ends(&link);
        turns(bench, 2);
        assert_int_equal(link.n_eof, 1);
        assert_string_equal(buf_cstr(&link.rest), "rest");
        assert_int_equal(conn_write(link.conn, STR("bye")), 0); /* the other pipe is still there */
        conn_finish(link.conn, "finished");
        turns(bench, 2);
        assert_closed(&link, "finished");
        hear_until(&link, 100008);
        peer_hears(&link);
        assert_true(link.heard_end);
        link_end(&link);
}

static void test_pipe_without_reader(void **state) {
        Bench *bench = *state;
        Link link;

        signal(SIGPIPE, SIG_IGN);
        link_open_pipes(&link, bench);
        link_start(&link, &lines, &plain);
        link.n_answer = 100000;
        answer(&link, STR_NULL);
        conn_flush_soon(link.conn);
        turns(bench, 2);
        link.peer_in = close_fd(link.peer_in); /* while we wait for room */
        turns(bench, 2);
        assert_closed(&link, "peer is gone");
        link_end(&link);
        signal(SIGPIPE, SIG_DFL);
}

static int make_file(const char *content, size_t n) {
        char path[] = "/tmp/test-conn.XXXXXX";
        int fd = mkostemp(path, O_CLOEXEC);

        assert_true(fd >= 0);
        unlink(path);
        assert_int_equal(write(fd, content, n), n);
        lseek(fd, 0, SEEK_SET);
        return fd;
}

/* musterd < requests > answers */
static void test_regular_files(void **state) {
        Bench *bench = *state;
        _cleanup_(buf_deinit) Buf content = BUF_NULL;
        char answers[16] = {0};
        Link link = {0};
        int in, out = make_file("", 0), keep;

        for (int i = 0; i < 1000; i++)
                assert_int_equal(buf_printf(&content, "%d\n", i), 0);
        assert_int_equal(buf_printf(&content, "rest"), 0);
        in = make_file(content.data, content.n);
        keep = dup(out);
        link.peer_in = link.peer_out = -1;
        link_new(&link, bench, in, out);
        link.on_frame = echo;
        link_start(&link, &lines, &plain);
        assert_int_equal(link.n_frames, CONN_TURN_FRAMES);
        turns(bench, 1);
        assert_int_equal(link.n_frames, 2 * CONN_TURN_FRAMES);
        conn_pause(link.conn);
        turns(bench, 5);
        assert_int_equal(link.n_frames, 2 * CONN_TURN_FRAMES);
        assert_sleeps(bench);
        conn_resume(link.conn);
        turns(bench, 30);
        assert_int_equal(link.n_frames, 1000);
        assert_int_equal(link.n_eof, 1);
        assert_string_equal(buf_cstr(&link.rest), "rest");
        assert_sleeps(bench);
        conn_finish(link.conn, "finished");
        turns(bench, 2);
        assert_closed(&link, "finished");
        assert_int_equal(pread(keep, answers, 15, 0), 15);
        assert_string_equal(answers, "012345678910111");
        assert_int_equal(lseek(keep, 0, SEEK_END), 2890);
        close(keep);
        link_end(&link);
}

/* A file is read without being asked for; its end must wait for the answer that is owed nevertheless. */
static void test_regular_file_ends_while_paused(void **state) {
        Bench *bench = *state;
        Link link = {0};
        int out[2];

        assert_int_equal(pipe2(out, O_NONBLOCK | O_CLOEXEC), 0);
        link.peer_in = out[0];
        link.peer_out = -1;
        link_new(&link, bench, make_file("a\n", 2), out[1]);
        link.on_frame = pause_here;
        link_start(&link, &lines, &plain);
        for (int i = 0; i < 3; i++) {
                assert_int_equal(conn_write(link.conn, STR("progress")), 0);
                turns(bench, 2);
        }
        assert_int_equal(link.n_eof, 0);
        conn_resume(link.conn);
        turns(bench, 2);
        assert_int_equal(link.n_eof, 1);
        link_end(&link);
}

/* A file as input and a slow pipe as output: high water stops the file, too. */
static void test_regular_file_and_high_water(void **state) {
        Bench *bench = *state;
        ConnLimits limits = {.high_water = 20000, .low_water = 5000};
        char content[1000];
        Link link = {0};
        int out[2], n_stopped;

        memset(content, '\n', sizeof(content));
        assert_int_equal(pipe2(out, O_NONBLOCK | O_CLOEXEC), 0);
        link.peer_in = out[0];
        link.peer_out = -1;
        link_new(&link, bench, make_file(content, sizeof(content)), out[1]);
        link.on_frame = answer;
        link.n_answer = 1000;
        link_start(&link, &lines, &limits);
        turns(bench, 20);
        n_stopped = link.n_frames;
        assert_in_range(n_stopped, 20, 200);
        turns(bench, 20);
        assert_int_equal(link.n_frames, n_stopped);
        assert_sleeps(bench);
        hear_until(&link, 1000000);
        assert_int_equal(link.n_frames, 1000);
        turns(bench, 2);
        assert_int_equal(link.n_eof, 1);
        link_end(&link);
}

/* ---- accounts -------------------------------------------------------------------------------- */

static void test_account(void **state) {
        Accounts accounts = {.max_conns = 2, .max_bytes = 10};
        Account *a, *b, *c;

        (void)state;
        assert_int_equal(account_open(&accounts, false, 1, &a), 0);
        assert_int_equal(account_open(&accounts, false, 1, &b), 0);
        assert_ptr_equal(a, b);
        assert_int_equal(account_open(&accounts, false, 1, &c), ACCOUNT_E_QUOTA);
        assert_int_equal(account_open(&accounts, true, 1, &c), 0); /* a host, not a user */
        assert_ptr_not_equal(a, c);
        assert_null(account_close(a));
        assert_int_equal(account_open(&accounts, false, 1, &b), 0);
        assert_ptr_equal(a, b);
        a->n_bytes = 10;
        assert_true(account_has_room(a));
        a->n_bytes = 11;
        assert_false(account_has_room(a));
        accounts.max_bytes = 0;
        assert_true(account_has_room(a));
        assert_null(account_close(NULL));
        account_close(a);
        account_close(a);
        account_close(c);
        accounts_deinit(&accounts);
        assert_null(accounts.first);
}

static void test_charges(void **state) {
        Bench *bench = *state;
        char block[5000];
        Link a, b;

        memset(block, 'x', sizeof(block));
        link_begin(&a, bench);
        link_begin(&b, bench);
        assert_ptr_equal(a.account, b.account);
        assert_int_equal(a.account->n_conns, 2);
        peer_says(&a, block, sizeof(block));
        peer_says(&b, block, sizeof(block));
        turns(bench, 1);
        assert_in_range(a.account->n_bytes, 10000, 20000);
        peer_says_text(&a, "\n");
        peer_says_text(&b, "\n");
        turns(bench, 1);
        assert_int_equal(a.account->n_bytes, 0);
        a.n_answer = 1 << 19;
        answer(&a, STR_NULL);
        conn_flush_soon(a.conn);
        turns(bench, 1);
        assert_int_equal(a.account->n_bytes, conn_pending(a.conn));
        hear_until(&a, 1 << 19);
        assert_int_equal(a.account->n_bytes, 0);
        answer(&a, STR_NULL);
        conn_flush_soon(a.conn);
        turns(bench, 1);
        link_end(&a); /* with output that was never sent */
        assert_int_equal(b.account->n_bytes, 0);
        assert_int_equal(b.account->n_conns, 1);
        link_end(&b);
}

static void test_quota(void **state) {
        Bench *bench = *state;
        char block[5000];
        Link a, b;

        memset(block, 'x', sizeof(block));
        bench->accounts.max_bytes = 12000;
        link_begin(&a, bench);
        link_begin(&b, bench);
        peer_says(&a, block, sizeof(block));
        peer_says(&b, block, sizeof(block));
        turns(bench, 2);
        assert_int_equal(a.n_closed + b.n_closed, 0);
        peer_says(&b, block, sizeof(block));
        turns(bench, 2);
        assert_int_equal(a.n_closed, 0);
        assert_closed(&b, "quota of the peer used up");
        assert_true(account_has_room(a.account));
        peer_says_text(&a, "\n");
        turns(bench, 2);
        assert_int_equal(a.n_frames, 1);
        link_end(&a);
        link_end(&b);
}

#define conn_test(name) cmocka_unit_test_setup_teardown(name, make_bench, check_bench)

int main(void) {
        const struct CMUnitTest tests[] = {
                conn_test(test_frames),
                conn_test(test_finish_inside_drained),
                conn_test(test_idle_before_the_first_frame),
                conn_test(test_idle_shorter_than_handshake),
                conn_test(test_idle_ignores_a_stuck_queue),
                conn_test(test_idle_limit_changes),
                conn_test(test_drain_with_backlog_sleeps),
                conn_test(test_drain_reads_on),
                conn_test(test_linger_of_a_paused_one),
                conn_test(test_oversize_not_finished),
                conn_test(test_pause_and_resume),
                conn_test(test_paused_input_is_bounded),
                conn_test(test_resume_inside_the_frame),
                conn_test(test_budget_per_turn),
                conn_test(test_budget_at_start),
                conn_test(test_large_frame),
                conn_test(test_set_framing),
                conn_test(test_reframe),
                conn_test(test_reframe_and_pause),
                conn_test(test_eof_with_rest),
                conn_test(test_eof_at_once),
                conn_test(test_eof_behind_a_backlog),
                conn_test(test_half_close_gets_answers),
                conn_test(test_output_order),
                conn_test(test_high_and_low_water),
                conn_test(test_drained),
                conn_test(test_abort_inside_drained),
                conn_test(test_hard_limit),
                conn_test(test_hard_limit_is_not_reached),
                conn_test(test_peer_is_gone),
                conn_test(test_handshake_deadline),
                conn_test(test_handshake_in_time),
                conn_test(test_handshake_and_reframe),
                conn_test(test_idle_deadline),
                conn_test(test_idle_without_handshake),
                conn_test(test_idle_counts_output),
                conn_test(test_finish_sends_everything),
                conn_test(test_finish_from_outside),
                conn_test(test_finish_with_backlog),
                conn_test(test_drain_limit),
                conn_test(test_oversize_lingers),
                conn_test(test_linger_limits),
                conn_test(test_abort_inside_the_frame),
                conn_test(test_abort_inside_start),
                conn_test(test_abort_inside_eof),
                conn_test(test_abort_from_another),
                conn_test(test_abort_with_backlog),
                conn_test(test_abort_before_start),
                conn_test(test_finish_and_abort),
                conn_test(test_pipes),
                conn_test(test_pipe_without_reader),
                conn_test(test_regular_files),
                conn_test(test_regular_file_ends_while_paused),
                conn_test(test_regular_file_and_high_water),
                cmocka_unit_test(test_account),
                conn_test(test_charges),
                conn_test(test_quota),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
