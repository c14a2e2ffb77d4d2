/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/link/native.h"
#include "cli/options.h"
#include "cli/print/report.h"
#include "cli/print/table.h"
#include "cli/term/confirm.h"

enum { TIMEOUT_MS = 10000, PROJECT_CONFIG_BYTES = 4 << 20 };

typedef struct ProjectCall {
        const Options *options;
        Coop coop; /* for its daemon only, which is started when none runs */
        Link link;
        Arena arena;
        Json *args;
        Reply reply;
} ProjectCall;

static void call_deinit(ProjectCall *call) {
        coop_deinit(&call->coop);
        link_deinit(&call->link);
        arena_deinit(&call->arena);
}

static int project_call_op(ProjectCall *call, const char *op) {
        const Request request = {.dialect = "native", .op = op, .args = call->args};
        int64_t timeout_ms = call->options->timeout_ms < 0 ? TIMEOUT_MS : call->options->timeout_ms;
        bool begins = strcmp(op, "project.add") == 0;
        int r;

        coop_deinit(&call->coop);
        link_deinit(&call->link);
        call->coop = (Coop)COOP_NULL;
        call->link = LINK_NULL;
        r = begins ? coop_begin(&call->coop, "project") : coop_open(&call->coop, "project");

        if (r)
                return r;
        r = link_open(&call->link, call->coop.socket, clock_ms() + timeout_ms);
        if (!r)
                r = exchange(&call->link, &request, &call->arena, &call->reply);
        if (r)
                return exchange_complain(r, call->coop.socket);
        if (!call->reply.is_error)
                return CLI_OK;
        reply_complain(op, &call->reply, call->options->json);
        return CLI_FAILED;
}

/* One that has gone may still be served: rm takes the path as it was given then. */
static int set_dir(ProjectCall *call, bool must_exist) {
        const char *given = call->options->n_operands > 1 ? call->options->operands[1] : ".";
        _cleanup_(freep) char *dir = realpath(given, NULL);

        if (!dir && (must_exist || given[0] != '/'))
                return complain(CLI_USAGE, "%s: %s", given, strerror(errno));
        call->args = json_new(&call->arena, JSON_OBJECT);
        if (!call->args || json_set(&call->arena, call->args, STR("dir"),
                                    json_new_str(&call->arena, str_from(dir ? dir : given))))
                return complain(CLI_FAILED, "out of memory");
        return CLI_OK;
}

static int project_set_words(ProjectCall *call) {
        const struct {
                const char *key, *word;
        } said[] = {{"sandbox", call->options->sandbox}, {"network", call->options->network}};
        int r = options_check_sandbox("project", call->options);

        for (size_t i = 0; !r && i < ARRAY_SIZE(said); i++)
                if (said[i].word && json_set(&call->arena, call->args, str_from(said[i].key),
                                             json_new_str(&call->arena, str_from(said[i].word))))
                        r = complain(CLI_FAILED, "out of memory");
        return r;
}

/* What people let loose with a project. */
static void project_say_sandbox(const Json *project) {
        if (str_is(json_str(json_get(project, "sandbox")), "bwrap"))
                advise("its tasks run in a sandbox: they may write to this folder and little else");
        else
                advise("its tasks run without a sandbox: they may do whatever you may");
}

static int project_print_json(const ProjectCall *call) {
        return json_print(stdout, call->reply.result, false) ? complain(CLI_FAILED, "out of memory")
                                                             : CLI_OK;
}

static int run_add(ProjectCall *call) {
        int r = set_dir(call, true);

        if (!r)
                r = project_set_words(call);
        if (!r)
                r = project_call_op(call, "project.add");
        if (r || call->options->json)
                return r ? r : project_print_json(call);
        fputs("Serving ", stdout);
        text_put(stdout, json_str(json_get(call->reply.result, "dir")));
        fputs("\n", stdout);
        project_say_sandbox(call->reply.result);
        return CLI_OK;
}

