/* SPDX-License-Identifier: MIT */
/*
 * A message to another group: the destination is asked first whether it would take it, then the source gets
 * its record, then the destination the message. With the record a note is kept of what is still to be done;
 * it goes when the call is answered. A daemon that finds one finishes the crossing (collab/crossing.h).
 */
#include <errno.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/crossing.h"
#include "collab/recipients.h"
#include "gen/cccc-ops.h"

typedef struct Crossing {
        const CcccSendCrossGroupArgs *args;
        Str to_user[1];
        StrList dst_to; /* as named, resolved in the destination */
        Post source, destination;
        Str source_line;
        Str event_id; /* of the record; empty: it is not kept */
} Crossing;

/* ---- the destination's copy ------------------------------------------------------------------ */

static void send_cross_group_reply(Call *call, GroupChange *change) {
        const Post *post = change->user;
        const Crossing *crossing = post->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "src_event");
        jw_raw(w, crossing->source_line);
        group_change_write_event(change, w, "dst_event", 0);
        jw_end_object(w);
}

static int send_cross_group_put_message(Call *call, Group *group, const void *user) {
        Crossing *crossing = (Crossing *)user;

        return post_run(call, group, &crossing->destination);
}

/* ---- the source's record --------------------------------------------------------------------- */

static void send_cross_group_on_recorded(Call *call, GroupChange *change) {
        const Post *post = change->user;
        Crossing *crossing = post->user;
        Str id = arena_str(&call->arena, str_from(change->events[0].id));
        int r = -ENOMEM;

        crossing->source_line = arena_str(&call->arena, change->events[0].line);
        crossing->destination.src_group_id = crossing->args->group_id;
        crossing->destination.src_event_id = crossing->event_id = id;
        if (id.data && crossing->source_line.data)
                r = collab_call(call, crossing->args->dst_group_id, send_cross_group_put_message, crossing);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static void add_note(GroupChange *change, const Post *post) {
        const Crossing *crossing = post->user;

        crossing_note(change, &crossing->source, &crossing->destination);
}

/* Answered, be it with an error: nothing is left to be done. */
static void send_cross_group_over(Call *call) {
        const Crossing *crossing = call->target;

        if (crossing->event_id.n)
                crossing_forget(call->daemon->collab, crossing->event_id);
}

static int put_record(Call *call, Group *group, const void *user) {
        Crossing *crossing = (Crossing *)user;

        return post_run(call, group, &crossing->source);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int send_cross_group_choose(Call *call, const Group *group, Crossing *crossing) {
        Post *post = &crossing->destination;
        int r = post_resolve(call, group, &crossing->args->to, &crossing->dst_to);

        post->to = crossing->dst_to;
        if (!r && !post->to.n)
                r = recipients_mentioned(&call->arena, group->doc, post->text, &post->to);
        if (!r && !post->to.n)
                r = recipients_default(&call->arena, group->doc, &post->to);
        return r;
}

static int check_destination(Call *call, Group *group, const void *user) {
        Crossing *crossing = (Crossing *)user;
        int r = send_cross_group_choose(call, group, crossing);

        if (!r)
                r = post_require_reader(call, group, &crossing->destination);
        return r ? r : collab_call(call, crossing->args->group_id, put_record, crossing);
}

static int check_source(Call *call, _unused_ Group *group, const void *user) {
        const Crossing *crossing = user;

        return collab_call(call, crossing->args->dst_group_id, check_destination, crossing);
}

static int send_cross_group_begin(Call *call, const CcccSendCrossGroupArgs *args, bool is_attention) {
        Crossing *crossing = arena_alloc(&call->arena, sizeof(*crossing));
        Post post = {.by = args->by, .text = args->text, .is_attention = is_attention, .user = crossing};

        if (!crossing)
                return error_origin(-ENOMEM);
        *crossing = (Crossing){.args = args, .to_user = {STR("user")}, .source = post, .destination = post};
        crossing->source.group_id = args->group_id;
        crossing->source.to = (StrList){crossing->to_user, 1};
        crossing->source.dst_group_id = args->dst_group_id;
        crossing->source.dst_to = &crossing->dst_to;
        crossing->source.kept = send_cross_group_on_recorded;
        crossing->source.more = add_note;
        crossing->destination.group_id = args->dst_group_id;
        crossing->destination.reply = send_cross_group_reply;
        call->target = crossing;
        call->over = send_cross_group_over;
        return collab_call(call, args->group_id, check_source, crossing);
}

int op_cccc_send_cross_group(Call *call, const CcccSendCrossGroupArgs *args) {
        bool is_attention;
        int r;

        if (post_has_attachments(args->attachments))
                return call_fail(call, CALL_E_ATTACHMENTS_NOT_SUPPORTED,
                                 "attachments are not supported for cross-group messages");
        r = post_priority(call, args->priority, &is_attention);
        if (r)
                return r;
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->dst_group_id.n)
                return call_fail(call, CALL_E_MISSING_DST_GROUP_ID, "missing dst_group_id");
        if (str_eq(args->group_id, args->dst_group_id))
                return call_fail(call, CALL_E_INVALID_DST_GROUP_ID,
                                 "dst_group_id must be different from group_id");
        return send_cross_group_begin(call, args, is_attention);
}
