/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "core/ledger/ledger-internal.h"

enum { GROUP_GATHER = 128 * 1024 }; /* a longer change is not copied behind others on the loop */

void ledger_change_init(LedgerChange *change, Ledger *ledger, void (*done)(LedgerChange *change, int r)) {
        *change = (LedgerChange){.ledger = ledger, .done = done};
}

static void ledger_change_release(LedgerChange *change) {
        LedgerReplacement *file;

        while ((file = change->files)) {
                change->files = file->next;
                buf_deinit(&file->bytes);
                free(file->temp);
                free(file->path);
                free(file);
        }
        buf_deinit(&change->bytes);
        buf_deinit(&change->records);
}

void ledger_change_deinit(LedgerChange *change) {
        ledger_change_release(change);
}

static int ledger_change_describe(LedgerChange *change, Str line, Str outline, LedgerFacts *facts) {
        Arena *arena = &change->ledger->arena;

        if (line.n > LEDGER_LINE_MAX)
                return error_origin(-EMSGSIZE);
        arena_reset(arena);
        if (line.n == 0 || memchr(line.data, '\n', line.n) ||
            !record_classify(arena, change->ledger->place.classify, outline, facts))
                return error_origin(-EINVAL);
        return error_trace(record_append(&change->records, change->ledger->index, facts, change->bytes.n,
                                         (uint32_t)line.n));
}

int ledger_change_take(LedgerChange *change, Buf *line, Str outline) {
        LedgerFacts facts;
        int r = line->n && !change->bytes.n
                        ? ledger_change_describe(change, (Str){line->data, line->n - 1}, outline, &facts)
                        : error_origin(-EINVAL);

        if (r)
                return error_trace(r);
        change->bytes = *line;
        *line = BUF_NULL;
        change->n_lines++;
        change->ledger->last_ts_us = MAX(change->ledger->last_ts_us, facts.ts_us);
        return 0;
}

int ledger_change_line_as(LedgerChange *change, Str line, Str outline) {
        const size_t n_bytes = change->bytes.n, n_records = change->records.n;
        LedgerFacts facts;
        int r = ledger_change_describe(change, line, outline, &facts);

        if (r == 0)
                r = buf_append_str(&change->bytes, line);
        if (r == 0)
                r = buf_append_str(&change->bytes, STR("\n"));
        if (r) {
                change->bytes.n = n_bytes;
                change->records.n = n_records;
                return error_trace(r);
        }
        change->n_lines++;
        change->ledger->last_ts_us = MAX(change->ledger->last_ts_us, facts.ts_us);
        return 0;
}

int ledger_change_line(LedgerChange *change, Str line) {
        return ledger_change_line_as(change, line, line);
}

int ledger_change_file(LedgerChange *change, const char *path, Str bytes, const FileIdentity *expect) {
        LedgerReplacement *file = calloc(1, sizeof(*file)), **last = &change->files;

        if (!file)
                return error_origin(-ENOMEM);
        file->path = strdup(path);
        if (!file->path || buf_append_str(&file->bytes, bytes)) {
                buf_deinit(&file->bytes);
                free(file->path);
                free(file);
                return error_origin(-ENOMEM);
        }
        if (expect)
                file->expect = *expect;
        file->has_expect = expect;
        while (*last)
                last = &(*last)->next;
        *last = file;
        return 0;
}

void ledger_change_file_identity(LedgerChange *change, FileIdentity *ret) {
        LedgerReplacement *file = change->files;

        while (file->next)
                file = file->next;
        file->published = ret;
}

static int hash_set_add(HashSet *set, uint64_t hash) {
        size_t slot;

        if ((set->n + 1) * 4 > set->n_slots * 3) {
                HashSet grown = {.n_slots = set->n_slots ? set->n_slots * 2 : 64};

                grown.slots = calloc(grown.n_slots, sizeof(*grown.slots));
                if (!grown.slots)
                        return error_origin(-ENOMEM);
                for (size_t i = 0; i < set->n_slots; i++)
                        if (set->slots[i])
                                (void)hash_set_add(&grown, set->slots[i]);
                free(set->slots);
                *set = grown;
        }
        slot = (size_t)hash & (set->n_slots - 1);
        while (set->slots[slot] && set->slots[slot] != hash)
                slot = (slot + 1) & (set->n_slots - 1);
        set->n += !set->slots[slot];
        set->slots[slot] = hash;
        return 0;
}

