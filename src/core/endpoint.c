/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/endpoint"

#include "core/endpoint.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/daemon.h"
#include "core/dialect.h"
#include "wire/socket.h"

static void endpoint_on_again(Timer *timer);

int endpoint_new(Endpoint **ret, Daemon *daemon, const EndpointType *type, const char *where) {
        Endpoint *endpoint = calloc(1, sizeof(*endpoint));

        if (!endpoint)
                return error_origin(-ENOMEM);
        endpoint->daemon = daemon;
        endpoint->type = type;
        endpoint->lock_fd = -1;
        timer_init(&endpoint->again, daemon->loop, endpoint_on_again);
        endpoint->where = strdup(where);
        endpoint->address = strdup("");
        endpoint->reason = strdup("");
        if (!endpoint->where || !endpoint->address || !endpoint->reason) {
                endpoint_free(endpoint);
                return error_origin(-ENOMEM);
        }
        *ret = endpoint;
        return 0;
}

Endpoint *endpoint_free(Endpoint *endpoint) {
        if (!endpoint)
                return NULL;
        assert(LIST_EMPTY(&endpoint->clients));
        timer_clear(&endpoint->again);
        listener_free(endpoint->listener);
        if (endpoint->type->free)
                endpoint->type->free(endpoint);
        close_fd(endpoint->lock_fd);
        free(endpoint->bound.path);
        free(endpoint->folder);
        free(endpoint->sandbox);
        free(endpoint->network);
        free(endpoint->where);
        free(endpoint->address);
        free(endpoint->reason);
        free(endpoint->warning);
        free(endpoint);
        return NULL;
}

const char *endpoint_state_name(EndpointState state) {
        static const char *const names[] = {
                [ENDPOINT_CLOSED] = "closed",
                [ENDPOINT_LISTENING] = "listening",
                [ENDPOINT_SERVED] = "served elsewhere",
                [ENDPOINT_FAILED] = "failed",
        };

        return names[state];
}

static void endpoint_set_state(Endpoint *endpoint, EndpointState state) {
        LogLevel level = state == endpoint->state   ? LOG_DEBUG
                         : state >= ENDPOINT_SERVED ? LOG_WARNING
                                                    : LOG_NOTICE;
        char by[PROCESS_NAME_MAX + 32] = "";

        if (state == ENDPOINT_LISTENING)
                endpoint_note(endpoint, 0, "%s", "");
        if (endpoint->by.pid)
                snprintf(by, sizeof(by), " by=%s pid=%d", endpoint->by.program, (int)endpoint->by.pid);
        log_at(&endpoint->daemon->log, level, endpoint->type->name, "%s → %s where=%s%s%s%s",
               endpoint_state_name(endpoint->state), endpoint_state_name(state),
               *endpoint->address ? endpoint->address : endpoint->where, by,
               *endpoint->reason ? " reason=" : "", endpoint->reason);
        endpoint->since_us = loop_wall_us(endpoint->daemon->loop);
        endpoint->state = state;
}

static void endpoint_try_again(Endpoint *endpoint) {
        char reason[512];

        snprintf(reason, sizeof(reason), "%s", endpoint->reason);
        endpoint->again_ms =
                endpoint->again_ms ? MIN(2 * endpoint->again_ms, ENDPOINT_AGAIN_MAX_MS) : ENDPOINT_AGAIN_MS;
        endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "%s; tried again in %d s", reason,
                        (int)(endpoint->again_ms / 1000));
        (void)timer_set(&endpoint->again, endpoint->again_ms);
}

/* Since when it is away does not change with a try. */
static void endpoint_on_again(Timer *timer) {
        Endpoint *endpoint = container_of(timer, Endpoint, again);
        int64_t since_us = endpoint->since_us;

        if (endpoint->is_removed || endpoint->state != ENDPOINT_FAILED)
                return;
        (void)endpoint_open(endpoint);
        if (endpoint->state == ENDPOINT_FAILED)
                endpoint->since_us = since_us;
}

int endpoint_open(Endpoint *endpoint) {
        int r;

        timer_clear(&endpoint->again);
        if (endpoint->daemon->is_stopping) {
                endpoint_note(endpoint, 0, "the daemon stops");
                return EXIT_STATUS_BIND;
        }
        r = endpoint->type->open(endpoint);
        if (!r) {
                endpoint->again_ms = 0;
                endpoint_set_state(endpoint, ENDPOINT_LISTENING);
                return EXIT_STATUS_OK;
        }
        if (r < 0)
                r = endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "%s", strerror(-r));
        if (r == ENDPOINT_E_REFUSED)
                endpoint_try_again(endpoint);
        endpoint->lock_fd = close_fd(endpoint->lock_fd);
        endpoint_set_state(endpoint, r == ENDPOINT_E_SERVED ? ENDPOINT_SERVED : ENDPOINT_FAILED);
        if (r == ENDPOINT_E_CONFIG)
                return EXIT_STATUS_USAGE;
        return r == ENDPOINT_E_SERVED ? endpoint->type->served_exit : EXIT_STATUS_BIND;
}

