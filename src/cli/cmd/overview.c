/* SPDX-License-Identifier: MIT */
#include "cli/cmd/overview.h"

#include <time.h>

#include "base/time.h"
#include "cli/cmd/processes.h"
#include "cli/link/native.h"
#include "cli/print/colour.h"
#include "cli/print/human.h"
#include "cli/print/report.h"
#include "cli/print/table.h"
#include "cli/print/wrap.h"

enum { OVERVIEW_PATH = 32 };

static int64_t overview_number(const Json *object, const char *key) {
        int64_t value = 0;

        (void)json_int64(json_get(object, key), &value);
        return value;
}

static Str overview_text(const Json *object, const char *key) {
        return json_str(json_get(object, key));
}

/* How long ago a time was; "-": it is none. */
static const char *overview_age(const Json *object, const char *key, char out[HUMAN_MAX]) {
        return human_ago(overview_text(object, key), out);
}

/* ---- the daemon ------------------------------------------------------------------------------ */

static void overview_put_daemon(FILE *out, const Json *overview) {
        char age[HUMAN_MAX];
        Str durability = overview_text(overview, "durability");

        fputs("musterd ", out);
        text_put(out, overview_text(overview, "version"));
        fprint(out, ", pid %lld, up %s\n", (long long)info_pid(overview),
               human_age(overview_number(overview, "uptime_seconds"), age));
        if (!str_is(durability, "commit")) {
                fputs("durability   ", out);
                text_put(out, durability);
                putc('\n', out);
        }
}

/* Those that listen by their names; of the others all there is to know. */
static void overview_put_endpoints(FILE *out, const Json *overview) {
        const Json *endpoints = json_get(overview, "endpoints");
        size_t n = 0, n_other = 0;

        fputs("listening    ", out);
        json_each (row, endpoints) {
                if (!str_is(overview_text(row, "state"), "listening")) {
                        n_other++;
                        continue;
                }
                fputs(n++ ? ", " : "", out);
                text_put(out, overview_text(row, "name"));
        }
        fputs(n ? "\n" : "nowhere\n", out);
        if (n_other)
                info_print_endpoints(out, overview);
}

/* What is dangerous, and who was turned away. */
static void overview_put_warnings(FILE *out, const Json *overview, unsigned cols) {
        json_each (row, json_get(overview, "endpoints")) {
                Str warning = overview_text(row, "warning");
                int64_t n = overview_number(row, "refused");

                if (warning.n) {
                        fputs("WARNING      ", out);
                        text_wrap(out, warning, 13, cols ? cols : 80);
                }
                if (n)
                        fprint(out, "refused      %lld connection%s of other machines (" STR_FMT ")\n",
                               (long long)n, n == 1 ? "" : "s", STR_ARG(overview_text(row, "name")));
        }
}

/* ---- what runs ------------------------------------------------------------------------------- */

static void overview_put_processes(FILE *out, const Json *overview, unsigned cols) {
        const Json *processes = json_get(overview, "processes");
        ProcessShape shape = processes_fit(processes, cols);
        TableColumn columns[PROCESS_COLUMNS];
        _cleanup_(table_deinit) Table table = processes_table(processes, &shape, columns);

        putc('\n', out);
        if (json_count(processes))
                table_print(&table, out, 0, 0, "\n");
        else
                fprint(out, "Nothing runs here. Start something with: muster new -- COMMAND\n");
}

/* ---- groups and projects --------------------------------------------------------------------- */

static void overview_add_actor(Table *table, const Json *group, const Json *actor) {
        char age[HUMAN_MAX];
        int64_t n_mail = overview_number(actor, "mail");

        table_addf(table, STR_FMT "/" STR_FMT, STR_ARG(overview_text(group, "id")),
                   STR_ARG(overview_text(actor, "id")));
        if (json_get(actor, "exit_code"))
                table_addf(table, STR_FMT " (%lld)", STR_ARG(overview_text(actor, "state")),
                           (long long)overview_number(actor, "exit_code"));
        else
                table_add(table, overview_text(actor, "state"));
        table_add(table, str_from(overview_age(actor, "since", age)));
        if (n_mail)
                table_addf(table, "%lld, %s (" STR_FMT ")", (long long)n_mail,
                           overview_age(actor, "mail_since", age),
                           STR_ARG(overview_text(actor, "mail_why")));
        else
                table_add(table, STR("-"));
        table_add(table, overview_text(group, "title"));
}

