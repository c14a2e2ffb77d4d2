#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * JSON-RPC 2.0 over lines, for every dialect that speaks it: requests, notifications, batches, ids echoed as
 * they came, replies in the order of the requests. What the contracts do differently is in the profile.
 */
#include "core/dialect.h"

enum {
        JSONRPC_LINE_MAX = 16 * 1024 * 1024,
        JSONRPC_ID_MAX = 64 << 10, /* bytes of an id, which is echoed; a longer one is an invalid request */
        JSONRPC_BATCH_MAX = 10000, /* elements; more is an invalid request */
        JSONRPC_WHY_MAX = 256,
};

typedef struct JsonRpcDialect {
        Dialect dialect; /* first: a Client's dialect points here */
        int (*error_code)(int error);
        bool has_batches;        /* otherwise an array is an invalid request */
        bool null_id_is_silent;  /* id: null counts as no id */
        bool runs_notifications; /* otherwise they are dropped */
        bool says_missing;       /* the text of an invalid request says what is missing */
        bool invalid_keeps_id;   /* an invalid request is answered with its id, otherwise with null */
        bool has_issues; /* its table is OP_ISSUES: what is wrong with params is in the error's data; an
                            operation without parameters takes any */
        bool any_params; /* params that are no object count as {}, otherwise they are an error */
        bool id_before_result; /* order of members in a reply */
        bool skips_bom;
        bool replaces_utf8; /* bytes in strings that are no UTF-8 become U+FFFD, otherwise they are an error
                             */
        bool eof_ends_line; /* the end of the stream ends a last line, otherwise that is dropped */
        const char *unknown_method; /* text before the method's name */
        /* Of one that has operations of other dialects, too: which operation a method is, and of which table; NULL: none.
         * What has to be so for it is made so, or it is refused: 0, or a condition and why, in words. How what one of
         * them fails with is written. NULL: it has none. */
        const Op *(*find)(Str method, const OpTable **ret_ops);
        int (*enter)(Client *client, const OpTable *ops, const Op *op, const Json *params,
                     char why[JSONRPC_WHY_MAX]);
        void (*write_foreign)(const Call *call, JsonWriter *w);
        void (*trace)(const Client *client, const char *direction,
                      Str text); /* AIWG_IPC_DEBUG; may be NULL */
} JsonRpcDialect;

/* The functions of a JsonRpcDialect's dialect. */
int jsonrpc_parse(const Dialect *dialect, Arena *arena, Str *line, Json **ret, JsonFault *fault);
void jsonrpc_aim(const Dialect *dialect, const Json *message, const OpTable **ops, const Op **op,
                 const Json **args);
void jsonrpc_frame(Client *client, Str line);
void jsonrpc_eof(Client *client, Str rest);
void jsonrpc_oversize(Client *client);
void jsonrpc_close(Client *client);
void jsonrpc_begin_result(const Call *call, Buf *out);
void jsonrpc_end_result(const Call *call, Buf *out);
void jsonrpc_write_error(const Call *call, Buf *out);
void jsonrpc_replied(Client *client);
Chunk *jsonrpc_notification(const char *name, Str params);
void jsonrpc_push(Client *client, Chunk *chunk);

#define JSONRPC_FUNCTIONS                                                                                   \
        .parse = jsonrpc_parse, .aim = jsonrpc_aim, .frame = jsonrpc_frame, .eof = jsonrpc_eof,             \
        .oversize = jsonrpc_oversize, .close = jsonrpc_close, .gives = true,                                \
        .begin_result = jsonrpc_begin_result, .end_result = jsonrpc_end_result,                             \
        .write_error = jsonrpc_write_error, .replied = jsonrpc_replied,                                     \
        .notification = jsonrpc_notification, .push = jsonrpc_push,                                         \
        .framing = {.kind = FRAMING_LINE, .n_max = JSONRPC_LINE_MAX}

/* For jsonrpc-batch.c. */
static inline const JsonRpcDialect *jsonrpc_of(const Client *client) {
        return (const JsonRpcDialect *)client->dialect;
}
void jsonrpc_handle(Client *client, const Json *message, Buf *out);
/* An array with at least one element, of the client's request or, with its text, in the daemon's envelope, which the batch
   takes. */
void jsonrpc_batch(Client *client, const Json *json);
void jsonrpc_batch_replied(Client *client);
void jsonrpc_batch_push(Client *client, Str text); /* a message, behind the replies of the batch under way */
