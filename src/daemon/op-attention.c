/* SPDX-License-Identifier: MIT */
/* attention.ls, attention.answer: what waits for a person, of all domains (core/attention/attention.h). */
#include <errno.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/attention/attention.h"
#include "core/client.h"
#include "gen/native-ops.h"

/* ---- ls -------------------------------------------------------------------------------------- */

static bool attention_is_listed(const NativeAttentionLsArgs *args, const AttentionItem *item) {
        return str_is(args->state, "all") || item->state == ATTENTION_OPEN ||
               item->state == ATTENTION_ANSWERING;
}

/* Newest first, as they are walked. */
static size_t attention_pick(const Attention *attention, const NativeAttentionLsArgs *args,
                             const AttentionItem *at, const AttentionItem **picked, bool *ret_more) {
        size_t n = 0;

        for (; at; at = attention_before(attention, at)) {
                if (!attention_is_listed(args, at))
                        continue;
                *ret_more = n == (size_t)args->limit;
                if (*ret_more)
                        break;
                picked[n++] = at;
        }
        return n;
}

static int attention_list(Call *call, Attention *attention, const Carry *carry) {
        const NativeAttentionLsArgs *args = container_of(carry, NativeAttentionLsArgs, carry);
        const AttentionItem *at = args->before.n ? attention_find(attention, args->before)
                                                 : attention_last(attention),
                            **picked = arena_alloc(&call->arena, (size_t)args->limit * sizeof(*picked));
        bool has_more = false;
        JsonWriter *w;
        size_t n;

        if (!picked)
                return error_origin(-ENOMEM);
        if (args->before.n && !at)
                return call_fail(call, CALL_E_ITEM_NOT_FOUND,
                                 "before: nothing that waits has the id " STR_FMT,
                                 STR_ARG(utf8_first(args->before, ATTENTION_CHOICE_SHOWN)));
        n = attention_pick(attention, args, args->before.n ? attention_before(attention, at) : at, picked,
                           &has_more);
        w = call_result(call);
        jw_begin_object(w);
        jw_key(w, "items");
        jw_begin_array(w);
        while (n)
                attention_item_write(picked[--n], w);
        jw_end_array(w);
        jw_field_uint(w, "open", attention_n_open(attention));
        jw_field_bool(w, "more", has_more);
        jw_end_object(w);
        return 0;
}

int op_native_attention_ls(Call *call, const NativeAttentionLsArgs *args) {
        return attention_call(call, attention_list, &args->carry);
}

/* ---- answer ---------------------------------------------------------------------------------- */

static int attention_tell(Call *call, const AttentionItem *item, bool is_first) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "item");
        attention_item_write(item, w);
        jw_field_bool(w, "is_first", is_first);
        jw_end_object(w);
        return 0;
}

static int attention_reply(Call *call, Attention *attention, const Carry *carry) {
        const NativeAttentionAnswerArgs *args = container_of(carry, NativeAttentionAnswerArgs, carry);
        const char *by = call->client ? principal_name(principal_of(call->client)) : "user";
        AttentionReply reply = {.choice = args->choice,
                                .text = args->text,
                                .by = arena_str(&call->arena, str_from(by)),
                                .client_id = args->client_id,
                                .digest = args->digest};

        return reply.by.data ? attention_answer(call, attention, args->id, &reply, attention_tell)
                             : error_origin(-ENOMEM);
}

int op_native_attention_answer(Call *call, const NativeAttentionAnswerArgs *args) {
        return attention_call(call, attention_reply, &args->carry);
}
