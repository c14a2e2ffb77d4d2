/* SPDX-License-Identifier: MIT */
/*
 * muster serve: a web server of the daemon for as long as this command runs, or longer with --detach; and its end. It
 * prints where it is; what stands in the address for other machines, and in the QR code, is a one-time code, because
 * whoever reads along on the network would have the token of the server for good.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/json/json-writer.h"
#include "cli/cli.h"
#include "cli/link/web-link.h"
#include "cli/print/qr.h"
#include "cli/print/report.h"
#include "cli/term/signals.h"

enum { SERVE_TOKEN_MAX = 4096, SERVE_ADDRESS_MAX = 600 };

typedef struct Serving {
        const Options *options;
        WebLink web;
        Str host, address, token, fingerprint; /* the last: "" without TLS */
        int64_t port;
        char local[2 * SERVE_ADDRESS_MAX],
                network[2 * SERVE_ADDRESS_MAX]; /* "": no other machine can reach it */
} Serving;

static void serving_deinit(Serving *self) {
        web_link_deinit(&self->web);
}

/* ---- which address --------------------------------------------------------------------------- */

static bool serve_is_loopback(Str host) {
        return str_starts(host, STR("127.")) || str_is(host, "::1");
}

static bool serve_is_everywhere(Str host) {
        return str_is(host, "0.0.0.0") || str_is(host, "::");
}

/* An address of this machine that others can reach; false: it has none. */
static bool serve_network_host(char out[INET_ADDRSTRLEN]) {
        struct ifaddrs *all = NULL;
        bool is_found = false;

        if (getifaddrs(&all))
                return false;
        for (const struct ifaddrs *one = all; one && !is_found; one = one->ifa_next) {
                const struct sockaddr_in *in = (const void *)one->ifa_addr;

                if (in && in->sin_family == AF_INET && (one->ifa_flags & IFF_UP) &&
                    !(one->ifa_flags & IFF_LOOPBACK))
                        is_found = inet_ntop(AF_INET, &in->sin_addr, out, INET_ADDRSTRLEN);
        }
        freeifaddrs(all);
        return is_found;
}

/* scheme://HOST:PORT, for who asks at this address. */
static void serve_base(const Serving *self, const char *host, char out[SERVE_ADDRESS_MAX]) {
        if (serve_is_everywhere(self->host))
                snprintf(out, SERVE_ADDRESS_MAX, "%s://%s:%lld", self->fingerprint.n ? "https" : "http",
                         host, (long long)self->port);
        else
                snprintf(out, SERVE_ADDRESS_MAX, STR_FMT, STR_ARG(self->address));
}

static int serve_addresses(Serving *self) {
        char host[INET_ADDRSTRLEN] = "127.0.0.1", base[SERVE_ADDRESS_MAX];
        Str code;
        int r;

        serve_base(self, host, base);
        snprintf(self->local, sizeof(self->local), "%s/?token=" STR_FMT, base, STR_ARG(self->token));
        if (serve_is_loopback(self->host) || (serve_is_everywhere(self->host) && !serve_network_host(host)))
                return CLI_OK;
        serve_base(self, host, base);
        r = web_link_code(&self->web, self->options->view ? "view" : "control", NULL, &code);
        if (!r)
                snprintf(self->network, sizeof(self->network), "%s/#code=" STR_FMT, base, STR_ARG(code));
        return r;
}

/* ---- what is said ---------------------------------------------------------------------------- */

static int serve_print_json(const Serving *self) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_str(&w, "host", self->host);
        jw_field_int(&w, "port", self->port);
        jw_field_str(&w, "token", self->token);
        jw_field_cstr(&w, "local", self->local);
        jw_field_cstr(&w, "network", *self->network ? self->network : NULL);
        if (self->fingerprint.n)
                jw_field_str(&w, "fingerprint", self->fingerprint);
        jw_end_object(&w);
        if (w.failed)
                return complain(CLI_FAILED, "out of memory");
        json_put_text(stdout, buf_str(&text));
        return fflush(stdout) ? complain(CLI_FAILED, "cannot print: %s", strerror(errno)) : CLI_OK;
}