static int project_run_set(ProjectCall *call) {
        int r = set_dir(call, false);

        if (!r && !call->options->sandbox && !call->options->network)
                return complain(CLI_USAGE, "project set: say --sandbox MODE, --network MODE or both");
        if (!r)
                r = project_set_words(call);
        if (!r)
                r = project_call_op(call, "project.set");
        if (r || call->options->json)
                return r ? r : project_print_json(call);
        project_say_sandbox(call->reply.result);
        return CLI_OK;
}

static int run_rm(ProjectCall *call) {
        int r = set_dir(call, false);

        if (!r && call->options->force &&
            json_set(&call->arena, call->args, STR("force"), json_new_bool(&call->arena, true)))
                return complain(CLI_FAILED, "out of memory");
        if (!r)
                r = project_call_op(call, "project.rm");
        if (r || call->options->json)
                return r ? r : project_print_json(call);
        fputs("No longer served: ", stdout);
        text_put(stdout, json_str(json_get(call->args, "dir")));
        fputs("\n", stdout);
        tasks_print(stdout, json_get(call->reply.result, "tasks"));
        return CLI_OK;
}

/* Shows what is about to be taken, and says by its digest what was shown: should it change meanwhile, it is
 * not taken. */
static int project_show_config(ProjectCall *call) {
        Str dir = arena_str(&call->arena, json_str(json_get(call->args, "dir"))); /* with a NUL */
        _cleanup_(freep) char *path = dir.data ? path_join(dir.data, ".aiwg/daemon.json") : NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char digest[SHA256_HEX_MAX];
        int r = path ? file_read(path, PROJECT_CONFIG_BYTES, &text) : -ENOMEM;

        if (r)
                return complain(CLI_FAILED, "%s: %s", path ? path : "daemon.json",
                                r == FILE_E_MISSING     ? "it is not there"
                                : r == FILE_E_TOO_LARGE ? "too large"
                                                        : strerror(-r));
        if (!call->options->json && !call->options->force) {
                print("%s:\n", path);
                text_put(stdout, buf_str(&text));
                print("\nWhat stands there decides which programs run, without a sandbox.\n");
        }
        if (sha256_hex(text.n ? buf_str(&text) : STR(""), digest) ||
            json_set(&call->arena, call->args, STR("sha256"),
                     json_new_str(&call->arena, arena_str(&call->arena, str_from(digest)))))
                return complain(CLI_FAILED, "out of memory");
        return CLI_OK;
}

/* The tasks that wait for the person's word, by the digest that the daemon gives with them. */
static int project_show_held(ProjectCall *call) {
        int r = project_call_op(call, "project.held");
        const Json *tasks = json_get(call->reply.result, "tasks");
        Str held = json_str(json_get(call->reply.result, "held"));

        if (r || !held.n)
                return r;
        if (!call->options->json && !call->options->force) {
                print("\n" STR_FMT " task(s) wait that an agent in a sandbox could have queued:\n",
                      STR_ARG(json_raw(json_get(call->reply.result, "n"))));
                json_each (task, tasks)
                        print("  " STR_FMT " (" STR_FMT " bytes): " STR_FMT "\n",
                              STR_ARG(json_str(json_get(task, "id"))),
                              STR_ARG(json_raw(json_get(task, "bytes"))),
                              STR_ARG(json_str(json_get(task, "prompt"))));
                print("To be rid of one instead: muster task cancel ID\n");
        }
        return json_set(&call->arena, call->args, STR("held"),
                        json_new_str(&call->arena, arena_str(&call->arena, held)))
                       ? complain(CLI_FAILED, "out of memory")
                       : CLI_OK;
}

static void project_say_trusted(const ProjectCall *call) {
        Str n = json_raw(json_get(call->reply.result, "released"));

        fputs("In use: ", stdout);
        text_put(stdout, json_str(json_get(call->reply.result, "dir")));
        fputs("/.aiwg/daemon.json\n", stdout);
        if (!str_is(n, "0"))
                print(STR_FMT " task%s may run\n", STR_ARG(n), str_is(n, "1") ? "" : "s");
}

