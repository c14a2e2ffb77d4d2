/* SPDX-License-Identifier: MIT */
#include "tunnel/channel.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/utf8.h"
#include "tunnel/dcep.h"

enum { OUT_STEP = 64 * 1024 }; /* read at once from a socket of musterd */

void channels_init(Channels *channels, int epoll, uint64_t tag, int control, uint32_t peer,
                   uint32_t *next_number) {
        *channels = (Channels){
                .epoll = epoll, .tag = tag, .control = control, .peer = peer, .next_number = next_number};
}

static Channel *channels_find(Channels *channels, uint16_t stream) {
        for (unsigned i = 0; i < CHANNEL_SLOTS; i++)
                if (channels->slots[i].is_used && channels->slots[i].stream == stream)
                        return &channels->slots[i];
        return NULL;
}

static Channel *channels_find_number(Channels *channels, uint32_t number) {
        for (unsigned i = 0; i < CHANNEL_SLOTS; i++)
                if (channels->slots[i].is_used && channels->slots[i].number == number &&
                    channels->slots[i].is_asked && !channels->slots[i].is_closing)
                        return &channels->slots[i];
        return NULL;
}

static Channel *channels_add(Channels *channels, uint16_t stream) {
        for (unsigned i = 0; i < CHANNEL_SLOTS; i++)
                if (!channels->slots[i].is_used) {
                        channels->slots[i] = (Channel){.is_used = true, .stream = stream, .fd = -1};
                        channels->n_open++;
                        return &channels->slots[i];
                }
        return NULL;
}

static void channel_tell(Channels *channels, const TunnelMessage *message) {
        if (tunnel_send(channels->control, message, NULL))
                channels->is_broken = true;
}

/* ---- epoll ----------------------------------------------------------------------------------- */

/* A socket that nothing is wanted of is not known to epoll: it would tell of its end again and again. */
static void channel_watch(Channels *channels, Channel *channel) {
        uint32_t wanted = 0;
        struct epoll_event event = {.data.u64 = channels->tag + (uint64_t)(channel - channels->slots)};

        if (channel->fd < 0)
                return;
        if (!channel->is_blocked && !channel->wants_end)
                wanted |= EPOLLIN;
        if (channel->n_whole)
                wanted |= EPOLLOUT;
        if (wanted == channel->watched)
                return;
        event.events = wanted;
        if (epoll_ctl(channels->epoll,
                      !wanted            ? EPOLL_CTL_DEL
                      : channel->watched ? EPOLL_CTL_MOD
                                         : EPOLL_CTL_ADD,
                      channel->fd, &event))
                channels->is_broken = true;
        channel->watched = wanted;
}

static void channel_close_fd(Channel *channel) {
        channel->fd =
                close_fd(channel->fd); /* epoll forgets it by itself: there is no other descriptor of it */
        channel->watched = 0;
        buf_deinit(&channel->in);
        channel->in = BUF_NULL;
        channel->n_whole = 0;
        channel->stalled_ms = 0;
}

/* ---- to musterd ------------------------------------------------------------------------------ */

static void channel_flush(Channels *channels, Channel *channel) {
        size_t done = 0;

        while (channel->fd >= 0 && done < channel->n_whole) {
                ssize_t n = send(channel->fd, channel->in.data + done, channel->n_whole - done,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno != EAGAIN) {
                        buf_consume(&channel->in,
                                    channel->in.n); /* it has closed: its end is read as well */
                        channel->n_whole = done = 0;
                }
                if (n <= 0)
                        break;
                done += (size_t)n;
        }
        if (done) {
                buf_consume(&channel->in, done);
                channel->n_whole -= done;
                channel->stalled_ms = 0;
        }
        if (channel->has_ended && channel->n_whole == 0 && !channel->is_asked)
                channel_close_fd(channel);
        channel_watch(channels, channel);
}

bool channels_has_room(const Channels *channels) {
        for (unsigned i = 0; i < CHANNEL_SLOTS; i++)
                if (channels->slots[i].is_used && channels->slots[i].in.n > CHANNEL_IN_MAX)
                        return false;
        return true;
}

