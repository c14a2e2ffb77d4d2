/* SPDX-License-Identifier: MIT */
#include "collab/delivery-gate.h"

#include "base/macro.h"

const char *mail_why_name(MailWhy why) {
        static const char *const names[_MAIL_WHYS] = {
                [MAIL_GO] = "due",
                [MAIL_EMPTY] = "empty",
                [MAIL_STOPPED] = "stopped",
                [MAIL_PAUSED] = "paused",
                [MAIL_IDLE] = "idle",
                [MAIL_STARTING] = "starting",
                [MAIL_THROTTLED] = "throttled",
                [MAIL_FAILED] = "failed",
        };

        return names[why];
}

/* When the program has started well enough to be typed at. */
static int64_t ready_ms(const GateFacts *facts) {
        int64_t silent_ms = facts->started_ms + GATE_SILENT_MS;
        int64_t ready = facts->output_ms < 0 ? silent_ms : facts->output_ms + GATE_OUTPUT_MS;

        if (!facts->is_introduced)
                ready = MAX(ready, facts->paste_ms < 0 ? silent_ms
                                                       : MIN(facts->paste_ms + GATE_OUTPUT_MS, silent_ms));
        return ready;
}

static MailWhy held(const GateFacts *facts) {
        if (facts->state == GROUP_PAUSED)
                return MAIL_PAUSED;
        if (facts->state == GROUP_IDLE && !facts->n_chat)
                return MAIL_IDLE;
        return facts->is_running ? MAIL_GO : MAIL_STOPPED;
}

MailWhy delivery_gate(const GateFacts *facts, int64_t *ret_due_ms) {
        int64_t ready = ready_ms(facts);
        int64_t failed = facts->failed_ms < 0 ? INT64_MIN : facts->failed_ms + GATE_FAILED_MS;
        int64_t throttled = facts->tried_ms < 0
                                    ? INT64_MIN
                                    : facts->tried_ms + MAX(facts->min_interval_ms, (int64_t)GATE_EVERY_MS);
        int64_t gathered = facts->queued_ms + GATE_EVERY_MS;
        MailWhy why = facts->n_chat + facts->n_notices ? held(facts) : MAIL_EMPTY;

        *ret_due_ms = INT64_MAX;
        if (why != MAIL_GO)
                return why;
        throttled = MAX(throttled, gathered);
        *ret_due_ms = MAX(ready, MAX(failed, throttled));
        if (facts->now_ms < ready)
                return MAIL_STARTING;
        if (facts->now_ms < failed)
                return MAIL_FAILED;
        return facts->now_ms < throttled ? MAIL_THROTTLED : MAIL_GO;
}