static int run_trust(ProjectCall *call) {
        int r = set_dir(call, true);

        if (!r)
                r = project_show_config(call);
        if (!r)
                r = project_show_held(call);
        if (!r)
                r = confirm("project trust", call->options->force);
        if (!r)
                r = project_call_op(call, "project.trust");
        if (r || call->options->json)
                return r ? r : project_print_json(call);
        project_say_trusted(call);
        return CLI_OK;
}

static void project_print_table(const Json *projects) {
        static const TableColumn columns[] = {{.title = "PROJECT"},
                                              {.title = "STATE"},
                                              {.title = "RUNNING", .is_right = true},
                                              {.title = "QUEUED", .is_right = true},
                                              {.title = "CLIENTS", .is_right = true},
                                              {.title = "KEPT"},
                                              {.title = "SANDBOX"}};
        static const char *const counts[] = {"running", "queued", "clients"};
        _cleanup_(table_deinit) Table table = TABLE(columns);

        json_each (project, projects) {
                bool is_kept = false;

                table_add(&table, json_str(json_get(project, "dir")));
                table_add(&table, json_str(json_get(project, "state")));
                for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
                        table_add(&table, json_raw(json_get(project, counts[i])));
                (void)json_bool(json_get(project, "kept"), &is_kept);
                table_add(&table, is_kept ? STR("yes") : STR("no"));
                table_add(&table, json_str(json_get(project, "sandbox")));
        }
        table_print(&table, stdout, 0, 0, "\n");
}

/* What the table has no room for: why one is not served, or not as its file has it. */
static void project_print_trouble(const Json *projects) {
        json_each (project, projects) {
                Str dir = json_str(json_get(project, "dir")), reason = json_str(json_get(project, "reason"));
                Str wrong = json_str(json_get(project, "config_error"));

                if (reason.n)
                        print(STR_FMT ": " STR_FMT "\n", STR_ARG(dir), STR_ARG(reason));
                if (wrong.n)
                        print("Not in use: " STR_FMT "\n", STR_ARG(wrong));
                if (json_get(project, "held"))
                        print(STR_FMT " waiting task(s) of " STR_FMT " may have been queued by an agent in "
                                      "a sandbox; look at them with: muster project trust " STR_FMT "\n",
                              STR_ARG(json_raw(json_get(project, "held"))), STR_ARG(dir), STR_ARG(dir));
        }
}

static int project_run_ls(ProjectCall *call) {
        const Json *projects;
        int r = project_call_op(call, "project.ls");

        if (r || call->options->json)
                return r ? r : project_print_json(call);
        projects = json_get(call->reply.result, "projects");
        if (json_count(projects)) {
                project_print_table(projects);
                project_print_trouble(projects);
        } else
                print("No project is served. Add one with: muster project add DIR\n");
        return CLI_OK;
}

int cmd_project(const Options *options) {
        _cleanup_(call_deinit) ProjectCall call = {.options = options, .coop = COOP_NULL, .link = LINK_NULL};
        const char *verb = options->operands[0];

        if ((options->sandbox || options->network) && strcmp(verb, "add") != 0 && strcmp(verb, "set") != 0)
                return complain(CLI_USAGE, "project %s: --sandbox is for add and set", verb);
        if (!strcmp(verb, "add"))
                return run_add(&call);
        if (!strcmp(verb, "set"))
                return project_run_set(&call);
        if (!strcmp(verb, "rm"))
                return run_rm(&call);
        if (!strcmp(verb, "trust"))
                return run_trust(&call);
        if (!strcmp(verb, "ls") && options->n_operands == 1)
                return project_run_ls(&call);
        if (!strcmp(verb, "ls"))
                complain(CLI_USAGE, "project ls: too many words");
        else
                complain(CLI_USAGE, "project: add, set, ls, rm or trust, not %s", verb);
        advise("try: muster project --help");
        return CLI_USAGE;
}
