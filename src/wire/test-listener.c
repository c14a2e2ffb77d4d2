/* SPDX-License-Identifier: MIT */
#include "wire/listener.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test-cmocka.h"
#include "base/macro.h"
#include "wire/socket.h"

enum { N_CONNS = 200 };

/* A listener in a folder of its own, and what it handed out. */
typedef struct Bench {
        char folder[64];
        Loop *loop;
        Accounts accounts;
        ConnShared shared;
        Listener *listener;
        Conn *conns[N_CONNS]; /* not started */
        int n_conns;
        bool frees_listener; /* from inside the callback */
        bool wakes;          /* listener_wake() when a descriptor comes back */
        struct rlimit files;
} Bench;

static void on_fd_freed(void *user) {
        Bench *bench = user;

        if (bench->wakes && bench->listener)
                listener_wake(bench->listener);
}

static int make_bench(void **state) {
        Bench *bench = calloc(1, sizeof(*bench));

        strcpy(bench->folder, "/tmp/test-listener.XXXXXX");
        if (!mkdtemp(bench->folder) || chdir(bench->folder) || chmod(".", 0755) ||
            loop_new(&bench->loop, NULL))
                return -1;
        loop_clock_freeze(bench->loop, 0);
        bench->shared = (ConnShared){.loop = bench->loop, .fd_freed = on_fd_freed, .user = bench};
        bench->shared.read_buffer = malloc(CONN_READ_MAX);
        getrlimit(RLIMIT_NOFILE, &bench->files);
        *state = bench;
        return 0;
}

static int check_bench(void **state) {
        Bench *bench = *state;
        char command[128];

        setrlimit(RLIMIT_NOFILE, &bench->files);
        bench->listener = listener_free(bench->listener);
        for (int i = 0; i < bench->n_conns; i++)
                if (bench->conns[i])
                        conn_abort(bench->conns[i], "the test is over");
        loop_turn(bench->loop);
        assert_int_equal(bench->shared.n_open, 0);
        loop_free(bench->loop);
        accounts_deinit(&bench->accounts);
        free(bench->shared.read_buffer);
        snprintf(command, sizeof(command), "rm -rf %s", bench->folder);
        free(bench);
        return chdir("/") == 0 && system(command) == 0 ? 0 : -1;
}

static void on_connection(void *user, Conn *conn) {
        Bench *bench = user;

        assert_true(bench->n_conns < N_CONNS);
        bench->conns[bench->n_conns++] = conn;
        if (bench->frees_listener)
                bench->listener = listener_free(bench->listener);
}

static void listen_with(Bench *bench, int fd, bool same_uid_only) {
        ListenerOptions options = {.name = "test",
                                   .same_uid_only = same_uid_only,
                                   .accounts = &bench->accounts,
                                   .shared = &bench->shared};

        assert_int_equal(listener_new(&bench->listener, fd, &options, on_connection, bench), 0);
}

static void listen_here(Bench *bench) {
        int fd;

        assert_int_equal(socket_listen_unix("sock", 0666, &fd), 0);
        listen_with(bench, fd, false);
}

static void turns(Bench *bench, int n) {
        while (n--)
                loop_turn(bench->loop);
}

static int connect_here(void) {
        int fd;

        assert_int_equal(socket_connect_unix("sock", 0, &fd), 0);
        return fd;
}

/* Whether the other side has closed. */
static bool is_closed(int fd) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        char byte;

        return poll(&p, 1, 0) == 1 && read(fd, &byte, 1) == 0;
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

static void assert_sleeps(Bench *bench) {
        double begin = cpu_ms();
        pthread_t thread;

        assert_int_equal(pthread_create(&thread, NULL, stop_soon, bench->loop), 0);
        loop_run(bench->loop);
        pthread_join(thread, NULL);
        assert_true(cpu_ms() - begin < 30);
}

static mode_t mode_of(const char *path) {
        struct stat st;

        assert_int_equal(lstat(path, &st), 0);
        return st.st_mode & 07777;
}

static void assert_state(const char *path, SocketState want) {
        SocketState state = 99;

        assert_int_equal(socket_probe(path, &state, NULL), 0);
        assert_int_equal(state, want);
}

/* ---- listener -------------------------------------------------------------------------------- */

