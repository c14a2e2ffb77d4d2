/* SPDX-License-Identifier: MIT */
/*
 * Where CCCC clients find us: the files in ${CCCC_HOME}/daemon and the socket or TCP port they name.
 */
#define LOG_MODULE "cccc/endpoint"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/time.h"
#include "collab/collab.h"
#include "dialect/cccc/cccc.h"
#include "dialect/cccc/cccc-gate.h"
#include "wire/socket.h"

enum {
        WEB_PORT = 8848, /* of the original's web page: never chosen by chance */
        PROBE_MS = 200,
};

typedef struct Paths {
        char *dir, *sock, *addr, *pid, *log, *lock;
} Paths;

static void cccc_endpoint_paths_deinit(Paths *paths) {
        free(paths->dir);
        free(paths->sock);
        free(paths->addr);
        free(paths->pid);
        free(paths->log);
        free(paths->lock);
}

static int cccc_endpoint_paths_init(Paths *paths, const char *home) {
        paths->dir = path_join(home, "daemon");
        if (!paths->dir)
                return error_origin(-ENOMEM);
        paths->sock = path_join(paths->dir, "ccccd.sock");
        paths->addr = path_join(paths->dir, "ccccd.addr.json");
        paths->pid = path_join(paths->dir, "ccccd.pid");
        paths->log = path_join(paths->dir, "ccccd.log");
        paths->lock = path_join(paths->dir, "ccccd.lock");
        if (!paths->sock || !paths->addr || !paths->pid || !paths->log || !paths->lock)
                return error_origin(-ENOMEM);
        return 0;
}

/* ---- TCP settings ---------------------------------------------------------------------------- */

typedef struct Tcp {
        bool is_wanted, is_remote; /* is_remote: other machines can get there */
        char host[INET_ADDRSTRLEN];
        uint16_t port;
} Tcp;

enum { WORD_MAX = 64 }; /* with its NUL; a longer one is none of ours */

/* Without the white space around it; "" when there is none. */
static const char *cccc_endpoint_word_of(const char *setting, char out[WORD_MAX]) {
        Str word = str_trim(str_from(setting ? setting : ""));

        snprintf(out, WORD_MAX, STR_FMT, STR_ARG(word));
        return out;
}

static bool is_truthy(const char *s) {
        return !strcasecmp(s, "1") || !strcasecmp(s, "true") || !strcasecmp(s, "yes") ||
               !strcasecmp(s, "y") || !strcasecmp(s, "on");
}

/* A host that is no IPv4 literal, or not loopback without permission, becomes 127.0.0.1. */
static void choose_host(Endpoint *endpoint, const char *wanted, bool allow_remote,
                        char out[INET_ADDRSTRLEN]) {
        struct in_addr address;

        snprintf(out, INET_ADDRSTRLEN, "127.0.0.1");
        if (!*wanted || !strcasecmp(wanted, "localhost"))
                return;
        if (inet_pton(AF_INET, wanted, &address) == 1 &&
            (allow_remote || (ntohl(address.s_addr) >> 24) == 127))
                snprintf(out, INET_ADDRSTRLEN, "%s", wanted);
        else
                log_warning(&endpoint->daemon->log, "cccc", "host replaced by 127.0.0.1 host=%s", wanted);
}

static Tcp tcp_settings(Endpoint *endpoint) {
        const Config *config = &endpoint->daemon->config;
        char text[WORD_MAX], remote[WORD_MAX], *end = NULL;
        Tcp tcp = {.is_wanted = !strcasecmp(cccc_endpoint_word_of(config->cccc_transport, text), "tcp")};
        long port = strtol(cccc_endpoint_word_of(config->cccc_port, text), &end, 10);

        if (end != text && !*end && port >= 0 && port <= 65535)
                tcp.port = (uint16_t)port;
        choose_host(endpoint, cccc_endpoint_word_of(config->cccc_host, text),
                    is_truthy(cccc_endpoint_word_of(config->cccc_allow_remote, remote)), tcp.host);
        tcp.is_remote = tcp.is_wanted && strncmp(tcp.host, "127.", 4) != 0;
        return tcp;
}

