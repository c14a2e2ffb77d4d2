/* SPDX-License-Identifier: MIT */
#include "tunnel/tunnel-control.h"

#include <assert.h>
#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct Writer {
        uint8_t *at;
        size_t left;
        bool has_failed;
} Writer;

static void writer_bytes(Writer *w, const void *from, size_t n) {
        if (n > w->left) {
                w->has_failed = true;
                return;
        }
        if (n)
                memcpy(w->at, from, n);
        w->at += n;
        w->left -= n;
}

static void writer_u8(Writer *w, unsigned value) {
        writer_bytes(w, &(uint8_t){(uint8_t)value}, 1);
}

static void writer_u16(Writer *w, unsigned value) {
        writer_bytes(w, (uint8_t[]){(uint8_t)(value >> 8), (uint8_t)value}, 2);
}

static void writer_u32(Writer *w, uint32_t value) {
        writer_u16(w, value >> 16);
        writer_u16(w, value & 0xffff);
}

static void writer_text(Writer *w, Str text, size_t max) {
        if (text.n > max) {
                w->has_failed = true;
                return;
        }
        writer_u16(w, (unsigned)text.n);
        writer_bytes(w, text.data, text.n);
}

static void writer_address(Writer *w, const TunnelAddress *address) {
        writer_u8(w, address->family);
        writer_bytes(w, address->bytes, sizeof(address->bytes));
        writer_u16(w, address->port);
}

static void writer_config(Writer *w, const TunnelConfig *config) {
        writer_u8(w, TUNNEL_VERSION);
        writer_u8(w, config->n_sockets);
        writer_u8(w, config->waits_for_pin);
        writer_text(w, config->ufrag, TUNNEL_SECRET_MAX);
        writer_text(w, config->pwd, TUNNEL_SECRET_MAX);
        writer_text(w, config->key, TUNNEL_KEY_MAX);
        writer_text(w, config->certificate, TUNNEL_CERT_MAX);
        writer_address(w, &config->stun);
}

static void writer_state(Writer *w, const TunnelState *state) {
        writer_u8(w, state->step);
        writer_u32(w, state->peer);
        writer_u8(w, state->socket);
        writer_u8(w, state->protections);
        writer_u8(w, state->reason);
        writer_address(w, &state->address);
        writer_bytes(w, state->fingerprint, sizeof(state->fingerprint));
}

static void writer_ask(Writer *w, const TunnelAsk *ask) {
        writer_u32(w, ask->peer);
        writer_u32(w, ask->channel);
        writer_u16(w, ask->stream);
        writer_text(w, ask->label, TUNNEL_LABEL_MAX);
        writer_text(w, ask->protocol, TUNNEL_LABEL_MAX);
}