static void test_accept(void **state) {
        Bench *bench = *state;
        int a, b;

        listen_here(bench);
        turns(bench, 2);
        assert_int_equal(bench->n_conns, 0);
        a = connect_here();
        b = connect_here();
        turns(bench, 1); /* all that are waiting */
        assert_int_equal(bench->n_conns, 2);
        assert_int_equal(conn_peer(bench->conns[0])->uid, geteuid());
        assert_int_equal(conn_peer(bench->conns[0])->pid, getpid());
        assert_false(conn_peer(bench->conns[0])->is_remote);
        assert_int_equal(bench->accounts.first->n_conns, 2);
        assert_null(bench->accounts.first->next);
        assert_int_equal(bench->shared.n_accepted, 2);
        assert_false(is_closed(a));
        assert_sleeps(bench);
        close(a);
        close(b);
}

/* A crowd does not keep the loop for itself. */
static void test_accept_in_slices(void **state) {
        Bench *bench = *state;
        int fds[100];

        listen_here(bench);
        for (int i = 0; i < 100; i++)
                fds[i] = connect_here();
        turns(bench, 1);
        assert_int_equal(bench->n_conns, 64);
        turns(bench, 1);
        assert_int_equal(bench->n_conns, 100);
        for (int i = 0; i < 100; i++)
                close(fds[i]);
}

static void test_accept_tcp(void **state) {
        Bench *bench = *state;
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        uint16_t port = 0, other;
        int fd, client, second;

        assert_int_equal(socket_listen_tcp("127.0.0.1", 0, &fd, &port), 0);
        assert_int_not_equal(port, 0);
        assert_int_equal(socket_listen_tcp("127.0.0.1", port, &second, &other), -EADDRINUSE);
        listen_with(bench, fd, true); /* which is about Unix sockets only */
        client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        address.sin_port = htons(port);
        assert_int_equal(connect(client, (struct sockaddr *)&address, sizeof(address)), 0);
        turns(bench, 2);
        assert_int_equal(bench->n_conns, 1);
        assert_true(conn_peer(bench->conns[0])->is_remote);
        assert_int_equal(conn_peer(bench->conns[0])->address, INADDR_LOOPBACK);
        assert_true(bench->accounts.first->is_remote);
        close(client);
        assert_int_equal(socket_listen_tcp("localhost", 0, &fd, &port), -EINVAL); /* addresses, not names */
        assert_int_equal(socket_listen_tcp("", 0, &fd, &port), -EINVAL);
}

static int connect_tcp(const char *to, uint16_t port) {
        struct sockaddr_storage address;
        socklen_t n = address_parse(to, port, &address);
        int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        assert_true(n && fd >= 0);
        assert_int_equal(connect(fd, (struct sockaddr *)&address, n), 0);
        return fd;
}

static void assert_peer(const Conn *conn, const char *address) {
        char text[ADDRESS_TEXT_MAX];

        address_text(&conn_peer(conn)->ip, text);
        assert_string_equal(text, address);
        assert_true(conn_peer(conn)->is_remote && conn_peer(conn)->is_local_tcp);
        assert_int_equal(conn_peer(conn)->uid, geteuid());
}

/* By IPv6; whose the other end is, is known here as well. */
static void test_accept_tcp6(void **state) {
        Bench *bench = *state;
        uint16_t port = 0, other;
        int fd, client, second;
        int r = socket_listen_tcp("::1", 0, &fd, &port);

        if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL) {
                print_message("left out: there is no IPv6 here\n");
                return;
        }
        assert_int_equal(r, 0);
        assert_int_equal(socket_listen_tcp("::1", port, &second, &other), -EADDRINUSE);
        listen_with(bench, fd, true);
        client = connect_tcp("::1", port);
        turns(bench, 2);
        assert_int_equal(bench->n_conns, 1);
        assert_peer(bench->conns[0], "::1");
        assert_true(bench->accounts.first->is_remote);
        conn_abort(bench->conns[0], "over");
        bench->conns[0] = NULL;
        turns(bench, 2);
        assert_null(bench->accounts.first); /* of hosts there may be any number: none stays */
        close(client);
        assert_int_equal(socket_listen_tcp("[::1]", 0, &fd, &port), -EINVAL);
        assert_int_equal(socket_listen_tcp("::1%lo", 0, &fd, &port), -EINVAL);
}

