/* SPDX-License-Identifier: MIT */
/*
 * GET /recordings/ID.cast: a recording as a file, whole or a part of it, also one that is still being written: of that
 * what is there now. It is read by the operation recording.read, a piece at a time, each when the one before it has nearly
 * left: so rights and ids are the operation's matter, and nothing of the file is held here.
 *
 * Recordings only grow, so that the length tells two states of one apart (ETag). When one is gone or shorter before all of
 * it was sent the connection is closed: fewer bytes than were promised are no file.
 */
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "core/daemon.h"
#include "dialect/http/http-request.h"
#include "dialect/http/http.h"
#include "gen/native-ops.h"
#include "wire/http-negotiate.h"

enum {
        HTTP_PIECE_BYTES = 256 << 10, /* of a file, read at a time … */
        HTTP_PENDING_MAX = 512 << 10, /* … while no more than this waits for the client */
};

struct HttpFile {
        Str id;
        uint64_t at, n_left;
};

/* ---- pieces ---------------------------------------------------------------------------------- */

static void http_recording_read(HttpRequest *request, uint64_t offset, uint64_t limit,
                                void (*done)(HttpRequest *request)) {
        Arena *arena = &request->arena;
        Json *args = json_new(arena, JSON_OBJECT);

        request->out.n = 0;
        if (!args || json_set(arena, args, STR("id"), json_new_str(arena, request->file->id)) ||
            json_set(arena, args, STR("offset"), json_new_int(arena, (int64_t)offset)) ||
            json_set(arena, args, STR("limit"), json_new_int(arena, (int64_t)limit))) {
                conn_abort(request->client->conn, "out of memory");
                return;
        }
        http_run_op(request, &native_ops, "recording.read", args, done);
}

/* The bytes of the answer are appended; *ret_n_all: of the whole file. False: it is none. */
static bool http_recording_take(const HttpRequest *request, Buf *out, uint64_t *ret_n_all) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *json = NULL;

        return !request->error &&
               !json_parse(&arena, request->out.data, request->out.n, NULL, &json, NULL) &&
               json_uint64(json_get(json, "bytes"), ret_n_all) &&
               !base64_decode(out, json_text_of(json, "data"));
}

static void http_recording_go_on(HttpRequest *request);

static void http_recording_end(HttpRequest *request) {
        Client *client = request->client;

        http_end(request);
        client_release(client);
}

static void http_recording_sent(HttpRequest *request) {
        _cleanup_(buf_deinit) Buf piece = BUF_NULL;
        HttpFile *file = request->file;
        uint64_t n_all = 0;

        if (!http_recording_take(request, &piece, &n_all) || !piece.n) {
                conn_abort(request->client->conn, "the recording has gone");
                return;
        }
        piece.n = (size_t)MIN(piece.n, file->n_left);
        file->at += piece.n;
        file->n_left -= piece.n;
        (void)conn_give(request->client->conn, &piece);
        conn_flush_soon(request->client->conn);
        http_recording_go_on(request);
}

/* A client that takes nothing for as long as one may be idle is not waited for. */
static void http_recording_go_on(HttpRequest *request) {
        Conn *conn = request->client->conn;

        timer_clear(&request->conn->deadline);
        if (!request->file->n_left)
                http_recording_end(request);
        else if (conn_pending(conn) <= HTTP_PENDING_MAX)
                http_recording_read(request, request->file->at, MIN(request->file->n_left, HTTP_PIECE_BYTES),
                                    http_recording_sent);
        else if (timer_set(&request->conn->deadline, HTTP_KEEP_ALIVE_MS))
                conn_abort(conn, "out of memory");
        else
                conn_want_drained(conn);
}

static void http_recording_drained(HttpRequest *request) {
        if (!conn_is_closing(request->client->conn))
                http_recording_go_on(request);
}

/* ---- the head -------------------------------------------------------------------------------- */

static void http_recording_refuse(HttpRequest *request) {
        http_answer_status(request, request->error == CALL_E_RECORDING_NOT_FOUND ? 404
                                    : request->error == CALL_E_FORBIDDEN         ? 403
                                                                                 : 500);
}

/* Part of it is wanted only if it is still the same. */
static int http_recording_range(const HttpRequest *request, Str etag, uint64_t n_all, uint64_t *first,
                                uint64_t *n) {
        Str same;

        if (http_head_find(&request->head, STR("If-Range"), &same) && !str_eq(same, etag))
                return HTTP_RANGE_E_WHOLE;
        return http_range(&request->head, n_all, first, n);
}

static void http_recording_begin(HttpRequest *request, HttpReply *reply, uint64_t n_all) {
        Conn *conn = request->client->conn;
        HttpFile *file = request->file;
        int r = http_recording_range(request, reply->etag, n_all, &file->at, &file->n_left);

        if (r == HTTP_RANGE_E_OUTSIDE) {
                Str more = arena_printf(&request->arena, "Content-Range: bytes */%llu\r\n",
                                        (unsigned long long)n_all);

                http_answer(request, &(HttpReply){.status = 416, .more = more.data});
                return;
        }
        if (r == HTTP_RANGE_E_WHOLE) {
                file->at = 0;
                file->n_left = n_all;
        } else {
                reply->status = 206;
                reply->more = arena_printf(&request->arena, "%sContent-Range: bytes %llu-%llu/%llu\r\n",
                                           reply->more, (unsigned long long)file->at,
                                           (unsigned long long)(file->at + file->n_left - 1),
                                           (unsigned long long)n_all)
                                      .data;
        }
        reply->body.n = (size_t)file->n_left;
        if (request->is_head)
                file->n_left = 0;
        if (http_put_head(request, reply, conn_out(conn)))
                conn_abort(conn, "out of memory");
        conn_flush_soon(conn);
        request->drained = http_recording_drained;
        client_hold(request->client);
        http_recording_go_on(request);
}

static void http_recording_found(HttpRequest *request) {
        _cleanup_(buf_deinit) Buf first = BUF_NULL;
        uint64_t n_all = 0;
        HttpReply reply = {.status = 200, .type = "application/x-asciicast", .cache = "no-cache"};

        if (!http_recording_take(request, &first, &n_all)) {
                http_recording_refuse(request);
                return;
        }
        reply.etag = arena_printf(&request->arena, "\"%llu\"", (unsigned long long)n_all);
        reply.more = arena_printf(&request->arena,
                                  "Accept-Ranges: bytes\r\nContent-Disposition: attachment; "
                                  "filename=\"" STR_FMT ".cast\"\r\n",
                                  STR_ARG(request->file->id))
                             .data;
        if (!reply.etag.data || !reply.more)
                http_answer_status(request, 500);
        else if (http_none_match(&request->head, reply.etag))
                http_answer(request, &(HttpReply){.status = 304, .etag = reply.etag, .cache = "no-cache"});
        else
                http_recording_begin(request, &reply, n_all);
}

void http_recording_get(HttpRequest *request, _unused_ Str body) {
        static const Str suffix = {".cast", 5};
        Str name = request->target.segments[1];

        request->file = arena_alloc(&request->arena, sizeof(*request->file));
        if (!request->file) {
                http_answer_status(request, 500);
                return;
        }
        if (name.n <= suffix.n || memcmp(name.data + name.n - suffix.n, suffix.data, suffix.n) != 0) {
                http_answer_status(request, 404);
                return;
        }
        *request->file = (HttpFile){.id = {name.data, name.n - suffix.n}};
        http_recording_read(request, 0, 1, http_recording_found);
}
