/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "tunnel"

#include "dialect/tunnel/tunnel.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/web/news.h"

static void tunnel_on_deadline(Timer *timer);

Tunnel *tunnel_of(const Endpoint *endpoint) {
        return endpoint->type == &tunnel_endpoint ? endpoint->context : NULL;
}

const char *tunnel_phase_name(TunnelPhase phase) {
        static const char *const names[] = {
                [TUNNEL_STARTING] = "starting",   [TUNNEL_WAITING] = "waiting", [TUNNEL_TRYING] = "trying",
                [TUNNEL_CONNECTED] = "connected", [TUNNEL_AWAY] = "away",       [TUNNEL_OVER] = "over"};

        return names[phase];
}

void tunnel_address_text(const TunnelAddress *address, char out[ADDRESS_TEXT_MAX + 8]) {
        char ip[ADDRESS_TEXT_MAX] = "-";

        (void)inet_ntop(address->family == 6 ? AF_INET6 : AF_INET, address->bytes, ip, sizeof(ip));
        snprintf(out, ADDRESS_TEXT_MAX + 8, address->family == 6 ? "[%s]:%u" : "%s:%u", ip, address->port);
}

/* ---- which there are ------------------------------------------------------------------------- */

Tunnel *tunnel_find(Daemon *daemon, unsigned number) {
        for (const Endpoint *e = daemon->endpoints; e; e = e->next) {
                Tunnel *tunnel = tunnel_of(e);

                if (tunnel && tunnel->number == number && tunnel->phase != TUNNEL_OVER)
                        return tunnel;
        }
        return NULL;
}

Tunnel *tunnel_find_of(const Client *client, unsigned number) {
        for (const Endpoint *e = client->daemon->endpoints; e; e = e->next) {
                Tunnel *tunnel = tunnel_of(e);

                if (tunnel && tunnel->number == number &&
                    (tunnel->phase != TUNNEL_OVER || tunnel->holder.client == client))
                        return tunnel;
        }
        return NULL;
}

static bool tunnel_has_short(const Tunnel *tunnel) {
        return tunnel->phase > TUNNEL_STARTING && tunnel->phase < TUNNEL_OVER && *tunnel->short_code &&
               loop_now_ms(tunnel->daemon->loop) < tunnel->short_until_ms;
}

Tunnel *tunnels_find_short(Daemon *daemon, Str typed) {
        char code[SHORT_CODE_DIGITS + 1];
        Tunnel *found = NULL;

        if (!short_code_read(typed, code))
                return NULL;
        for (const Endpoint *e = daemon->endpoints; e; e = e->next) {
                Tunnel *tunnel = tunnel_of(e);

                if (tunnel && tunnel_has_short(tunnel) && !strcmp(tunnel->short_code, code))
                        found = tunnel;
        }
        return found;
}

/* Nobody can tell for which of them it was meant: it counts for all. */
static void tunnels_count_try(Daemon *daemon) {
        for (const Endpoint *e = daemon->endpoints; e; e = e->next) {
                Tunnel *tunnel = tunnel_of(e);

                if (!tunnel || !tunnel_has_short(tunnel) || ++tunnel->n_short_tries < TUNNEL_SHORT_TRIES)
                        continue;
                tunnel->short_code[0] = '\0';
                web_news_tunnel(daemon, tunnel->name, "short_code_spent", tunnel->session, "",
                                "too many wrong short codes");
        }
}

Tunnel *tunnels_redeem(Daemon *daemon, Str typed) {
        Tunnel *tunnel = tunnels_find_short(daemon, typed);

        if (tunnel)
                tunnel->short_code[0] = '\0';
        else
                tunnels_count_try(daemon);
        return tunnel && !tunnel->is_spent ? tunnel : NULL;
}

/* ---- its phases ------------------------------------------------------------------------------ */

static int64_t tunnel_step_ms(const Tunnel *tunnel) {
        return tunnel->is_refused               ? TUNNEL_REFUSED_MS
               : tunnel->step == TUNNEL_UP      ? TUNNEL_PROOF_MS
               : tunnel->step == TUNNEL_SECURED ? TUNNEL_SCTP_MS
                                                : TUNNEL_DTLS_MS;
}

