/* SPDX-License-Identifier: MIT */
#include "cli/term/follow.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/base64.h"
#include "base/error.h"
#include "base/macro.h"
#include "cli/cli.h"
#include "cli/print/report.h"

int follow_past(Coop *coop, Buf *out) {
        int r = base64_decode(out, json_str(json_get(coop->reply.result, "log_data")));

        if (r < 0)
                return complain(CLI_FAILED, "out of memory");
        return r ? complain(CLI_FAILED, "%s: the daemon's answer makes no sense", coop->command) : CLI_OK;
}

/* Where in whose output we are, by the last answer. */
static void follow_note_position(Follow *follow) {
        const Json *answer = follow->coop->reply.result;
        Str process = json_str(json_get(answer, "process"));
        uint64_t end = 0;

        (void)json_uint64(json_get(answer, "end"), &end);
        follow->position = end;
        snprintf(follow->process, sizeof(follow->process), STR_FMT, STR_ARG(process));
}

/* Without memory less is known when it is needed, and more is shown twice. */
static void follow_keep(Follow *follow, Str bytes) {
        size_t n_over;

        if (bytes.n > FOLLOW_SHOWN)
                bytes = (Str){bytes.data + bytes.n - FOLLOW_SHOWN, FOLLOW_SHOWN};
        n_over = follow->shown.n + bytes.n > FOLLOW_SHOWN ? follow->shown.n + bytes.n - FOLLOW_SHOWN : 0;
        if (n_over)
                memmove(follow->shown.data, follow->shown.data + n_over, follow->shown.n - n_over);
        follow->shown.n -= n_over;
        (void)buf_append_str(&follow->shown, bytes);
}

static int follow_ask(Follow *follow) {
        Coop *coop = follow->coop;
        int r;

        coop_set_session(coop);
        coop_set_pty(coop, follow->pty);
        coop_set_bool(coop, "follow", true);
        coop_set_bool(coop, "position", true);
        r = coop_call(coop, "logs");
        follow->past.n = 0;
        if (!r)
                r = follow_past(coop, &follow->past);
        if (r)
                return r;
        follow->n_skip = follow->past.n;
        follow->n_missed = 0;
        follow->is_over = follow->is_gone = false;
        coop->link.deadline_ms = 0; /* the waiting is done here */
        return CLI_OK;
}

