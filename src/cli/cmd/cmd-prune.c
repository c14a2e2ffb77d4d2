/* SPDX-License-Identifier: MIT */
/* prune: what lies in the trash, and its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/link/cccc.h"
#include "cli/print/human.h"
#include "cli/print/report.h"
#include "cli/print/table.h"
#include "cli/term/confirm.h"

static const char *prune_size(const Json *object, char out[HUMAN_MAX]) {
        int64_t n_bytes = 0;

        (void)json_int64(json_get(object, "bytes"), &n_bytes);
        return human_memory((n_bytes + 1023) / 1024, out);
}

static void prune_show(const Json *entries) {
        static const TableColumn columns[] = {
                {"GROUP", 14, false}, {"DELETED", 19, false}, {"SIZE", 5, true}, {"TITLE", 0, false}};
        _cleanup_(table_deinit) Table table = TABLE(columns);
        char size[HUMAN_MAX];

        json_each (entry, entries) {
                Str ts = json_text_of(entry, "deleted_at");

                table_add(&table, json_text_of(entry, "group_id"));
                table_add(&table, (Str){ts.data, MIN(ts.n, (size_t)19)});
                table_add(&table, str_from(prune_size(entry, size)));
                table_add(&table, json_text_of(entry, "title"));
        }
        table_print(&table, stdout, 0, 0, "\n");
}

/* A number and s, m, h or d; a number alone is days. */
static bool prune_age(const char *text, int64_t *ret) {
        static const struct {
                const char *unit;
                int64_t seconds;
        } units[] = {{"s", 1}, {"m", 60}, {"h", 3600}, {"d", 86400}, {"", 86400}};
        char *end;
        long value = strtol(text, &end, 10);

        for (size_t i = 0; i < ARRAY_SIZE(units); i++)
                if (end != text && value >= 0 && value <= 36500 && !strcmp(end, units[i].unit)) {
                        *ret = value * units[i].seconds;
                        return true;
                }
        return false;
}

static int prune_empty(Cccc *cccc, const Options *options, int64_t older_s) {
        char size[HUMAN_MAX];
        int64_t n = 0;
        int r;

        cccc_set_int(cccc, "older_than", older_s);
        r = cccc_call_native(cccc, "trash.empty");
        if (r || options->json)
                return r ? r : cccc_print(cccc);
        (void)json_int64(json_get(cccc->reply.result, "n"), &n);
        print("%lld deleted group%s removed for good, %s freed.\n", (long long)n, n == 1 ? "" : "s",
              prune_size(cccc->reply.result, size));
        return CLI_OK;
}

int cmd_prune(const Options *options) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        int64_t older_s = 0, n = 0;
        char size[HUMAN_MAX];
        int r;

        if (options->older_than && !prune_age(options->older_than, &older_s))
                return complain(CLI_USAGE, "prune: --older-than: %s is no age, such as 30d, 12h or 0s",
                                options->older_than);
        r = cccc_open(&cccc, "prune", options);
        if (r)
                return r;
        cccc_set_int(&cccc, "older_than", older_s);
        r = cccc_call_native(&cccc, "trash.ls");
        if (r)
                return r;
        (void)json_int64(json_get(cccc.reply.result, "n"), &n);
        if (options->json && !options->force)
                return cccc_print(&cccc);
        if (!n && !options->json) {
                print("No deleted groups%s.\n", options->older_than ? " of that age" : "");
                return CLI_OK;
        }
        if (!options->json) {
                prune_show(json_get(cccc.reply.result, "entries"));
                print("\n%lld deleted group%s, %s, in " STR_FMT "\n", (long long)n, n == 1 ? "" : "s",
                      prune_size(cccc.reply.result, size),
                      STR_ARG(json_text_of(cccc.reply.result, "folder")));
                fflush(stdout);
        }
        if (!options->force)
                advise("They are removed for good, with all messages.");
        r = confirm("prune", options->force);
        return r ? r : prune_empty(&cccc, options, older_s);
}
