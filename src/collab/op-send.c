/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "collab/post.h"
#include "collab/recipients.h"
#include "gen/cccc-ops.h"

/* Named, else mentioned, else by policy. */
static int send_choose(Call *call, const Group *group, const CcccSendArgs *args, StrList *ret) {
        int r = post_resolve(call, group, &args->to, ret);

        if (!r && !ret->n)
                r = recipients_mentioned(&call->arena, group->doc, args->text, ret);
        if (!r && !ret->n)
                r = recipients_default(&call->arena, group->doc, ret);
        return r;
}

static int send_to(Call *call, Group *group, const void *user) {
        const CcccSendArgs *args = user;
        Post *post = arena_alloc(&call->arena, sizeof(*post));
        int r;

        if (!post)
                return error_origin(-ENOMEM);
        *post = (Post){.group_id = args->group_id,
                       .by = args->by,
                       .text = args->text,
                       .is_attention = str_is(args->priority, "attention"),
                       .path = args->path,
                       .attachments = args->attachments,
                       .src_group_id = args->src_group_id,
                       .src_event_id = args->src_event_id,
                       .dst_group_id = args->dst_group_id,
                       .dst_to = args->dst_to.items ? &args->dst_to : NULL,
                       .client_id = args->client_id};
        r = send_choose(call, group, args, &post->to);
        return r ? r : post_run(call, group, post);
}

int op_cccc_send(Call *call, const CcccSendArgs *args) {
        bool is_attention;
        int r = post_priority(call, args->priority, &is_attention);

        if (r)
                return r;
        return args->client_id.n ? collab_read(call, args->group_id, send_to, args)
                                 : collab_call(call, args->group_id, send_to, args);
}
