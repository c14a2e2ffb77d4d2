/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/link/asking.h"
#include "cli/link/native.h"
#include "cli/cmd/processes.h"
#include "cli/print/report.h"
#include "cli/term/signals.h"
#include "cli/term/terminal.h"

enum { TIMEOUT_MS = 10000, INTERVAL_MS = 1000 };

typedef struct Ps {
        const Options *options;
        char *socket;
        Link link;
        Arena arena; /* of the answer … */
        const Json *answer;
        Terminal terminal;
        bool is_screen; /* … which is shown on the alternate screen */
        bool is_absent; /* no daemon answered the last time */
} Ps;

static void ps_deinit(Ps *ps) {
        free(ps->socket);
        link_deinit(&ps->link);
        arena_deinit(&ps->arena);
}

static int ps_ask(Ps *ps, Arena *arena, const Json **ret) {
        const Request request = {.dialect = "native", .op = "ps"};
        Reply reply = {0};
        Link link = LINK_NULL;
        int r = link_open(&link, ps->socket, clock_ms() + TIMEOUT_MS);

        if (!r)
                r = exchange(&link, &request, arena, &reply);
        if (!r && reply.is_error)
                r = EXCHANGE_E_GARBLED;
        if (r) { /* the answer before stays, and its texts lie in the connection that it came by */
                link_deinit(&link);
                return r;
        }
        link_deinit(&ps->link);
        ps->link = link;
        *ret = reply.result;
        return 0;
}

/* Says what is wrong, but not on the screen: there what was answered last stays. */
static int ps_fetch(Ps *ps) {
        Arena arena = ARENA_NULL;
        const Json *answer;
        int r = ps_ask(ps, &arena, &answer);

        ps->is_absent = r != 0;
        if (r) {
                arena_deinit(&arena);
                return ps->is_screen ? CLI_OK : exchange_complain(r, ps->socket);
        }
        arena_deinit(&ps->arena);
        ps->arena = arena;
        ps->answer = answer;
        return CLI_OK;
}

/* On a screen lines are cut; otherwise they go on in the next one, so that nothing is missing. */
static void ps_print_table(const Json *processes, unsigned cols, unsigned rows, const char *line_end) {
        ProcessShape shape = processes_fit(processes, cols);
        TableColumn columns[PROCESS_COLUMNS];
        _cleanup_(table_deinit) Table table = processes_table(processes, &shape, columns);

        if (!json_count(processes)) {
                print("Nothing runs here. Start something with: muster new -- COMMAND");
                fputs(line_end, stdout); /* ours */
                return;
        }
        table_print(&table, stdout, rows ? cols : 0, rows, line_end);
}

static int ps_print(Ps *ps, bool is_screen) {
        const Json *processes = json_get(ps->answer, "processes");
        unsigned cols = 0, rows = 0;

        if (ps->options->json)
                return json_print(stdout, ps->answer, false) ? complain(CLI_FAILED, "out of memory")
                                                             : CLI_OK;
        if (isatty(STDOUT_FILENO))
                (void)terminal_size(&cols, &rows);
        if (!is_screen) {
                ps_print_table(processes, cols, 0, "\n");
                return CLI_OK;
        }
        fputs("\x1b[H", stdout);
        ps_print_table(processes, cols, rows > 1 ? rows - 1 : 0, "\x1b[K\r\n");
        fputs("\x1b[J", stdout);
        return CLI_OK;
}

/* ---- again and again ------------------------------------------------------------------------- */

/* On the screen a daemon that has gone is waited for; what was there last stays. */
static void ps_note_absence(const Ps *ps) {
        unsigned cols, rows;

        if (!ps->is_absent || !terminal_size(&cols, &rows))
                return;
        printf("\x1b[%u;1H%.*s\x1b[K", rows, (int)cols - 1,
               "No daemon answers. This goes on when one does; q leaves.");
}

/* Whether a key or a signal ends it; the time has passed otherwise. */
static bool ps_wait(Ps *ps, Signals *signals, int *ret_number) {
        struct pollfd pfds[] = {{.fd = signals->fd, .events = POLLIN},
                                {.fd = ps->terminal.has_in ? ps->terminal.in : -1, .events = POLLIN}};
        char keys[64];
        ssize_t n;

        (void)poll(pfds, ARRAY_SIZE(pfds), INTERVAL_MS);
        *ret_number = signals_take(signals);
        if (*ret_number == SIGWINCH)
                *ret_number = 0;
        if (*ret_number || !pfds[1].revents)
                return *ret_number != 0;
        n = read(ps->terminal.in, keys, sizeof(keys));
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                return true; /* the terminal has gone */
        for (ssize_t i = 0; i < n; i++)
                if (keys[i] == 'q' || keys[i] == 'Q' || keys[i] == 3 || keys[i] == 4)
                        return true;
        return false;
}

static int ps_watch_until(Ps *ps, Signals *signals, int *ret_number) {
        int r = CLI_OK;
        bool is_over = false;

        while (!r && !is_over) {
                r = ps_print(ps, ps->is_screen);
                if (ps->is_screen)
                        ps_note_absence(ps);
                if (fflush(stdout))
                        return CLI_FAILED; /* main() says why */
                is_over = ps_wait(ps, signals, ret_number);
                if (!r && !is_over)
                        r = ps_fetch(ps);
        }
        return r;
}

/* On the alternate screen, so that what was there before comes back. */
static int ps_watch(Ps *ps) {
        static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};
        _cleanup_(signals_deinit) Signals signals = SIGNALS_NULL;
        int number = 0, r = signals_open(&signals, numbers, ARRAY_SIZE(numbers));

        if (r)
                return complain(CLI_FAILED, "cannot watch for signals: %s", strerror(-r));
        ps->is_screen = is_for_people(ps->options->json);
        if (ps->is_screen) {
                terminal_open(&ps->terminal);
                (void)terminal_raw(&ps->terminal); /* if there are no keys, there are still signals */
                fputs("\x1b[?1049h\x1b[?25l", stdout);
        }
        r = ps_watch_until(ps, &signals, &number);
        if (ps->is_screen) {
                fputs("\x1b[?25h\x1b[?1049l", stdout);
                (void)fflush(stdout);
                terminal_close(&ps->terminal);
        }
        if (number && number != SIGINT)
                die_by_signal(number);
        return r;
}

static int ps_run(const Options *options, bool is_watched) {
        _cleanup_(ps_deinit) Ps ps = {.options = options, .link = LINK_NULL};
        int r = asking_find(&ps.socket);

        if (!r)
                r = ps_fetch(&ps);
        if (r)
                return r;
        return is_watched ? ps_watch(&ps) : ps_print(&ps, false);
}

int cmd_ps(const Options *options) {
        return ps_run(options, options->watch);
}

int cmd_top(const Options *options) {
        return ps_run(options, true);
}