int follow_open(Follow *follow, Coop *coop, const Options *options) {
        static const int numbers[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
        int r;

        follow->coop = coop;
        follow->pty = options->pty;
        r = follow_ask(follow);
        if (r)
                return r;
        follow_note_position(follow);
        follow_keep(follow, buf_str(&follow->past));
        again_init(&follow->again, coop->socket, &coop->link, options->no_reconnect);
        r = signals_open(&follow->signals, numbers, ARRAY_SIZE(numbers));
        return r ? complain(CLI_FAILED, "cannot watch for signals: %s", strerror(-r)) : CLI_OK;
}

/* ---- after the daemon has gone --------------------------------------------------------------- */

/* The past of a process that we know nothing of: behind what was given out, where that stands in it. The
 * first such place: rather twice than not at all. */
static Str follow_find_new(const Follow *follow) {
        const Buf *past = &follow->past, *shown = &follow->shown;
        const char *found = shown->n ? memmem(past->data, past->n, shown->data, shown->n) : NULL;
        size_t n_known = found ? (size_t)(found - past->data) + shown->n : 0;

        return (Str){past->data + n_known, past->n - n_known};
}

/* What was printed meanwhile is what is new to us of the past. Whether *ret has something to tell. */
static bool follow_catch_up(Follow *follow, FollowItem *ret) {
        uint64_t known = follow->position, begin;
        char before[sizeof(follow->process)];
        size_t n_known;

        memcpy(before, follow->process, sizeof(before));
        follow_note_position(follow);
        begin = follow->position - MIN((uint64_t)follow->past.n, follow->position);
        if (!before[0] || strcmp(before, follow->process) != 0) {
                follow->pending = follow_find_new(follow);
                return false;
        }
        n_known = (size_t)(MIN(MAX(known, begin), follow->position) - begin);
        follow->pending = (Str){follow->past.data + n_known, follow->past.n - n_known};
        *ret = (FollowItem){.kind = FOLLOW_LOST, .n_lost = begin - MIN(known, begin)};
        return ret->n_lost > 0;
}

/* Whether *ret has something to tell. */
static bool follow_again(Follow *follow, FollowItem *ret) {
        int r;

        switch (again_wait(&follow->again, follow->signals.fd)) {
        case AGAIN_BACK:
                r = follow_ask(follow);
                *ret = (FollowItem){.kind = FOLLOW_FAILED, .number = r};
                return r || follow_catch_up(follow, ret);
        case AGAIN_REFUSED: *ret = (FollowItem){.kind = FOLLOW_FAILED, .number = CLI_NO_DAEMON}; return true;
        case AGAIN_SIGNAL:
        default: return false; /* it is found where signals are looked for */
        }
}

void follow_deinit(Follow *follow) {
        buf_deinit(&follow->past);
        buf_deinit(&follow->shown);
        arena_deinit(&follow->arena);
        signals_deinit(&follow->signals);
}

Str last_lines(Str text, int64_t n) {
        size_t at = text.n;

        if (n <= 0)
                return (Str){text.data + text.n, 0};
        if (at && text.data[at - 1] == '\n')
                at--;
        for (; at; at--)
                if (text.data[at - 1] == '\n' && --n == 0)
                        break;
        return (Str){text.data + at, text.n - at};
}

/* ---- frames ---------------------------------------------------------------------------------- */

static bool follow_take_output(Follow *follow, Str bytes, FollowItem *ret) {
        size_t n = (size_t)MIN((uint64_t)bytes.n, follow->n_skip);

        if (follow->n_missed) { /* the screen, which no program printed */
                *ret = (FollowItem){.kind = FOLLOW_LOST, .n_lost = follow->n_missed};
                follow->position += follow->n_missed;
                follow->n_missed = 0;
                return true;
        }
        follow->n_skip -= n;
        follow->position += bytes.n - n;
        follow->pending = (Str){bytes.data + n, bytes.n - n};
        return false;
}

static bool follow_take_event(Follow *follow, Str control, FollowItem *ret) {
        arena_reset(&follow->arena);
        *ret = (FollowItem){.kind = FOLLOW_EVENT, .event = stream_event(&follow->arena, control)};
        if (ret->event.kind == STREAM_LAG) {
                follow->n_missed = (uint64_t)MAX(ret->event.value, (int64_t)0);
                return false;
        }
        follow->is_over = ret->event.kind == STREAM_EXITED;
        follow->is_gone |= ret->event.kind == STREAM_DETACHED;
        return ret->event.kind == STREAM_EXITED || ret->event.kind == STREAM_RESTARTING;
}

/* Whether there is something to tell. */
static bool take_frame(Follow *follow, Str frame, FollowItem *ret) {
        Str payload = {frame.data + 1, frame.n - 1};

        if (frame.n && frame.data[0] == STREAM_DATA)
                return follow_take_output(follow, payload, ret);
        return frame.n && frame.data[0] == STREAM_CONTROL && follow_take_event(follow, payload, ret);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool has_signal(Follow *follow, FollowItem *ret) {
        *ret = (FollowItem){.kind = FOLLOW_SIGNAL, .number = signals_take(&follow->signals)};
        return ret->number != 0;
}

/* Whether nothing has come. */
static bool follow_is_idle(Follow *follow, FollowItem *ret) {
        struct pollfd pfds[] = {{.fd = follow->coop->link.fd, .events = POLLIN},
                                {.fd = follow->signals.fd, .events = POLLIN}};

        *ret = (FollowItem){.kind = FOLLOW_IDLE};
        return poll(pfds, ARRAY_SIZE(pfds), follow->idle_ms) == 0;
}

int follow_next(Follow *follow, FollowItem *ret) {
        for (;;) {
                Str frame;
                int r;

                if (has_signal(follow, ret))
                        return 0;
                if (follow->pending.n) {
                        follow_keep(follow, follow->pending);
                        *ret = (FollowItem){.kind = FOLLOW_OUTPUT, .bytes = follow->pending};
                        follow->pending = STR_NULL;
                        return 0;
                }
                r = link_receive(&follow->coop->link, FRAMING_LENGTH, &frame);
                *ret = (FollowItem){.kind = FOLLOW_END};
                if (r == LINK_E_CLOSED && follow->is_over)
                        return 0;
                if (r == LINK_E_CLOSED || follow->is_gone) {
                        if (follow_again(follow, ret))
                                return 0;
                        continue;
                }
                if (r && r != LINK_E_TIMEOUT)
                        return r;
                if (r ? follow_is_idle(follow, ret) : take_frame(follow, frame, ret))
                        return 0;
        }
}
