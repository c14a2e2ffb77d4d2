/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/print/report.h"
#include "cli/print/table.h"
#include "cli/cmd/verbs.h"

/* ---- answers --------------------------------------------------------------------------------- */

static void show_list(const Cccc *cccc) {
        static const TableColumn columns[] = {
                {"GROUP", 14, false}, {"TITLE", 16, false}, {"STATE", 6, false}, {"ACTORS", 0, false}};
        _cleanup_(table_deinit) Table table = TABLE(columns);
        const Json *groups = json_get(cccc->reply.result, "groups");

        json_each (group, groups) {
                table_add(&table, json_text_of(group, "group_id"));
                table_add(&table, json_text_of(group, "title"));
                table_add(&table, json_text_of(group, "state"));
                table_add(&table, json_truth_of(group, "running") ? STR("running") : STR("stopped"));
        }
        if (json_count(groups))
                table_print(&table, stdout, 0, 0, "\n");
        else
                printf("No groups.\n");
}

static void show_document(const Cccc *cccc) {
        (void)json_print(stdout, json_get(cccc->reply.result, "group"), true);
}

static void show_id(const Cccc *cccc) {
        text_put(stdout, json_text_of(cccc->reply.result, "group_id"));
        putchar('\n');
}

static void show_settings(const Cccc *cccc) {
        (void)json_print(stdout, json_get(cccc->reply.result, "settings"), true);
}

/* ---- operands -------------------------------------------------------------------------------- */

static int put_text(Cccc *cccc, const char *key, char **operands, int n) {
        Str text = STR_NULL;
        int r = cccc_text(cccc, operands, n, &text);

        if (!r && text.n)
                cccc_set_str(cccc, key, text);
        return r;
}

static int prepare_new(Cccc *cccc, _unused_ const Options *options, char **operands, int n) {
        return n ? put_text(cccc, "title", operands, n) : CLI_OK;
}

/* As the daemon needs it: absolute. */
static int put_path(Cccc *cccc, const char *path) {
        _cleanup_(freep) char *absolute = path_expand(path);

        if (!absolute)
                return complain(CLI_FAILED, "%s: %s: %s", cccc->command, path, strerror(errno));
        cccc_set_str(cccc, "path", str_from(absolute));
        return CLI_OK;
}

static int prepare_path(Cccc *cccc, _unused_ const Options *options, char **operands, int n) {
        return put_path(cccc, n ? operands[0] : ".");
}

/* Without --group the folder gets the group that it has, or one of its own. */
static int prepare_attach(Cccc *cccc, const Options *options, char **operands, int n) {
        if (options->group)
                cccc_set_str(cccc, "group_id", str_from(options->group));
        return put_path(cccc, n ? operands[0] : ".");
}

static int prepare_patch(Cccc *cccc, _unused_ const Options *options, char **operands, int n) {
        return verbs_patch(cccc, operands, n);
}

static const Verb verbs[] = {
        {.name = "list", .op = "groups", .usage = "", .show = show_list},
        {.name = "show", .op = "group_show", .usage = "", .needs_group = true, .show = show_document},
        {.name = "new",
         .op = "group_create",
         .begins = true,
         .usage = "[TITLE…]",
         .n_max = -1,
         .prepare = prepare_new,
         .show = show_id},
        {.name = "attach",
         .op = "attach",
         .begins = true,
         .usage = "[FOLDER]",
         .n_max = 1,
         .prepare = prepare_attach,
         .show = show_id},
        {.name = "use",
         .op = "group_use",
         .usage = "[FOLDER]",
         .n_max = 1,
         .needs_group = true,
         .prepare = prepare_path},
        {.name = "detach",
         .op = "group_detach_scope",
         .usage = "SCOPE",
         .n_min = 1,
         .n_max = 1,
         .needs_group = true,
         .operand = "scope_key"},
        {.name = "start", .op = "group_start", .usage = "", .needs_group = true, .begins = true},
        {.name = "stop", .op = "group_stop", .usage = "", .needs_group = true},
        {.name = "state",
         .op = "group_set_state",
         .usage = "active|idle|paused",
         .n_min = 1,
         .n_max = 1,
         .needs_group = true,
         .operand = "state"},
        {.name = "update",
         .op = "group_update",
         .usage = "KEY=VALUE…",
         .n_min = 1,
         .n_max = -1,
         .needs_group = true,
         .prepare = prepare_patch},
        {.name = "set",
         .op = "group_settings_update",
         .usage = "KEY=VALUE…",
         .n_min = 1,
         .n_max = -1,
         .needs_group = true,
         .prepare = prepare_patch,
         .show = show_settings},
        /* What cannot be undone is named in full, never found by the folder one stands in. */
        {.name = "delete",
         .op = "group_delete",
         .usage = "GROUP",
         .n_min = 1,
         .n_max = 1,
         .operand = "group_id"},
};

int cmd_group(const Options *options) {
        return verbs_run("group", options, verbs, ARRAY_SIZE(verbs));
}
