/* SPDX-License-Identifier: MIT */
/*
 * Ask: one request of the client on its way through a connection of its own.
 *
 *            room       connected       all sent       a whole line
 *   WAITING ─────► SEEKING ─────► SENDING ─────► AWAITING ─────► answered
 *                     ▲  └─ nobody there for 10 s: daemon_unavailable
 *                     └───────────── the connection broke: again, if that does no harm, else outcome_unknown
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/json/json-writer.h"
#include "bridge/bridge.h"
#include "gen/errors.h"
#include "wire/socket.h"

typedef enum AskState { ASK_WAITING, ASK_SEEKING, ASK_SENDING, ASK_AWAITING } AskState;

struct Ask {
        Ask *next;
        AskSpec spec;
        char *texts; /* of the spec */
        AskState state;
        int fd;
        size_t n_sent;
        Buf in;
        size_t n_scanned;
        int64_t retry_ms, give_up_ms; /* SEEKING */
        int64_t progress_ms;          /* when to tell next; 0: never */
        int n_progress;
        bool is_known; /* one that listens was acknowledged: no daemon is too long away for it */
        bool is_done;
};

enum { ASK_ADDRESS_MAX = 4096 };

static const char ask_preface[] = "@mcp\n";

int ask_new(Bridge *self, const AskSpec *spec) {
        Ask *ask = calloc(1, sizeof(*ask));
        size_t n = spec->id.n + spec->request.n + spec->token.n + spec->uri.n + sizeof(ask_preface);
        char *at = ask ? malloc(n) : NULL;

        if (!at) {
                free(ask);
                return -ENOMEM;
        }
        ask->texts = at;
        ask->spec = *spec;
        ask->spec.request = (Str){at, sizeof(ask_preface) - 1 + spec->request.n};
        memcpy(at, ask_preface, sizeof(ask_preface) - 1);
        memcpy(at + sizeof(ask_preface) - 1, spec->request.data, spec->request.n);
        at += ask->spec.request.n;
        if (spec->id.n)
                ask->spec.id = (Str){memcpy(at, spec->id.data, spec->id.n), spec->id.n};
        at += spec->id.n;
        if (spec->token.n)
                ask->spec.token = (Str){memcpy(at, spec->token.data, spec->token.n), spec->token.n};
        at += spec->token.n;
        if (spec->uri.n)
                ask->spec.uri = (Str){memcpy(at, spec->uri.data, spec->uri.n), spec->uri.n};
        ask->fd = -1;
        *self->end = ask;
        self->end = &ask->next;
        self->n_asks++;
        return 0;
}

static void ask_free(Ask *ask) {
        close_fd(ask->fd);
        buf_deinit(&ask->in);
        free(ask->texts);
        free(ask);
}

void ask_free_all(Bridge *self) {
        while (self->first) {
                Ask *ask = self->first;

                self->first = ask->next;
                ask_free(ask);
        }
        self->end = &self->first;
        self->n_asks = 0;
}

static void ask_sweep(Bridge *self) {
        Ask **at = &self->first;

        while (*at) {
                Ask *ask = *at;

                if (!ask->is_done) {
                        at = &ask->next;
                        continue;
                }
                *at = ask->next;
                ask_free(ask);
                self->n_asks--;
        }
        self->end = at;
}

size_t ask_n_listens(const Bridge *self) {
        size_t n = 0;

        for (const Ask *ask = self->first; ask; ask = ask->next)
                n += ask->spec.listen != LISTEN_NOT;
        return n;
}

bool ask_has_uri(const Bridge *self, Str uri) {
        for (const Ask *ask = self->first; ask; ask = ask->next)
                if (ask->is_known && str_eq(ask->spec.uri, uri))
                        return true;
        return false;
}

void ask_drop_uri(Bridge *self, Str uri) {
        for (Ask *ask = self->first; ask; ask = ask->next)
                ask->is_done |= ask->spec.listen == LISTEN_RESOURCE && str_eq(ask->spec.uri, uri);
        ask_sweep(self);
}

void ask_cancel(Bridge *self, Str id) {
        for (Ask *ask = self->first; ask; ask = ask->next)
                if (id.n && str_eq(ask->spec.id, id) &&
                    !(ask->is_known && ask->spec.listen == LISTEN_RESOURCE))
                        ask->is_done = true; /* a subscription that was answered ends by unsubscribing */
        ask_sweep(self);
}

void ask_cancel_waits(Bridge *self) {
        for (Ask *ask = self->first; ask; ask = ask->next)
                ask->is_done |= ask->spec.is_wait;
        ask_sweep(self);
}

/* ---- answers --------------------------------------------------------------------------------- */

