/* SPDX-License-Identifier: MIT */
#include "core/ledger/follower.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "core/ledger/ledger-internal.h"

/* A batch from the file. It outlives a follower that stops meanwhile. */
typedef struct FollowerRead {
        LedgerRead read;
        LedgerFollower *follower; /* NULL: it has stopped */
        uint64_t end;             /* the batch ends before this position */
        bool is_stale;            /* positions have changed while it was read */
} FollowerRead;

/* ---- lines ----------------------------------------------------------------------------------- */

const Json *ledger_line_json(LedgerLine *line) {
        if (!line->is_parsed) {
                line->is_parsed = true;
                if (!line->text.n || memchr(line->text.data, '\n', line->text.n) ||
                    json_parse(&line->arena, line->text.data, line->text.n, NULL, &line->json, NULL) ||
                    !json_is(line->json, JSON_OBJECT))
                        line->json = NULL;
        }
        return line->json;
}

bool ledger_line_is_whole(LedgerLine *line) {
        return line->is_own || ledger_line_json(line);
}

static void ledger_line_deinit(LedgerLine *line) {
        arena_deinit(&line->arena);
}

/* ---- giving ---------------------------------------------------------------------------------- */

static bool follower_is_ready(const LedgerFollower *f) {
        return !f->is_paused && !f->read && (!f->type->is_ready || f->type->is_ready(f));
}

static bool follower_wants(const LedgerFollower *f, const LedgerEntry *entry) {
        return !f->type->wants || f->type->wants(f, entry);
}

static bool follower_reads(const LedgerFollower *f, const LedgerEntry *entry) {
        return !f->type->n_line_max || entry->n_bytes <= f->type->n_line_max;
}

static void follower_end_turn(LedgerFollower *f) {
        if (f->has_moved && f->type->taken)
                f->type->taken(f);
        f->has_moved = false;
}

