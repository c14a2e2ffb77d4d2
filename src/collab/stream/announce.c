/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/announce"

#include "collab/stream/announce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/collab.h"
#include "core/ledger/follower.h"

typedef struct Announcer {
        Group *group;
        LedgerFollower lines;
} Announcer;

static void announce_line(LedgerFollower *lines, LedgerLine *line) {
        const Group *group = container_of(lines, Announcer, lines)->group;
        Chunk *text = line->text.n && ledger_line_is_whole(line) ? chunk_new(line->text) : NULL;
        FeedPlace place;

        feed_place(&place, "collab", str_from(group->id), line->entry.kind, line->position);
        (void)feed_push(group->collab->daemon->feed, &place, text);
}

static bool announce_failed(LedgerFollower *lines, int r) {
        const Group *group = container_of(lines, Announcer, lines)->group;

        log_warning(&group->collab->daemon->log, group->id, "cannot read new events: %s", strerror(-r));
        return true;
}

static const LedgerFollowerType announce_lines = {
        .n_lines = FOLLOWER_LINES,
        .n_bytes = FOLLOWER_BYTES,
        .n_line_max = FEED_PAYLOAD_MAX,
        .is_early = true, /* what follows from an event is in the feed behind it */
        .take = announce_line,
        .failed = announce_failed,
};

static int announce_on_opened(Group *group) {
        Announcer *a = calloc(1, sizeof(*a));

        if (!a)
                return error_origin(-ENOMEM);
        a->group = group;
        follower_start(&a->lines, &announce_lines, group->ledger, ledger_n_committed(group->ledger));
        group->slots[GROUP_SLOT_ANNOUNCER] = a;
        return 0;
}

static void announce_on_closed(Group *group) {
        Announcer *a = steal(&group->slots[GROUP_SLOT_ANNOUNCER]);

        if (a)
                follower_stop(&a->lines);
        free(a);
}

const CollabPart announce_part = {
        .name = "announce",
        .group_opened = announce_on_opened,
        .group_closed = announce_on_closed,
};
