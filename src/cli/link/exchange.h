#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Exchange: one operation sent to the daemon and its answer, in the envelope of its dialect:
 *
 *   cccc              {"v":1,"op":…,"args":{…}}                                   lines
 *   coop              {"version":1}, then {"cmd":…, its arguments}                 4-byte lengths
 *   native            {"jsonrpc":"2.0","id":1,"method":…,"params":{…}}             lines
 *   all the others    @DIALECT [project=DIR], then as native                       lines
 *
 * A daemon that does not serve the dialect answers in native JSON-RPC, whatever it was asked in; that is
 * understood too. Requests and replies borrow; trees live in the arena and in the Link's last frame.
 */
#include "base/json/json.h"
#include "cli/link/connect.h"

typedef struct Request {
        const char *dialect, *op;
        const Json *args;    /* an object; NULL: no arguments */
        const char *project; /* NULL: none named */
} Request;

typedef struct Reply {
        bool is_error;
        const Json *result; /* NULL when it is an error */
        const Json *code;   /* as the contract spells it: a string or a number; may be NULL */
        Str message;
        const Json *details; /* NULL: none */
        const Json *whole;   /* the answer with its envelope: coop's errors have members of their own */
} Reply;

/* Conditions: those of the Link, and EXCHANGE_E_GARBLED: the answer is not one. */
enum { EXCHANGE_E_GARBLED = 100 };

FramingKind exchange_framing(const char *dialect);
/* All bytes of the request. Fails only without memory. */
int request_write(const Request *request, Buf *out);
/* Reads the tree of an answer. Condition: EXCHANGE_E_GARBLED. */
int reply_read(Arena *arena, const char *dialect, Str text, Reply *ret);
int exchange(Link *link, const Request *request, Arena *arena, Reply *ret);
