/* SPDX-License-Identifier: MIT */
#include "cli/term/follow.h"

#include <poll.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"
#include "cli/cli.h"
#include "cli/print/report.h"
#include "cli/term/unbase64.h"

int follow_past(Coop *coop, Buf *out) {
        int r = unbase64(out, json_str(json_get(coop->reply.result, "log_data")));

        if (r < 0)
                return complain(CLI_FAILED, "out of memory");
        return r ? complain(CLI_FAILED, "%s: the daemon's answer makes no sense", coop->command) : CLI_OK;
}

int follow_open(Follow *follow, Coop *coop, int64_t pty) {
        static const int numbers[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
        int r;

        follow->coop = coop;
        coop_set_session(coop);
        coop_set_pty(coop, pty);
        coop_set_bool(coop, "follow", true);
        r = coop_call(coop, "logs");
        if (!r)
                r = follow_past(coop, &follow->past);
        if (r)
                return r;
        r = signals_open(&follow->signals, numbers, ARRAY_SIZE(numbers));
        if (r)
                return complain(CLI_FAILED, "cannot watch for signals: %s", strerror(-r));
        follow->n_skip = follow->past.n;
        coop->link.deadline_ms = 0; /* the waiting is done here */
        return CLI_OK;
}

void follow_deinit(Follow *follow) {
        buf_deinit(&follow->past);
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

static bool take_output(Follow *follow, Str bytes, FollowItem *ret) {
        size_t n = (size_t)MIN((uint64_t)bytes.n, follow->n_skip);

        if (follow->n_missed) { /* the screen, which no program printed */
                *ret = (FollowItem){.kind = FOLLOW_LOST, .n_lost = follow->n_missed};
                follow->n_missed = 0;
                return true;
        }
        follow->n_skip -= n;
        follow->pending = (Str){bytes.data + n, bytes.n - n};
        return false;
}

static bool take_event(Follow *follow, Str control, FollowItem *ret) {
        arena_reset(&follow->arena);
        *ret = (FollowItem){.kind = FOLLOW_EVENT, .event = stream_event(&follow->arena, control)};
        if (ret->event.kind == STREAM_LAG) {
                follow->n_missed = (uint64_t)MAX(ret->event.value, (int64_t)0);
                return false;
        }
        return ret->event.kind != STREAM_OTHER;
}

/* Whether there is something to tell. */
static bool take_frame(Follow *follow, Str frame, FollowItem *ret) {
        Str payload = {frame.data + 1, frame.n - 1};

        if (frame.n && frame.data[0] == STREAM_DATA)
                return take_output(follow, payload, ret);
        return frame.n && frame.data[0] == STREAM_CONTROL && take_event(follow, payload, ret);
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool has_signal(Follow *follow, FollowItem *ret) {
        *ret = (FollowItem){.kind = FOLLOW_SIGNAL, .number = signals_take(&follow->signals)};
        return ret->number != 0;
}

/* Whether nothing has come. */
static bool is_idle(Follow *follow, FollowItem *ret) {
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
                        *ret = (FollowItem){.kind = FOLLOW_OUTPUT, .bytes = follow->pending};
                        follow->pending = STR_NULL;
                        return 0;
                }
                r = link_receive(&follow->coop->link, FRAMING_LENGTH, &frame);
                *ret = (FollowItem){.kind = FOLLOW_END};
                if (r && r != LINK_E_TIMEOUT)
                        return r == LINK_E_CLOSED ? 0 : r;
                if (r ? is_idle(follow, ret) : take_frame(follow, frame, ret))
                        return 0;
        }
}
