#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The SCTP association (usrsctp) of the process, one at a time, over records that somebody else carries, port 5000 on both sides, reliable and in order. What
 * arrived is fetched with sctp_drain(), so nothing of ours runs inside usrsctp but the output. All calls come from one
 * thread; usrsctp itself keeps an idle one.
 */
#include "base/str.h"

enum {
        SCTP_STREAMS = 1024,
        SCTP_SPACE = 1024 * 1024, /* bytes that wait inside usrsctp, each way */
};

/* Once per process, before it is confined: usrsctp opens its source of random numbers and starts its thread. */
void sctp_start(void);
void sctp_stop(void);
/* As long as there is an association, every 10 ms when it is busy. */
void sctp_tick(unsigned elapsed_ms);

typedef struct Sctp Sctp;

typedef struct SctpEvents {
        /* A packet to be carried; called from inside usrsctp, so nothing of usrsctp may be called here. */
        void (*output)(void *data, const void *packet, size_t n);
        /* These come from sctp_drain(). */
        void (*up)(void *data);
        void (*lost)(void *data);
        /* A piece of a message; pieces of one message follow each other in its stream. */
        void (*piece)(void *data, uint16_t stream, uint32_t ppid, Str piece, bool is_last);
        /* The other side ended its half of a stream; ours has been ended; neither could be. */
        void (*ended)(void *data, uint16_t stream);
        void (*ended_here)(void *data, uint16_t stream);
} SctpEvents;

int sctp_new(Sctp **ret, const SctpEvents *events, void *data);
/* Aborts it, which the other side is told, and frees it. */
Sctp *sctp_free(Sctp *sctp);

void sctp_input(Sctp *sctp, Str packet);
/* Hands out what has arrived, until may_go_on() says no (NULL: always yes). */
void sctp_drain(Sctp *sctp, bool (*may_go_on)(void *data));

/* 0; -EAGAIN: no space, again after input or a tick; other negative: it is broken. */
int sctp_send(Sctp *sctp, uint16_t stream, uint32_t ppid, Str message);
/* Ends our half of a stream, behind what was sent. 0; -EAGAIN: another end is under way, again when ended_here() was called. */
int sctp_end(Sctp *sctp, uint16_t stream);
/* Streams that the other side can take. */
unsigned sctp_n_streams(const Sctp *sctp);
