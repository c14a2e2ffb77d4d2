/* SPDX-License-Identifier: MIT */
#include "tunnel/tunnel.h"

#include <errno.h>
#include <openssl/rand.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/macro.h"

/* Tags of epoll: a kind, and a number of it. */
enum {
        TAG_CONTROL = 0,
        TAG_SOCKET = 0x100,
        TAG_CHANNEL = 0x200,
        TAG_KIND = 0xff00,
};

enum {
        EVENTS_MAX = 64,
        SOCKET_SPACE = 1024 * 1024,
        REFLEXIVE_TRIES = 4, /* at 0, 500, 1500 and 3500 ms */
        REFLEXIVE_MS = 500,
        ROUNDS_MAX = 8, /* batches of one socket in a turn, so that the others have theirs */
};

static int64_t tunnel_clock_ms(void) {
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* A daemon that does not read a thousand of these is not there any more; what only informs may be lost. */
static void tunnel_tell(Tunnel *tunnel, const TunnelState *state) {
        TunnelMessage message = {.type = TUNNEL_STATE, .state = *state};

        if (tunnel_send(tunnel->control, &message, NULL) && state->step != TUNNEL_MOVED)
                tunnel->is_quitting = true;
}

int tunnel_tell_ready(Tunnel *tunnel, uint8_t protections) {
        return tunnel_send(tunnel->control,
                           &(TunnelMessage){.type = TUNNEL_STATE,
                                            .state = {.step = TUNNEL_READY, .protections = protections}},
                           NULL);
}

static void tunnel_tell_peer(Tunnel *tunnel, TunnelStep step) {
        TunnelState state = {.step = step,
                             .peer = tunnel->peer->number,
                             .socket = tunnel->ice.selected.socket,
                             .address = tunnel->ice.selected.address};

        if (step == TUNNEL_SECURED)
                memcpy(state.fingerprint, tunnel->peer->fingerprint, sizeof(state.fingerprint));
        if (step == TUNNEL_LOST)
                state.reason = tunnel->peer->loss;
        tunnel_tell(tunnel, &state);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* An address of IPv4 at a socket of IPv6 is written as one of IPv6. */
static void tunnel_sockaddr(const Tunnel *tunnel, const IceSource *to, struct sockaddr_in6 *ret,
                            socklen_t *ret_n) {
        tunnel_address_to(&to->address, ret, ret_n);
        if (to->address.family == 4 && tunnel->families[to->socket] == 6) {
                *ret = (struct sockaddr_in6){.sin6_family = AF_INET6, .sin6_port = htons(to->address.port)};
                ret->sin6_addr.s6_addr[10] = ret->sin6_addr.s6_addr[11] = 0xff;
                memcpy(ret->sin6_addr.s6_addr + 12, to->address.bytes, 4);
                *ret_n = sizeof(*ret);
        }
}

static void tunnel_send_one(Tunnel *tunnel, const IceSource *to, const void *datagram, size_t n) {
        struct sockaddr_in6 address;
        socklen_t n_address;

        tunnel_sockaddr(tunnel, to, &address, &n_address);
        sendto(tunnel->sockets[to->socket], datagram, n, MSG_DONTWAIT | MSG_NOSIGNAL,
               (struct sockaddr *)&address, n_address);
}

/* What the kernel has no room for is lost, as on the wire. */
static void tunnel_flush(Tunnel *tunnel) {
        struct mmsghdr headers[TUNNEL_BATCH] = {0};
        struct iovec iovs[TUNNEL_BATCH];
        struct sockaddr_in6 address;
        socklen_t n_address;
        TunnelOut *out = &tunnel->out;

        if (out->n == 0)
                return;
        tunnel_sockaddr(tunnel, &tunnel->ice.selected, &address, &n_address);
        for (unsigned i = 0; i < out->n; i++) {
                iovs[i] = (struct iovec){out->datagrams[i], out->lengths[i]};
                headers[i].msg_hdr = (struct msghdr){.msg_name = &address,
                                                     .msg_namelen = n_address,
                                                     .msg_iov = &iovs[i],
                                                     .msg_iovlen = 1};
        }
        for (unsigned done = 0; done < out->n;) {
                int r = sendmmsg(tunnel->sockets[tunnel->ice.selected.socket], headers + done, out->n - done,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);

                done += r > 0 ? (unsigned)r : 1; /* an error is about the first of them */
        }
        out->n = 0;
}

static void tunnel_output(void *data, const void *datagram, size_t n) {
        Tunnel *tunnel = data;
        TunnelOut *out = &tunnel->out;

        if (n > sizeof(out->datagrams[0]))
                return;
        if (out->n == TUNNEL_BATCH)
                tunnel_flush(tunnel);
        memcpy(out->datagrams[out->n], datagram, n);
        out->lengths[out->n++] = n;
}

/* ---- the browser ----------------------------------------------------------------------------- */

static void tunnel_end_peer(Tunnel *tunnel) {
        tunnel_tell_peer(tunnel, TUNNEL_LOST);
        tunnel->peer = peer_free(tunnel->peer);
        tunnel_flush(tunnel);
        ice_end(&tunnel->ice);
}

static void tunnel_peer_risen(void *data) {
        Tunnel *tunnel = data;

        tunnel_tell_peer(tunnel, tunnel->peer->stage == PEER_UP ? TUNNEL_UP : TUNNEL_SECURED);
}

static void tunnel_begin_peer(Tunnel *tunnel) {
        PeerPlace place = {.context = tunnel->context,
                           .control = tunnel->control,
                           .epoll = tunnel->epoll,
                           .tag = TAG_CHANNEL,
                           .next_channel = &tunnel->n_channels,
                           .output = tunnel_output,
                           .risen = tunnel_peer_risen,
                           .data = tunnel};

        if (peer_new(&tunnel->peer, &place, ++tunnel->n_peers, tunnel->has_pin ? tunnel->pin : NULL,
                     tunnel->now_ms)) {
                ice_end(&tunnel->ice);
                return;
        }
        tunnel_tell_peer(tunnel, TUNNEL_CHECKED);
}

static bool tunnel_may_shake(const Tunnel *tunnel) {
        return tunnel->peer && (tunnel->has_pin || !tunnel->waits_for_pin);
}

static void tunnel_feed_early(Tunnel *tunnel) {
        Str datagram;

        while (tunnel_may_shake(tunnel) && ice_take_early(&tunnel->ice, NULL, &datagram))
                peer_input(tunnel->peer, datagram, tunnel->now_ms);
}

/* Ends a browser that is lost. */
static void tunnel_settle_peer(Tunnel *tunnel) {
        Peer *peer = tunnel->peer;

        if (!peer)
                return;
        if (!tunnel_may_shake(tunnel))
                peer->stage_ms = tunnel->now_ms; /* who waits for its pin is not late */
        if (!ice_has_consent(&tunnel->ice, tunnel->now_ms) && !peer->loss)
                peer->loss = TUNNEL_LOSS_CONSENT;
        if (peer->loss)
                tunnel_end_peer(tunnel);
}

/* ---- datagrams ------------------------------------------------------------------------------- */

static void tunnel_take_check(Tunnel *tunnel, Str datagram, const IceSource *from) {
        uint8_t reply[STUN_REPLY_MAX];
        size_t n;
        IceVerdict verdict = ice_take(&tunnel->ice, datagram, from, tunnel->now_ms, reply, &n);

        if (verdict == ICE_OTHER) {
                tunnel->peer->loss = TUNNEL_LOSS_REPLACED;
                tunnel_end_peer(tunnel);
                verdict = ice_take(&tunnel->ice, datagram, from, tunnel->now_ms, reply, &n);
        }
        if (n)
                tunnel_send_one(tunnel, from, reply, n);
        if (verdict == ICE_NEW)
                tunnel_begin_peer(tunnel);
        else if (verdict == ICE_MOVED)
                tunnel_tell_peer(tunnel, TUNNEL_MOVED);
        if (verdict != ICE_NOTHING)
                tunnel_feed_early(tunnel);
}

static void tunnel_take_reflexive(Tunnel *tunnel, Str datagram, const IceSource *from) {
        TunnelReflexive *reflexive = &tunnel->reflexive[from->socket];
        IceSource server = {.address = tunnel->stun, .socket = from->socket};
        StunMessage message;

        if (reflexive->is_done || reflexive->n_sent == 0 || !ice_source_eq(from, &server) ||
            stun_parse(datagram, &message) || message.type != STUN_BINDING_SUCCESS ||
            memcmp(message.id, reflexive->id, STUN_ID) != 0 || message.mapped.family == 0)
                return;
        reflexive->is_done = true;
        tunnel_tell(
                tunnel,
                &(TunnelState){.step = TUNNEL_REFLEXIVE, .socket = from->socket, .address = message.mapped});
}

static void tunnel_take_datagram(Tunnel *tunnel, Str datagram, const IceSource *from) {
        if (stun_is(datagram)) {
                if (tunnel->stun.family && (datagram.n > 1 && datagram.data[0] == 1))
                        tunnel_take_reflexive(tunnel, datagram, from);
                else
                        tunnel_take_check(tunnel, datagram, from);
        } else if (dtls_is(datagram)) {
                if (!ice_is_known(&tunnel->ice, from) || !tunnel_may_shake(tunnel)) {
                        ice_keep(&tunnel->ice, datagram, from);
                        return;
                }
                tunnel->ice.heard_ms = tunnel->now_ms;
                peer_input(tunnel->peer, datagram, tunnel->now_ms);
        }
}

static unsigned tunnel_receive_batch(Tunnel *tunnel, unsigned socket) {
        struct mmsghdr headers[TUNNEL_BATCH];
        struct iovec iovs[TUNNEL_BATCH];
        struct sockaddr_in6 addresses[TUNNEL_BATCH];
        int n;

        for (unsigned i = 0; i < TUNNEL_BATCH; i++) {
                iovs[i] = (struct iovec){tunnel->in[i], TUNNEL_DATAGRAM};
                headers[i].msg_hdr = (struct msghdr){.msg_name = &addresses[i],
                                                     .msg_namelen = sizeof(addresses[i]),
                                                     .msg_iov = &iovs[i],
                                                     .msg_iovlen = 1};
        }
        n = recvmmsg(tunnel->sockets[socket], headers, TUNNEL_BATCH, MSG_DONTWAIT, NULL);
        for (int i = 0; i < n; i++) {
                IceSource from = {.socket = (uint8_t)socket};

                if (headers[i].msg_hdr.msg_flags & MSG_TRUNC ||
                    !tunnel_address_from((struct sockaddr *)&addresses[i], &from.address))
                        continue;
                tunnel_take_datagram(tunnel, (Str){(const char *)tunnel->in[i], headers[i].msg_len}, &from);
        }
        return n > 0 ? (unsigned)n : 0;
}

static void tunnel_receive_socket(Tunnel *tunnel, unsigned socket) {
        unsigned n = TUNNEL_BATCH;

        for (unsigned i = 0; i < ROUNDS_MAX && n == TUNNEL_BATCH; i++) {
                n = tunnel_receive_batch(tunnel, socket);
                if (tunnel->peer)
                        peer_work(tunnel->peer, tunnel->now_ms);
                tunnel_settle_peer(tunnel);
                tunnel_flush(tunnel);
        }
}

/* ---- control --------------------------------------------------------------------------------- */

static void tunnel_take_pin(Tunnel *tunnel, const uint8_t *fingerprint) {
        memcpy(tunnel->pin, fingerprint, sizeof(tunnel->pin));
        tunnel->has_pin = true;
        if (tunnel->peer)
                peer_pin(tunnel->peer, tunnel->pin);
        tunnel_feed_early(tunnel);
}

static int tunnel_take_fd(TunnelReceived *received) {
        int fd = received->fds[0];

        received->fds[0] = -1;
        return fd;
}

static void tunnel_take_message(Tunnel *tunnel, TunnelReceived *received) {
        const TunnelMessage *message = &received->message;
        Peer *peer = tunnel->peer && tunnel->peer->stage == PEER_UP ? tunnel->peer : NULL;

        switch (message->type) {
        case TUNNEL_PIN: tunnel_take_pin(tunnel, message->fingerprint); break;
        case TUNNEL_CHANNEL:
                if (peer)
                        channels_give(&peer->channels, message->channel, tunnel_take_fd(received));
                break;
        case TUNNEL_REFUSE:
                if (peer)
                        channels_refuse(&peer->channels, message->channel);
                break;
        case TUNNEL_OPEN:
                if (peer)
                        channels_open(&peer->channels, message->open.label, message->open.protocol,
                                      tunnel_take_fd(received));
                break;
        case TUNNEL_DROP:
                if (tunnel->peer && tunnel->peer->number == message->peer && !tunnel->peer->loss)
                        tunnel->peer->loss = TUNNEL_LOSS_DROPPED;
                break;
        default: tunnel->is_quitting = true; break; /* QUIT, or what has no place here */
        }
        tunnel_received_deinit(received);
}

static void tunnel_receive_control(Tunnel *tunnel) {
        int r;

        while (!tunnel->is_quitting && (r = tunnel_receive(tunnel->control, &tunnel->received)) != -EAGAIN) {
                if (r)
                        tunnel->is_quitting = true;
                else
                        tunnel_take_message(tunnel, &tunnel->received);
        }
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void tunnel_ask_reflexive(Tunnel *tunnel, unsigned socket) {
        TunnelReflexive *reflexive = &tunnel->reflexive[socket];
        IceSource server = {.address = tunnel->stun, .socket = (uint8_t)socket};
        uint8_t request[STUN_REPLY_MAX];

        tunnel_send_one(tunnel, &server, request, stun_write_request(request, reflexive->id));
        reflexive->due_ms = tunnel->now_ms + (REFLEXIVE_MS << reflexive->n_sent++);
}

/* Sends what is due; returns in how long the next is, -1: never. */
static int tunnel_work_reflexive(Tunnel *tunnel) {
        int64_t next = -1;

        for (unsigned i = 0; tunnel->stun.family && i < tunnel->n_sockets; i++) {
                TunnelReflexive *reflexive = &tunnel->reflexive[i];

                if (reflexive->is_done || tunnel->families[i] != tunnel->stun.family)
                        continue;
                if (reflexive->n_sent < REFLEXIVE_TRIES && reflexive->due_ms <= tunnel->now_ms)
                        tunnel_ask_reflexive(tunnel, i);
                if (reflexive->n_sent < REFLEXIVE_TRIES)
                        next = next < 0 ? reflexive->due_ms : MIN(next, reflexive->due_ms);
        }
        return next < 0 ? -1 : (int)MAX(0, next - tunnel->now_ms);
}

static int tunnel_work(Tunnel *tunnel) {
        int due = tunnel_work_reflexive(tunnel), peer_due;

        if (tunnel->peer)
                peer_work(tunnel->peer, tunnel->now_ms);
        tunnel_settle_peer(tunnel);
        tunnel_flush(tunnel);
        if (!tunnel->peer)
                return due;
        peer_due = peer_due_ms(tunnel->peer, tunnel->now_ms);
        return due < 0 ? peer_due : MIN(due, peer_due);
}

static void tunnel_take_event(Tunnel *tunnel, const struct epoll_event *event) {
        unsigned number = (unsigned)(event->data.u64 & 0xff);

        switch (event->data.u64 & TAG_KIND) {
        case TAG_SOCKET: tunnel_receive_socket(tunnel, number); break;
        case TAG_CHANNEL:
                if (tunnel->peer) {
                        tunnel->peer->busy_ms = tunnel->now_ms;
                        channels_ready(&tunnel->peer->channels, number, event->events);
                }
                break;
        default: tunnel_receive_control(tunnel); break;
        }
}

int tunnel_run(Tunnel *tunnel) {
        struct epoll_event events[EVENTS_MAX];

        tunnel->now_ms = tunnel_clock_ms();
        while (!tunnel->is_quitting) {
                int n = epoll_wait(tunnel->epoll, events, EVENTS_MAX, tunnel_work(tunnel));

                if (n < 0 && errno != EINTR)
                        return -errno;
                tunnel->now_ms = tunnel_clock_ms();
                for (int i = 0; i < n; i++)
                        tunnel_take_event(tunnel, &events[i]);
        }
        return 0;
}

/* ---- begin and end --------------------------------------------------------------------------- */

static int tunnel_watch(Tunnel *tunnel, int fd, uint64_t tag) {
        struct epoll_event event = {.events = EPOLLIN, .data.u64 = tag};

        return epoll_ctl(tunnel->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int tunnel_take_socket(Tunnel *tunnel, unsigned number, int fd) {
        struct sockaddr_storage address = {0};
        socklen_t n = sizeof(address);
        int space = SOCKET_SPACE;

        if (getsockname(fd, (struct sockaddr *)&address, &n) ||
            (address.ss_family != AF_INET && address.ss_family != AF_INET6))
                return -EINVAL;
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &space,
                   sizeof(space)); /* as much of it as the machine allows */
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &space, sizeof(space));
        tunnel->sockets[number] = fd;
        tunnel->families[number] = address.ss_family == AF_INET ? 4 : 6;
        RAND_bytes(tunnel->reflexive[number].id, STUN_ID);
        return tunnel_watch(tunnel, fd, TAG_SOCKET + number);
}

static int tunnel_setup(Tunnel *tunnel, TunnelReceived *received, const char **why) {
        const TunnelConfig *config = &received->message.config;
        int space = SOCKET_SPACE, r;

        *why = "epoll";
        tunnel->epoll = epoll_create1(EPOLL_CLOEXEC);
        if (tunnel->epoll < 0)
                return -errno;
        setsockopt(tunnel->control, SOL_SOCKET, SO_SNDBUF, &space, sizeof(space));
        r = tunnel_watch(tunnel, tunnel->control, TAG_CONTROL);
        for (unsigned i = 0; !r && i < received->n_fds; i++) {
                *why = "the sockets that were handed over";
                r = tunnel_take_socket(tunnel, i, received->fds[i]);
                received->fds[i] = -1;
                tunnel->n_sockets++;
        }
        if (r)
                return r;
        *why = "key and certificate";
        ice_init(&tunnel->ice, config->ufrag, config->pwd);
        tunnel->stun = config->stun;
        tunnel->waits_for_pin = config->waits_for_pin;
        return dtls_context_new(&tunnel->context, config->key, config->certificate);
}

int tunnel_new(Tunnel **ret, int control, TunnelReceived *config, const char **why) {
        Tunnel *tunnel = calloc(1, sizeof(*tunnel));
        int r;

        *why = "memory";
        if (!tunnel)
                return -ENOMEM;
        tunnel->control = control;
        tunnel->epoll = -1;
        for (unsigned i = 0; i < TUNNEL_SOCKETS_MAX; i++)
                tunnel->sockets[i] = -1;
        r = tunnel_setup(tunnel, config, why);
        if (r) {
                tunnel_free(tunnel);
                return r;
        }
        *ret = tunnel;
        return 0;
}

Tunnel *tunnel_free(Tunnel *tunnel) {
        if (!tunnel)
                return NULL;
        if (tunnel->peer) {
                tunnel->peer = peer_free(tunnel->peer);
                tunnel_flush(tunnel);
        }
        for (unsigned i = 0; i < tunnel->n_sockets; i++)
                close_fd(tunnel->sockets[i]);
        close_fd(tunnel->epoll);
        SSL_CTX_free(tunnel->context);
        free(tunnel);
        return NULL;
}
