#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Link: the command line's connection to the daemon's native socket. Bytes out, frames in, all within one
 * deadline that its owner may move. A frame is as long as memory allows. Knows no dialect. Owned by the
 * command.
 */
#include <sys/types.h>

#include "base/buf.h"
#include "wire/framing.h"

enum { LINK_PATH_MAX = 108 };

typedef struct Link {
        int fd;              /* does not block; -1: not open */
        int64_t deadline_ms; /* on clock_ms() */
        Buf in;
        size_t n_used;            /* front of `in` that the last frame took */
        char path[LINK_PATH_MAX]; /* of the socket; a longer one cannot be connected to */
        bool has_spoken;          /* something was asked on it */
} Link;

#define LINK_NULL      ((Link){.fd = -1})
#define DEADLINE_NEVER INT64_MAX

enum {
        _LINK_E_SUCCESS,
        LINK_E_ABSENT,  /* nobody listens at the path */
        LINK_E_TIMEOUT, /* the deadline has passed */
        LINK_E_CLOSED,  /* the daemon closed the connection */
};

int64_t clock_ms(void); /* monotonic */
/* For poll(): what is left until the deadline, -1 for DEADLINE_NEVER. */
int deadline_left_ms(int64_t deadline_ms);

int link_open(Link *link, const char *path, int64_t deadline_ms);
void link_deinit(Link *link);
int link_send(Link *link, Str bytes);
/* Waits for the next byte without taking it. */
int link_peek(Link *link, char *ret);
/* *ret_frame is valid until the next call. */
int link_receive(Link *link, FramingKind kind, Str *ret_frame);
/* What has arrived behind the last frame, for who reads the rest of the stream itself. */
Str link_rest(Link *link);
/* The process at the other end as the kernel knows it; 0: unknown. */
pid_t link_peer_pid(const Link *link);
/* Says on stderr what an outcome of the above means and returns the exit status for it; r is not 0. */
int link_complain(int r, const char *path);
