/* SPDX-License-Identifier: MIT */
/* Opening a tunnel: what waits (names, sockets, keys) is done on a worker, then its process is started. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/daemon.h"
#include "dialect/tunnel/tunnel.h"

typedef struct TunnelOpening {
        Daemon *daemon;
        unsigned number; /* of the tunnel, which may be gone when the worker is back */
        bool waits_for_answer;
        char *stun; /* NULL: none */
        StrVec addresses;
        TunnelPorts ports;
        /* What the worker has made. */
        int r;
        char why[TUNNEL_NET_WHY];
        CertificatePair pair;
        TunnelNet net;
        TunnelAddress stun_address;
} TunnelOpening;

static void tunnel_opening_free(TunnelOpening *self) {
        tunnel_net_close(&self->net);
        certificate_pair_deinit(&self->pair);
        strvec_deinit(&self->addresses);
        free(self->stun);
        free(self);
}

/* ---- on a worker ----------------------------------------------------------------------------- */

static void tunnel_opening_run(void *user) {
        TunnelOpening *self = user;

        self->r = certificate_pair_make(&self->pair, TUNNEL_CERTIFICATE_DAYS);
        if (!self->r)
                self->r = tunnel_net_open(&self->net, &self->addresses, self->ports, self->why);
        if (!self->r && self->stun)
                self->r = tunnel_net_resolve(self->stun, &self->stun_address, self->why);
}

/* ---- and back -------------------------------------------------------------------------------- */

static size_t tunnel_opening_n_of_family(const TunnelNet *net, unsigned family) {
        size_t n = 0;

        for (size_t i = 0; i < net->n; i++)
                n += net->addresses[i].family == family;
        return n;
}

static void tunnel_opening_take(Tunnel *tunnel, TunnelOpening *self) {
        TunnelCode *code = &tunnel->code;

        tunnel->pair = self->pair;
        self->pair = (CertificatePair){.key = BUF_NULL, .certificate = BUF_NULL};
        tunnel->net = self->net;
        self->net.n = 0;
        tunnel->stun = self->stun_address;
        if (tunnel->stun.family)
                tunnel->n_reflexive_due = tunnel_opening_n_of_family(&tunnel->net, tunnel->stun.family);
        memcpy(code->fingerprint, tunnel->pair.digest, sizeof(code->fingerprint));
        code->n_candidates = tunnel->net.n;
        for (size_t i = 0; i < tunnel->net.n; i++)
                code->candidates[i] = (TunnelCandidate){.address = tunnel->net.addresses[i]};
}

static int tunnel_opening_start(Tunnel *tunnel, TunnelOpening *self) {
        char secret[TOKEN_TEXT_MAX], digest[SHA256_HEX_MAX];
        int r = tunnel_code_make_secrets(&tunnel->code);

        tunnel_opening_take(tunnel, self);
        if (!r)
                r = short_code_make(tunnel->short_code);
        if (!r) /* nobody knows this one: it only stands for who has proved itself otherwise */
                r = token_make_secret(TOKEN_SERVER_BYTES, secret);
        if (!r)
                r = token_digest(str_from(secret), digest);
        if (r)
                return error_trace(r);
        tunnel->token =
                tokens_begin_server(tunnel->daemon->tokens, tunnel->scope, str_from(tunnel->name), digest);
        return tunnel->token ? error_trace(tunnel_process_start(tunnel, self->waits_for_answer))
                             : error_origin(-ENOMEM);
}

static void tunnel_opening_done(void *user) {
        TunnelOpening *self = user;
        Tunnel *tunnel = tunnel_find(self->daemon, self->number);
        char why[TUNNEL_WHY_MAX];
        int r = self->r;

        if (tunnel && !r)
                r = tunnel_opening_start(tunnel, self);
        if (r < 0)
                snprintf(why, sizeof(why), "%s: %s", self->daemon->tunnel_path, strerror(-r));
        else
                snprintf(why, sizeof(why), "%s", self->why);
        if (tunnel && r)
                tunnel_end(tunnel, why);
        tunnel_opening_free(self);
}

/* ---- beginning ------------------------------------------------------------------------------- */

static TunnelOpening *tunnel_opening_new(Daemon *daemon, const TunnelSpec *spec) {
        TunnelOpening *self = calloc(1, sizeof(*self));

        if (!self)
                return NULL;
        self->daemon = daemon;
        self->waits_for_answer = spec->waits_for_answer;
        self->stun = spec->stun ? strdup(spec->stun) : NULL;
        (void)tunnel_net_ports(daemon->config.tunnel_ports, &self->ports);
        if ((spec->stun && !self->stun) ||
            strvec_append(&self->addresses, &daemon->config.tunnel_addresses)) {
                tunnel_opening_free(self);
                return NULL;
        }
        return self;
}

static size_t tunnels_count(const Daemon *daemon) {
        size_t n = 0;

        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                n += tunnel_of(e) != NULL;
        return n;
}

int tunnel_open(Tunnel **ret, Daemon *daemon, const TunnelSpec *spec, TunnelReady ready, void *user) {
        TunnelOpening *opening;
        Tunnel *tunnel;
        int r;

        tunnels_tidy(daemon, false);
        if (tunnels_count(daemon) >= TUNNELS_MAX)
                tunnels_tidy(daemon, true);
        if (daemon->is_stopping)
                return error_origin(-ESHUTDOWN);
        if (tunnels_count(daemon) >= TUNNELS_MAX)
                return TUNNEL_OPEN_E_FULL;
        opening = tunnel_opening_new(daemon, spec);
        if (!opening)
                return error_origin(-ENOMEM);
        tunnel = tunnel_new(daemon, spec);
        opening->number = tunnel ? tunnel->number : 0;
        r = tunnel ? loop_work_slow(daemon->loop, tunnel_opening_run, tunnel_opening_done, opening)
                   : -ENOMEM;
        if (r) {
                tunnel_opening_free(opening);
                if (tunnel)
                        tunnel_end(tunnel, "out of memory");
                return error_trace(r);
        }
        tunnel->ready = ready;
        tunnel->ready_user = user;
        tunnel_set_phase(tunnel, TUNNEL_STARTING);
        *ret = tunnel;
        return 0;
}