static void overview_put_actors(FILE *out, const Json *overview, unsigned cols) {
        static const TableColumn columns[] = {{"ACTOR", 0, false},
                                              {"STATE", 0, false},
                                              {"SINCE", 0, true},
                                              {"MAIL THAT WAITS", 0, false},
                                              {"GROUP", 0, false}};
        _cleanup_(table_deinit) Table table = TABLE(columns);

        json_each (group, json_get(overview, "groups"))
                json_each (actor, json_get(group, "actors"))
                        overview_add_actor(&table, group, actor);
        if (!table.n_cells)
                return;
        putc('\n', out);
        table_print(&table, out, cols, 0, "\n");
}

/* They run on as they were accepted; whoever changed them waits for somebody to see this. */
static void overview_put_untrusted(FILE *out, const Json *overview) {
        json_each (project, json_get(overview, "projects"))
                if (json_get(project, "untrusted"))
                        fprint(out,
                               "\n" STR_FMT "/.aiwg/daemon.json was changed where an agent in a\n"
                               "sandbox can write, and is not in use. Look at it, then: muster project "
                               "trust\n",
                               STR_ARG(json_str(json_get(project, "dir"))));
}

static void overview_put_held(FILE *out, const Json *overview) {
        json_each (project, json_get(overview, "projects"))
                if (json_get(project, "held"))
                        fprint(out,
                               "\n" STR_FMT ": waiting tasks that an agent in a sandbox\n"
                               "could have queued: " STR_FMT ". Look at them with: muster project trust\n",
                               STR_ARG(json_str(json_get(project, "dir"))),
                               STR_ARG(json_raw(json_get(project, "held"))));
}

static void overview_put_projects(FILE *out, const Json *overview, unsigned cols) {
        static const TableColumn columns[] = {{"PROJECT", 0, false},     {"RUNNING", 0, true},
                                              {"QUEUED", 0, true},       {"SINCE", 0, true},
                                              {"FAILED (24h)", 0, true}, {"LAST", 0, true}};
        _cleanup_(table_deinit) Table table = TABLE(columns);
        char age[HUMAN_MAX];

        json_each (project, json_get(overview, "projects")) {
                table_add(&table, short_path(&table.arena, overview_text(project, "dir"), OVERVIEW_PATH));
                table_addf(&table, "%lld", (long long)overview_number(project, "running"));
                table_addf(&table, "%lld", (long long)overview_number(project, "queued"));
                table_add(&table, str_from(overview_age(project, "queued_since", age)));
                table_addf(&table, "%lld", (long long)overview_number(project, "failed"));
                table_add(&table, str_from(overview_age(project, "last_failed", age)));
        }
        if (!table.n_cells)
                return;
        putc('\n', out);
        table_print(&table, out, cols, 0, "\n");
}

/* musterd starts none, and whoever comes from the original does not expect that. */
static void overview_put_bridges(FILE *out, const Json *overview) {
        size_t n = 0;

        json_each (group, json_get(overview, "groups"))
                n += json_get(group, "im_enabled") != NULL;
        if (n)
                fprint(out,
                       "\nIM bridges are enabled in %zu group%s. musterd starts none; cccc im start does.\n"
                       "Whether they run: muster doctor\n",
                       n, n == 1 ? "" : "s");
}

void overview_print(FILE *out, const Json *overview, unsigned cols) {
        bool is_stopped;

        overview_put_daemon(out, overview);
        if (json_bool(json_get(overview, "agents_stopped"), &is_stopped) && is_stopped)
                fprint(out, "Agents were stopped; they stay down until: muster up\n");
        overview_put_endpoints(out, overview);
        overview_put_warnings(out, overview, cols);
        overview_put_processes(out, overview, cols);
        overview_put_actors(out, overview, cols);
        overview_put_projects(out, overview, cols);
        overview_put_untrusted(out, overview);
        overview_put_held(out, overview);
        overview_put_bridges(out, overview);
}
