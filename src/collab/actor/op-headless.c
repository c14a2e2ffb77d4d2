/* SPDX-License-Identifier: MIT */
/* What a headless actor's client tells of itself, and asks back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/actor/runner.h"
#include "gen/cccc-ops.h"

static const char *const statuses[] = {"idle", "working", "waiting", "stopped"};

static void headless_field_or_null(JsonWriter *w, const char *key, const char *text) {
        if (text)
                jw_field_cstr(w, key, text);
        else
                jw_field_null(w, key);
}

static void headless_write_state(Call *call, const Runner *runner) {
        JsonWriter *w = call_result(call);
        char started[TIME_TEXT_MAX], updated[TIME_TEXT_MAX];

        time_format_us(runner->started_us, started);
        time_format_us(runner->headless.updated_us, updated);
        jw_begin_object(w);
        jw_key(w, "state");
        jw_begin_object(w);
        jw_field_int(w, "v", 1);
        jw_field_cstr(w, "group_id", runner->group_id);
        jw_field_cstr(w, "actor_id", runner->actor_id);
        jw_field_cstr(w, "status", runner->headless.status);
        headless_field_or_null(w, "current_task_id", runner->headless.task_id);
        headless_field_or_null(w, "last_message_id", runner->headless.message_id);
        jw_field_cstr(w, "started_at", started);
        jw_field_cstr(w, "updated_at", updated);
        jw_end_object(w);
        jw_end_object(w);
}

static int headless_session_of(Call *call, const Group *group, Str actor, Runner **ret) {
        Runner *runner = runner_find(group->collab, str_from(group->id), actor);

        if (!runner || runner->kind != RUNNER_HEADLESS || runner->state != RUNNER_UP)
                return call_fail(call, CALL_E_SESSION_NOT_FOUND, "no headless session of " STR_FMT,
                                 STR_ARG(actor));
        *ret = runner;
        return 0;
}

static int headless_set_text(char **place, Str text) {
        char *copy = str_dup(text);

        if (!copy)
                return error_origin(-ENOMEM);
        free(*place);
        *place = copy;
        return 0;
}

/* ---- status ---------------------------------------------------------------------------------- */

int op_cccc_headless_status(Call *call, Group *group, const CcccHeadlessStatusArgs *args) {
        Runner *runner = NULL;
        int r = headless_session_of(call, group, args->actor_id, &runner);

        if (r || !runner)
                return r;
        headless_write_state(call, runner);
        return 0;
}

static const char *status_word(Str word) {
        for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
                if (str_is(word, statuses[i]))
                        return statuses[i];
        return NULL;
}

int op_cccc_headless_set_status_first(Call *call, const CcccHeadlessSetStatusArgs *args) {
        return status_word(args->status)
                       ? 0
                       : call_fail(call, CALL_E_INVALID_STATUS,
                                   "invalid status (must be idle, working, waiting or stopped)");
}

int op_cccc_headless_set_status(Call *call, Group *group, const CcccHeadlessSetStatusArgs *args) {
        Runner *runner = NULL;
        int r = headless_session_of(call, group, args->actor_id, &runner);

        if (r || !runner)
                return r;
        if (args->task_id.n)
                r = headless_set_text(&runner->headless.task_id, args->task_id);
        if (r)
                return r;
        runner->headless.status = status_word(args->status);
        runner->headless.updated_us = loop_wall_us(call->daemon->loop);
        headless_write_state(call, runner);
        return 0;
}

/* ---- messages -------------------------------------------------------------------------------- */

int op_cccc_headless_ack_message(Call *call, Group *group, const CcccHeadlessAckMessageArgs *args) {
        Runner *runner = NULL;
        char now[TIME_TEXT_MAX];
        JsonWriter *w;
        int r = headless_session_of(call, group, args->actor_id, &runner);

        if (r || !runner)
                return r;
        r = headless_set_text(&runner->headless.message_id, args->message_id);
        if (r)
                return r;
        runner->headless.updated_us = loop_wall_us(call->daemon->loop);
        time_format_us(runner->headless.updated_us, now);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "message_id", args->message_id);
        jw_field_cstr(w, "acked_at", now);
        jw_end_object(w);
        return 0;
}