/* ---- closing --------------------------------------------------------------------------------- */

/* Nothing more goes either way; the streams still have to end. */
static void channel_end(Channels *channels, Channel *channel) {
        channel->wants_end = true;
        if (channel->is_closing)
                return;
        channel->is_closing = true;
        channels->n_open--;
        if (channel->number)
                channel_tell(channels, &(TunnelMessage){.type = TUNNEL_CLOSED, .channel = channel->number});
}

static void channel_cut(Channels *channels, Channel *channel) {
        channel_close_fd(channel);
        buf_deinit(&channel->out);
        channel->out = BUF_NULL;
        channel->is_asked = channel->is_blocked = false;
        channel_end(channels, channel);
}

/* Gives the slot back when both halves and the socket have ended. */
static void channel_settle(Channels *channels, Channel *channel) {
        if (channel->wants_end && !channel->is_ending && !channel->is_blocked && channel->out.n == 0) {
                int r = sctp_end(channels->sctp, channel->stream);

                channel->is_ending = r != -EAGAIN;
                channel->has_ended_here |=
                        r && r != -EAGAIN; /* such a stream cannot be ended: it never was */
        }
        if (channel->has_ended && channel->has_ended_here && channel->fd < 0) {
                channel_cut(channels, channel);
                channel->is_used = false;
        }
}

void channels_ended(Channels *channels, uint16_t stream) {
        Channel *channel = channels_find(channels, stream);

        if (!channel || channel->has_ended)
                return;
        channel->has_ended = true;
        if (channel->is_asked)
                channel_cut(channels, channel);
        buf_deinit(&channel->out);
        channel->out = BUF_NULL;
        channel->is_blocked = false;
        channel_end(channels, channel);
        channel_flush(channels, channel);
        channel_settle(channels, channel);
}

void channels_ended_here(Channels *channels, uint16_t stream) {
        Channel *channel = channels_find(channels, stream);

        if (channel && channel->is_ending) {
                channel->has_ended_here = true;
                channel_settle(channels, channel);
        }
}

void channels_deinit(Channels *channels) {
        for (unsigned i = 0; i < CHANNEL_SLOTS; i++) {
                Channel *channel = &channels->slots[i];

                if (!channel->is_used)
                        continue;
                channel_flush(channels, channel);
                channel_close_fd(channel);
                buf_deinit(&channel->out);
                channel->is_used = false;
        }
}

/* ---- from SCTP ------------------------------------------------------------------------------- */

static bool channel_is_text(Str text) {
        return utf8_valid_prefix(text.data, text.n) == text.n;
}

/* Those of the browser are even, as it is the client of DTLS. */
static bool channels_may_open(const Channels *channels, uint16_t stream, const DcepOpen *open) {
        return stream % 2 == 0 && stream < sctp_n_streams(channels->sctp) && open->channel_type == 0 &&
               channels->n_open <= TUNNEL_CHANNELS_MAX && channel_is_text(open->label) &&
               channel_is_text(open->protocol);
}

static void channels_take_open(Channels *channels, uint16_t stream, Str message) {
        DcepOpen open;
        Channel *channel;
        int r = dcep_parse(message, &open);

        if (r == DCEP_E_ACK || channels_find(channels, stream))
                return;
        channel = channels_add(channels, stream);
        if (!channel)
                return; /* the browser waits for it in vain: it has 64 of them, half of them not closed */
        if (r || !channels_may_open(channels, stream, &open)) {
                channel_cut(channels, channel);
                channel_settle(channels, channel);
                return;
        }
        channel->is_asked = true;
        channel->number = ++*channels->next_number;
        channel_tell(channels, &(TunnelMessage){.type = TUNNEL_ASK,
                                                .ask = {.peer = channels->peer,
                                                        .channel = channel->number,
                                                        .stream = stream,
                                                        .label = open.label,
                                                        .protocol = open.protocol}});
}

