/* SPDX-License-Identifier: MIT */
#include "fuzz-server.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "collab/collab.h"
#include "sessions/sessions.h"
#include "core/record.h"
#include "core/web/tokens.h"
#include "tasks/project.h"

enum {
        MAX_ENDPOINTS = 4,
        TURNS_MAX = 100000, /* a connection that is still there after so many turns will never end */
        WAIT_MS = 31000,
        PATIENCE_TURNS = 200,      /* after so many, what waits for something to happen … */
        PATIENCE_MS = 3600 * 1000, /* … has waited for as long as it may */
        START_WALL_S = 1700000000,
};

static Daemon server = {.lock_fd = -1};
static EndpointType types[MAX_ENDPOINTS];
static size_t n_types;
static char folder[256];
static Recorder *recorder;
static Buf answer;

/* ---- the daemon
 * ------------------------------------------------------------------------------------------------- */

static int remove_entry(const char *path, _unused_ const struct stat *st, _unused_ int kind,
                        _unused_ struct FTW *ftw) {
        return remove(path);
}

static void end_server(void) {
        server.collab = collab_free(server.collab);
        server.tokens = tokens_free(server.tokens);
        daemon_deinit(&server);
        server.sessions = sessions_free(server.sessions);
        recorder_free(recorder);
        log_deinit(&server.log);
        buf_deinit(&answer);
        (void)nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* A home with one group in it, so that streams can begin. */
static void make_home(void) {
        const char *tmp = getenv("TMPDIR");
        char path[sizeof(folder) + 64];

        snprintf(folder, sizeof(folder), "%s/muster-fuzz-XXXXXX", tmp && *tmp ? tmp : "/tmp");
        FUZZ_CHECK(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/groups/g_1", folder);
        FUZZ_CHECK(!dir_make(path, 0700));
        snprintf(path, sizeof(path), "%s/groups/g_1/group.yaml", folder);
        FUZZ_CHECK(!file_replace(path, STR("v: 1\n"), 0600, FILE_RUNTIME));
}

static void begin_server(void) {
        make_home();
        log_init(&server.log);
        FUZZ_CHECK(!daemon_init(&server));
        loop_clock_freeze(server.loop, START_WALL_S * INT64_C(1000000));
        server.home = strdup(folder);
        FUZZ_CHECK(server.home && !collab_new(&server.collab, &server, folder));
        FUZZ_CHECK(!sessions_new(&server.sessions, &server)); /* without a host: nothing can be started */
        FUZZ_CHECK(!tokens_open(&server.tokens, server.loop, &server.log, NULL, folder));
        FUZZ_CHECK(!recorder_new(&recorder, "/dev/null"));
        atexit(end_server);
}

static void keep_files(_unused_ Endpoint *endpoint) {}

static void free_project(Endpoint *endpoint) {
        endpoint->context = project_free(endpoint->context);
}

Endpoint *fuzz_serve(const EndpointType *type) {
        EndpointType *own = &types[n_types++];
        Endpoint *endpoint;

        if (!server.loop)
                begin_server();
        FUZZ_CHECK(n_types <= MAX_ENDPOINTS);
        *own = *type;
        own->open = NULL;
        own->reload = NULL;
        own->close = keep_files;
        own->free = NULL;
        FUZZ_CHECK(!endpoint_new(&endpoint, &server, own, folder));
        if (!strcmp(type->name, "aiwg")) {
                Project *project;
                FUZZ_CHECK(!project_new(&project, endpoint, folder));
                endpoint->context = project;
                own->free = free_project;
        }
        endpoint->state = ENDPOINT_LISTENING;
        endpoint->next = server.endpoints;
        server.endpoints = endpoint;
        return endpoint;
}

/* As if nothing had happened: an input may have stopped an endpoint or the daemon, or stored settings. */
static void restore(void) {
        server.is_stopping = false;
        timer_clear(&server.stop_limit);
        timer_clear(&server.stop_again);
        deferred_cancel(&server.stop_check);
        for (Endpoint *e = server.endpoints; e; e = e->next) {
                FUZZ_CHECK(LIST_EMPTY(&e->clients) && !e->n_clients);
                e->state = ENDPOINT_LISTENING;
        }
        (void)unlink(server.collab->settings_path);
}

/* ---- one connection
 * --------------------------------------------------------------------------------------------- */

typedef struct Peer {
        int fd;
        unsigned seed;
        bool is_reading;
} Peer;

static void read_answers(Peer *peer) {
        char bytes[65536];
        ssize_t n;

        while ((n = recv(peer->fd, bytes, sizeof(bytes), 0)) > 0)
                FUZZ_CHECK(!buf_append(&answer, bytes, (size_t)n));
}

static void turn(Peer *peer) {
        if (loop_n_work(server.loop))
                usleep(50); /* a worker is at it */
        loop_turn(server.loop);
        if (peer->is_reading)
                read_answers(peer);
}

static Peer connect_peer(Endpoint *endpoint, uint8_t flags, uint8_t seed) {
        ConnPeer who = {.pid = getpid(), .uid = getuid()};
        Account *account;
        Conn *conn;
        int fds[2];

        FUZZ_CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds));
        FUZZ_CHECK(!account_open_user(&server.accounts, who.uid, &account));
        FUZZ_CHECK(!conn_new(&conn, &server.shared, fds[1], fds[1], &who, account));
        client_start(endpoint, conn);
        return (Peer){.fd = fds[0], .seed = seed, .is_reading = !(flags & FUZZ_LATE)};
}