static int listen_tcp(Endpoint *endpoint, Tcp *tcp) {
        int fd = -1, unlucky = -1, r;

        r = socket_listen_tcp(tcp->host, tcp->port, &fd, &tcp->port);
        if (!r && tcp->port == WEB_PORT && !endpoint->daemon->config.cccc_port) {
                unlucky = fd; /* kept open while the kernel chooses again */
                r = socket_listen_tcp(tcp->host, 0, &fd, &tcp->port);
                close_fd(unlucky);
        }
        if (r)
                return endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "cannot listen on %s:%u: %s", tcp->host,
                                       tcp->port, strerror(-r));
        endpoint_set_address(endpoint, "tcp:%s:%u", tcp->host, tcp->port);
        return error_trace(endpoint_listen(endpoint, fd));
}

/* ---- another daemon? ------------------------------------------------------------------------- */

static bool answers_ping(int fd) {
        static const char ping[] = "{\"v\":1,\"op\":\"ping\",\"args\":{}}\n";
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        char byte;

        return send(fd, ping, sizeof(ping) - 1, MSG_NOSIGNAL) > 0 && poll(&pfd, 1, PROBE_MS) == 1 &&
               recv(fd, &byte, 1, 0) == 1;
}

/* Whether the TCP daemon that the descriptor names (if any) answers. */
static bool descriptor_is_live(const char *path) {
        struct timeval limit = {.tv_usec = PROBE_MS * 1000L};
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(closep) int fd = -1;
        Json *json = NULL;
        int64_t port = 0;
        Str host;

        if (file_read(path, 65536, &text) || json_parse(&arena, text.data, text.n, NULL, &json, NULL) ||
            !str_is(json_str(json_get(json, "transport")), "tcp") ||
            !json_int64(json_get(json, "port"), &port) || port < 1 || port > 65535)
                return false;
        host = arena_str(&arena, json_str(json_get(json, "host")));
        if (host.n && !str_is(host, "0.0.0.0"))
                (void)inet_pton(AF_INET, host.data, &address.sin_addr);
        address.sin_port = htons((uint16_t)port);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return false;
        setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
        return !connect(fd, (struct sockaddr *)&address, sizeof(address)) && answers_ping(fd);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int write_descriptor(Endpoint *endpoint, const Paths *paths, const Tcp *tcp) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        char ts[TIME_TEXT_MAX];

        time_format_s(loop_wall_us(endpoint->daemon->loop), ts);
        jw_begin_object(&w);
        jw_field_int(&w, "v", 1);
        jw_field_cstr(&w, "transport", tcp->is_wanted ? "tcp" : "unix");
        jw_field_cstr(&w, "path", tcp->is_wanted ? "" : paths->sock);
        jw_field_cstr(&w, "host", tcp->is_wanted ? tcp->host : "");
        jw_field_int(&w, "port", tcp->is_wanted ? tcp->port : 0);
        jw_field_int(&w, "pid", getpid());
        jw_field_cstr(&w, "version", collab_version(endpoint->daemon->collab));
        jw_field_cstr(&w, "ts", ts);
        jw_end_object(&w);
        if (w.failed || buf_append_str(&text, STR("\n")))
                return error_origin(-ENOMEM);
        return error_trace(file_replace(paths->addr, buf_str(&text), 0600, FILE_RUNTIME));
}

static int write_files(Endpoint *endpoint, const Paths *paths, const Tcp *tcp) {
        char pid[32];
        int n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
        int r = file_replace(paths->pid, (Str){pid, (size_t)n}, 0600, FILE_RUNTIME);

        if (r)
                return error_trace(r);
        return error_trace(write_descriptor(endpoint, paths, tcp));
}

/* ---- life ------------------------------------------------------------------------------------ */

