/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/lines.h"
#include "collab/stream.h"
#include "gen/cccc-ops.h"

/* From the answer to the stream, which is the same turn; in the call's arena. */
typedef struct Opening {
        Group *group;
        EventStreamOptions options;
} Opening;

static void events_stream_begin(Call *call) {
        Opening *opening = call->target;

        event_stream_start(call->client, opening->group, &opening->options);
        group_unref(opening->group);
}

static unsigned kinds_of(const StrList *kinds) {
        unsigned bits = 0;

        for (size_t i = 0; i < kinds->n; i++)
                bits |= stream_kind_bit(str_trim(kinds->items[i]));
        return bits;
}

static bool events_stream_is_any(const StrList *kinds) {
        for (size_t i = 0; i < kinds->n; i++)
                if (str_trim(kinds->items[i]).n)
                        return true;
        return false;
}

static int refuse_kinds(Call *call) {
        JsonWriter *w = call_details(call);

        jw_begin_object(w);
        jw_key(w, "supported");
        jw_begin_array(w);
        for (size_t i = 0; i < STREAM_N_KINDS; i++)
                jw_cstr(w, stream_kinds[i]);
        jw_end_array(w);
        jw_end_object(w);
        return call_fail(call, CALL_E_INVALID_KINDS, "none of the kinds can be streamed");
}

/* Whether a stream of these kinds would have shown that line. */
static bool events_stream_is_shown(const Group *group, const StrList *kinds, uint64_t position) {
        unsigned wanted = kinds_of(kinds), bit = stream_kind_bit(ledger_entry(group->ledger, position).kind);

        return bit && (!wanted || wanted & bit);
}

/* Where the stream begins. A time that is not known, or an event that is not or that the stream would not
 * have shown, resumes nothing. With since_any every event there is resumes, and none the whole.
 * LEDGER_E_PENDING: ask again. */
static int find_start(const Group *group, const CcccEventsStreamArgs *args, uint64_t *ret) {
        uint64_t position;
        int64_t ts_us;
        int r;

        *ret = ledger_n_committed(group->ledger);
        if (!args->since_event_id.n) {
                if (args->since_any)
                        *ret = 0;
                else if (time_parse(args->since_ts, &ts_us))
                        *ret = ledger_first_after_ts(group->ledger, ts_us);
                return 0;
        }
        r = ledger_find_id(group->ledger, args->since_event_id, &position);
        if (!r && (args->since_any || events_stream_is_shown(group, &args->kinds, position)))
                *ret = position + 1;
        return r == LEDGER_E_PENDING ? r : 0;
}

static int subscribe(Call *call, Group *group, const void *user) {
        const CcccEventsStreamArgs *args = user;
        Opening *opening = arena_alloc(&call->arena, sizeof(*opening));
        uint64_t position;
        JsonWriter *w;

        if (!opening)
                return error_origin(-ENOMEM);
        if (find_start(group, args, &position) == LEDGER_E_PENDING)
                return lines_wait(call, group, subscribe, args);
        *opening = (Opening){.group = group,
                             .options = {.kinds = kinds_of(&args->kinds), .position = position}};
        if (group_doc_actor(group->doc, args->by))
                opening->options.viewer = args->by;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", group->id);
        jw_end_object(w);
        if (!call->client) /* it has left: nothing begins */
                return 0;
        group_ref(group);
        call->target = opening;
        call_after(call, events_stream_begin);
        return 0;
}

int op_cccc_events_stream(Call *call, const CcccEventsStreamArgs *args) {
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (events_stream_is_any(&args->kinds) && !kinds_of(&args->kinds))
                return refuse_kinds(call);
        return collab_read(call, args->group_id, subscribe, args);
}