static void ask_put_failure(JsonWriter *w, const Ask *ask, const char *code, const char *message) {
        char text[512];

        snprintf(text, sizeof(text), "{\"error\":{\"code\":\"%s\",\"message\":\"%s\",\"details\":{}}}", code,
                 message);
        jw_key(w, ask->spec.is_tool ? "result" : "error");
        jw_begin_object(w);
        if (ask->spec.is_tool) {
                if (!ask->spec.is_old)
                        jw_field_cstr(w, "resultType", "complete");
                jw_key(w, "content");
                jw_begin_array(w);
                jw_begin_object(w);
                jw_field_cstr(w, "type", "text");
                jw_field_cstr(w, "text", text);
                jw_end_object(w);
                jw_end_array(w);
                jw_field_bool(w, "isError", true);
        } else {
                jw_field_int(w, "code", native_error_code(CALL_E_INTERNAL));
                jw_field_cstr(w, "message", message);
                jw_key(w, "data");
                jw_raw(w, str_from(text));
        }
        jw_end_object(w);
}

/* code and message are plain ASCII without anything to escape. */
static void ask_fail(Bridge *self, Ask *ask, const char *code, const char *message) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        JsonWriter w = JSON_WRITER(&line);

        jw_begin_object(&w);
        jw_field_cstr(&w, "jsonrpc", "2.0");
        jw_key(&w, "id");
        jw_raw(&w, ask->spec.id);
        ask_put_failure(&w, ask, code, message);
        jw_end_object(&w);
        if (ask->spec.id.n && !w.failed && !buf_append_str(&line, STR("\n")))
                bridge_say(self, buf_str(&line));
        ask->is_done = true;
}

static void ask_answer(Bridge *self, Ask *ask, Str line) {
        _cleanup_(buf_deinit) Buf out = BUF_NULL;

        if (!ask->spec.is_old)
                bridge_say(self, line);
        else if (!mcp_era_put_old(&out, ask->spec.id, ask->spec.is_resource, line))
                bridge_say(self, buf_str(&out));
        ask->is_done = true;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void ask_seek(const Bridge *self, Ask *ask, int64_t now_ms) {
        ask->fd = close_fd(ask->fd);
        ask->in.n = ask->n_sent = ask->n_scanned = 0;
        ask->state = ASK_SEEKING;
        ask->retry_ms = now_ms;
        ask->give_up_ms = now_ms + self->absent_ms;
}

/* A line that did not arrive whole was not run; one that did may have been. */
static void ask_broken(Bridge *self, Ask *ask) {
        bool was_whole = ask->state == ASK_AWAITING;

        bridge_log(self, "the connection broke under request %.*s", (int)ask->spec.id.n, ask->spec.id.data);
        if (!was_whole || ask->spec.is_repeatable) {
                ask_seek(self, ask, bridge_now_ms());
                ask->retry_ms += BRIDGE_AGAIN_MS;
        } else
                ask_fail(self, ask, "outcome_unknown",
                         "the daemon ended before it answered: look whether it was done before you do it "
                         "again");
}

/* What a daemon left that listens at another place than the usual one; empty: nothing that is a path. */
static void ask_read_address(const Bridge *self, char out[ASK_ADDRESS_MAX]) {
        int fd = self->address_path ? open(self->address_path, O_RDONLY | O_CLOEXEC) : -1;
        ssize_t n = fd < 0 ? 0 : read(fd, out, ASK_ADDRESS_MAX - 1);

        close_fd(fd);
        out[n > 0 ? n : 0] = '\0';
        out[strcspn(out, "\n")] = '\0';
        if (out[0] != '/')
                out[0] = '\0';
}

static void ask_connect(Bridge *self, Ask *ask, int64_t now_ms) {
        int r = socket_connect_unix(self->socket, SOCK_NONBLOCK, &ask->fd);
        char address[ASK_ADDRESS_MAX];

        if (r) {
                ask_read_address(self, address);
                r = address[0] ? socket_connect_unix(address, SOCK_NONBLOCK, &ask->fd) : r;
        }
        if (!r) {
                ask->state = ASK_SENDING;
                return;
        }
        ask->retry_ms = now_ms + BRIDGE_AGAIN_MS;
        if (now_ms < ask->give_up_ms)
                return;
        if (ask->is_known || ask->spec.listen == LISTEN_TOOLS)
                ask->retry_ms = now_ms + BRIDGE_LOST_MS;
        else
                ask_fail(self, ask, "daemon_unavailable", "no daemon answers: start one with muster up");
}

static void ask_send(Bridge *self, Ask *ask) {
        Str request = ask->spec.request;

        while (ask->n_sent < request.n) {
                ssize_t n = send(ask->fd, request.data + ask->n_sent, request.n - ask->n_sent, MSG_NOSIGNAL);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && errno == EAGAIN)
                        return;
                if (n < 0) {
                        ask_broken(self, ask);
                        return;
                }
                ask->n_sent += (size_t)n;
        }
        ask->state = ASK_AWAITING;
}