static void endpoint_leave(Client *client) {
        if (client->dialect->leaving)
                client->dialect->leaving(client);
        client_leave(client, "the daemon stops");
}

void endpoint_close(Endpoint *endpoint) {
        timer_clear(&endpoint->again);
        if (endpoint->state != ENDPOINT_LISTENING)
                return;
        endpoint_set_state(endpoint, ENDPOINT_CLOSED);
        endpoint->listener = listener_free(endpoint->listener);
        for (Client *client = LIST_FIRST(&endpoint->clients); client; client = LIST_NEXT(client, link))
                endpoint_leave(client);
        endpoint->type->close(endpoint);
        endpoint->lock_fd = close_fd(endpoint->lock_fd);
}

/* ---- for the types --------------------------------------------------------------------------- */

static bool endpoint_on_stranger(void *user, const ConnPeer *peer) {
        Endpoint *endpoint = user;

        return endpoint->type->admit(endpoint, peer);
}

int endpoint_listen(Endpoint *endpoint, int fd) {
        Daemon *daemon = endpoint->daemon;
        ListenerOptions options = {.name = endpoint->type->name,
                                   .same_uid_only = endpoint->type->same_uid_only,
                                   .admit = endpoint->type->admit ? endpoint_on_stranger : NULL,
                                   .accounts = &daemon->accounts,
                                   .shared = &daemon->shared};
        int r = listener_new(&endpoint->listener, fd, &options, client_start, endpoint);

        if (r)
                close_fd(fd);
        return error_trace(r);
}

int endpoint_set_sandbox(Endpoint *endpoint, const char *sandbox, const char *network) {
        _cleanup_(freep) char *mode = sandbox ? strdup(sandbox) : NULL,
                              *net = network ? strdup(network) : NULL;

        if ((sandbox && !mode) || (network && !net))
                return error_origin(-ENOMEM);
        free(endpoint->sandbox);
        free(endpoint->network);
        endpoint->sandbox = steal(&mode);
        endpoint->network = steal(&net);
        return 0;
}

int endpoint_set_folder(Endpoint *endpoint, const char *path) {
        char *copy = strdup(path);

        if (!copy)
                return error_origin(-ENOMEM);
        free(endpoint->folder);
        endpoint->folder = copy;
        return 0;
}

static void _printf_(3, 0) endpoint_vnote(Endpoint *endpoint, pid_t by, const char *format, va_list ap) {
        char *reason = NULL;

        if (vasprintf(&reason, format, ap) >= 0) {
                free(endpoint->reason);
                endpoint->reason = reason;
        }
        endpoint->by.pid = by;
        process_name(by, endpoint->by.program);
        endpoint->since_us = loop_wall_us(endpoint->daemon->loop);
}

void endpoint_note(Endpoint *endpoint, pid_t by, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        endpoint_vnote(endpoint, by, format, ap);
        va_end(ap);
}

int endpoint_refuse(Endpoint *endpoint, int condition, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        endpoint_vnote(endpoint, 0, format, ap);
        va_end(ap);
        return condition;
}

int endpoint_served(Endpoint *endpoint, pid_t by, const char *path) {
        endpoint_note(endpoint, by, "another daemon answers at %s", path);
        return ENDPOINT_E_SERVED;
}

void endpoint_warn(Endpoint *endpoint, const char *format, ...) {
        _cleanup_(freep) char *warning = NULL;
        va_list ap;

        va_start(ap, format);
        if (format && vasprintf(&warning, format, ap) < 0)
                warning = NULL;
        va_end(ap);
        if (warning && (!endpoint->warning || strcmp(warning, endpoint->warning) != 0))
                log_warning(&endpoint->daemon->log, endpoint->type->name, "%s", warning);
        free(endpoint->warning);
        endpoint->warning = steal(&warning);
}

void endpoint_set_address(Endpoint *endpoint, const char *format, ...) {
        char *address = NULL;
        va_list ap;

        va_start(ap, format);
        if (vasprintf(&address, format, ap) >= 0) {
                free(endpoint->address);
                endpoint->address = address;
        }
        va_end(ap);
}

int endpoint_lock(Endpoint *endpoint, const char *path) {
        int r = file_lock(path, &endpoint->lock_fd);

        if (r == FILE_E_LOCKED) {
                pid_t taker = file_lock_taker(path);

                if (taker == getpid())
                        endpoint_note(endpoint, taker, "this daemon holds %s, for another name of it", path);
                else
                        endpoint_note(endpoint, taker, "another daemon holds %s", path);
                return ENDPOINT_E_SERVED;
        }
        return error_fold(r);
}

