/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/print/report.h"
#include "cli/print/table.h"
#include "cli/cmd/verbs.h"
#include "cli/term/confirm.h"

/* ---- answers --------------------------------------------------------------------------------- */

static void group_show_list(const Cccc *cccc) {
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
                print("No groups.\n");
}

static void show_document(const Cccc *cccc) {
        (void)json_print(stdout, json_get(cccc->reply.result, "group"), true);
}

static void group_show_id(const Cccc *cccc) {
        text_put(stdout, json_text_of(cccc->reply.result, "group_id"));
        putchar('\n');
}

static void show_settings(const Cccc *cccc) {
        const Json *event = json_get(cccc->reply.result, "event"),
                   *patch = json_get(json_get(event, "data"), "patch");

        (void)json_print(stdout, json_get(cccc->reply.result, "settings"), true);
        if (json_get(patch, "sandbox") || json_get(patch, "sandbox_network"))
                advise("holds from the next start of an actor on: muster actor restart ACTOR");
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
static int group_put_path(Cccc *cccc, const char *path) {
        _cleanup_(freep) char *absolute = path_expand(path);

        if (!absolute)
                return complain(CLI_FAILED, "%s: %s: %s", cccc->command, path, strerror(errno));
        cccc_set_str(cccc, "path", str_from(absolute));
        return CLI_OK;
}

static int prepare_path(Cccc *cccc, _unused_ const Options *options, char **operands, int n) {
        return group_put_path(cccc, n ? operands[0] : ".");
}

/* Without --group the folder gets the group that it has, or one of its own. */
static int prepare_attach(Cccc *cccc, const Options *options, char **operands, int n) {
        if (options->group) {
                Str by = cccc->by;
                int r;

                cccc->args.object = NULL;
                r = cccc_choose_group(cccc, options);
                if (r)
                        return r;
                cccc_set_str(cccc, "group_id", cccc->group);
                cccc_set_str(cccc, "by", by);
        }
        return group_put_path(cccc, n ? operands[0] : ".");
}

static int prepare_patch(Cccc *cccc, const Options *options, char **operands, int n) {
        return verbs_patch(cccc, options, operands, n);
}

/* ---- delete ---------------------------------------------------------------------------------- */

static int group_count_actors(Cccc *cccc, Str group, size_t *ret_actors, size_t *ret_running) {
        int r;

        *ret_actors = *ret_running = 0;
        cccc_set_str(cccc, "group_id", group);
        r = cccc_call(cccc, "actor_list");
        json_each (actor, json_get(cccc->reply.result, "actors")) {
                ++*ret_actors;
                *ret_running += json_truth_of(actor, "running");
        }
        return r;
}

static void group_say_what_goes(Str id, Str title, int64_t n_events, size_t n_actors, size_t n_running) {
        advise("To be deleted: group " STR_FMT " (" STR_FMT ") with %lld event%s and %zu actor%s.",
               STR_ARG(id), STR_ARG(title), (long long)n_events, n_events == 1 ? "" : "s", n_actors,
               n_actors == 1 ? "" : "s");
        if (n_running)
                advise("%zu of them run%s now and will be ended.", n_running, n_running == 1 ? "s" : "");
        advise("Its files go to the trash; muster prune removes them for good.");
}

/* What cannot be undone is named, never found by the folder one stands in. */
static int prepare_delete(Cccc *cccc, const Options *options, char **operands, _unused_ int n) {
        Str by = cccc->by, id, title;
        int64_t n_events = 0;
        size_t n_actors, n_running;
        int r;

        cccc->args.object = NULL;
        if (cccc_group_is_gone(cccc, operands[0])) { /* there is nothing to ask about: it is gone */
                cccc_set_str(cccc, "group_id", str_from(operands[0]));
                cccc_set_str(cccc, "by", by);
                return CLI_OK;
        }
        r = cccc_find_group(cccc, operands[0]);
        if (r)
                return r;
        (void)json_int64(json_get(cccc->reply.result, "events"), &n_events);
        id = arena_str(&cccc->arena, json_text_of(cccc->reply.result, "group_id"));
        title = arena_str(&cccc->arena, json_text_of(cccc->reply.result, "title"));
        r = group_count_actors(cccc, id, &n_actors, &n_running);
        if (!r && !options->json)
                group_say_what_goes(id, title, n_events, n_actors, n_running);
        if (!r)
                r = confirm(arena_printf(&cccc->arena, "group delete " STR_FMT, STR_ARG(id)).data,
                            options->force);
        cccc_set_str(cccc, "group_id", id);
        cccc_set_str(cccc, "by", by);
        return r;
}

static const Verb verbs[] = {
        {.name = "list", .op = "groups", .usage = "", .show = group_show_list},
        {.name = "show", .op = "group_show", .usage = "", .needs_group = true, .show = show_document},
        {.name = "new",
         .op = "group_create",
         .begins = true,
         .usage = "[TITLE…]",
         .n_max = -1,
         .prepare = prepare_new,
         .show = group_show_id},
        {.name = "attach",
         .op = "attach",
         .begins = true,
         .usage = "[FOLDER]",
         .n_max = 1,
         .prepare = prepare_attach,
         .show = group_show_id},
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
        {.name = "start",
         .op = "group_start",
         .usage = "",
         .needs_group = true,
         .begins = true,
         .starts_actors = true},
        {.name = "stop", .op = "group_stop", .usage = "", .needs_group = true, .ends = true},
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
         .n_max = -1,
         .needs_group = true,
         .takes_sandbox = true,
         .prepare = prepare_patch,
         .show = show_settings},
        {.name = "delete",
         .op = "group_delete",
         .ends = true,
         .usage = "GROUP",
         .n_min = 1,
         .n_max = 1,
         .prepare = prepare_delete},
};

int cmd_group(const Options *options) {
        return verbs_run("group", options, verbs, ARRAY_SIZE(verbs));
}