/* Collects a message behind those that wait; false: there is no memory. */
static bool channel_collect(Channel *channel, uint32_t ppid, Str piece, bool is_last) {
        bool is_empty = ppid == DCEP_PPID_TEXT_EMPTY || ppid == DCEP_PPID_BINARY_EMPTY;
        bool is_binary = ppid == DCEP_PPID_BINARY || ppid == DCEP_PPID_BINARY_EMPTY;
        uint8_t header[TUNNEL_DATA_HEADER] = {0};

        if (channel->in.n == channel->n_whole && buf_append(&channel->in, header, sizeof(header)))
                return false;
        if (!is_empty && buf_append_str(&channel->in, piece))
                return false;
        if (is_last) {
                tunnel_data_header((uint8_t *)channel->in.data + channel->n_whole, is_binary,
                                   channel->in.n - channel->n_whole - TUNNEL_DATA_HEADER);
                channel->n_whole = channel->in.n;
        }
        return true;
}

static bool channel_is_too_long(const Channel *channel, Str piece) {
        size_t n_begun = channel->in.n - channel->n_whole;

        return (n_begun ? n_begun - TUNNEL_DATA_HEADER : 0) + piece.n > TUNNEL_DATA_MAX;
}

static void channels_take_data(Channels *channels, uint16_t stream, uint32_t ppid, Str piece, bool is_last) {
        Channel *channel = channels_find(channels, stream);

        if (!channel || channel->is_closing || channel->has_ended)
                return;
        if (channel_is_too_long(channel, piece) || !channel_collect(channel, ppid, piece, is_last)) {
                channel_cut(channels, channel);
                channel_settle(channels, channel);
                return;
        }
        if (is_last && channel->fd >= 0)
                channel_flush(channels, channel);
}

void channels_piece(Channels *channels, uint16_t stream, uint32_t ppid, Str piece, bool is_last) {
        switch (ppid) {
        case DCEP_PPID:
                if (is_last)
                        channels_take_open(channels, stream, piece);
                break;
        case DCEP_PPID_TEXT:
        case DCEP_PPID_BINARY:
        case DCEP_PPID_TEXT_EMPTY:
        case DCEP_PPID_BINARY_EMPTY: channels_take_data(channels, stream, ppid, piece, is_last); break;
        default: break; /* nothing that a browser sends */
        }
}

/* ---- from musterd ---------------------------------------------------------------------------- */

/* The message at the front of out, if it is whole. */
static int channel_front(const Channel *channel, size_t at, bool *ret_binary, Str *ret) {
        size_t n;

        if (channel->out.n - at < TUNNEL_DATA_HEADER)
                return -EAGAIN;
        if (tunnel_data_parse((const uint8_t *)channel->out.data + at, ret_binary, &n))
                return -EPROTO;
        *ret = (Str){channel->out.data + at + TUNNEL_DATA_HEADER, n};
        return channel->out.n - at - TUNNEL_DATA_HEADER < n ? -EAGAIN : 0;
}

static int channel_send(Channels *channels, const Channel *channel, bool is_binary, Str message) {
        if (message.n == 0)
                return sctp_send(channels->sctp, channel->stream,
                                 is_binary ? DCEP_PPID_BINARY_EMPTY : DCEP_PPID_TEXT_EMPTY, STR("\0"));
        return sctp_send(channels->sctp, channel->stream, is_binary ? DCEP_PPID_BINARY : DCEP_PPID_TEXT,
                         message);
}

/* Hands whole messages to SCTP as long as it has room. */
static void channel_pump(Channels *channels, Channel *channel) {
        size_t at = 0;
        bool is_binary;
        Str message;
        int r;

        channel->is_blocked = false;
        while ((r = channel_front(channel, at, &is_binary, &message)) == 0) {
                r = channel_send(channels, channel, is_binary, message);
                if (r) {
                        channel->is_blocked = r == -EAGAIN;
                        break;
                }
                at += TUNNEL_DATA_HEADER + message.n;
        }
        buf_consume(&channel->out, at);
        if (r != -EAGAIN)
                channel_cut(channels, channel); /* not a message, or not a stream any more */
        else if (!channel->is_blocked && channel->wants_end)
                channel->out.n = 0; /* a message that was cut short by the end */
}