static int replace_stale(Endpoint *endpoint, const char *path) {
        SocketState state;
        pid_t peer = 0;
        int r = socket_probe(path, &state, &peer);

        if (r)
                return error_trace(r);
        switch (state) {
        case SOCKET_LIVE: return endpoint_served(endpoint, peer, path);
        case SOCKET_ALIEN:
                return endpoint_refuse(endpoint, ENDPOINT_E_REFUSED,
                                       "%s is a symbolic link, not a socket, or not ours", path);
        case SOCKET_STALE:
                log_notice(&endpoint->daemon->log, endpoint->type->name, "stale socket replaced path=%s",
                           path);
                return unlink(path) && errno != ENOENT ? error_origin(-errno) : 0;
        default: return 0;
        }
}

static int remember_socket(Endpoint *endpoint, const char *path) {
        struct stat st;

        free(endpoint->bound.path);
        endpoint->bound.path = strdup(path);
        if (!endpoint->bound.path)
                return error_origin(-ENOMEM);
        if (lstat(path, &st))
                return error_origin(-errno);
        endpoint->bound.device = st.st_dev;
        endpoint->bound.inode = st.st_ino;
        return 0;
}

void endpoint_unlink(Endpoint *endpoint) {
        const char *path = endpoint->bound.path;
        struct stat st;

        if (path && !lstat(path, &st) && st.st_dev == endpoint->bound.device &&
            st.st_ino == endpoint->bound.inode)
                (void)unlink(path);
}

int endpoint_listen_unix(Endpoint *endpoint, const char *path) {
        int fd = daemon_take_activated(endpoint->daemon, endpoint->type->name);
        int r;

        endpoint_set_address(endpoint, "%s", path);
        if (fd >= 0)
                return error_trace(endpoint_listen(endpoint, fd));
        r = replace_stale(endpoint, path);
        if (r)
                return r;
        r = socket_listen_unix(path, 0600, &fd);
        if (r == -ENAMETOOLONG)
                return endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "%s is too long for a socket", path);
        if (!r)
                r = remember_socket(endpoint, path);
        if (r) {
                close_fd(fd);
                return error_trace(r);
        }
        return error_trace(endpoint_listen(endpoint, fd));
}

/*
 * How an endpoint looks to those who look for it: somebody may have removed our socket, or put another in
 * its place, and then we listen where nobody comes.
 */

bool endpoint_is_cut_off(const Endpoint *endpoint) {
        struct stat st;

        return endpoint->type->can_reopen && endpoint->state == ENDPOINT_LISTENING && endpoint->bound.path &&
               (lstat(endpoint->bound.path, &st) || st.st_dev != endpoint->bound.device ||
                st.st_ino != endpoint->bound.inode);
}

/* After a stop by its contract, as the original's own command line has it, the original may have come. */
static void endpoint_look_for_another(const Endpoint *endpoint, EndpointView *ret) {
        SocketState state = SOCKET_ABSENT;
        pid_t peer = 0;

        if (socket_probe(endpoint->bound.path, &state, &peer) || state != SOCKET_LIVE)
                return;
        ret->state = endpoint_state_name(ENDPOINT_SERVED);
        ret->by = (EndpointParty){.pid = peer};
        process_name(peer, ret->by.program);
        snprintf(ret->reason, sizeof(ret->reason), "another program answers there%s%.400s",
                 *endpoint->reason ? "; ours was closed: " : "", endpoint->reason);
}

void endpoint_look(const Endpoint *endpoint, EndpointView *ret) {
        const char *path = endpoint->bound.path;
        SocketState state = SOCKET_ABSENT;

        *ret = (EndpointView){.state = endpoint_state_name(endpoint->state), .by = endpoint->by};
        snprintf(ret->reason, sizeof(ret->reason), "%s", endpoint->reason);
        if (endpoint->state == ENDPOINT_CLOSED && path)
                endpoint_look_for_another(endpoint, ret);
        if (!endpoint_is_cut_off(endpoint))
                return;
        ret->by = (EndpointParty){0};
        if (!socket_probe(path, &state, &ret->by.pid) && state == SOCKET_LIVE) {
                ret->state = endpoint_state_name(ENDPOINT_SERVED);
                process_name(ret->by.pid, ret->by.program);
                snprintf(ret->reason, sizeof(ret->reason), "another daemon took our place");
        } else {
                ret->state = "cut off";
                snprintf(ret->reason, sizeof(ret->reason), "somebody removed its socket");
        }
}

bool endpoint_file_is_ours(const char *path) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        return !file_read(path, 64, &text) && buf_cstr(&text) && strtol(text.data, NULL, 10) == getpid();
}