/* "::" takes both kinds, and an IPv4 peer is the same as at a socket of its own kind. */
static void test_accept_both(void **state) {
        Bench *bench = *state;
        uint16_t port = 0;
        int fd, six, four, mapped;

        if (socket_listen_tcp("::", 0, &fd, &port)) {
                print_message("left out: there is no IPv6 here\n");
                return;
        }
        listen_with(bench, fd, true);
        six = connect_tcp("::1", port);
        turns(bench, 2);
        four = connect_tcp("127.0.0.1", port);
        turns(bench, 2);
        mapped = connect_tcp("::ffff:127.0.0.1", port);
        turns(bench, 2);
        assert_int_equal(bench->n_conns, 3);
        assert_peer(bench->conns[0], "::1");
        assert_peer(bench->conns[1], "127.0.0.1");
        assert_peer(bench->conns[2], "127.0.0.1");
        assert_int_equal(conn_peer(bench->conns[1])->address, INADDR_LOOPBACK);
        assert_int_equal(bench->accounts.first->n_conns, 2); /* of 127.0.0.1, which came last */
        close(six);
        close(four);
        close(mapped);
}

static void test_quota(void **state) {
        Bench *bench = *state;
        int a, b, c;

        bench->accounts.max_conns = 2;
        listen_here(bench);
        a = connect_here();
        b = connect_here();
        c = connect_here();
        turns(bench, 1);
        assert_int_equal(bench->n_conns, 2);
        assert_true(is_closed(c));
        assert_false(is_closed(a) || is_closed(b));
        conn_abort(bench->conns[0], "makes room");
        bench->conns[0] = NULL;
        turns(bench, 1);
        close(c);
        c = connect_here();
        turns(bench, 1);
        assert_int_equal(bench->n_conns, 3);
        assert_false(is_closed(c));
        close(a);
        close(b);
        close(c);
}

/* From here on exactly n more descriptors can be had. */
static void leave_descriptors(int n) {
        struct rlimit limit;
        int fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest free number */

        assert_true(fd >= 0);
        close(fd);
        getrlimit(RLIMIT_NOFILE, &limit);
        limit.rlim_cur = (rlim_t)(fd + n);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_out_of_descriptors(void **state) {
        Bench *bench = *state;
        int fds[4];

        bench->wakes = true;
        listen_here(bench);
        for (int i = 0; i < 4; i++)
                fds[i] = connect_here();
        leave_descriptors(1);
        turns(bench, 3);
        assert_int_equal(bench->n_conns, 1);
        assert_sleeps(bench); /* though connections are waiting */
        conn_abort(bench->conns[0], "gives its descriptor back");
        bench->conns[0] = NULL;
        turns(bench, 3);
        assert_int_equal(bench->n_conns, 2);
        turns(bench, 3);
        assert_int_equal(bench->n_conns, 2);

        setrlimit(RLIMIT_NOFILE, &bench->files); /* without a word to the listener: it looks by itself */
        turns(bench, 3);
        assert_int_equal(bench->n_conns, 2);
        loop_clock_advance(bench->loop, 1000);
        turns(bench, 2);
        assert_int_equal(bench->n_conns, 4);
        for (int i = 0; i < 4; i++)
                close(fds[i]);
}

static void test_freed_while_out_of_descriptors(void **state) {
        Bench *bench = *state;
        int fd;

        listen_here(bench);
        fd = connect_here();
        leave_descriptors(0);
        turns(bench, 2);
        assert_int_equal(bench->n_conns, 0);
        assert_null(listener_free(bench->listener));
        bench->listener = NULL;
        loop_clock_advance(bench->loop, 5000);
        turns(bench, 3);
        assert_int_equal(bench->n_conns, 0);
        assert_true(is_closed(fd) || errno == ECONNRESET);
        close(fd);
        assert_null(listener_free(NULL));
}

/* A request that arrived with the connection may be the one that stops the listener. */
static void test_freed_in_its_callback(void **state) {
        Bench *bench = *state;
        int a, b;

        bench->frees_listener = true;
        listen_here(bench);
        a = connect_here();
        b = connect_here();
        turns(bench, 3);
        assert_int_equal(bench->n_conns, 1);
        assert_null(bench->listener);
        close(a);
        close(b);
}

static void test_wake_changes_nothing_when_not_paused(void **state) {
        Bench *bench = *state;
        int fd;

        listen_here(bench);
        listener_wake(bench->listener);
        fd = connect_here();
        turns(bench, 1);
        assert_int_equal(bench->n_conns, 1);
        close(fd);
}

/* Connects as another user; exits with 0 when it was let in, 1 when the connection was closed. */
/* In a child. It stays until the listener closes its connection or, with the pipe, until it is called off.
 */
static pid_t connect_as(uid_t uid, const int off[2]) {
        struct pollfd p[2] = {{.events = POLLIN}, {.fd = off[0], .events = POLLIN}};
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid)
                return pid;
        close(off[1]);
        if (setuid(uid) || socket_connect_unix("sock", 0, &p[0].fd) || poll(p, 2, -1) < 1)
                _exit(2);
        _exit(p[0].revents ? 1 : 0);
}

