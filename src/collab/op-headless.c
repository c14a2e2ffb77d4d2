/* SPDX-License-Identifier: MIT */
/* What a headless actor's client tells of itself, and asks back. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/runner.h"
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
        char *copy = strndup(text.data, text.n);

        if (!copy)
                return error_origin(-ENOMEM);
        free(*place);
        *place = copy;
        return 0;
}

static int missing_actor(Call *call, Str group_id) {
        if (!group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        return call_fail(call, CALL_E_MISSING_ACTOR_ID, "missing actor_id");
}

/* ---- status ---------------------------------------------------------------------------------- */

static int status(Call *call, Group *group, const void *user) {
        const CcccHeadlessStatusArgs *args = user;
        Runner *runner = NULL;
        int r = headless_session_of(call, group, args->actor_id, &runner);

        if (r || !runner)
                return r;
        headless_write_state(call, runner);
        return 0;
}

int op_cccc_headless_status(Call *call, const CcccHeadlessStatusArgs *args) {
        if (!args->group_id.n || !args->actor_id.n)
                return missing_actor(call, args->group_id);
        return collab_call(call, args->group_id, status, args);
}

static const char *status_word(Str word) {
        for (size_t i = 0; i < ARRAY_SIZE(statuses); i++)
                if (str_is(word, statuses[i]))
                        return statuses[i];
        return NULL;
}

static int headless_change_status(Call *call, Group *group, const void *user) {
        const CcccHeadlessSetStatusArgs *args = user;
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

int op_cccc_headless_set_status(Call *call, const CcccHeadlessSetStatusArgs *args) {
        if (!args->group_id.n || !args->actor_id.n)
                return missing_actor(call, args->group_id);
        if (!status_word(args->status))
                return call_fail(call, CALL_E_INVALID_STATUS,
                                 "invalid status (must be idle, working, waiting or stopped)");
        return collab_call(call, args->group_id, headless_change_status, args);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int ack(Call *call, Group *group, const void *user) {
        const CcccHeadlessAckMessageArgs *args = user;
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

int op_cccc_headless_ack_message(Call *call, const CcccHeadlessAckMessageArgs *args) {
        if (!args->group_id.n || !args->actor_id.n)
                return missing_actor(call, args->group_id);
        if (!args->message_id.n)
                return call_fail(call, CALL_E_MISSING_MESSAGE_ID, "missing message_id");
        return collab_call(call, args->group_id, ack, args);
}