static int serve_print(const Serving *self) {
        if (self->options->json)
                return serve_print_json(self);
        print("\n  muster, in a browser\n\n  Local:   %s\n", self->local);
        if (*self->network)
                print("  Network: %s\n", self->network);
        if (self->fingerprint.n)
                print("  SHA-256: " STR_FMT "\n", STR_ARG(self->fingerprint));
        print("\n");
        if (!self->options->no_qr && *self->network)
                qr_show(self->network, self->options->ascii ? QR_ASCII : QR_BLOCKS);
        if (*self->network)
                advise("The network's address holds a code that is good once, for 10 minutes%s. For another "
                       "device: muster token create --code",
                       self->fingerprint.n
                               ? ""
                               : ", since others on the network could read the token without TLS");
        else
                advise("Only this machine can reach it; other devices with: muster serve -H 0.0.0.0");
        if (!self->options->detach)
                advise("Ctrl+C stops it.");
        return fflush(stdout) ? complain(CLI_FAILED, "cannot print: %s", strerror(errno)) : CLI_OK;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

/* The secret that somebody chose, in the arena; *ret is NULL when none was. */
static int serve_read_token(Serving *self, const char **ret) {
        const Options *options = self->options;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r;

        *ret = options->token;
        if (options->token && options->token_file)
                return complain(CLI_USAGE, "serve: --token or --token-file, not both");
        if (options->token)
                advise("Everybody on this machine can read --token in the list of processes; --token-file "
                       "FILE is "
                       "not shown there.");
        if (!options->token_file)
                return CLI_OK;
        r = file_read(options->token_file, SERVE_TOKEN_MAX, &text);
        if (r)
                return complain(CLI_FAILED, "serve: cannot read %s: %s", options->token_file,
                                r == FILE_E_MISSING ? "it is not there"
                                : r > 0             ? "it is too long for a token"
                                                    : strerror(-r));
        *ret = arena_str(&self->web.arena, str_trim(buf_str(&text))).data;
        return *ret && **ret ? CLI_OK
                             : complain(CLI_FAILED, "serve: %s holds no token", options->token_file);
}

static int serving_open(Serving *self) {
        const Json *answer = NULL;
        const char *token = NULL;
        int r = serve_read_token(self, &token);

        if (r)
                return r;
        web_link_set(&self->web, "host", self->options->host);
        if (self->options->port >= 0)
                web_link_set_int(&self->web, "port", self->options->port);
        web_link_set(&self->web, "token", token);
        web_link_set(&self->web, "tls", self->options->tls);
        web_link_set(&self->web, "scope", self->options->view ? "view" : "control");
        r = web_link_ask(&self->web, "web.open", &answer);
        if (r)
                return r;
        self->host = json_text_of(answer, "host");
        self->token = json_text_of(answer, "token");
        self->address = json_text_of(answer, "address");
        self->fingerprint = json_text_of(answer, "fingerprint");
        (void)json_int64(json_get(answer, "port"), &self->port);
        return CLI_OK;
}

static int serving_close(Serving *self) {
        const Json *answer = NULL;

        arguments_set_str(&self->web.arguments, &self->web.arena, "host", self->host);
        web_link_set_int(&self->web, "port", self->port);
        return web_link_ask(&self->web, "web.close", &answer);
}

/* Until somebody wants its end. Returns the signal. */
static int serve_wait(Signals *signals) {
        struct pollfd fd = {.fd = signals->fd, .events = POLLIN};
        int number = 0;

        while (!number && (poll(&fd, 1, -1) >= 0 || errno == EINTR))
                number = signals_take(signals);
        return number;
}

static int serve_run(Serving *self) {
        static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
        Signals signals = SIGNALS_NULL;
        int number = 0, r;

        r = signals_open(&signals, ends, ARRAY_SIZE(ends));
        if (r)
                return complain(CLI_FAILED, "cannot wait for signals: %s", strerror(-r));
        r = serving_open(self);
        if (!r) {
                r = serve_addresses(self);
                r = r ? r : serve_print(self);
                if (!r && !self->options->detach)
                        number = serve_wait(&signals);
                if (r || !self->options->detach)
                        (void)serving_close(self);
        }
        signals_deinit(&signals);
        if (number)
                die_by_signal(number);
        return r;
}

static int serving_stop(Serving *self) {
        const Json *answer = NULL;
        int64_t n = 0;
        int r;

        web_link_set(&self->web, "host", self->options->host);
        if (self->options->port >= 0)
                web_link_set_int(&self->web, "port", self->options->port);
        r = web_link_ask(&self->web, "web.close", &answer);
        if (r)
                return r;
        (void)json_int64(json_get(answer, "closed"), &n);
        if (self->options->json)
                return json_print(stdout, answer, false) ? complain(CLI_FAILED, "out of memory") : CLI_OK;
        print(n == 1 ? "stopped\n" : n ? "stopped %lld servers\n" : "nothing was served\n", (long long)n);
        return CLI_OK;
}

int cmd_serve(const Options *options) {
        _cleanup_(serving_deinit) Serving self = {.options = options, .web = WEB_LINK_NULL};
        int r;

        self.web.is_json = options->json;
        if (options->port > USHRT_MAX)
                return complain(CLI_USAGE, "serve: there is no port %lld", (long long)options->port);
        r = options->stop ? asking_find(&self.web.socket) : asking_start(&self.web.socket);
        if (r)
                return r;
        return options->stop ? serving_stop(&self) : serve_run(&self);
}
