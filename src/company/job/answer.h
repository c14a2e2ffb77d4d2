#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Answers: what a worker has printed, and the result that is found in it.
 *
 *   output ─► answer_text(): what it says, out of the lines of its program
 *          ─► candidates: the whole, fenced blocks, spans of balanced braces
 *          ─► objects in them, also in texts and in members that programs wrap answers in
 *          ─► the one that looks like a result ─► its shape
 *
 * The text comes from a program that may print anything: all is bounded (ANSWER_*), found in passes that are linear in the
 * text, and nothing recurses on it deeper than the bounds. Pure; what comes out lies in the arena, which may also point into the
 * text.
 */
#include "base/json/json.h"
#include "core/driver.h"

enum {
        ANSWER_BYTES_MAX = 4 * 1024 * 1024, /* of an output: its end counts */
        ANSWER_DEPTH_MAX = 128,             /* open braces at a time; a span around more of them is none */
        ANSWER_SPANS_MAX = 256,    /* spans that are looked at, the last ones; blocks, the first ones */
        ANSWER_OBJECTS_MAX = 1000, /* objects that are looked at */
        ANSWER_LOOKS_MAX = 4 * ANSWER_OBJECTS_MAX, /* texts and values that are looked into for them */
        ANSWER_VALUES_MAX = 262144,                /* of one JSON text */
        ANSWER_MEMORY_MAX = 64 * 1024 * 1024,      /* of all of them; no more are read */
        ANSWER_TEXT_DEPTH = 8,                     /* how deep texts lie in a line of a program */
        ANSWER_WRAP_DEPTH = 6,                     /* how deep an answer may be wrapped */
};

/* Its last ANSWER_BYTES_MAX bytes, from a whole character on. */
Str answer_end_of(Str output);
/* What the worker says: name is that of the file that it was printed to. data is NULL only without memory. */
Str answer_text(Arena *arena, DriverFamily family, Str name, Str output);

typedef struct Answer {
        Json *value;      /* the result, or the report; NULL: there is none */
        const char *code; /* of what is wrong, when there is none */
        Str message;
} Answer;

typedef struct AnswerOf {
        Str job_id, run_id;
        bool is_heartbeat; /* a HeartbeatWorkerReport is wanted, else a ResultSpec */
} AnswerOf;

/* text: what answer_text() gave; output: all of it, which is looked at when text has no answer. 0 or -ENOMEM. */
int answer_find(Arena *arena, const AnswerOf *of, Str text, Str output, Answer *ret);
