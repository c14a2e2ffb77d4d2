/* SPDX-License-Identifier: MIT */
/* transcript-read RUNTIME FILE: reads a transcript as the daemon does, and prints how many responses and tokens it tells. For the bench. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/usage/transcript-file.h"
#include "core/usage/usage-table.h"

typedef struct Read {
        UsageTable *table;
        unsigned long n_items;
        long long n_tokens;
} Read;

static void read_item(void *user, const TranscriptItem *item) {
        Read *self = user;
        UsageRecord record = {
                .name = STR("bench"), .account = STR("bench"), .key = item->id, .tokens = item->tokens};
        UsageTokens more;
        UsageTaken taken;

        if (usage_table_take(self->table, &record, &taken, &more))
                abort();
        self->n_items += taken == USAGE_NEW;
        self->n_tokens += usage_tokens_sum(&more);
}

int main(int argc, char **argv) {
        TranscriptFile file;
        Read self = {0};
        int r;

        if (argc != 3 || usage_table_new(&self.table))
                return 2;
        transcript_file_init(&file, strdup(argv[2]), transcript_form(str_from(argv[1])));
        do
                r = transcript_file_read(&file, read_item, &self);
        while (r == TRANSCRIPT_E_MORE);
        printf("%lu %lld\n", self.n_items, self.n_tokens);
        transcript_file_deinit(&file);
        usage_table_free(self.table);
        return r != 0;
}
