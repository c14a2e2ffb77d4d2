/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "cli/link/caller-env.h"
#include "cli/print/report.h"
#include "cli/print/table.h"
#include "cli/cmd/verbs.h"

static Str state_of(const Json *actor) {
        if (json_truth_of(actor, "running"))
                return STR("running");
        return json_truth_of(actor, "enabled") ? STR("stopped") : STR("disabled");
}

/* Of one that nothing is run for there is none to speak of. */
static Str sandbox_of(const Json *actor) {
        Str mode = json_text_of(actor, "sandbox");

        if (str_is(json_text_of(actor, "runner"), "headless"))
                return STR("-");
        return mode.n ? mode : STR("none");
}

static void add_row(Table *table, const Json *actor) {
        int64_t n_unread = 0;

        json_int64(json_get(actor, "unread_count"), &n_unread);
        table_add(table, json_text_of(actor, "id"));
        table_add(table, json_text_of(actor, "role"));
        table_add(table, state_of(actor));
        table_add(table, json_text_of(actor, "runner"));
        table_add(table, json_text_of(actor, "runtime"));
        table_add(table, sandbox_of(actor));
        table_addf(table, "%lld", (long long)n_unread);
        table_add(table, json_text_of(actor, "title"));
}

static void actor_show_list(const Cccc *cccc) {
        static const TableColumn columns[] = {
                {"ACTOR", 10, false},  {"ROLE", 7, false},    {"STATE", 8, false}, {"RUNNER", 8, false},
                {"RUNTIME", 7, false}, {"SANDBOX", 7, false}, {"UNREAD", 6, true}, {"TITLE", 0, false}};
        _cleanup_(table_deinit) Table table = TABLE(columns);
        const Json *actors = json_get(cccc->reply.result, "actors");

        json_each (actor, actors)
                add_row(&table, actor);
        if (json_count(actors))
                table_print(&table, stdout, 0, 0, "\n");
        else
                print("No actors.\n");
}

static void actor_show_id(const Cccc *cccc) {
        text_put(stdout, json_text_of(json_get(cccc->reply.result, "actor"), "id"));
        putchar('\n');
}

static bool is_boxed(const Json *actor) {
        return str_is(json_text_of(actor, "sandbox"), "bwrap");
}

/* The id for scripts, and for people what they have just let loose. */
static void show_added(const Cccc *cccc) {
        const Json *actor = json_get(cccc->reply.result, "actor");
        _cleanup_(buf_deinit) Buf line = BUF_NULL;
        int r = 0;

        actor_show_id(cccc);
        json_each (word, json_get(actor, "command"))
                r = r ? r : buf_printf(&line, " " STR_FMT, STR_ARG(json_str(word)));
        if (str_is(json_text_of(actor, "runner"), "headless"))
                advise("nothing is run for it: it is headless");
        else if (!r && is_boxed(actor))
                advise("runs%s, in a sandbox: it may write to its folder and little else",
                       line.n ? buf_cstr(&line) : " a shell");
        else if (!r)
                advise("runs%s, without a sandbox: it may do whatever you may",
                       line.n ? buf_cstr(&line) : " a shell");
}

/* What its sandbox let in, or left out. */
static void show_started(const Cccc *cccc) {
        json_each (note, json_get(cccc->reply.result, "notes"))
                advise(STR_FMT, STR_ARG(json_str(note)));
}

/* A process keeps the sandbox that it was started in. */
static void show_changed(const Cccc *cccc) {
        const Json *actor = json_get(cccc->reply.result, "actor"),
                   *patch = json_get(json_get(json_get(cccc->reply.result, "event"), "data"), "patch");

        if (json_get(patch, "sandbox") || json_get(patch, "sandbox_network"))
                advise("from its next start on it runs %s; now: muster actor restart " STR_FMT,
                       is_boxed(actor) ? "in a sandbox" : "without a sandbox",
                       STR_ARG(json_text_of(actor, "id")));
}

/* ---- operands -------------------------------------------------------------------------------- */

static int prepare_list(Cccc *cccc, _unused_ const Options *options, _unused_ char **operands,
                        _unused_ int n) {
        cccc_set(cccc, "include_unread", json_new_bool(&cccc->arena, true));
        return CLI_OK;
}

static int prepare_add(Cccc *cccc, const Options *options, char **operands, int n) {
        Json *env = options->env.n ? json_new(&cccc->arena, JSON_OBJECT) : NULL;
        int r = env ? caller_env_named(&cccc->arena, "actor", &options->env, env) : CLI_OK;

        if (r)
                return r;
        if (env)
                cccc_set(cccc, "env", env); /* the actor's own, kept in the group's document */
        cccc_set_strings(cccc, "command", (const char *const *)options->command, options->n_command);
        r = verbs_sandbox(cccc, options, cccc->args.object);
        return r ? r : verbs_members(cccc, cccc->args.object, operands + 1, n - 1);
}

static int prepare_update(Cccc *cccc, const Options *options, char **operands, int n) {
        return verbs_patch(cccc, options, operands + 1, n - 1);
}

static const Verb verbs[] = {
        {.name = "list",
         .op = "actor_list",
         .usage = "",
         .needs_group = true,
         .prepare = prepare_list,
         .show = actor_show_list},
        {.name = "add",
         .op = "actor_add",
         .begins = true,
         .starts_actors = true,
         .usage = "ACTOR [KEY=VALUE…] [-- COMMAND…]",
         .n_min = 1,
         .n_max = -1,
         .needs_group = true,
         .takes_sandbox = true,
         .operand = "actor_id",
         .prepare = prepare_add,
         .show = show_added},
        {.name = "set",
         .op = "actor_update",
         .usage = "ACTOR KEY=VALUE…",
         .n_min = 1,
         .n_max = -1,
         .needs_group = true,
         .takes_sandbox = true,
         .operand = "actor_id",
         .prepare = prepare_update,
         .show = show_changed},
        {.name = "remove",
         .op = "actor_remove",
         .ends = true,
         .usage = "ACTOR",
         .n_min = 1,
         .n_max = 1,
         .needs_group = true,
         .operand = "actor_id"},
        {.name = "start",
         .op = "actor_start",
         .begins = true,
         .starts_actors = true,
         .usage = "ACTOR",
         .n_min = 1,
         .n_max = 1,
         .needs_group = true,
         .operand = "actor_id",
         .show = show_started},
        {.name = "stop",
         .op = "actor_stop",
         .ends = true,
         .usage = "ACTOR",
         .n_min = 1,
         .n_max = 1,
         .needs_group = true,
         .operand = "actor_id"},
        {.name = "restart",
         .op = "actor_restart",
         .begins = true,
         .starts_actors = true,
         .usage = "ACTOR",
         .n_min = 1,
         .n_max = 1,
         .needs_group = true,
         .operand = "actor_id",
         .show = show_started},
};

int cmd_actor(const Options *options) {
        return verbs_run("actor", options, verbs, ARRAY_SIZE(verbs));
}