static size_t piece_size(Peer *peer, size_t n_left) {
        size_t n;

        peer->seed = peer->seed * 1103515245u + 12345u;
        n = 1 + (peer->seed >> 16) % FUZZ_PIECE_MAX;
        return MIN(n, n_left);
}

static void send_all(Peer *peer, Str bytes, bool is_whole) {
        while (bytes.n) {
                size_t size = is_whole ? bytes.n : piece_size(peer, bytes.n);
                ssize_t n = send(peer->fd, bytes.data, size, MSG_NOSIGNAL);

                if (n < 0 && errno != EAGAIN)
                        return; /* the daemon has hung up, as it may */
                if (n < 0)
                        peer->is_reading =
                                true; /* it waits for us to read: no use in being late any longer */
                else
                        bytes = (Str){bytes.data + n, bytes.n - (size_t)n};
                turn(peer);
        }
}

static void end_peer(Peer *peer, uint8_t flags) {
        if (flags & FUZZ_WAIT) {
                turn(peer);
                loop_clock_advance(server.loop, WAIT_MS);
        }
        turn(peer);
        if (flags & FUZZ_CUT)
                peer->fd = close_fd(peer->fd);
        else
                (void)shutdown(peer->fd, SHUT_WR);
        peer->is_reading = !(flags & FUZZ_CUT);
        for (int i = 0; server.shared.n_open || loop_n_work(server.loop); i++) {
                FUZZ_CHECK(i < TURNS_MAX);
                if (i % PATIENCE_TURNS == PATIENCE_TURNS - 1)
                        loop_clock_advance(server.loop, PATIENCE_MS);
                turn(peer);
        }
        loop_turn(server.loop); /* closes handles that are still closing */
        if (peer->fd >= 0)
                read_answers(peer);
        close_fd(peer->fd);
}

FuzzRun fuzz_run(Endpoint *endpoint, const uint8_t *data, size_t n) {
        FuzzRun run = {0};
        Peer peer;

        if (n < 2)
                return run;
        answer.n = 0;
        run = (FuzzRun){.flags = data[0], .sent = {(const char *)data + 2, n - 2}};
        server.recorder = run.flags & FUZZ_RECORD ? recorder : NULL;
        peer = connect_peer(endpoint, run.flags, data[1]);
        send_all(&peer, run.sent, run.flags & FUZZ_WHOLE);
        end_peer(&peer, run.flags);
        server.recorder = NULL;
        restore();
        run.answer = buf_str(&answer);
        return run;
}
