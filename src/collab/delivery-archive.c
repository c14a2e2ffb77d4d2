/* SPDX-License-Identifier: MIT */
/* The bound of our own ledger. */
#define LOG_MODULE "collab/delivery"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/collab.h"
#include "collab/delivery.h"

typedef struct Archiving {
        Delivery *delivery;
        uint64_t *positions;
        char *path;
} Archiving;

static void on_archived(void *user, int r) {
        Archiving *self = user;

        if (r)
                log_warning(&self->delivery->collab->daemon->log, self->delivery->path,
                            "cannot be shortened: %s", strerror(-r));
        delivery_unref(self->delivery);
        free(self->positions);
        free(self->path);
        free(self);
}

/* Whether the line says nothing that is still needed: its event is settled, or waits as if nothing had been
 * tried. */
static bool delivery_archive_is_over(const Delivery *delivery, Str text) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Mailbox *mailbox;
        const MailItem *item;
        MailFact fact;
        Json *line;

        if (json_parse(&arena, text.data, text.n, NULL, &line, NULL) ||
            !mail_fact_from(json_str(json_get(line, "kind")), &fact) || fact == FACT_MARK)
                return false;
        mailbox = mailbox_find(delivery, json_str(json_get(line, "actor_id")));
        item = mailbox ? mailbox_item(mailbox, json_str(json_get(line, "event_id"))) : NULL;
        return !item || (item->fact == FACT_QUEUED && fact != FACT_QUEUED);
}

static size_t delivery_archive_choose(const Delivery *delivery, LedgerRead *read, uint64_t *positions) {
        size_t n = 0;

        for (size_t i = 0; i + DELIVERY_LINES_KEPT < read->n; i++)
                if (delivery_archive_is_over(delivery, ledger_read_line(read, i)))
                        positions[n++] = i;
        return n;
}

/* How far the group's ledger was judged is known by the facts; from now on also without them. */
static int mark(Delivery *delivery) {
        FactRecord *record = fact_record_new(delivery, NULL, NULL);

        fact_record_mark(record, delivery->edge
                                         ? ledger_entry(delivery->group->ledger, delivery->edge - 1).ts_us
                                         : 0);
        return error_trace(fact_record_commit(record));
}

void delivery_shorten(Delivery *delivery, LedgerRead *read) {
        Archiving *self = read->n > DELIVERY_LINES_MAX ? calloc(1, sizeof(*self)) : NULL;
        size_t n;
        int r = 0;

        if (!self)
                return;
        *self = (Archiving){.delivery = delivery_ref(delivery),
                            .positions = malloc(read->n * sizeof(*self->positions)),
                            .path = path_join(delivery->state_path, "archive.jsonl")};
        n = self->positions ? delivery_archive_choose(delivery, read, self->positions) : 0;
        if (!self->positions || !self->path)
                r = error_origin(-ENOMEM);
        if (!r && n)
                r = mark(delivery);
        if (!r && n)
                r = ledger_rewrite(delivery->ledger, self->positions, n, self->path, on_archived, self);
        if (r || !n)
                on_archived(self, r);
}
