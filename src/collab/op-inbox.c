/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "collab/inbox.h"
#include "collab/lines.h"
#include "collab/permissions.h"
#include "gen/cccc-ops.h"

enum {
        LIMIT_DEFAULT = 50,
        ANSWER_MAX =
                3900 * 1000, /* bytes of events: clients read at most 4,000,000; the rest stays unread */
};

/* ---- what is chosen -------------------------------------------------------------------------- */

typedef struct Page {
        uint64_t *positions;
        bool *is_certain;
        size_t n, n_room;
} Page;

/* Room doubles; what was used before stays in the arena, which is as much again at most. */
static int inbox_make_room(Arena *arena, Page *page) {
        size_t n_room = page->n_room ? page->n_room * 2 : LIMIT_DEFAULT;
        uint64_t *positions = arena_alloc(arena, n_room * sizeof(*positions));
        bool *is_certain = arena_alloc(arena, n_room * sizeof(*is_certain));

        if (!positions || !is_certain)
                return error_origin(-ENOMEM);
        if (page->n) {
                memcpy(positions, page->positions, page->n * sizeof(*positions));
                memcpy(is_certain, page->is_certain, page->n * sizeof(*is_certain));
        }
        *page = (Page){positions, is_certain, page->n, n_room};
        return 0;
}

/* Only what is written as an integer counts: "5" and 5.0 do not. */
static size_t limit_of(const Json *limit) {
        int64_t n;

        if (!json_is_integer(limit) || !json_int64(limit, &n))
                return LIMIT_DEFAULT;
        return n <= 0 ? SIZE_MAX : (size_t)n;
}

static int fill_page(Call *call, Group *group, const CcccInboxListArgs *args, Page *page) {
        size_t n_max = limit_of(args->limit);
        uint64_t position, n_bytes = 0;
        Inbox inbox;
        int r = inbox_open(&inbox, group, args->actor_id, inbox_filter(args->kind_filter),
                           inbox_start(group, args->actor_id));

        while (!r && page->n < n_max && inbox_next(&inbox, &position)) {
                n_bytes += ledger_entry(group->ledger, position).n_bytes;
                if (page->n && n_bytes > ANSWER_MAX)
                        break;
                if (page->n == page->n_room)
                        r = inbox_make_room(&call->arena, page);
                if (r)
                        break;
                page->is_certain[page->n] = inbox_is_certain(&inbox, position);
                page->positions[page->n++] = position;
        }
        return error_trace(r);
}

/* ---- inbox_list ------------------------------------------------------------------------------ */

typedef struct Listing {
        const CcccInboxListArgs *args;
        Page page;
} Listing;

static bool inbox_is_shown(const Group *group, Str line, Str actor) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *event;

        return !json_parse(&arena, line.data, line.n, NULL, &event, NULL) &&
               inbox_shows(group->doc, event, actor, false);
}

static int inbox_answer(Call *call, Group *group, const LedgerRead *lines, const void *user) {
        const Listing *listing = user;
        Str actor = listing->args->actor_id;
        CursorView cursor = group_cursor(group, actor);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "messages");
        jw_begin_array(w);
        for (size_t i = 0; i < listing->page.n; i++) {
                Str line = ledger_read_line(lines, i);

                if (listing->page.is_certain[i] || inbox_is_shown(group, line, actor))
                        jw_stored(w, line);
        }
        jw_end_array(w);
        jw_key(w, "cursor");
        jw_begin_object(w);
        jw_field_str(w, "event_id", cursor.event_id);
        jw_field_str(w, "ts", cursor.ts);
        jw_end_object(w);
        jw_end_object(w);
        return 0;
}

static int inbox_list_again(Call *call, Group *group, const void *user);

static int inbox_list_own(Call *call, Group *group, const void *user) {
        const CcccInboxListArgs *args = user;
        Listing *listing;
        int r = inbox_require(call, group, args->by, args->actor_id);

        if (r)
                return r;
        listing = arena_alloc(&call->arena, sizeof(*listing));
        if (!listing)
                return error_origin(-ENOMEM);
        *listing = (Listing){.args = args};
        r = fill_page(call, group, args, &listing->page);
        if (r)
                return error_trace(r);
        if (!listing->page.n)
                return inbox_answer(call, group, NULL, listing);
        return lines_read(call, group, listing->page.positions, listing->page.n, inbox_answer,
                          inbox_list_again, listing);
}

static int inbox_list_again(Call *call, Group *group, const void *user) {
        const Listing *listing = user;

        return inbox_list_own(call, group, listing->args);
}

int op_cccc_inbox_list(Call *call, const CcccInboxListArgs *args) {
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->actor_id.n)
                return call_fail(call, CALL_E_MISSING_ACTOR_ID, "missing actor_id");
        return collab_read(call, args->group_id, inbox_list_own, args);
}
