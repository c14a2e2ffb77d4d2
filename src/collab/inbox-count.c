/* SPDX-License-Identifier: MIT */
/*
 * Numbers of unread events. Counting walks over what is unread; what was counted before is kept per actor,
 * so that asking again costs what came in between. Everything is counted anew when the cursor moves, the
 * role changes or the ledger is rewritten. At most COUNTS_MAX actors are remembered per group; others are
 * counted each time.
 */
#include <stdlib.h>

#include "collab/inbox.h"
#include "collab/permissions.h"

enum { COUNTS_MAX = 256 };

typedef struct Count {
        char *actor;
        bool is_foreman;
        uint64_t start, end; /* positions that were counted */
        size_t n;
} Count;

typedef struct Counts {
        Count items[COUNTS_MAX];
        size_t n;
} Counts;

static Counts *counts_of(const Group *group) {
        return group->slots[GROUP_SLOT_INBOX];
}

/* NULL: not remembered. */
static Count *inbox_count_find(const Group *group, Str actor) {
        Counts *counts = counts_of(group);

        for (size_t i = 0; counts && i < counts->n; i++)
                if (str_is(actor, counts->items[i].actor))
                        return &counts->items[i];
        if (!counts || counts->n == COUNTS_MAX)
                return NULL;
        counts->items[counts->n] = (Count){.actor = strndup(actor.data, actor.n)};
        return counts->items[counts->n].actor ? &counts->items[counts->n++] : NULL;
}

static size_t count_from(const Group *group, Str actor, uint64_t start) {
        uint64_t position;
        size_t n = 0;
        Inbox inbox;

        if (inbox_open(&inbox, group, actor, INBOX_ALL, start))
                return 0;
        while (inbox_next(&inbox, &position))
                n++;
        return n;
}

/* How many events are not read. Counted once, then kept up to date. */
static size_t inbox_unread(const Group *group, Str actor) {
        uint64_t start = inbox_start(group, actor), end = ledger_n_committed(group->ledger);
        bool is_foreman = group_is_foreman(group->doc, actor);
        Count *count = inbox_count_find(group, actor);

        if (!count)
                return count_from(group, actor, start);
        if (count->start != start || count->is_foreman != is_foreman || count->end > end)
                *count = (Count){
                        .actor = count->actor, .is_foreman = is_foreman, .start = start, .end = start};
        count->n += count_from(group, actor, count->end);
        count->end = end;
        return count->n;
}

/* ---- the part -------------------------------------------------------------------------------- */

static int inbox_count_on_group_opened(Group *group) {
        group->slots[GROUP_SLOT_INBOX] = calloc(1, sizeof(Counts)); /* NULL: nothing is remembered */
        return 0;
}

static void inbox_count_on_rewritten(Group *group) {
        Counts *counts = counts_of(group);

        for (size_t i = 0; counts && i < counts->n; i++)
                free(counts->items[i].actor);
        if (counts)
                counts->n = 0;
}

static void inbox_count_on_group_closed(Group *group) {
        inbox_count_on_rewritten(group);
        free(steal(&group->slots[GROUP_SLOT_INBOX]));
}

const CollabPart inbox_part = {
        .name = "inbox",
        .group_opened = inbox_count_on_group_opened,
        .group_closed = inbox_count_on_group_closed,
        .rewritten = inbox_count_on_rewritten,
        .unread = inbox_unread,
};
