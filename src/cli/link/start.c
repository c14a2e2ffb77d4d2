/* SPDX-License-Identifier: MIT */
#include "cli/link/start.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/error.h"
#include "base/file.h"
#include "base/nest.h"
#include "base/place.h"
#include "cli/cli.h"
#include "cli/link/find.h"
#include "cli/link/launch.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "core/daemon.h"

enum { LOG_TAIL_LINES = 20, LOG_TAIL_BYTES = 16 * 1024, RETRY_MS = 100 };

void start_deinit(Start *start) {
        link_deinit(&start->link);
        arena_deinit(&start->arena);
        free(start->home);
        free(start->socket);
        free(start->log_path);
}

/* The daemon went because another one has the lock. */
static bool is_other_running(int r, const LaunchOutcome *outcome) {
        return r == LAUNCH_E_ENDED && WIFEXITED(outcome->status) &&
               WEXITSTATUS(outcome->status) == EXIT_STATUS_RUNNING;
}

/* ---- what went wrong ------------------------------------------------------------------------- */

static void show_log(const char *path, off_t mark) {
        static char text[LOG_TAIL_BYTES];
        FILE *file = fopen(path, "re");
        size_t n = 0;

        if (!file)
                return;
        if (!fseeko(file, 0, SEEK_END) && !fseeko(file, MAX(mark, ftello(file) - LOG_TAIL_BYTES), SEEK_SET))
                n = fread(text, 1, sizeof(text), file);
        fclose(file);
        text_put(stderr, str_last_lines((Str){text, n}, LOG_TAIL_LINES));
        if (n && text[n - 1] != '\n')
                putc('\n', stderr);
}

static int complain_ended(const Start *start, const LaunchOutcome *outcome) {
        int status = outcome->status;

        show_log(start->log_path, outcome->log_mark);
        if (WIFSIGNALED(status))
                complain(0, "musterd was ended by signal %d (%s) while it started", WTERMSIG(status),
                         strsignal(WTERMSIG(status)));
        else
                complain(0, "musterd ended with status %d while it started", WEXITSTATUS(status));
        if (is_other_running(LAUNCH_E_ENDED, outcome))
                advise("another daemon uses %s, but does not answer at %s", start->home, start->socket);
        advise("its log: %s", start->log_path);
        return CLI_NO_DAEMON;
}

static int complain_launch(const Start *start, int r, const LaunchOutcome *outcome, int64_t wait_ms) {
        switch (r) {
        case LAUNCH_E_NO_PROGRAM:
                return complain(CLI_NO_DAEMON,
                                "cannot start musterd: %s (looked beside this program and on PATH)",
                                strerror(outcome->exec_errno));
        case LAUNCH_E_ENDED: return complain_ended(start, outcome);
        case LAUNCH_E_TIMEOUT:
                show_log(start->log_path, outcome->log_mark);
                complain(CLI_TIMEOUT, "musterd (pid %d) is not ready after %g s; it goes on starting",
                         (int)outcome->pid, (double)wait_ms / 1000);
                advise("its log: %s", start->log_path);
                return CLI_TIMEOUT;
        default: return complain(CLI_NO_DAEMON, "cannot start musterd: %s", strerror(-r));
        }
}

/* ---- steps ----------------------------------------------------------------------------------- */

static int find_places(Start *start) {
        start->home = place_home();
        start->socket = find_socket();
        start->log_path = start->home ? path_join(start->home, PLACE_LOG) : NULL;
        if (!start->socket || !start->log_path)
                return complain(CLI_FAILED, "cannot tell where the daemon lives: is HOME set?");
        return CLI_OK;
}

/*
 * Asks whoever listens. LINK_E_ABSENT: nobody, or one that closes the connection because it is about to end.
 * An error answered is EXCHANGE_E_GARBLED: every muster daemon knows the question.
 */
static int start_ask(Start *start, int64_t deadline_ms) {
        const Request request = {.dialect = "native", .op = "daemon.info"};
        Reply reply;
        int r;

        link_deinit(&start->link);
        r = link_open(&start->link, start->socket, deadline_ms);
        if (!r)
                r = exchange(&start->link, &request, &start->arena, &reply);
        if (!r && reply.is_error)
                r = EXCHANGE_E_GARBLED;
        start->info = r ? NULL : reply.result;
        return r == LINK_E_CLOSED ? LINK_E_ABSENT : r;
}

/* It may listen where its own environment said. */
static void start_look_again(Start *start) {
        char *socket = find_socket();

        if (!socket)
                return;
        free(start->socket);
        start->socket = socket;
}

/*
 * Another daemon may have the lock: one that was started at the same moment and is as good once it listens,
 * or one that is just stopping and will make room. Which of the two shows by trying both again.
 */
static int launch_or_join(Start *start, const Launch *how, LaunchOutcome *ret) {
        int r = launch(how, ret);

        while (is_other_running(r, ret) && deadline_left_ms(how->deadline_ms) > 0) {
                LaunchOutcome again;
                int r_again;

                poll(NULL, 0, MIN(deadline_left_ms(how->deadline_ms), RETRY_MS));
                start_look_again(start);
                if (!start_ask(start, how->deadline_ms))
                        return 0;
                r_again = launch(how, &again);
                if (r_again == LAUNCH_E_TIMEOUT)
                        break; /* what was found out before says more */
                r = r_again;
                *ret = again;
        }
        return r;
}

static int start_new(Start *start, const Launch *how, int64_t wait_ms) {
        LaunchOutcome outcome;
        int r = dir_make(start->home, 0700);

        if (r)
                return complain(CLI_NO_DAEMON, "cannot make %s: %s", start->home, strerror(-r));
        r = launch_or_join(start, how, &outcome);
        if (r)
                return complain_launch(start, r, &outcome, wait_ms);
        if (start->info)
                return CLI_OK; /* joined */
        start->pid = outcome.pid;
        r = start_ask(start, how->deadline_ms);
        return r && r != LINK_E_ABSENT ? exchange_complain(r, start->socket) : CLI_OK;
}

/* Below a shim it would end with what that shim hosts. */
static bool start_may_begin(void) {
        return nest_is_allowed() || !nest_is_hosted();
}

static int start_refuse(const Start *start) {
        if (nest_sandbox())
                return find_complain_absent(start->socket);
        complain(CLI_NO_DAEMON, "no daemon is listening at %s", start->socket);
        advise("this is inside a process that musterd hosts: a daemon started here would end with it");
        advise("start one elsewhere, such as in another terminal, with: muster up");
        return CLI_NO_DAEMON;
}

int start_daemon(Start *start, char **flags, int n_flags, int64_t wait_ms) {
        Launch how = {.flags = flags, .n_flags = n_flags, .deadline_ms = clock_ms() + wait_ms};
        int r = find_places(start);

        if (r)
                return r;
        how.log_path = start->log_path;
        r = start_ask(start, how.deadline_ms);
        if (r == LINK_E_ABSENT && !start_may_begin())
                return start_refuse(start);
        if (r == LINK_E_ABSENT)
                return start_new(start, &how, wait_ms);
        if (r)
                return exchange_complain(r, start->socket);
        info_tell_version(start->info);
        return CLI_OK;
}