static void channel_read(Channels *channels, Channel *channel) {
        ssize_t n;

        if (buf_reserve(&channel->out, OUT_STEP)) {
                channel_cut(channels, channel);
                return;
        }
        n = recv(channel->fd, channel->out.data + channel->out.n, channel->out.cap - channel->out.n,
                 MSG_DONTWAIT);
        if (n > 0)
                channel->out.n += (size_t)n;
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                channel_close_fd(channel);
                channel_end(channels, channel);
        }
        channel_pump(channels, channel);
}

void channels_ready(Channels *channels, unsigned slot, uint32_t events) {
        Channel *channel = &channels->slots[slot];

        if (slot >= CHANNEL_SLOTS || !channel->is_used || channel->fd < 0)
                return; /* closed by an event before this one */
        if (events & EPOLLOUT)
                channel_flush(channels, channel);
        if (events & (EPOLLIN | EPOLLHUP | EPOLLERR) && channel->fd >= 0 && channel->watched & EPOLLIN)
                channel_read(channels, channel);
        channel_watch(channels, channel);
        channel_settle(channels, channel);
}

void channels_give(Channels *channels, uint32_t number, int fd) {
        Channel *channel = channels_find_number(channels, number);
        uint8_t ack[DCEP_MAX];
        size_t n = dcep_write_ack(ack);

        if (!channel) {
                close_fd(fd);
                return;
        }
        channel->is_asked = false;
        channel->fd = fd;
        if (sctp_send(channels->sctp, channel->stream, DCEP_PPID, (Str){(const char *)ack, n})) {
                channel_cut(channels, channel); /* a full association: the browser may try again */
                channel_settle(channels, channel);
                return;
        }
        channel_flush(channels, channel);
}

void channels_refuse(Channels *channels, uint32_t number) {
        Channel *channel = channels_find_number(channels, number);

        if (channel) {
                channel_cut(channels, channel);
                channel_settle(channels, channel);
        }
}

static int channels_free_stream(Channels *channels) {
        for (unsigned stream = 1; stream < sctp_n_streams(channels->sctp); stream += 2)
                if (!channels_find(channels, (uint16_t)stream))
                        return (int)stream;
        return -1;
}

void channels_open(Channels *channels, Str label, Str protocol, int fd) {
        uint8_t open[DCEP_MAX];
        size_t n = dcep_write_open(open, &(DcepOpen){.label = label, .protocol = protocol});
        int stream = channels_free_stream(channels);
        Channel *channel = stream < 0 || channels->n_open >= TUNNEL_CHANNELS_MAX
                                   ? NULL
                                   : channels_add(channels, (uint16_t)stream);

        if (!channel) {
                close_fd(fd);
                return;
        }
        channel->is_ours = true;
        channel->fd = fd;
        if (sctp_send(channels->sctp, channel->stream, DCEP_PPID, (Str){(const char *)open, n})) {
                channel_cut(channels, channel);
                channel->is_used = false; /* the browser has never heard of it */
                return;
        }
        channel_watch(channels, channel);
}

/* ---- time ------------------------------------------------------------------------------------ */

static void channel_check_stall(Channels *channels, Channel *channel, int64_t now_ms) {
        if (channel->in.n <= CHANNEL_IN_MAX && !(channel->has_ended && channel->in.n))
                channel->stalled_ms = 0;
        else if (channel->stalled_ms == 0)
                channel->stalled_ms = now_ms;
        else if (now_ms - channel->stalled_ms > CHANNEL_STALL_MS)
                channel_cut(channels, channel);
}

void channels_pump(Channels *channels, int64_t now_ms) {
        for (unsigned i = 0; i < CHANNEL_SLOTS; i++) {
                Channel *channel = &channels->slots[(channels->next + i) % CHANNEL_SLOTS];

                if (!channel->is_used)
                        continue;
                if (channel->is_blocked)
                        channel_pump(channels, channel);
                channel_check_stall(channels, channel, now_ms);
                channel_watch(channels, channel);
                channel_settle(channels, channel);
        }
        channels->next++;
}