static int64_t tunnel_phase_ms(const Tunnel *tunnel) {
        switch (tunnel->phase) {
        case TUNNEL_STARTING: return tunnel->n_reflexive_due ? TUNNEL_REFLEXIVE_MS : TUNNEL_START_MS;
        case TUNNEL_WAITING: return TUNNEL_WAIT_MS;
        case TUNNEL_TRYING: return tunnel_step_ms(tunnel);
        case TUNNEL_AWAY:
                return MAX(tunnel->resume_until_ms - loop_now_ms(tunnel->daemon->loop), (int64_t)0);
        case TUNNEL_CONNECTED: return -1;
        case TUNNEL_OVER:
        default: return tunnel->is_quitting ? TUNNEL_KILL_MS : TUNNEL_QUIT_MS;
        }
}

void tunnel_set_phase(Tunnel *tunnel, TunnelPhase phase) {
        int64_t ms;

        tunnel->phase = phase;
        ms = tunnel_phase_ms(tunnel);
        if (ms < 0)
                timer_clear(&tunnel->deadline);
        else if (timer_set(&tunnel->deadline, ms) && phase != TUNNEL_OVER)
                tunnel_end(tunnel, "out of memory");
}

void tunnel_wait(Tunnel *tunnel, TunnelWait *wait, void (*changed)(TunnelWait *wait, Tunnel *tunnel)) {
        *wait = (TunnelWait){.is_set = true, .changed = changed};
        LIST_INSERT_HEAD(&tunnel->waits, wait, link);
}

void tunnel_wait_leave(TunnelWait *wait) {
        if (wait->is_set)
                LIST_REMOVE(wait, link);
        wait->is_set = false;
}

static void tunnel_changed(Tunnel *tunnel) {
        tunnel->n_changes++;
        while (!LIST_EMPTY(&tunnel->waits)) {
                TunnelWait *wait = LIST_FIRST(&tunnel->waits);

                tunnel_wait_leave(wait);
                wait->changed(wait, tunnel);
        }
}

static void tunnel_put_news(Tunnel *tunnel, const char *what, const char *why) {
        char from[ADDRESS_TEXT_MAX + 8] = "";

        if (tunnel->from.family)
                tunnel_address_text(&tunnel->from, from);
        web_news_tunnel(tunnel->daemon, tunnel->name, what, tunnel->session, from, why);
}

static void tunnel_answer_ready(Tunnel *tunnel, const char *why) {
        TunnelReady ready = steal(&tunnel->ready);

        if (ready)
                ready(tunnel, tunnel->ready_user, why);
}

void tunnel_is_ready(Tunnel *tunnel) {
        if (tunnel->phase != TUNNEL_STARTING)
                return;
        tunnel->short_until_ms = loop_now_ms(tunnel->daemon->loop) + TUNNEL_SHORT_MS;
        tunnel_set_phase(tunnel, TUNNEL_WAITING);
        tunnel_put_news(tunnel, "opened", "");
        tunnel_answer_ready(tunnel, NULL);
}

/* ---- attempts -------------------------------------------------------------------------------- */

/* All channels of who is gone. Those of it that are elsewhere for a call find out by themselves. */
static void tunnel_cut(Tunnel *tunnel, const char *why) {
        for (Client *client = LIST_FIRST(&tunnel->endpoint->clients); client;
             client = LIST_NEXT(client, link))
                conn_abort(client->conn, why);
        tunnel->control = NULL;
}

static void tunnel_on_checked(Tunnel *tunnel, const TunnelState *state) {
        tunnel->peer = state->peer;
        tunnel->is_refused = false;
        tunnel->step = TUNNEL_CHECKED;
        tunnel->from = state->address;
        tunnel_set_phase(tunnel, TUNNEL_TRYING);
}

static void tunnel_on_secured(Tunnel *tunnel, const TunnelState *state) {
        tunnel->step = TUNNEL_SECURED;
        tunnel->from = state->address.family ? state->address : tunnel->from;
        if (tunnel->has_pin && memcmp(tunnel->pin, state->fingerprint, sizeof(tunnel->pin)) != 0)
                tunnel_drop_peer(tunnel, "another certificate than the answer's");
        else
                tunnel_set_phase(tunnel, TUNNEL_TRYING);
}