/* All whole lines; there may be many more. */
static void ask_listen(Bridge *self, Ask *ask) {
        size_t n_used = 0;
        const char *end;

        while (!ask->is_done && (end = memchr(ask->in.data + n_used, '\n', ask->in.n - n_used))) {
                Str line = {ask->in.data + n_used, (size_t)(end - ask->in.data) + 1 - n_used};

                ask->is_done = !listen_take(self, &ask->spec, &ask->is_known, line);
                n_used += line.n;
        }
        buf_consume(&ask->in, n_used);
}

static void ask_receive(Bridge *self, Ask *ask) {
        enum { STEP = 64 << 10 };
        const char *end;
        ssize_t n;

        if (buf_reserve(&ask->in, STEP)) {
                ask_fail(self, ask, mcp_error_code(CALL_E_INTERNAL), "out of memory");
                return;
        }
        n = recv(ask->fd, ask->in.data + ask->in.n, STEP, 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                ask_broken(self, ask);
                return;
        }
        ask->in.n += (size_t)n;
        if (ask->spec.listen) {
                ask_listen(self, ask);
                return;
        }
        end = memchr(ask->in.data + ask->n_scanned, '\n', ask->in.n - ask->n_scanned);
        if (end)
                ask_answer(self, ask, (Str){ask->in.data, (size_t)(end - ask->in.data) + 1});
        ask->n_scanned = ask->in.n;
}

/* ---- time ------------------------------------------------------------------------------------ */

static void ask_tell_progress(Bridge *self, Ask *ask, int64_t now_ms) {
        _cleanup_(buf_deinit) Buf line = BUF_NULL;

        ask->progress_ms = now_ms + BRIDGE_PROGRESS_MS;
        if (!buf_printf(&line,
                        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/"
                        "progress\",\"params\":{\"progressToken\":" STR_FMT
                        ",\"progress\":%d,\"message\":\"waiting\"}}\n",
                        STR_ARG(ask->spec.token), ++ask->n_progress))
                bridge_say(self, buf_str(&line));
}

static int64_t ask_due(Bridge *self, Ask *ask, int64_t now_ms) {
        int64_t due = BRIDGE_NEVER;

        if (ask->state == ASK_SEEKING && now_ms >= ask->retry_ms)
                ask_connect(self, ask, now_ms);
        if (ask->state == ASK_SEEKING)
                due = ask->retry_ms;
        if (ask->is_done || !ask->progress_ms)
                return due;
        if (now_ms >= ask->progress_ms)
                ask_tell_progress(self, ask, now_ms);
        return MIN(due, ask->progress_ms);
}

int64_t ask_turn(Bridge *self, int64_t now_ms) {
        int64_t due = BRIDGE_NEVER;
        size_t n = 0;

        for (Ask *ask = self->first; ask; ask = ask->next) {
                if (!ask->spec.listen && ++n > BRIDGE_UNDER_WAY)
                        continue; /* it waits for its turn */
                if (ask->state == ASK_WAITING) {
                        ask_seek(self, ask, now_ms);
                        ask->progress_ms =
                                ask->spec.token.n && ask->spec.is_wait && !ask->spec.listen ? now_ms : 0;
                }
                due = MIN(due, ask_due(self, ask, now_ms));
        }
        ask_sweep(self);
        return due;
}

size_t ask_watch(Bridge *self, struct pollfd *ret) {
        size_t n = 0;

        for (const Ask *ask = self->first; ask && n < BRIDGE_UNDER_WAY + BRIDGE_LISTENS; ask = ask->next)
                if (ask->fd >= 0)
                        ret[n++] = (struct pollfd){.fd = ask->fd,
                                                   .events = ask->state == ASK_SENDING ? POLLIN | POLLOUT
                                                                                       : POLLIN};
        return n;
}

void ask_ready(Bridge *self, const struct pollfd *polled, size_t n) {
        size_t i = 0;

        for (Ask *ask = self->first; ask && i < n; ask = ask->next) {
                short events;

                if (ask->fd < 0)
                        continue;
                events = polled[i++].revents;
                if (ask->state == ASK_SENDING && (events & POLLOUT))
                        ask_send(self, ask);
                if (!ask->is_done && ask->fd >= 0 && (events & (POLLIN | POLLHUP | POLLERR)))
                        ask_receive(self, ask);
        }
        ask_sweep(self);
}
