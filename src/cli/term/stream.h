#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Stream mode of coop, seen from the client: tagged frames cut from what arrives and made of what is typed.
 * Pure functions over spans: no descriptors.
 *
 * Output is handed on as it comes, in pieces of a frame, so that no frame is ever held in memory; only a
 * control message is collected until it is whole. Frames with unknown tags, and empty ones, are skipped.
 */
#include "base/buf.h"
#include "base/json/json.h"

enum { STREAM_DATA = 0, STREAM_CONTROL = 1, STREAM_FRAME_MAX = 1048576 };
enum { _STREAM_E_SUCCESS, STREAM_E_PARTIAL, STREAM_E_GARBLED };

typedef struct StreamReader {
        unsigned char head[5]; /* length and tag of the frame that is being read */
        size_t n_head;
        size_t n_left;   /* of its payload */
        uint64_t n_data; /* frames with output that have begun */
        Buf control;
        bool is_taken; /* the control message was given out */
} StreamReader;

typedef struct StreamPiece {
        bool is_control;
        Str bytes;      /* output: in the input; control: in the reader, until the next call */
        uint64_t index; /* output: number of its frame, from 0 */
} StreamPiece;

void stream_deinit(StreamReader *reader);
/* The next piece of *input, which is moved on. Conditions: STREAM_E_PARTIAL (all of it is used),
 * STREAM_E_GARBLED. */
int stream_next(StreamReader *reader, Str *input, StreamPiece *ret);

typedef enum StreamEventKind {
        STREAM_OTHER,
        STREAM_EXITED,     /* value: exit code */
        STREAM_RESTARTING, /* value: milliseconds */
        STREAM_DETACHED,
        STREAM_LAG, /* value: bytes dropped; the screen as it is follows in one data frame */
        STREAM_REFUSED,
} StreamEventKind;

typedef struct StreamEvent {
        StreamEventKind kind;
        int64_t value;
        Str message; /* STREAM_REFUSED; lives in the arena and the text */
} StreamEvent;

StreamEvent stream_event(Arena *arena, Str control);

/* Frames for the daemon. Each fails only without memory; bytes may be of any length. */
int stream_put_data(Buf *out, Str bytes);
int stream_put_resize(Buf *out, unsigned cols, unsigned rows);
int stream_put_detach(Buf *out);