bool hash_set_has(const HashSet *set, uint64_t hash) {
        if (!set->n_slots)
                return false;
        for (size_t slot = (size_t)hash & (set->n_slots - 1); set->slots[slot];
             slot = (slot + 1) & (set->n_slots - 1))
                if (set->slots[slot] == hash)
                        return true;
        return false;
}

static LedgerGroup *ledger_group_new(void) {
        LedgerGroup *group = calloc(1, sizeof(*group));

        if (group)
                group->last = &group->first;
        return group;
}

static LedgerGroup *ledger_group_free(LedgerGroup *group) {
        if (group) {
                buf_deinit(&group->bytes);
                free(group->pending.slots);
                free(group);
        }
        return NULL;
}

static int note_pending(LedgerGroup *group, const Buf *records) {
        size_t at = 0;
        Record *record;
        int r = 0;

        while (r == 0 && (record = record_next(records, &at))) {
                r = record->id ? hash_set_add(&group->pending, record->id) : 0;
                for (size_t i = 0; r == 0 && i < record->n_tags; i++)
                        r = hash_set_add(&group->pending, record->tags[i]);
        }
        return error_trace(r);
}

/* There is room for them. The first change gives its buffer away: its bytes may be many. So may those of a later one,
   which keeps them, as all do that come behind it: a worker puts them together. */
static void take_bytes(LedgerGroup *group, LedgerChange *change) {
        change->start = group->bytes.n;
        change->n_bytes = change->bytes.n;
        if (!group->bytes.n) {
                buf_deinit(&group->bytes);
                group->bytes = change->bytes;
                change->bytes = BUF_NULL;
        } else if (!group->is_scattered) {
                (void)buf_append(&group->bytes, change->bytes.data, change->bytes.n);
                buf_deinit(&change->bytes);
        }
}

static int join(LedgerGroup *group, LedgerChange *change) {
        bool is_scattered = group->is_scattered || (group->bytes.n && change->bytes.n > GROUP_GATHER);
        int r;

        if (group->n_bytes + change->bytes.n > LEDGER_GROUP_MAX)
                return error_origin(-ENOBUFS);
        r = group->bytes.n && !is_scattered ? buf_reserve(&group->bytes, change->bytes.n) : 0;
        if (r == 0)
                r = note_pending(group, &change->records);
        if (r)
                return error_trace(r);
        group->is_scattered = is_scattered;
        group->n_bytes += change->bytes.n;
        take_bytes(group, change);
        change->next = NULL;
        *group->last = change;
        group->last = &change->next;
        group->n_lines += change->n_lines;
        group->has_content |= change->n_lines || change->files;
        return 0;
}

int ledger_change_commit(LedgerChange *change) {
        Ledger *ledger = change->ledger;
        int r;

        if (!ledger->is_open)
                return error_origin(-ENOTCONN);
        if (ledger->is_closing)
                return error_origin(-ESHUTDOWN);
        if (!ledger->collecting)
                ledger->collecting = ledger_group_new();
        if (!ledger->collecting)
                return error_origin(-ENOMEM);
        r = join(ledger->collecting, change);
        if (r == 0)
                ledger_kick(ledger);
        return error_trace(r);
}

void ledger_group_finish(Ledger *ledger _unused_, LedgerGroup *group, int r) {
        LedgerChange *change, *next;

        for (change = group ? group->first : NULL; change; change = next) {
                int result = r ? r : change->r;

                next = change->next;
                ledger_change_release(change);
                change->done(change, result);
        }
        ledger_group_free(group);
}