static const char *tunnel_loss_words(TunnelLoss loss) {
        static const char *const words[_TUNNEL_LOSS_N] = {
                [TUNNEL_LOSS_CLOSED] = "closed by the other side",
                [TUNNEL_LOSS_CONSENT] = "silent for 30 s",
                [TUNNEL_LOSS_DTLS] = "no DTLS",
                [TUNNEL_LOSS_PIN] = "another certificate than the answer's",
                [TUNNEL_LOSS_SCTP] = "no SCTP",
                [TUNNEL_LOSS_DROPPED] = "dropped",
                [TUNNEL_LOSS_REPLACED] = "silent, and another one came",
                [TUNNEL_LOSS_MEMORY] = "out of memory"};

        return loss < _TUNNEL_LOSS_N && words[loss] ? words[loss] : "lost";
}

/* Nobody is there: either nobody has been, or the last one may come back. */
static void tunnel_await(Tunnel *tunnel) {
        tunnel->peer = 0;
        tunnel->step = 0;
        tunnel_set_phase(tunnel, tunnel->is_spent ? TUNNEL_AWAY : TUNNEL_WAITING);
}

static void tunnel_on_lost(Tunnel *tunnel, const char *why) {
        bool was_connected = tunnel->phase == TUNNEL_CONNECTED;

        snprintf(tunnel->why, sizeof(tunnel->why), "%s", why);
        tunnel_cut(tunnel, "the peer of the tunnel is lost");
        if (was_connected)
                tunnel->resume_until_ms = loop_now_ms(tunnel->daemon->loop) + TUNNEL_AWAY_MS;
        tunnel_put_news(tunnel, was_connected ? "lost" : "failed", why);
        if (!was_connected && ++tunnel->n_failed >= TUNNEL_ATTEMPTS_MAX)
                tunnel_end(tunnel, "too many attempts failed");
        else {
                tunnel_await(tunnel);
                tunnel_changed(tunnel);
        }
}

/* The process says "lost" of it later, when nobody asks any more. */
void tunnel_drop_peer(Tunnel *tunnel, const char *why) {
        uint32_t peer = tunnel->peer;

        if (!peer)
                return;
        tunnel_say(tunnel, &(TunnelMessage){.type = TUNNEL_DROP, .peer = peer}, NULL);
        if (tunnel->phase < TUNNEL_OVER)
                tunnel_on_lost(tunnel, why);
}

/* What it was told last is still on its way to who has shown a wrong token. */
void tunnel_control_gone(Tunnel *tunnel) {
        tunnel->control = NULL;
        if (tunnel->phase == TUNNEL_CONNECTED)
                tunnel_drop_peer(tunnel, "coop-control was closed");
        else if (tunnel->phase == TUNNEL_TRYING) {
                tunnel->is_refused = true;
                tunnel_set_phase(tunnel, TUNNEL_TRYING);
        }
}

void tunnel_on_state(Tunnel *tunnel, const TunnelState *state) {
        if (tunnel->phase == TUNNEL_OVER)
                return;
        if (state->step == TUNNEL_CHECKED && tunnel->phase > TUNNEL_STARTING) {
                if (tunnel->peer)
                        tunnel_on_lost(tunnel, tunnel_loss_words(TUNNEL_LOSS_REPLACED));
                if (tunnel->phase < TUNNEL_OVER)
                        tunnel_on_checked(tunnel, state);
                return;
        }
        if (!tunnel->peer || state->peer != tunnel->peer)
                return;
        if (state->step == TUNNEL_MOVED)
                tunnel->from = state->address;
        else if (state->step == TUNNEL_LOST)
                tunnel_on_lost(tunnel, tunnel_loss_words(state->reason));
        else if (state->step == TUNNEL_SECURED && tunnel->phase == TUNNEL_TRYING)
                tunnel_on_secured(tunnel, state);
        else if (state->step == TUNNEL_UP && tunnel->phase == TUNNEL_TRYING) {
                tunnel->step = TUNNEL_UP;
                tunnel_set_phase(tunnel, TUNNEL_TRYING);
        }
}

