/* SPDX-License-Identifier: MIT */
/*
 * muster context: what the agents of a group share besides messages. Each change is one operation of
 * context_sync.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/verbs.h"
#include "cli/print/report.h"
#include "cli/print/table.h"

/* ---- answers --------------------------------------------------------------------------------- */

static void context_put_text(const char *title, Str text) {
        if (!text.n)
                return;
        print("%s\n  ", title);
        text_put(stdout, str_trim(text));
        fputs("\n\n", stdout);
}

/* One line for each: id, state if there is one, what. */
static void context_put_list(const char *title, const Json *list, const char *state, const char *what) {
        if (!json_count(list))
                return;
        print("%s\n", title);
        json_each (item, list) {
                print("  ");
                text_put(stdout, json_text_of(item, "id"));
                fputs("  ", stdout);
                if (state) {
                        text_put(stdout, json_text_of(item, state));
                        fputs("  ", stdout);
                }
                text_put(stdout, str_trim(json_text_of(item, what)));
                putchar('\n');
        }
        putchar('\n');
}

static long long context_count(const Json *summary, const char *key) {
        int64_t n = 0;

        (void)json_int64(json_get(summary, key), &n);
        return n;
}

static void context_show(const Cccc *cccc) {
        const Json *context = cccc->reply.result, *tasks = json_get(context, "tasks_summary");

        context_put_text("Vision", json_text_of(context, "vision"));
        context_put_text("Sketch", json_text_of(context, "sketch"));
        context_put_list("Milestones", json_get(context, "milestones"), "status", "name");
        context_put_list("Notes", json_get(context, "notes"), NULL, "content");
        context_put_list("References", json_get(context, "references"), NULL, "url");
        context_put_list("Presence", json_get(json_get(context, "presence"), "agents"), NULL, "status");
        print("Tasks: %lld planned, %lld active, %lld done (muster context tasks)\n",
              context_count(tasks, "planned"), context_count(tasks, "active"), context_count(tasks, "done"));
}

static void context_show_tasks(const Cccc *cccc) {
        static const TableColumn columns[] = {
                {"TASK", 0, false}, {"STATE", 0, false}, {"ASSIGNEE", 0, false}, {"NAME", 0, false}};
        _cleanup_(table_deinit) Table table = TABLE(columns);
        const Json *tasks = json_get(cccc->reply.result, "tasks"),
                   *one = json_get(cccc->reply.result, "task");

        if (one) {
                (void)json_print(stdout, one, true);
                return;
        }
        json_each (task, tasks) {
                Str assignee = json_text_of(task, "assignee");

                table_add(&table, json_text_of(task, "id"));
                table_add(&table, json_text_of(task, "status"));
                table_add(&table, assignee.n ? assignee : STR("-"));
                table_add(&table, json_text_of(task, "name"));
        }
        if (json_count(tasks))
                table_print(&table, stdout, 0, 0, "\n");
        else
                print("No tasks.\n");
}

static void context_show_changes(const Cccc *cccc) {
        json_each (change, json_get(cccc->reply.result, "changes")) {
                text_put(stdout, json_text_of(change, "detail"));
                putchar('\n');
        }
}

/* ---- changes --------------------------------------------------------------------------------- */

/* The one operation of the batch; NULL: no memory. */
static Json *context_op(Cccc *cccc, const char *name) {
        Json *ops = json_new(&cccc->arena, JSON_ARRAY), *op = json_new(&cccc->arena, JSON_OBJECT);
        Json *text = json_new_str(&cccc->arena, str_from(name));

        if (!ops || !op || !text || json_set(&cccc->arena, op, STR("op"), text) || json_push(ops, op))
                return NULL;
        cccc_set(cccc, "ops", ops);
        return op;
}

static int context_put_words(Cccc *cccc, const char *name, const char *key, char **operands, int n) {
        Json *op = context_op(cccc, name);
        Str text = STR_NULL;
        int r = cccc_text(cccc, operands, n, &text);

        if (r)
                return r;
        if (!op || json_set(&cccc->arena, op, str_from(key), json_new_str(&cccc->arena, text)))
                return complain(CLI_FAILED, "out of memory");
        return CLI_OK;
}

static int context_prepare_vision(Cccc *cccc, _unused_ const Options *options, char **operands, int n) {
        return context_put_words(cccc, "vision.update", "vision", operands, n);
}

static int context_prepare_sketch(Cccc *cccc, _unused_ const Options *options, char **operands, int n) {
        return context_put_words(cccc, "sketch.update", "sketch", operands, n);
}

static int context_prepare_note(Cccc *cccc, _unused_ const Options *options, char **operands, int n) {
        return context_put_words(cccc, "note.add", "content", operands, n);
}

static int context_prepare_task(Cccc *cccc, _unused_ const Options *options, char **operands, int n) {
        return context_put_words(cccc, "task.create", "name", operands, n);
}

/* Any operation: set task.update task_id=T001 status=done */
static int context_prepare_set(Cccc *cccc, _unused_ const Options *options, char **operands, int n) {
        return verbs_members(cccc, context_op(cccc, operands[0]), operands + 1, n - 1);
}

/* The id of a task, or its number. */
static int context_prepare_tasks(Cccc *cccc, _unused_ const Options *options, char **operands, int n) {
        const char *word = n ? operands[0] : "";
        size_t n_digits = strspn(word, "0123456789");

        if (n && n_digits && n_digits < 10 && !word[n_digits])
                cccc_set_str(cccc, "task_id", arena_printf(&cccc->arena, "T%03ld", strtol(word, NULL, 10)));
        else if (n)
                cccc_set_str(cccc, "task_id", str_from(word));
        return CLI_OK;
}

static const Verb verbs[] = {
        {.name = "show", .op = "context_get", .usage = "", .needs_group = true, .show = context_show},
        {.name = "tasks",
         .op = "task_list",
         .usage = "[NUMBER]",
         .n_max = 1,
         .needs_group = true,
         .prepare = context_prepare_tasks,
         .show = context_show_tasks},
        {.name = "vision",
         .op = "context_sync",
         .usage = "TEXT…",
         .n_min = 1,
         .n_max = -1,
         .needs_group = true,
         .prepare = context_prepare_vision,
         .show = context_show_changes},
        {.name = "sketch",
         .op = "context_sync",
         .usage = "TEXT…",
         .n_min = 1,
         .n_max = -1,
         .needs_group = true,
         .prepare = context_prepare_sketch,
         .show = context_show_changes},
        {.name = "note",
         .op = "context_sync",
         .usage = "TEXT…",
         .n_min = 1,
         .n_max = -1,
         .needs_group = true,
         .prepare = context_prepare_note,
         .show = context_show_changes},
        {.name = "task",
         .op = "context_sync",
         .usage = "NAME…",
         .n_min = 1,
         .n_max = -1,
         .needs_group = true,
         .prepare = context_prepare_task,
         .show = context_show_changes},
        {.name = "set",
         .op = "context_sync",
         .usage = "OP KEY=VALUE…",
         .n_min = 1,
         .n_max = -1,
         .needs_group = true,
         .prepare = context_prepare_set,
         .show = context_show_changes},
};

int cmd_context(const Options *options) {
        return verbs_run("context", options, verbs, ARRAY_SIZE(verbs));
}
