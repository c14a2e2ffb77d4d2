/* SPDX-License-Identifier: MIT */
#include "cli/term/relay.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/link/connect.h"
#include "cli/term/queries.h"
#include "cli/term/queue.h"
#include "cli/print/report.h"
#include "cli/term/stream.h"

enum { READ_STEP = 64 * 1024, PATIENCE_MS = 2000 };

typedef struct Relay {
        const RelaySpec *spec;
        Terminal *terminal;
        Queue to_daemon, to_terminal;
        Detach detach;
        int64_t keys_ms; /* when what was typed so far is judged without the next byte */
        Buf typed;       /* for the program */
        StreamReader reader;
        Queries queries;
        uint64_t n_past_bytes; /* so many more bytes of output are old */
        uint64_t n_past;       /* data frames before this one show old output */
        Arena arena;
        bool takes_keys;   /* stdin is read */
        bool is_connected; /* the socket is read */
        bool is_leaving;   /* the daemon was told */
        bool wants_resize;
        bool is_restarting; /* the next process does not know our size */
        bool is_over;       /* the outcome is known; the screen gets the rest */
        int64_t deadline_ms;
        RelayOutcome outcome;
} Relay;

static void relay_end(Relay *relay, RelayEnd how, int value, int64_t deadline_ms) {
        if (relay->is_over)
                return;
        relay->outcome = (RelayOutcome){how, value};
        relay->deadline_ms = deadline_ms;
        relay->is_over = true;
        relay->takes_keys = relay->is_connected = false;
}

/* At once, whatever still waits. */
static void relay_fail(Relay *relay, int r) {
        relay_end(relay, RELAY_FAILED, -r, 0);
        queue_deinit(&relay->to_terminal);
}

/* ---- keyboard -------------------------------------------------------------------------------- */

/* A pipe at stdin wants all of it delivered, however long that takes; a person wants to leave. */
static void relay_leave(Relay *relay) {
        relay->takes_keys = false;
        relay->is_leaving = true;
        relay->deadline_ms = relay->terminal->has_in ? clock_ms() + PATIENCE_MS : DEADLINE_NEVER;
        if (stream_put_detach(queue_room(&relay->to_daemon)))
                relay_fail(relay, -ENOMEM);
}

/* What was typed is judged: r is what that came to. */
static void relay_pass_on(Relay *relay, int r) {
        int wait_ms = detach_wait_ms(&relay->detach);

        if (!r && !relay->spec->is_read_only)
                r = stream_put_data(queue_room(&relay->to_daemon), buf_str(&relay->typed));
        relay->typed.n = 0;
        relay->keys_ms = wait_ms < 0 ? DEADLINE_NEVER : clock_ms() + wait_ms;
        if (r)
                relay_fail(relay, r);
        else if (relay->detach.leaves)
                relay_leave(relay);
}

static void relay_end_keys(Relay *relay) {
        relay_pass_on(relay, detach_end(&relay->detach, &relay->typed));
        if (relay->takes_keys)
                relay_leave(relay);
}

static void read_keys(Relay *relay) {
        static char keys[READ_STEP];
        ssize_t n = read(relay->terminal->in, keys, sizeof(keys));

        if (n > 0)
                relay_pass_on(relay, detach_feed(&relay->detach, (Str){keys, (size_t)n}, &relay->typed));
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
                relay_end_keys(relay); /* a terminal that hung up is an end too */
}

/* ---- screen ---------------------------------------------------------------------------------- */

/* A line of ours between what the program prints; is_first: behind the program's own. */
static void notice(Relay *relay, bool is_first, const char *format, int64_t value) {
        char text[80];
        int r;

        snprintf(text, sizeof(text), format, (long long)value);
        if (!relay->terminal->has_out) {
                advise("%s", text);
                return;
        }
        r = queries_end(&relay->queries, queue_room(&relay->to_terminal)); /* the program is gone */
        if (!r)
                r = undo_append(queue_room(&relay->to_terminal), &relay->terminal->modes);
        if (!r)
                r = buf_printf(queue_room(&relay->to_terminal), "%s%s\r\n", is_first ? "\r\n" : "", text);
        if (r)
                relay_fail(relay, r);
}

/* What is started again and again is ended by other means than its own end. */
static void tell_end(Relay *relay) {
        _cleanup_(freep) char *hint = hint_new("to end it: muster kill");

        if (!relay->spec->name || !relay->terminal->has_out)
                return;
        if (!hint || buf_printf(queue_room(&relay->to_terminal), "[%s %s]\r\n", hint, relay->spec->name))
                relay_fail(relay, -ENOMEM);
}

static int relay_show_raw(Relay *relay, Str bytes) {
        Buf *out = queue_room(&relay->to_terminal);
        int r = queries_end(&relay->queries, out);

        return error_trace(r ? r : buf_append_str(out, bytes));
}