/* Whether a connection of this user becomes one of ours; the other end must see the same. */
static bool is_let_in(Bench *bench, uid_t uid) {
        int off[2], status, n_before = bench->n_conns;
        pid_t pid, ended = 0;
        bool is_in;

        assert_int_equal(pipe2(off, O_CLOEXEC), 0);
        pid = connect_as(uid, off);
        while (bench->n_conns == n_before && !(ended = waitpid(pid, &status, WNOHANG)))
                turns(bench, 1);
        is_in = bench->n_conns > n_before;
        close(off[1]); /* hangs up */
        if (!ended)
                assert_int_equal(waitpid(pid, &status, 0), pid);
        close(off[0]);
        assert_int_equal(WEXITSTATUS(status), is_in ? 0 : 1);
        return is_in;
}

static void test_other_users(void **state) {
        Bench *bench = *state;
        int fd;

        if (geteuid() != 0)
                skip();
        listen_here(bench);
        assert_true(is_let_in(bench, 65534));
        assert_int_equal(bench->n_conns, 1);
        assert_int_equal(conn_peer(bench->conns[0])->uid, 65534);
        bench->listener = listener_free(bench->listener);
        unlink("sock");

        assert_int_equal(socket_listen_unix("sock", 0666, &fd), 0);
        listen_with(bench, fd, true);
        assert_false(is_let_in(bench, 65534));
        assert_int_equal(bench->n_conns, 1);
        assert_true(is_let_in(bench, 0));
        assert_int_equal(bench->n_conns, 2);
}

/* ---- sockets --------------------------------------------------------------------------------- */

static void test_probe_absent_live_stale(void **state) {
        int fd, full, fds[8];

        (void)state;
        assert_state("sock", SOCKET_ABSENT);
        assert_state("no/such/folder", SOCKET_ABSENT);
        assert_int_equal(socket_listen_unix("sock", 0600, &fd), 0);
        assert_state("sock", SOCKET_LIVE);
        assert_state("sock/below", SOCKET_ABSENT);
        close(fd);
        assert_state("sock", SOCKET_STALE);
        assert_int_equal(access("sock", F_OK), 0); /* looking removes nothing */

        assert_int_equal(socket_listen_unix("full", 0600, &full), 0); /* a queue that takes no more */
        assert_int_equal(listen(full, 0), 0);
        int n = 0;
        while (n < 8 && socket_connect_unix("full", SOCK_NONBLOCK, &fds[n]) == 0)
                n++;
        assert_in_range(n, 1, 7);
        assert_state("full", SOCKET_LIVE);
        while (n--)
                close(fds[n]);
        close(full);
}