/* What lets in next, once; the digest is kept. */
static int tunnel_make_resume(Tunnel *tunnel, char resume[TOKEN_TEXT_MAX]) {
        int r = token_make_secret(TUNNEL_CODE_TOKEN, resume);

        return r ? error_trace(r) : error_trace(token_digest(str_from(resume), tunnel->resume));
}

void tunnel_prove(Tunnel *tunnel, Client *control, char resume[TOKEN_TEXT_MAX]) {
        bool is_back = tunnel->is_spent;

        tunnel->control = control;
        tunnel->is_spent = true;
        tunnel->short_code[0] = '\0';
        explicit_bzero(tunnel->code.token, sizeof(tunnel->code.token));
        if (tunnel_make_resume(tunnel, resume) || principal_be_web(control, tunnel->token)) {
                tunnel_end(tunnel, "out of memory");
                return;
        }
        tunnel_set_phase(tunnel, TUNNEL_CONNECTED);
        tunnel_put_news(tunnel, is_back ? "resumed" : "connected", "");
        tunnel_changed(tunnel);
}

int tunnel_pin(Tunnel *tunnel, const uint8_t fingerprint[32]) {
        TunnelMessage message = {.type = TUNNEL_PIN};

        tunnel->has_pin = true;
        memcpy(tunnel->pin, fingerprint, sizeof(tunnel->pin));
        memcpy(message.fingerprint, fingerprint, sizeof(message.fingerprint));
        tunnel_say(tunnel, &message, NULL);
        return tunnel->phase == TUNNEL_OVER ? -EPIPE : 0;
}

/* ---- its end --------------------------------------------------------------------------------- */

static void tunnel_on_deadline(Timer *timer) {
        static const char *const late[] = {[TUNNEL_CHECKED] = "no DTLS in time",
                                           [TUNNEL_SECURED] = "no SCTP in time",
                                           [TUNNEL_UP] = "no token in time"};
        Tunnel *tunnel = container_of(timer, Tunnel, deadline);

        switch (tunnel->phase) {
        case TUNNEL_STARTING:
                if (tunnel->n_reflexive_due) /* it can do without */
                        tunnel_is_ready(tunnel);
                else
                        tunnel_end(tunnel, "muster-tunnel does not get ready");
                break;
        case TUNNEL_WAITING: tunnel_end(tunnel, "nobody came in 5 minutes"); break;
        case TUNNEL_TRYING:
                tunnel_drop_peer(tunnel, tunnel->is_refused ? "wrong token" : late[tunnel->step]);
                break;
        case TUNNEL_AWAY: tunnel_end(tunnel, "it did not come back in 10 minutes"); break;
        case TUNNEL_OVER:
                if (tunnel->is_quitting)
                        tunnel_process_drop(tunnel);
                else
                        tunnel_process_quit(tunnel);
                break;
        case TUNNEL_CONNECTED:
        default: break;
        }
}

void tunnel_client_gone(Tunnel *tunnel) {
        tunnel->n_channels--;
        if (tunnel->phase == TUNNEL_OVER && !tunnel->n_channels && !tunnel->is_quitting)
                tunnel_process_quit(tunnel);
}

void tunnel_end(Tunnel *tunnel, const char *why) {
        if (tunnel->phase == TUNNEL_OVER)
                return;
        snprintf(tunnel->why, sizeof(tunnel->why), "%s", why);
        tunnel->endpoint->is_removed = true;
        endpoint_close(tunnel->endpoint);
}

static void tunnel_close_endpoint(Endpoint *endpoint) {
        Tunnel *tunnel = endpoint->context;
        bool was_ended = endpoint->is_removed; /* by tunnel_end(), which says why */
        const char *why = tunnel->why;
        bool was_ready = tunnel->phase > TUNNEL_STARTING;

        endpoint->is_removed = true;
        if (!was_ended)
                snprintf(tunnel->why, sizeof(tunnel->why), "the daemon stops");
        tunnel->short_code[0] = tunnel->resume[0] = '\0';
        tunnel_set_phase(tunnel, TUNNEL_OVER);
        tokens_end_server(tunnel->daemon->tokens, steal(&tunnel->token), "tunnel closed");
        if (was_ready)
                tunnel_put_news(tunnel, "closed", why);
        tunnel_answer_ready(tunnel, why);
        tunnel_changed(tunnel);
        if (!tunnel->n_channels)
                tunnel_process_quit(tunnel);
}