int tunnel_encode(const TunnelMessage *message, uint8_t to[static TUNNEL_MESSAGE_MAX]) {
        Writer w = {.at = to, .left = TUNNEL_MESSAGE_MAX};

        writer_u8(&w, message->type);
        switch (message->type) {
        case TUNNEL_CONFIG: writer_config(&w, &message->config); break;
        case TUNNEL_PIN: writer_bytes(&w, message->fingerprint, sizeof(message->fingerprint)); break;
        case TUNNEL_CHANNEL:
        case TUNNEL_REFUSE:
        case TUNNEL_CLOSED: writer_u32(&w, message->channel); break;
        case TUNNEL_OPEN:
                writer_text(&w, message->open.label, TUNNEL_LABEL_MAX);
                writer_text(&w, message->open.protocol, TUNNEL_LABEL_MAX);
                break;
        case TUNNEL_DROP: writer_u32(&w, message->peer); break;
        case TUNNEL_QUIT: break;
        case TUNNEL_STATE: writer_state(&w, &message->state); break;
        case TUNNEL_ASK: writer_ask(&w, &message->ask); break;
        case TUNNEL_FAILED: writer_text(&w, message->reason, TUNNEL_REASON_MAX); break;
        }
        return w.has_failed ? -EMSGSIZE : (int)(w.at - to);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct Reader {
        Str left;
        bool has_failed;
} Reader;

static const uint8_t *reader_bytes(Reader *r, size_t n) {
        static const uint8_t none[64];
        const uint8_t *at = (const uint8_t *)r->left.data;

        assert(n <= sizeof(none));
        if (n > r->left.n) {
                r->has_failed = true;
                return none;
        }
        r->left.data += n;
        r->left.n -= n;
        return at;
}

static uint8_t reader_u8(Reader *r) {
        return *reader_bytes(r, 1);
}

static uint16_t reader_u16(Reader *r) {
        const uint8_t *at = reader_bytes(r, 2);

        return (uint16_t)(at[0] << 8 | at[1]);
}

static uint32_t reader_u32(Reader *r) {
        uint32_t high = reader_u16(r);

        return high << 16 | reader_u16(r);
}

static bool reader_flag(Reader *r) {
        uint8_t value = reader_u8(r);

        r->has_failed |= value > 1;
        return value == 1;
}

static Str reader_text(Reader *r, size_t min, size_t max) {
        size_t n = reader_u16(r);
        Str text = {r->left.data, n};

        if (n < min || n > max || n > r->left.n) {
                r->has_failed = true;
                return STR_NULL;
        }
        r->left.data += n;
        r->left.n -= n;
        return text;
}

static void reader_address(Reader *r, TunnelAddress *ret, bool is_needed) {
        ret->family = reader_u8(r);
        memcpy(ret->bytes, reader_bytes(r, sizeof(ret->bytes)), sizeof(ret->bytes));
        ret->port = reader_u16(r);
        if (ret->family != 4 && ret->family != 6 && (is_needed || ret->family != 0))
                r->has_failed = true;
}

static void reader_config(Reader *r, TunnelConfig *ret) {
        r->has_failed |= reader_u8(r) != TUNNEL_VERSION;
        ret->n_sockets = reader_u8(r);
        r->has_failed |= ret->n_sockets == 0 || ret->n_sockets > TUNNEL_SOCKETS_MAX;
        ret->waits_for_pin = reader_flag(r);
        ret->ufrag = reader_text(r, 4, TUNNEL_SECRET_MAX);
        ret->pwd = reader_text(r, 22, TUNNEL_SECRET_MAX);
        ret->key = reader_text(r, 1, TUNNEL_KEY_MAX);
        ret->certificate = reader_text(r, 1, TUNNEL_CERT_MAX);
        reader_address(r, &ret->stun, false);
}

static void reader_state(Reader *r, TunnelState *ret) {
        uint8_t step = reader_u8(r), reason;

        r->has_failed |= step < TUNNEL_READY || step > TUNNEL_LOST;
        ret->step = (TunnelStep)step;
        ret->peer = reader_u32(r);
        r->has_failed |= (ret->peer == 0) != (step < TUNNEL_CHECKED);
        ret->socket = reader_u8(r);
        r->has_failed |= ret->socket >= TUNNEL_SOCKETS_MAX;
        ret->protections = reader_u8(r);
        r->has_failed |= (ret->protections & ~TUNNEL_PROTECTIONS) != 0;
        reason = reader_u8(r);
        r->has_failed |= reason >= _TUNNEL_LOSS_N || (reason == 0) != (step != TUNNEL_LOST);
        ret->reason = (TunnelLoss)reason;
        reader_address(r, &ret->address, step != TUNNEL_READY && step != TUNNEL_LOST && step != TUNNEL_UP);
        memcpy(ret->fingerprint, reader_bytes(r, sizeof(ret->fingerprint)), sizeof(ret->fingerprint));
}

static void reader_ask(Reader *r, TunnelAsk *ret) {
        ret->peer = reader_u32(r);
        ret->channel = reader_u32(r);
        ret->stream = reader_u16(r);
        ret->label = reader_text(r, 0, TUNNEL_LABEL_MAX);
        ret->protocol = reader_text(r, 0, TUNNEL_LABEL_MAX);
}

int tunnel_decode(Str bytes, TunnelMessage *ret) {
        Reader r = {.left = bytes};
        TunnelMessage m = {.type = (TunnelType)reader_u8(&r)};

        switch (m.type) {
        case TUNNEL_CONFIG: reader_config(&r, &m.config); break;
        case TUNNEL_PIN: memcpy(m.fingerprint, reader_bytes(&r, 32), 32); break;
        case TUNNEL_CHANNEL:
        case TUNNEL_REFUSE:
        case TUNNEL_CLOSED: m.channel = reader_u32(&r); break;
        case TUNNEL_OPEN:
                m.open.label = reader_text(&r, 0, TUNNEL_LABEL_MAX);
                m.open.protocol = reader_text(&r, 0, TUNNEL_LABEL_MAX);
                break;
        case TUNNEL_DROP: m.peer = reader_u32(&r); break;
        case TUNNEL_QUIT: break;
        case TUNNEL_STATE: reader_state(&r, &m.state); break;
        case TUNNEL_ASK: reader_ask(&r, &m.ask); break;
        case TUNNEL_FAILED: m.reason = reader_text(&r, 0, TUNNEL_REASON_MAX); break;
        default: return TUNNEL_E_INVALID;
        }
        if (r.has_failed || r.left.n)
                return TUNNEL_E_INVALID;
        *ret = m;
        return 0;
}

/* ---- the socket ------------------------------------------------------------------------------ */

unsigned tunnel_n_fds(const TunnelMessage *message) {
        switch (message->type) {
        case TUNNEL_CONFIG: return message->config.n_sockets;
        case TUNNEL_CHANNEL:
        case TUNNEL_OPEN: return 1;
        default: return 0;
        }
}

typedef union ControlSpace {
        struct cmsghdr header; /* for its alignment */
        char bytes[CMSG_SPACE(sizeof(int) * TUNNEL_SOCKETS_MAX)];
} ControlSpace;

int tunnel_send(int control, const TunnelMessage *message, const int *fds) {
        uint8_t bytes[TUNNEL_MESSAGE_MAX];
        int n = tunnel_encode(message, bytes);
        unsigned n_fds = tunnel_n_fds(message);
        ControlSpace space = {0};
        struct iovec iov = {bytes, (size_t)n};
        struct msghdr header = {.msg_iov = &iov, .msg_iovlen = 1};

        if (n < 0 || n_fds > TUNNEL_SOCKETS_MAX)
                return -EMSGSIZE;
        if (n_fds) {
                struct cmsghdr *c = &space.header;

                header.msg_control = space.bytes;
                header.msg_controllen = CMSG_SPACE(sizeof(int) * n_fds);
                c->cmsg_level = SOL_SOCKET;
                c->cmsg_type = SCM_RIGHTS;
                c->cmsg_len = CMSG_LEN(sizeof(int) * n_fds);
                memcpy(CMSG_DATA(c), fds, sizeof(int) * n_fds);
        }
        return sendmsg(control, &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

void tunnel_received_deinit(TunnelReceived *received) {
        for (unsigned i = 0; i < received->n_fds; i++)
                received->fds[i] = close_fd(received->fds[i]);
        received->n_fds = 0;
}

static void received_take_fds(TunnelReceived *received, struct msghdr *header) {
        for (struct cmsghdr *c = CMSG_FIRSTHDR(header); c; c = CMSG_NXTHDR(header, c)) {
                size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
                        continue;
                n = MIN(n, (size_t)TUNNEL_SOCKETS_MAX - received->n_fds);
                memcpy(received->fds + received->n_fds, CMSG_DATA(c), n * sizeof(int));
                received->n_fds += (unsigned)n;
        }
}

int tunnel_receive(int control, TunnelReceived *ret) {
        ControlSpace space;
        struct iovec iov = {ret->bytes, sizeof(ret->bytes)};
        struct msghdr header = {.msg_iov = &iov,
                                .msg_iovlen = 1,
                                .msg_control = space.bytes,
                                .msg_controllen = sizeof(space.bytes)};
        ssize_t n = recvmsg(control, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        ret->n_fds = 0;
        if (n < 0)
                return errno == ECONNRESET ? -EPIPE : -errno;
        if (n == 0)
                return -EPIPE;
        received_take_fds(ret, &header);
        if (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC) ||
            tunnel_decode((Str){(const char *)ret->bytes, (size_t)n}, &ret->message) ||
            tunnel_n_fds(&ret->message) != ret->n_fds) {
                tunnel_received_deinit(ret);
                return TUNNEL_E_INVALID;
        }
        return 0;
}

/* ---- channels and addresses ------------------------------------------------------------------ */

void tunnel_data_header(uint8_t to[static TUNNEL_DATA_HEADER], bool is_binary, size_t n) {
        assert(n <= TUNNEL_DATA_MAX);
        to[0] = is_binary;
        to[1] = (uint8_t)(n >> 16);
        to[2] = (uint8_t)(n >> 8);
        to[3] = (uint8_t)n;
}

int tunnel_data_parse(const uint8_t header[static TUNNEL_DATA_HEADER], bool *ret_binary, size_t *ret_n) {
        size_t n = (size_t)header[1] << 16 | (size_t)header[2] << 8 | header[3];

        if (header[0] > 1 || n > TUNNEL_DATA_MAX)
                return TUNNEL_E_INVALID;
        *ret_binary = header[0] == 1;
        *ret_n = n;
        return 0;
}

bool tunnel_address_eq(const TunnelAddress *a, const TunnelAddress *b) {
        return a->family == b->family && a->port == b->port &&
               memcmp(a->bytes, b->bytes, sizeof(a->bytes)) == 0;
}

void tunnel_address_to(const TunnelAddress *address, struct sockaddr_in6 *ret, socklen_t *ret_n) {
        *ret = (struct sockaddr_in6){0};
        if (address->family == 4) {
                struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(address->port)};

                memcpy(&in.sin_addr, address->bytes, 4);
                memcpy(ret, &in, sizeof(in));
                *ret_n = sizeof(in);
                return;
        }
        ret->sin6_family = AF_INET6;
        ret->sin6_port = htons(address->port);
        memcpy(&ret->sin6_addr, address->bytes, 16);
        *ret_n = sizeof(*ret);
}

bool tunnel_address_from(const struct sockaddr *sockaddr, TunnelAddress *ret) {
        struct sockaddr_in in;
        struct sockaddr_in6 in6;

        *ret = (TunnelAddress){0};
        if (sockaddr->sa_family == AF_INET) {
                memcpy(&in, sockaddr, sizeof(in));
                ret->family = 4;
                ret->port = ntohs(in.sin_port);
                memcpy(ret->bytes, &in.sin_addr, 4);
                return true;
        }
        if (sockaddr->sa_family != AF_INET6)
                return false;
        memcpy(&in6, sockaddr, sizeof(in6));
        ret->port = ntohs(in6.sin6_port);
        ret->family = IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) ? 4 : 6;
        memcpy(ret->bytes, (const uint8_t *)&in6.sin6_addr + (ret->family == 4 ? 12 : 0),
               ret->family == 4 ? 4 : 16);
        return true;
}