static void test_probe_alien(void **state) {
        int fd;

        (void)state;
        close(open("file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
        assert_state("file", SOCKET_ALIEN);
        assert_int_equal(mkdir("folder", 0700), 0);
        assert_state("folder", SOCKET_ALIEN);
        assert_int_equal(mkfifo("fifo", 0600), 0);
        assert_state("fifo", SOCKET_ALIEN);
        assert_int_equal(socket_listen_unix("sock", 0600, &fd), 0);
        assert_int_equal(symlink("sock", "link"), 0);
        assert_state("link", SOCKET_ALIEN); /* even one to a live socket */
        assert_int_equal(symlink("nothing", "dangling"), 0);
        assert_state("dangling", SOCKET_ALIEN);
        if (geteuid() == 0) { /* another user's, live or not */
                assert_int_equal(chown("sock", 65534, 65534), 0);
                assert_state("sock", SOCKET_ALIEN);
        }
        close(fd);
}

static void test_listen_modes(void **state) {
        static const mode_t modes[] = {0600, 0660, 0666, 0700};
        static const mode_t umasks[] = {0, 022, 077, 0777};
        int fd;

        (void)state;
        for (size_t i = 0; i < ARRAY_SIZE(modes); i++)
                for (size_t k = 0; k < ARRAY_SIZE(umasks); k++) {
                        mode_t old = umask(umasks[k]);
                        assert_int_equal(socket_listen_unix("sock", modes[i], &fd), 0);
                        assert_int_equal(umask(old), umasks[k]); /* as it was */
                        assert_int_equal(mode_of("sock"), modes[i]);
                        assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
                        assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
                        close(fd);
                        unlink("sock");
                }
}

static void test_listen_where_something_is(void **state) {
        int fd, other = -7;

        (void)state;
        assert_int_equal(socket_listen_unix("sock", 0600, &fd), 0);
        assert_int_equal(socket_listen_unix("sock", 0600, &other), -EADDRINUSE);
        assert_state("sock", SOCKET_LIVE);
        close(fd);
        assert_int_equal(socket_listen_unix("sock", 0600, &other),
                         -EADDRINUSE); /* stale: not ours to remove */
        assert_int_equal(symlink("elsewhere", "link"), 0);
        assert_int_equal(socket_listen_unix("link", 0600, &other), -EADDRINUSE); /* not followed */
        assert_int_equal(access("elsewhere", F_OK), -1);
        assert_int_equal(socket_listen_unix("no/such/folder", 0600, &other), -ENOENT);
        assert_int_equal(other, -7);
}

/* Whoever looks for the path does not find it before the socket listens: it comes by a rename. */
static void test_listens_before_it_is_there(void **state) {
        char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
        const struct inotify_event *event;
        int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK), fd, n_named = 0;
        ssize_t n;

        (void)state;
        assert_true(watch >= 0 && inotify_add_watch(watch, ".", IN_CREATE | IN_MOVED_TO) >= 0);
        close(open("sock.new", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)); /* of one that was killed */
        assert_int_equal(socket_listen_unix("sock", 0600, &fd), 0);
        n = read(watch, events, sizeof(events));
        assert_true(n > 0);
        for (const char *p = events; p < events + n; p += sizeof(*event) + event->len) {
                event = (const struct inotify_event *)p;
                if (strcmp(event->name, "sock"))
                        continue;
                assert_int_equal(event->mask, IN_MOVED_TO);
                n_named++;
        }
        assert_int_equal(n_named, 1);
        assert_int_equal(access("sock.new", F_OK), -1);
        close(watch);
        close(fd);
}

static void test_connect(void **state) {
        int fd, client;

        (void)state;
        assert_int_equal(socket_connect_unix("sock", 0, &client), -ENOENT);
        assert_int_equal(socket_listen_unix("sock", 0600, &fd), 0);
        assert_int_equal(socket_connect_unix("sock", SOCK_NONBLOCK, &client), 0);
        assert_true(fcntl(client, F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(client, F_GETFD) & FD_CLOEXEC);
        close(client);
        close(fd);
        assert_int_equal(socket_connect_unix("sock", 0, &client), -ECONNREFUSED);
}

static void test_too_long_path(void **state) {
        char path[sizeof(((struct sockaddr_un *)0)->sun_path) + 1];
        SocketState where;
        int fd, client;

        (void)state;
        memset(path, 'x', sizeof(path));
        path[sizeof(path) - 1] = 0; /* the longest with a NUL behind it is one less */
        assert_int_equal(socket_listen_unix(path, 0600, &fd), -ENAMETOOLONG);
        assert_int_equal(socket_connect_unix(path, 0, &client), -ENAMETOOLONG);
        assert_state(path, SOCKET_ABSENT);
        path[sizeof(path) - 2] = 0;
        assert_int_equal(socket_listen_unix(path, 0600, &fd), 0);
        assert_int_equal(access(path, F_OK), 0); /* the whole name */
        assert_int_equal(socket_connect_unix(path, 0, &client), 0);
        assert_state(path, SOCKET_LIVE);
        close(client);
        close(fd);

        char longer[5000]; /* no file can have this name at all */
        memset(longer, 'x', sizeof(longer));
        longer[sizeof(longer) - 1] = 0;
        assert_int_equal(socket_probe(longer, &where, NULL), -ENAMETOOLONG);
}

#define listener_test(name) cmocka_unit_test_setup_teardown(name, make_bench, check_bench)

int main(void) {
        const struct CMUnitTest tests[] = {
                listener_test(test_accept),
                listener_test(test_accept_in_slices),
                listener_test(test_accept_tcp),
                listener_test(test_accept_tcp6),
                listener_test(test_accept_both),
                listener_test(test_quota),
                listener_test(test_out_of_descriptors),
                listener_test(test_freed_while_out_of_descriptors),
                listener_test(test_freed_in_its_callback),
                listener_test(test_wake_changes_nothing_when_not_paused),
                listener_test(test_other_users),
                listener_test(test_probe_absent_live_stale),
                listener_test(test_probe_alien),
                listener_test(test_listen_modes),
                listener_test(test_listen_where_something_is),
                listener_test(test_listens_before_it_is_there),
                listener_test(test_connect),
                listener_test(test_too_long_path),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
