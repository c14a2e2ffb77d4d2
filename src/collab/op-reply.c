/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "collab/lines.h"
#include "collab/post.h"
#include "collab/recipients.h"
#include "collab/unicode.h"
#include "gen/cccc-ops.h"

enum { QUOTE_CHARACTERS = 100 };

/* The beginning of what is answered, without white space around it; NULL data: it has no text. */
static Str quote(Call *call, const Json *original) {
        const Json *said = json_get(json_get(original, "data"), "text");
        Str text = unicode_trim(json_str(said)), first = unicode_first(text, QUOTE_CHARACTERS);

        if (!json_is(said, JSON_STRING))
                return STR_NULL;
        if (first.n == text.n)
                return text.n ? text : STR("");
        return arena_printf(&call->arena, STR_FMT "...", STR_ARG(first));
}

static int tokens_of(Call *call, const Json *list, StrList *ret) {
        *ret = (StrList){.items = arena_alloc(&call->arena, json_count(list) * sizeof(Str))};
        if (!ret->items)
                return error_origin(-ENOMEM);
        json_each (item, list)
                ret->items[ret->n++] = json_str(item);
        return 0;
}

/* Back to the sender; one's own message keeps its audience. */
static int default_tokens(Call *call, const Json *original, Str by, StrList *ret) {
        Str sender = json_str(json_get(original, "by"));

        if (str_eq(sender, by) || !sender.n)
                return tokens_of(call, json_get(json_get(original, "data"), "to"), ret);
        *ret = (StrList){.items = arena_alloc(&call->arena, sizeof(Str)), .n = 1};
        if (!ret->items)
                return error_origin(-ENOMEM);
        ret->items[0] = sender;
        return 0;
}

static int reply_choose(Call *call, const Group *group, const CcccReplyArgs *args, const Json *original,
                        StrList *ret) {
        StrList tokens;
        int r = post_resolve(call, group, &args->to, ret);

        if (r || ret->n)
                return r;
        r = default_tokens(call, original, args->by, &tokens);
        if (!r)
                r = post_resolve(call, group, &tokens, ret);
        if (!r && !ret->n)
                r = recipients_default(&call->arena, group->doc, ret);
        return r;
}

static int reply_answer(Call *call, Group *group, const Json *original, const void *user) {
        const CcccReplyArgs *args = user;
        Post *post = arena_alloc(&call->arena, sizeof(*post));
        int r;

        if (!post)
                return error_origin(-ENOMEM);
        *post = (Post){.group_id = args->group_id,
                       .by = args->by,
                       .text = args->text,
                       .is_attention = str_is(args->priority, "attention"),
                       .attachments = args->attachments,
                       .reply_to = args->reply_to,
                       .quote = quote(call, original),
                       .client_id = args->client_id};
        r = reply_choose(call, group, args, original, &post->to);
        return r ? r : post_run(call, group, post);
}

static int reply_find(Call *call, Group *group, const void *user) {
        const CcccReplyArgs *args = user;

        return event_find(call, group, args->reply_to, reply_answer, args);
}

int op_cccc_reply(Call *call, const CcccReplyArgs *args) {
        bool is_attention;
        int r = post_priority(call, args->priority, &is_attention);

        if (r)
                return r;
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->reply_to.n)
                return call_fail(call, CALL_E_MISSING_REPLY_TO, "missing reply_to event_id");
        return collab_read(call, args->group_id, reply_find, args);
}
