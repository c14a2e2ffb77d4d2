/* SPDX-License-Identifier: MIT */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/link/coop.h"
#include "cli/link/native.h"
#include "cli/cmd/processes.h"
#include "cli/print/report.h"
#include "cli/term/signals.h"
#include "cli/term/terminal.h"

enum { TIMEOUT_MS = 10000, INTERVAL_MS = 1000 };

typedef struct Ps {
        const Options *options;
        Coop coop; /* for its daemon only: ps is a native method */
        Link link;
        Arena arena;
        const Json *answer;
} Ps;

static void ps_deinit(Ps *ps) {
        coop_deinit(&ps->coop);
        link_deinit(&ps->link);
        arena_deinit(&ps->arena);
}

static int fetch(Ps *ps) {
        int r;

        arena_reset(&ps->arena);
        link_deinit(&ps->link);
        r = link_open(&ps->link, ps->coop.socket, clock_ms() + TIMEOUT_MS);
        if (r)
                return link_complain(r, ps->coop.socket);
        r = native_call(&ps->link, ps->coop.socket, "ps", &ps->arena, &ps->answer);
        if (r || ps->answer)
                return r;
        return link_complain(LINK_E_CLOSED, ps->coop.socket);
}

static size_t width_with(const Json *processes, size_t n_workspace, size_t n_id) {
        _cleanup_(table_deinit) Table table = processes_table(n_id);

        processes_add(&table, processes, n_workspace, n_id);
        return table_width(&table);
}

/* So much of each id that lines fit: all of it, the beginning, or nothing. */
static size_t room_for_id(const Json *processes, unsigned cols) {
        static const size_t rooms[] = {SIZE_MAX, PROCESS_ID_SHORT};

        for (size_t i = 0; i < ARRAY_SIZE(rooms); i++)
                if (!cols || width_with(processes, PROCESS_WORKSPACE_MIN, rooms[i]) <= cols)
                        return rooms[i];
        return 0;
}

/* So much of each workspace that lines fit, if that is possible. */
static size_t room_for_workspace(const Json *processes, unsigned cols, size_t n_id) {
        size_t n = PROCESS_WORKSPACE_MAX;

        while (cols && n > PROCESS_WORKSPACE_MIN && width_with(processes, n, n_id) > cols)
                n--;
        return n;
}

/* On a screen lines are cut; otherwise they go on in the next one, so that nothing is missing. */
static void print_table(const Json *processes, unsigned cols, unsigned rows, const char *line_end) {
        size_t n_id = room_for_id(processes, cols);
        _cleanup_(table_deinit) Table table = processes_table(n_id);

        if (!json_count(processes)) {
                printf("Nothing runs here. Start something with: muster new -- COMMAND%s", line_end);
                return;
        }
        processes_add(&table, processes, room_for_workspace(processes, cols, n_id), n_id);
        table_print(&table, stdout, rows ? cols : 0, rows, line_end);
}

static int print(Ps *ps, bool is_screen) {
        const Json *processes = json_get(ps->answer, "processes");
        unsigned cols = 0, rows = 0;

        if (ps->options->json)
                return json_print(stdout, ps->answer, false) ? complain(CLI_FAILED, "out of memory")
                                                             : CLI_OK;
        if (isatty(STDOUT_FILENO))
                (void)terminal_size(&cols, &rows);
        if (!is_screen) {
                print_table(processes, cols, 0, "\n");
                return CLI_OK;
        }
        fputs("\x1b[H", stdout);
        print_table(processes, cols, rows > 1 ? rows - 1 : 0, "\x1b[K\n");
        fputs("\x1b[J", stdout);
        return CLI_OK;
}

/* ---- again and again ------------------------------------------------------------------------- */

/* The signal that ends the wait; 0: the time has passed. */
static int wait_a_moment(Signals *signals) {
        struct pollfd pfd = {.fd = signals->fd, .events = POLLIN};
        int number;

        (void)poll(&pfd, 1, INTERVAL_MS);
        number = signals_take(signals);
        return number == SIGWINCH ? 0 : number;
}

static int watch_until(Ps *ps, Signals *signals, bool is_screen, int *ret_number) {
        int r = CLI_OK;

        *ret_number = 0;
        while (!r && !*ret_number) {
                r = print(ps, is_screen);
                if (fflush(stdout))
                        return CLI_FAILED; /* main() says why */
                *ret_number = wait_a_moment(signals);
                if (!r && !*ret_number)
                        r = fetch(ps);
        }
        return r;
}

/* On the alternate screen, so that what was there before comes back. */
static int watch(Ps *ps) {
        static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
        _cleanup_(signals_deinit) Signals signals = SIGNALS_NULL;
        bool is_screen = is_for_people(ps->options->json);
        int number, r = signals_open(&signals, numbers, ARRAY_SIZE(numbers));

        if (r)
                return complain(CLI_FAILED, "cannot watch for signals: %s", strerror(-r));
        if (is_screen)
                fputs("\x1b[?1049h\x1b[?25l", stdout);
        r = watch_until(ps, &signals, is_screen, &number);
        if (is_screen)
                fputs("\x1b[?25h\x1b[?1049l", stdout);
        if (number && number != SIGINT)
                die_by_signal(number);
        return r;
}

int cmd_ps(const Options *options) {
        _cleanup_(ps_deinit) Ps ps = {.options = options, .coop = COOP_NULL, .link = LINK_NULL};
        int r = coop_open(&ps.coop, "ps");

        if (!r)
                r = fetch(&ps);
        if (r)
                return r;
        return options->watch ? watch(&ps) : print(&ps, false);
}