static int relay_show(Relay *relay, const StreamPiece *piece) {
        Buf *out = queue_room(&relay->to_terminal);

        relay->wants_resize |= relay->is_restarting; /* it prints, so it can be told */
        relay->is_restarting = false;
        modes_feed(&relay->terminal->modes, piece->bytes);
        if (piece->index < relay->n_past || relay->n_past_bytes || relay->spec->is_read_only)
                relay->queries.use = QUERIES_PAST;
        else
                relay->queries.use = QUERIES_LIVE; /* also of a sequence that began before */
        relay->n_past_bytes -= MIN(relay->n_past_bytes, (uint64_t)piece->bytes.n); /* it ends with a frame */
        if (relay->spec->is_raw || (relay->queries.use == QUERIES_LIVE && !relay->terminal->has_out))
                return error_trace(relay_show_raw(relay, piece->bytes));
        return error_trace(queries_drop(&relay->queries, piece->bytes, out));
}

static void relay_take_event(Relay *relay, Str control) {
        StreamEvent event = stream_event(&relay->arena, control);

        switch (event.kind) {
        case STREAM_EXITED:
                relay->outcome = (RelayOutcome){RELAY_EXITED, (int)event.value};
                notice(relay, true, "[process exited (code %lld)]", event.value);
                break;
        case STREAM_RESTARTING:
                relay->outcome = (RelayOutcome){RELAY_LOST, 0};
                relay->is_restarting = true;
                notice(relay, false, "[restarting in %lldms…]", event.value);
                tell_end(relay);
                break;
        case STREAM_DETACHED:
                relay_end(relay, relay->is_leaving ? RELAY_DETACHED : RELAY_DISMISSED, 0,
                          clock_ms() + PATIENCE_MS);
                break;
        case STREAM_LAG: relay->n_past = relay->reader.n_data + 1; break;
        case STREAM_REFUSED: advise(STR_FMT, STR_ARG(event.message)); break;
        case STREAM_OTHER: break;
        }
        arena_reset(&relay->arena);
}

static void relay_take(Relay *relay, Str bytes) {
        StreamPiece piece;
        int r = 0;

        while (!r && !relay->is_over && !(r = stream_next(&relay->reader, &bytes, &piece))) {
                if (piece.is_control)
                        relay_take_event(relay, piece.bytes);
                else
                        r = relay_show(relay, &piece);
        }
        if (r < 0)
                relay_fail(relay, r);
        else if (r == STREAM_E_GARBLED)
                relay_fail(relay, -EPROTO);
}

/* The stream ends after the process, or when the daemon goes. All of it is shown, however slow the terminal.
 */
static void hang_up(Relay *relay) {
        RelayOutcome so_far = relay->outcome;

        if (so_far.end != RELAY_EXITED && relay->is_leaving)
                so_far.end = RELAY_ABANDONED;
        relay_end(relay, so_far.end, so_far.value,
                  relay->is_leaving ? clock_ms() + PATIENCE_MS : DEADLINE_NEVER);
}

static void read_socket(Relay *relay) {
        static char bytes[READ_STEP];
        ssize_t n = read(relay->spec->socket, bytes, sizeof(bytes));

        if (n > 0)
                relay_take(relay, (Str){bytes, (size_t)n});
        else if (n == 0 || (errno != EAGAIN && errno != EINTR))
                hang_up(relay);
}

/* ---- signals --------------------------------------------------------------------------------- */

static void suspend(Relay *relay) {
        terminal_restore(relay->terminal);
        (void)raise(SIGSTOP);
}

static void take_signal(Relay *relay, int number) {
        int r = 0;

        switch (number) {
        case SIGWINCH: relay->wants_resize = true; break;
        case SIGTSTP: suspend(relay); __attribute__((fallthrough));
        case SIGCONT:
                r = terminal_raw(relay->terminal);
                relay->wants_resize = true;
                break;
        default: /* also while the screen gets the rest */
                relay->is_over = false;
                relay_end(relay, RELAY_SIGNAL, number, 0);
                queue_deinit(&relay->to_terminal);
        }
        if (r)
                relay_fail(relay, r);
}

static void relay_resize(Relay *relay) {
        unsigned cols, rows;

        relay->wants_resize = false;
        if (!relay->spec->is_read_only && terminal_size(&cols, &rows) &&
            stream_put_resize(queue_room(&relay->to_daemon), cols, rows))
                relay_fail(relay, -ENOMEM);
}

/* ---- loop ------------------------------------------------------------------------------------ */

enum { POLL_KEYS, POLL_SOCKET, POLL_SCREEN, POLL_SIGNALS, N_POLL };

