#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The data channels of one browser: streams of SCTP on one side, stream sockets to musterd on the other. What the daemon does not read
 * stops the browser (SCTP takes no more), what the browser does not read stops the daemon (the socket is not read). Embedded
 * in the peer.
 */
#include "base/buf.h"
#include "tunnel/sctp.h"
#include "tunnel/tunnel-control.h"

enum {
        CHANNEL_SLOTS = 2 * TUNNEL_CHANNELS_MAX, /* those that are being closed count as well */
        CHANNEL_IN_MAX = 512 * 1024,  /* of one channel that waits for musterd, then SCTP is not read */
        CHANNEL_STALL_MS = 10 * 1000, /* that long not read by musterd, then a channel is closed */
};

typedef struct Channel {
        bool is_used;
        bool is_ours;    /* opened by the daemon */
        bool is_asked;   /* musterd has not answered yet */
        bool is_closing; /* not an open one any more: what is left is the end of its streams */
        bool has_ended;  /* the browser's half */
        bool wants_end;  /* ours, as soon as SCTP takes it */
        bool is_ending;  /* SCTP has taken it */
        bool has_ended_here;
        bool is_blocked; /* SCTP had no room for the message at the front of out */
        uint16_t stream;
        uint32_t number;    /* of the ASK; 0: ours */
        int fd;             /* -1: none yet, or not any more */
        uint32_t watched;   /* events that epoll looks for; 0: it does not know the socket */
        Buf in;             /* for musterd, with headers */
        size_t n_whole;     /* of it that may be sent: whole messages */
        Buf out;            /* from musterd, with headers */
        int64_t stalled_ms; /* since when too much waits; 0: it does not */
} Channel;

typedef struct Channels {
        Channel slots[CHANNEL_SLOTS];
        unsigned n_open;
        unsigned next; /* who is served first, in turns */
        Sctp *sctp;
        int epoll;
        uint64_t tag; /* of epoll events; the slot is added */
        uint32_t peer;
        uint32_t *next_number;
        int control;
        bool is_broken; /* SCTP or the control socket took no more */
} Channels;

void channels_init(Channels *channels, int epoll, uint64_t tag, int control, uint32_t peer,
                   uint32_t *next_number);
/* What waits is written as far as musterd takes it at once; sockets are closed. */
void channels_deinit(Channels *channels);

/* From SCTP. */
void channels_piece(Channels *channels, uint16_t stream, uint32_t ppid, Str piece, bool is_last);
void channels_ended(Channels *channels, uint16_t stream);
void channels_ended_here(Channels *channels, uint16_t stream);
bool channels_has_room(const Channels *channels);

/* From musterd. The socket belongs to the channel from then on, also when there is none. */
void channels_give(Channels *channels, uint32_t number, int fd);
void channels_refuse(Channels *channels, uint32_t number);
void channels_open(Channels *channels, Str label, Str protocol, int fd);
void channels_ready(Channels *channels, unsigned slot, uint32_t events);

/* After input and ticks: sends what SCTP had no room for, ends what is to be ended. */
void channels_pump(Channels *channels, int64_t now_ms);