static int open_listener(Endpoint *endpoint, const Paths *paths, Tcp *tcp) {
        SocketState state;
        pid_t peer;
        int r;

        if (!tcp->is_wanted)
                return endpoint_listen_unix(endpoint, paths->sock);
        r = socket_probe(paths->sock, &state, &peer);
        if (r)
                return error_trace(r);
        if (state == SOCKET_LIVE)
                return endpoint_served(endpoint, peer, paths->sock);
        if (state == SOCKET_STALE)
                (void)unlink(paths->sock);
        return listen_tcp(endpoint, tcp);
}

static int cccc_endpoint_open_home(Endpoint *endpoint, const Paths *paths) {
        Daemon *daemon = endpoint->daemon;
        Tcp tcp = tcp_settings(endpoint);
        int r;

        r = dir_make(paths->dir, 0700);
        if (r)
                return endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "cannot make %s: %s", paths->dir,
                                       strerror(-r));
        r = endpoint_set_folder(endpoint, endpoint->where); /* group.yaml says who is in a sandbox */
        r = r ? r : endpoint_lock(endpoint, paths->lock);
        if (r)
                return r;
        if (descriptor_is_live(paths->addr))
                return endpoint_refuse(endpoint, ENDPOINT_E_SERVED,
                                       "another daemon answers at the port in %s", paths->addr);
        r = cccc_gate_load(endpoint, tcp.is_remote);
        if (!r)
                r = open_listener(endpoint, paths, &tcp);
        if (!r && !daemon->collab)
                r = collab_new(&daemon->collab, daemon, endpoint->where);
        if (!r)
                r = collab_start(daemon->collab);
        if (r)
                return r;
        collab_open_log(daemon->collab, paths->log);
        return error_trace(write_files(endpoint, paths, &tcp));
}

static int cccc_open(Endpoint *endpoint) {
        _cleanup_(cccc_endpoint_paths_deinit) Paths paths = {0};
        int r = cccc_endpoint_paths_init(&paths, endpoint->where);

        if (r)
                return error_trace(r);
        r = cccc_endpoint_open_home(endpoint, &paths);
        if (r && endpoint->listener) { /* it got as far as listening: nothing of that may stay */
                endpoint->listener = listener_free(endpoint->listener);
                endpoint_unlink(endpoint);
                collab_stop(endpoint->daemon->collab);
                collab_close_log(endpoint->daemon->collab);
        }
        return r;
}

/* Another daemon that took our place has put its own files there. */
static bool descriptor_is_ours(const char *path) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *json = NULL;
        int64_t pid = 0;

        return !file_read(path, 65536, &text) && !json_parse(&arena, text.data, text.n, NULL, &json, NULL) &&
               json_int64(json_get(json, "pid"), &pid) && pid == getpid();
}

static void cccc_close(Endpoint *endpoint) {
        _cleanup_(cccc_endpoint_paths_deinit) Paths paths = {0};

        collab_stop(endpoint->daemon->collab);
        collab_close_log(endpoint->daemon->collab);
        endpoint_unlink(endpoint);
        if (cccc_endpoint_paths_init(&paths, endpoint->where))
                return;
        if (descriptor_is_ours(paths.addr))
                (void)unlink(paths.addr);
        if (endpoint_file_is_ours(paths.pid))
                (void)unlink(paths.pid);
}

const EndpointType cccc_endpoint = {
        .name = "cccc",
        .dialect = &cccc_dialect,
        .limits = {.high_water = 256 << 10,
                   .low_water = 64 << 10,
                   .hard_limit = 32 << 20,
                   .handshake_ms = 60000},
        .same_uid_only = true,
        .can_reopen = true,
        .served_exit = EXIT_STATUS_OK, /* the contract: a second daemon goes quietly */
        .open = cccc_open,
        .close = cccc_close,
        .reload = cccc_gate_renew,
        .renew = cccc_gate_renew,
        .free = cccc_gate_free,
        .admit = cccc_gate_admit,
        .greet = cccc_gate_greet,
};