static int tunnel_open_endpoint(_unused_ Endpoint *endpoint) {
        return 0;
}

static void tunnel_free_endpoint(Endpoint *endpoint) {
        tunnel_free(endpoint->context);
}

const EndpointType tunnel_endpoint = {
        .name = "tunnel",
        .dialect = &tunnel_proof_dialect,
        .limits = {.high_water = 256 << 10, .low_water = 64 << 10, .hard_limit = 32 << 20},
        .is_beside = true,
        .served_exit = EXIT_STATUS_BIND,
        .open = tunnel_open_endpoint,
        .close = tunnel_close_endpoint,
        .free = tunnel_free_endpoint,
};

void tunnels_end_all(Daemon *daemon, const char *why) {
        for (const Endpoint *e = daemon->endpoints; e; e = e->next) {
                Tunnel *tunnel = tunnel_of(e);

                if (tunnel)
                        tunnel_end(tunnel, why);
        }
}

/* Nothing of it is under way. Its holder may still ask why it ended. */
static bool tunnel_is_done(const Tunnel *tunnel) {
        const Endpoint *endpoint = tunnel->endpoint;

        return tunnel->phase == TUNNEL_OVER && !tunnel->child && !tunnel->ready_user &&
               LIST_EMPTY(&endpoint->clients) && !endpoint->n_away;
}

void tunnels_tidy(Daemon *daemon, bool with_unheard) {
        Endpoint **at = &daemon->endpoints;

        while (*at) {
                Endpoint *endpoint = *at;
                const Tunnel *tunnel = tunnel_of(endpoint);

                if (!tunnel || !tunnel_is_done(tunnel) || (tunnel->holder.client && !with_unheard)) {
                        at = &endpoint->next;
                        continue;
                }
                *at = endpoint->next;
                endpoint_free(endpoint);
        }
}

/* ---- making one ------------------------------------------------------------------------------ */

static void tunnel_on_holder_gone(ClientWatch *watch) {
        tunnel_end(container_of(watch, Tunnel, holder), "whoever asked for it is gone");
}

static int tunnel_enlist(Tunnel *tunnel) {
        Endpoint **end = &tunnel->daemon->endpoints;
        int r;

        while (*end)
                end = &(*end)->next;
        r = endpoint_new(end, tunnel->daemon, &tunnel_endpoint, tunnel->name);
        if (r)
                return error_trace(r);
        tunnel->endpoint = *end;
        tunnel->endpoint->context = tunnel;
        (void)endpoint_open(tunnel->endpoint);
        return 0;
}

Tunnel *tunnel_new(Daemon *daemon, const TunnelSpec *spec) {
        Tunnel *tunnel = calloc(1, sizeof(*tunnel));

        if (!tunnel)
                return NULL;
        tunnel->daemon = daemon;
        tunnel->fd = -1;
        tunnel->number = ++daemon->n_tunnels;
        snprintf(tunnel->name, sizeof(tunnel->name), "tunnel %u", tunnel->number);
        tunnel->scope = spec->scope;
        tunnel->code.is_view = spec->scope == WEB_SCOPE_VIEW;
        tunnel->since_us = loop_wall_us(daemon->loop);
        timer_init(&tunnel->deadline, daemon->loop, tunnel_on_deadline);
        tunnel->session = str_dup(spec->session);
        if (!tunnel->session || tunnel_enlist(tunnel)) {
                tunnel_free(tunnel);
                return NULL;
        }
        if (spec->holder)
                client_watch(spec->holder, &tunnel->holder, tunnel_on_holder_gone);
        return tunnel;
}

void tunnel_free(Tunnel *tunnel) {
        if (!tunnel)
                return;
        timer_clear(&tunnel->deadline);
        client_unwatch(&tunnel->holder);
        tunnel_process_drop(tunnel);
        tunnel_net_close(&tunnel->net);
        certificate_pair_deinit(&tunnel->pair);
        free(tunnel->session);
        explicit_bzero(tunnel, sizeof(*tunnel));
        free(tunnel);
}