/* What nothing is wanted of is left out: it would report its end again and again. */
static void relay_want(struct pollfd *pfd, int fd, short events) {
        *pfd = (struct pollfd){.fd = events ? fd : -1, .events = events};
}

static void relay_prepare(Relay *relay, struct pollfd pfds[N_POLL]) {
        bool has_room = queue_pending(&relay->to_daemon) < RELAY_BOUND;
        short socket_events = 0;

        if (relay->is_connected && queue_pending(&relay->to_terminal) < RELAY_BOUND)
                socket_events |= POLLIN;
        if (relay->is_connected && queue_pending(&relay->to_daemon))
                socket_events |= POLLOUT;
        relay_want(&pfds[POLL_KEYS], relay->terminal->in, relay->takes_keys && has_room ? POLLIN : 0);
        relay_want(&pfds[POLL_SOCKET], relay->spec->socket, socket_events);
        relay_want(&pfds[POLL_SCREEN], relay->terminal->out,
                   queue_pending(&relay->to_terminal) ? POLLOUT : 0);
        relay_want(&pfds[POLL_SIGNALS], relay->spec->signals->fd, POLLIN);
}

static void write_socket(Relay *relay) {
        int r = queue_write(&relay->to_daemon, relay->spec->socket, QUEUE_ANY);

        if (r)
                queue_deinit(&relay->to_daemon); /* nobody takes it; reading tells why */
}

static void write_screen(Relay *relay) {
        bool may_block = relay->terminal->out == STDOUT_FILENO;
        int r = queue_write(&relay->to_terminal, relay->terminal->out, may_block ? QUEUE_PIPE : QUEUE_ANY);

        if (r)
                relay_fail(relay, r);
}

static void relay_dispatch(Relay *relay, const struct pollfd pfds[N_POLL]) {
        int number = pfds[POLL_SIGNALS].revents ? signals_take(relay->spec->signals) : 0;

        if (number)
                take_signal(relay, number);
        if (pfds[POLL_SCREEN].revents && queue_pending(&relay->to_terminal))
                write_screen(relay);
        if (pfds[POLL_SOCKET].revents & (POLLIN | POLLHUP | POLLERR) && relay->is_connected &&
            pfds[POLL_SOCKET].events & POLLIN)
                read_socket(relay);
        if (pfds[POLL_SOCKET].revents & (POLLOUT | POLLHUP | POLLERR) && relay->is_connected)
                write_socket(relay);
        if (pfds[POLL_KEYS].revents && relay->takes_keys)
                read_keys(relay);
        if (relay->wants_resize && !relay->is_leaving && queue_pending(&relay->to_daemon) < RELAY_BOUND)
                relay_resize(relay);
}

/* Also while the other side keeps us busy. */
static void relay_judge_keys(Relay *relay) {
        if (relay->takes_keys && deadline_left_ms(relay->keys_ms) == 0)
                relay_pass_on(relay, detach_pause(&relay->detach, &relay->typed));
}

static void relay_run(Relay *relay) {
        struct pollfd pfds[N_POLL];

        while (!relay->is_over || queue_pending(&relay->to_terminal)) {
                int64_t until_ms =
                        relay->takes_keys ? MIN(relay->deadline_ms, relay->keys_ms) : relay->deadline_ms;
                int n;

                relay_prepare(relay, pfds);
                n = poll(pfds, N_POLL, deadline_left_ms(until_ms));
                if (n > 0)
                        relay_dispatch(relay, pfds);
                else if (n < 0 && errno != EINTR)
                        relay_fail(relay, -errno);
                else if (n == 0 && relay->is_over)
                        return;
                else if (n == 0 && deadline_left_ms(relay->deadline_ms) == 0)
                        relay_end(relay, RELAY_ABANDONED, 0, 0);
                relay_judge_keys(relay);
        }
}

RelayOutcome relay(const RelaySpec *spec) {
        Relay state = {.spec = spec,
                       .terminal = spec->terminal,
                       .n_past = spec->n_past < 0,
                       .n_past_bytes = (uint64_t)MAX(spec->n_past, (int64_t)0),
                       .detach = {.keys = spec->keys, .is_watching = spec->is_read_only, .vt = VT_NULL},
                       .keys_ms = DEADLINE_NEVER,
                       .takes_keys = true,
                       .is_connected = true,
                       .deadline_ms = DEADLINE_NEVER,
                       .outcome = {RELAY_LOST, 0}};

        relay_take(&state, spec->arrived);
        relay_run(&state);
        queue_deinit(&state.to_daemon);
        queue_deinit(&state.to_terminal);
        detach_deinit(&state.detach);
        buf_deinit(&state.typed);
        stream_deinit(&state.reader);
        queries_deinit(&state.queries);
        arena_deinit(&state.arena);
        return state.outcome;
}
