/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a ledger, as its index, as its intent and as its chain: opening must succeed or be refused,
 * recover what can be recovered, and find the same again at the second look. The first byte says how the
 * rest is shared out.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/ledger/ledger-internal.h"
#include "core/ledger/ledger-tool.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool classify(Arena *arena, const Json *line, LedgerFacts *facts) {
        facts->id = json_str(json_get(line, "id"));
        facts->kind = json_str(json_get(line, "kind"));
        (void)json_int64(json_get(line, "ts"), &facts->ts_us);
        json_each (to, json_get(line, "to")) {
                ledger_facts_tag(facts, arena, STR("to:"), json_str(to));
        }
        return facts->id.n;
}

static void put(const char *path, const uint8_t *data, size_t n) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        if (fd < 0 || write(fd, data, n) != (ssize_t)n)
                abort();
        close(fd);
}

static void clean(const char *dir) {
        DIR *open = opendir(dir);
        struct dirent *entry;

        while (open && (entry = readdir(open)))
                (void)unlinkat(dirfd(open), entry->d_name, 0);
        if (open)
                closedir(open);
}

/* Every answer that the index can give, to reach every table. */
static void ask(const LedgerLoad *load) {
        const Index *index = load->index;
        uint64_t tag = index_hash_tag(index, STR("to:a")), position;

        for (uint64_t i = 0; i < index_n(index); i++) {
                IndexEntry entry = index_entry(index, i);

                if (entry.offset + entry.n_bytes > load->end || entry.kind >= index->n_kinds)
                        abort();
                if (entry.id && (!index_find_id(index, entry.id, &position) || position > i))
                        abort();
        }
        for (size_t i = 0; i < index->n_segments; i++) {
                LedgerSpan span = segment_postings(index->segments[i], tag);

                for (; span.at < span.end; span.at++)
                        if (*span.at >= index_n(index))
                                abort();
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static char dir[128], path[160], state[160], side[4][192];
        static const char *const names[] = {"index", "chain", "intent", "index.new"};
        LedgerPlace place = {.path = path, .state_path = state, .has_chain = true, .classify = classify};
        uint64_t n_first = 0;
        size_t n_side;

        if (!*dir) {
                snprintf(dir, sizeof(dir), "%s/fuzz-ledger-XXXXXX",
                         getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
                if (!mkdtemp(dir))
                        abort();
                snprintf(path, sizeof(path), "%s/ledger.jsonl", dir);
                snprintf(state, sizeof(state), "%s/state", dir);
                for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                        snprintf(side[i], sizeof(side[i]), "%s/%s", state, names[i]);
                if (dir_make(state, 0700))
                        abort();
        }
        if (n < 2)
                return 0;
        n_side = (n - 2) * data[1] / 512;
        put(side[data[0] % 4], data + 2, n_side);
        put(path, data + 2 + n_side, n - 2 - n_side);
        for (int round = 0; round < 2; round++) {
                LedgerLoad load;
                LedgerReport report;

                if (ledger_load(&place, NULL, 1000000, &load))
                        abort();
                ask(&load);
                if (round && (index_n(load.index) != n_first || load.n_cut))
                        abort(); /* the first look has mended everything */
                n_first = index_n(load.index);
                (void)ledger_chain_follow(&place, load.file->fd, load.end, false);
                ledger_load_deinit(&load);
                if (ledger_inspect(path, state, &report) == 0)
                        ledger_report_deinit(&report);
        }
        clean(state);
        return 0;
}
