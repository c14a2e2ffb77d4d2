/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "wire/listener"

#include "wire/listener.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log/log.h"
#include "wire/tcp-owner.h"

enum {
        LISTENER_TURN = 64,       /* connections accepted per turn */
        LISTENER_RETRY_MS = 1000, /* without a descriptor coming back, look again this often */
};

struct Listener {
        int fd;
        bool is_tcp;
        bool is_closed; /* freed from inside its own callback: gone after this turn */
        LoopFd *watch;
        ListenerOptions options;
        ListenerFn fn;
        void *user;
        Timer retry; /* set: paused for want of descriptors or memory */
};

static Log *listener_log(const Listener *listener) {
        return loop_log(listener->options.shared->loop);
}

static int read_unix_peer(int fd, ConnPeer *ret) {
        struct ucred cred;
        socklen_t n = sizeof(cred);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n))
                return error_origin(-errno);
        *ret = (ConnPeer){.pid = cred.pid, .uid = cred.uid};
        return 0;
}

static bool is_of_this_machine(const TcpEnd *peer, const TcpEnd *own) {
        return address_is_loopback(&peer->ip) || address_is_loopback(&own->ip) ||
               address_eq(&peer->ip, &own->ip);
}

static int read_tcp_end(int fd, int (*name)(int, struct sockaddr *, socklen_t *), TcpEnd *ret) {
        struct sockaddr_storage address = {0};
        socklen_t n = sizeof(address);

        if (name(fd, (struct sockaddr *)&address, &n))
                return error_origin(-errno);
        return address_from_socket(&address, ret) ? 0 : error_origin(-EAFNOSUPPORT);
}

/* Any user of this machine can connect to its ports, from any of its addresses: whose the connection is, the
 * kernel knows. What it does not know is another machine's. */
static int read_tcp_peer(int fd, ConnPeer *ret) {
        TcpEnd peer, own;
        int r;

        r = read_tcp_end(fd, getpeername, &peer);
        if (!r)
                r = read_tcp_end(fd, getsockname, &own);
        if (r)
                return error_trace(r);
        *ret = (ConnPeer){.is_remote = true, .address = address_number(&peer.ip), .ip = peer.ip};
        r = tcp_owner(&peer, &own, &ret->uid);
        if (r < 0)
                return error_trace(r);
        if (r == TCP_OWNER_E_UNKNOWN && is_of_this_machine(&peer, &own))
                return error_origin(-EACCES);
        ret->is_local_tcp = !r;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        return 0;
}

static bool listener_admits(const Listener *listener, const ConnPeer *peer) {
        const ListenerOptions *o = &listener->options;

        if (o->admit)
                return o->admit(listener->user, peer);
        log_warning(listener_log(listener), o->name, "connection of another machine refused");
        return false;
}

static int listener_charge(const Listener *listener, const ConnPeer *peer, Account **ret) {
        Accounts *accounts = listener->options.accounts;
        int r;

        if (peer->is_remote)
                return error_trace(account_open_host(accounts, &peer->ip, ret));
        r = account_open_user(accounts, peer->uid, ret);
        if (r == ACCOUNT_E_QUOTA && conn_evict(*ret, (uint32_t)peer->pid))
                r = account_open_user(accounts, peer->uid, ret);
        return error_trace(r);
}

/* Takes fd. */
static void take_connection(Listener *listener, int fd) {
        const ListenerOptions *o = &listener->options;
        Account *account = NULL;
        ConnPeer peer = {0};
        Conn *conn;
        int r;

        r = listener->is_tcp ? read_tcp_peer(fd, &peer) : read_unix_peer(fd, &peer);
        if (!r && o->same_uid_only && (!peer.is_remote || peer.is_local_tcp) && peer.uid != geteuid()) {
                log_warning(listener_log(listener), o->name,
                            "connection of another user refused uid=%u pid=%d", (unsigned)peer.uid,
                            (int)peer.pid);
                r = -EACCES;
        }
        if (!r && peer.is_remote && !peer.is_local_tcp && !listener_admits(listener, &peer))
                r = -EACCES;
        if (!r)
                r = listener_charge(listener, &peer, &account);
        if (r) {
                if (r == ACCOUNT_E_QUOTA)
                        log_warning(listener_log(listener), o->name,
                                    "connection refused: quota of the peer used up");
                close_fd(fd);
                return;
        }
        if (conn_new(&conn, o->shared, fd, fd, &peer, account)) {
                account_close(account);
                close_fd(fd);
                return;
        }
        listener->fn(listener->user, conn);
}

static void pause_accepting(Listener *listener, int error) {
        log_warning(listener_log(listener), listener->options.name, "accepting paused error=%d", error);
        loop_fd_watch(listener->watch, 0);
        (void)timer_set(&listener->retry, LISTENER_RETRY_MS);
}

static bool is_exhaustion(int error) {
        return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

static void listener_on_readable(void *user, _unused_ unsigned events) {
        Listener *listener = user;

        for (int i = 0; i < LISTENER_TURN && !listener->is_closed; i++) {
                int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (fd >= 0)
                        take_connection(listener, fd);
                else if (is_exhaustion(errno))
                        return pause_accepting(listener, errno);
                else if (errno != EINTR && errno != ECONNABORTED)
                        return;
        }
}

static void on_retry(Timer *timer) {
        Listener *listener = container_of(timer, Listener, retry);

        loop_fd_watch(listener->watch, LOOP_READ);
}

int listener_new(Listener **ret, int fd, const ListenerOptions *options, ListenerFn fn, void *user) {
        Listener *listener = calloc(1, sizeof(*listener));
        struct sockaddr_storage address = {0};
        socklen_t n = sizeof(address);
        int r;

        if (!listener)
                return error_origin(-ENOMEM);
        *listener = (Listener){.fd = fd, .options = *options, .fn = fn, .user = user};
        if (!getsockname(fd, (struct sockaddr *)&address, &n))
                listener->is_tcp = address.ss_family == AF_INET || address.ss_family == AF_INET6;
        timer_init(&listener->retry, options->shared->loop, on_retry);
        r = loop_fd_open(options->shared->loop, fd, listener_on_readable, listener, &listener->watch);
        if (r) {
                free(listener);
                return error_trace(r);
        }
        loop_fd_watch(listener->watch, LOOP_READ);
        *ret = listener;
        return 0;
}

Listener *listener_free(Listener *listener) {
        if (!listener)
                return NULL;
        timer_clear(&listener->retry);
        loop_fd_close(listener->watch);
        listener->fd = close_fd(listener->fd);
        listener->is_closed = true;
        loop_defer_free(listener->options.shared->loop, listener);
        return NULL;
}

void listener_wake(Listener *listener) {
        if (!timer_is_set(&listener->retry))
                return;
        timer_clear(&listener->retry);
        log_notice(listener_log(listener), listener->options.name, "accepting again");
        loop_fd_watch(listener->watch, LOOP_READ);
}
