#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * PtyStream: a client that a terminal is shown to and that may type there, whatever its connection speaks.
 *
 * It never holds up the agent or anybody else: a client that does not keep up (PTY_STREAM_QUEUE_MAX bytes queued, or
 * what its kind says besides) loses output, is told how much, and gets the screen as it is now. What it types waits
 * here while the program does not read, up to PTY_STREAM_BACKLOG_MAX; then its connection is not read either. How
 * output and events look on the wire is its kind's (PtyStreamKind). Not here: what the client says. Embedded in its
 * owner, the client's state, who calls pty_stream_deinit() when the connection ends.
 */
#include "sessions/sessions.h"

typedef struct PtyStream PtyStream;

enum {
        PTY_STREAM_QUEUE_MAX = 4 << 20, /* bytes queued for one client: above it output is dropped */
        PTY_STREAM_BACKLOG_MAX =
                4 << 20, /* input of one client that waits for the process: above it the client is held */
        PTY_STREAM_MISSED_MAX =
                256 << 10, /* output while a screen is drawn that is sent behind it; more: it is
                                              drawn again */
        PTY_STREAM_LEAVE_MAX =
                16 << 20, /* all input that waits: what a client that leaves has not brought in
                                            by then is lost */
};

/* What is told beside the output; the number is of it. */
typedef enum PtyEvent {
        PTY_EVENT_LAG,        /* bytes that were dropped */
        PTY_EVENT_EXITED,     /* exit status */
        PTY_EVENT_RESTARTING, /* milliseconds */
        PTY_EVENT_WRITER,     /* what it types counts from now on */
        PTY_EVENT_DETACHED,   /* the daemon leaves */
        PTY_EVENT_RESIZED,    /* of kinds that share the size: the terminal has another one */
        PTY_EVENT_OWNER,      /* … 1: its window decides it from now on; 0: no longer */
} PtyEvent;

typedef struct PtyStreamKind {
        bool is_web;      /* listed as such */
        bool shares_size; /* one of them decides the size (pty_own()), and all are told of it */
        HostFrame frame;  /* output and screens: made once for all of the kind */
        /* Appends what an event is on the wire. Without memory it closes the connection. */
        void (*put_event)(PtyStream *stream, Buf *out, PtyEvent event, int64_t value);
        /* Of what has no terminal: stderr, apart from stdout, whose bytes are counted then. is_lost: there is no room for
         * it now. NULL: it is output like the rest. */
        void (*put_stderr)(PtyStream *stream, Str bytes, bool is_lost);
        void (*end)(PtyStream *stream); /* the terminal is over, and all of it is queued */
        /* NULL: only its queue counts, and all that comes is sent on. */
        bool (*is_full)(const PtyStream *stream);
        /* What is queued next: output from this position on, or n_screen bytes of a screen that shows everything up to
         * it; may be NULL. */
        void (*next)(PtyStream *stream, const Hosted *hosted, uint64_t position, size_t n_screen);
        void (*sent)(PtyStream *stream, size_t n_bytes); /* so much was queued; may be NULL */
} PtyStreamKind;

struct PtyStream {
        Client *client;
        const PtyStreamKind *kind;
        PtyClient shown;
        Buf backlog;        /* its input that waits; meanwhile it can still resize and detach */
        bool is_held;       /* too much of it: nothing is read */
        uint64_t n_dropped; /* > 0: it has fallen behind */
        ScreenWait screen;  /* being drawn: output is dropped, and shown from the ring behind it */
        uint64_t n_before;  /* dropped before that */
        Buf later;          /* events that follow it */
        bool is_ending;     /* … and the end of the connection */
};

/* Shows the terminal from now on, with what was printed before; the client has its stream's dialect already. */
void pty_stream_begin(PtyStream *stream, Client *client, const PtyStreamKind *kind, const PtyTarget *target);
/* The same with another past than the usual one: the end of its output, or nothing. */
void pty_stream_begin_at(PtyStream *stream, Client *client, const PtyStreamKind *kind,
                         const PtyTarget *target, Str past);
/* What is typed out of turn is dropped: nobody wants his keys to arrive when somebody else has left. */
void pty_stream_type(PtyStream *stream, Str bytes);
void pty_stream_resize(PtyStream *stream, unsigned cols, unsigned rows);
/* A client that fell behind has room again: what it lost, and the screen as it is now to go on from. */
void pty_stream_catch_up(PtyStream *stream);
/* What does not count towards its queue is full: output is dropped from now on, until pty_stream_catch_up(). */
bool pty_stream_is_behind(const PtyStream *stream);
void pty_stream_put(PtyStream *stream, PtyEvent event,
                    int64_t value); /* behind a screen that is being drawn */
/* The client leaves: what it has typed is brought in, its seat is free at once. */
void pty_stream_leave(PtyStream *stream);
/* The daemon leaves: the last event. */
void pty_stream_leaving(PtyStream *stream);
void pty_stream_deinit(PtyStream *stream);