/* The lines up to `end`. read: NULL when they could not be read. */
static void follower_give(LedgerFollower *f, uint64_t end, const LedgerRead *read) {
        size_t i = 0;

        f->has_moved = f->position < end;
        while (f->position < end) {
                _cleanup_(ledger_line_deinit) LedgerLine line = {.position = f->position++};

                line.entry = ledger_entry(f->ledger, line.position);
                if (!follower_wants(f, &line.entry))
                        continue;
                if (follower_reads(f, &line.entry) && read && i < read->n)
                        line.text = ledger_read_line(read, i++);
                f->type->take(f, &line);
        }
        follower_end_turn(f);
        if (f->type->caught_up || follower_is_behind(f))
                deferred_schedule(&f->more);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void follower_read_ended(FollowerRead *read, int r) {
        LedgerFollower *f = read->follower;

        if (f) {
                f->read = NULL;
                if (r == -ESTALE) /* somebody has cut the file */
                        (void)ledger_check(f->ledger);
                if (read->is_stale || r == -ESTALE)
                        deferred_schedule(&f->more);
                else if (!r || (f->type->failed && f->type->failed(f, r)))
                        follower_give(f, read->end, r ? NULL : &read->read);
        }
        ledger_read_deinit(&read->read);
        free(read);
}

static void follower_on_read(LedgerRead *read, int r) {
        follower_read_ended(container_of(read, FollowerRead, read), r);
}

/* Which lines the next batch has to read; *ret_end is where it ends. */
static size_t follower_choose(const LedgerFollower *f, uint64_t positions[FOLLOWER_LINES_MAX],
                              uint64_t *ret_end) {
        uint64_t at = f->position, end = MIN(ledger_n_committed(f->ledger), at + FOLLOWER_SCAN);
        size_t n = 0, n_bytes = 0;

        for (; at < end && n < f->type->n_lines && n_bytes < f->type->n_bytes; at++) {
                LedgerEntry entry = ledger_entry(f->ledger, at);

                if (!follower_wants(f, &entry) || !follower_reads(f, &entry))
                        continue;
                n_bytes += entry.n_bytes;
                positions[n++] = at;
        }
        *ret_end = at;
        return n;
}

static void follower_run(LedgerFollower *f) {
        uint64_t positions[FOLLOWER_LINES_MAX], end;
        FollowerRead *read;
        size_t n;
        int r;

        if (!follower_is_ready(f))
                return;
        if (f->position >= ledger_n_committed(f->ledger)) {
                if (f->type->caught_up)
                        f->type->caught_up(f);
                return;
        }
        n = follower_choose(f, positions, &end);
        if (!n) {
                follower_give(f, end, NULL);
                return;
        }
        read = calloc(1, sizeof(*read));
        if (!read) {
                if (f->type->failed && f->type->failed(f, -ENOMEM))
                        follower_give(f, end, NULL);
                return;
        }
        *read = (FollowerRead){.read.done = follower_on_read, .follower = f, .end = end};
        f->read = read;
        r = ledger_read(f->ledger, &read->read, positions, n);
        if (r != LEDGER_LATER)
                follower_read_ended(read, r);
}

static void follower_on_more(Deferred *deferred) {
        follower_run(container_of(deferred, LedgerFollower, more));
}

/* ---- the ledger ------------------------------------------------------------------------------ */

static void followers_give(Ledger *ledger, bool is_early, LedgerLine *line) {
        LedgerFollower *f;

        LIST_FOREACH (f, &ledger->followers, entry) {
                if (f->position != line->position || f->type->is_early != is_early || !follower_is_ready(f))
                        continue;
                f->position++;
                f->has_moved = true;
                if (follower_wants(f, &line->entry))
                        f->type->take(f, line);
        }
}

/* One batch at most; what is left is read by those who want it. */
static void followers_give_own(Ledger *ledger, bool is_early, uint64_t first, Str bytes, uint64_t start) {
        uint64_t end = MIN(ledger_n_committed(ledger), first + FOLLOWER_LINES);

        for (uint64_t at = first; at < end; at++) {
                _cleanup_(ledger_line_deinit) LedgerLine line = {.position = at, .is_own = true};

                line.entry = ledger_entry(ledger, at);
                if (line.entry.offset < start ||
                    line.entry.offset - start + line.entry.n_bytes > MIN(bytes.n, (size_t)FOLLOWER_BYTES))
                        return;
                line.text = (Str){bytes.data + (line.entry.offset - start), line.entry.n_bytes};
                followers_give(ledger, is_early, &line);
        }
}

void followers_tell(Ledger *ledger, bool is_early, uint64_t first, Str bytes, uint64_t start) {
        LedgerFollower *f, *next;

        followers_give_own(ledger, is_early, first, bytes, start);
        for (f = LIST_FIRST(&ledger->followers); f; f = next) {
                next = LIST_NEXT(f, entry);
                if (f->type->is_early != is_early)
                        continue;
                follower_end_turn(f);
                if (follower_is_behind(f))
                        follower_run(f);
        }
}

void followers_rewritten(Ledger *ledger, uint64_t n_gone) {
        LedgerFollower *f, *next;

        for (f = LIST_FIRST(&ledger->followers); f; f = next) {
                next = LIST_NEXT(f, entry);
                f->position -= MIN(n_gone, f->position);
                if (f->read)
                        f->read->is_stale = true;
                if (follower_is_behind(f))
                        deferred_schedule(&f->more);
                if (f->type->rewritten)
                        f->type->rewritten(f, n_gone);
        }
}

/* ---- life ------------------------------------------------------------------------------------ */

void follower_start(LedgerFollower *f, const LedgerFollowerType *type, Ledger *ledger, uint64_t position) {
        *f = (LedgerFollower){.type = type, .ledger = ledger, .position = position};
        deferred_init(&f->more, ledger->loop, follower_on_more);
        LIST_INSERT_HEAD(&ledger->followers, f, entry);
}

void follower_stop(LedgerFollower *f) {
        if (!f->type)
                return;
        if (f->read)
                f->read->follower = NULL;
        deferred_cancel(&f->more);
        LIST_REMOVE(f, entry);
        *f = (LedgerFollower){0};
}

void follower_go_on(LedgerFollower *f) {
        f->is_paused = false;
        deferred_schedule(&f->more);
}

bool follower_is_behind(const LedgerFollower *f) {
        return f->position < ledger_n_committed(f->ledger);
}
