/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/announce"

#include "collab/announce.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/collab.h"

enum { BATCH = 64, BATCH_BYTES = 256 * 1024 }; /* of one turn; the first line of one may be longer */

typedef struct Announcer {
        Group *group;
        uint64_t next;    /* position of the next line to announce */
        uint64_t n_known; /* lines of the ledger when it was last looked at */
        bool is_reading;
        bool is_stale; /* the positions have changed while it was read */
        LedgerRead read;
        uint64_t read_end;
        Deferred more;
} Announcer;

static Announcer *announcer_of(const Group *group) {
        return group->slots[GROUP_SLOT_ANNOUNCER];
}

uint64_t announce_next(const Group *group) {
        const Announcer *a = announcer_of(group);

        return a ? a->next : ledger_n_committed(group->ledger);
}

static bool is_read(const LedgerEntry *entry) {
        return entry->n_bytes <= FEED_PAYLOAD_MAX;
}

/* ---- into the feed --------------------------------------------------------------------------- */

static void announce_push(const Group *group, uint64_t position, const LedgerEntry *entry, Chunk *line) {
        FeedPlace place;

        feed_place(&place, "collab", str_from(group->id), entry->kind, position);
        (void)feed_push(group->collab->daemon->feed, &place, line);
}

/* Up to read_end; read: NULL when nothing could be read. */
static void push_batch(Announcer *a, const LedgerRead *read) {
        size_t i = 0;

        for (; a->next < a->read_end; a->next++) {
                LedgerEntry entry = ledger_entry(a->group->ledger, a->next);
                bool has_line = is_read(&entry);

                announce_push(a->group, a->next, &entry,
                              has_line && read ? chunk_new(ledger_read_line(read, i)) : NULL);
                i += has_line;
        }
}

static void announce_go_on(Announcer *a) {
        if (a->next < ledger_n_committed(a->group->ledger))
                deferred_schedule(&a->more);
}

static void announce_on_read(LedgerRead *read, int r) {
        Announcer *a = container_of(read, Announcer, read);
        Group *group = a->group;
        bool is_stale = a->is_stale || r == -ESTALE;

        a->is_reading = a->is_stale = false;
        if (r && !is_stale)
                log_warning(&group->collab->daemon->log, group->id, "cannot read new events: %s",
                            strerror(-r));
        if (!is_stale)
                push_batch(a, r ? NULL : read);
        ledger_read_deinit(read);
        announce_go_on(a);
        group_unref(group);
}

static void announce_some(Announcer *a) {
        uint64_t positions[BATCH], n_lines = ledger_n_committed(a->group->ledger), at = a->next;
        size_t n = 0, n_bytes = 0;
        int r;

        if (a->is_reading || at >= n_lines)
                return;
        for (; at < n_lines && at - a->next < BATCH && n_bytes < BATCH_BYTES; at++) {
                LedgerEntry entry = ledger_entry(a->group->ledger, at);

                if (!is_read(&entry))
                        continue;
                n_bytes += entry.n_bytes;
                positions[n++] = at;
        }
        a->read_end = at;
        a->is_reading = true;
        a->read = (LedgerRead){.done = announce_on_read};
        group_ref(a->group);
        r = n ? ledger_read(a->group->ledger, &a->read, positions, n) : 0;
        if (r != LEDGER_LATER)
                announce_on_read(&a->read, r);
}

static void announce_on_more(Deferred *deferred) {
        announce_some(container_of(deferred, Announcer, more));
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static void announce_on_committed(Group *group, uint64_t first, uint64_t n) {
        Announcer *a = announcer_of(group);

        if (!a) /* the group is still being opened */
                return;
        a->n_known = first + n;
        announce_some(a);
}

/* Lines were taken out at the front: what has been announced keeps its distance from the end. */
static void announce_on_rewritten(Group *group) {
        Announcer *a = announcer_of(group);
        uint64_t n_lines = ledger_n_committed(group->ledger), n_gone;

        if (!a)
                return;
        n_gone = a->n_known > n_lines ? a->n_known - n_lines : 0;
        a->next -= MIN(n_gone, a->next);
        a->n_known = n_lines;
        a->is_stale = a->is_reading;
        announce_go_on(a);
}

static int announce_on_opened(Group *group) {
        Announcer *a = calloc(1, sizeof(*a));

        if (!a)
                return error_origin(-ENOMEM);
        a->group = group;
        a->next = a->n_known = ledger_n_committed(group->ledger);
        deferred_init(&a->more, group->collab->daemon->loop, announce_on_more);
        group->slots[GROUP_SLOT_ANNOUNCER] = a;
        return 0;
}

static void announce_on_closed(Group *group) {
        Announcer *a = announcer_of(group);

        if (!a)
                return;
        deferred_cancel(&a->more);
        free(a);
        group->slots[GROUP_SLOT_ANNOUNCER] = NULL;
}

const CollabPart announce_part = {
        .name = "announce",
        .group_opened = announce_on_opened,
        .group_closed = announce_on_closed,
        .committed = announce_on_committed,
        .rewritten = announce_on_rewritten,
};
