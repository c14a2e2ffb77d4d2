/* SPDX-License-Identifier: MIT */
#include "cli/cmd/run-logs.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/cmd/run-files.h"
#include "cli/link/again.h"
#include "cli/link/asking.h"
#include "cli/print/report.h"
#include "cli/term/signals.h"

enum { RUN_LOOK_MS = 100, RUN_PS_MS = 10000 };

typedef enum RunState {
        RUN_LIVES,
        RUN_ENDS, /* its program has ended, the rest of its output is being kept */
        RUN_GONE,
} RunState;

typedef struct RunFollow {
        RunFiles *files;
        const char *name;
        char *socket;
        Link link; /* carries the feed */
        Arena arena;
        Again again;
        Signals signals;
        int changes; /* inotify */
        RunState state;
        bool is_look_due, is_own, has_code;
        int64_t code; /* exit status of its program */
} RunFollow;

static void run_follow_deinit(RunFollow *follow) {
        free(follow->socket);
        link_deinit(&follow->link);
        arena_deinit(&follow->arena);
        signals_deinit(&follow->signals);
        close_fd(follow->changes);
}

/* ---- whether it runs ------------------------------------------------------------------------- */

static void run_follow_take_row(RunFollow *follow, const Json *row) {
        Str state = json_str(json_get(row, "state"));
        int64_t pid = 0;

        if (!str_is(json_str(json_get(row, "owner")), "company") || str_is(state, "foreign") ||
            !str_is(json_str(json_get(row, "object")), follow->name))
                return;
        follow->state = str_is(state, "starting") || str_is(state, "running") || str_is(state, "ending")
                                ? RUN_LIVES
                                : RUN_ENDS;
        follow->has_code |= json_int64(json_get(row, "exit_code"), &follow->code);
        follow->is_own |= json_int64(json_get(row, "pid"), &pid) && pid == getsid(0);
}

/* A daemon that goes away meanwhile is noticed at the feed. */
static void run_follow_look(RunFollow *follow) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Request request = {.dialect = "native", .op = "ps"};
        Reply reply = {0};

        follow->is_look_due = false;
        if (link_open(&link, follow->socket, clock_ms() + RUN_PS_MS) ||
            exchange(&link, &request, &arena, &reply) || reply.is_error)
                return;
        follow->state = RUN_GONE;
        json_each (row, json_get(reply.result, "processes"))
                run_follow_take_row(follow, row);
}

/* The feed first: what happens behind the look is told. */
static int run_follow_ask(RunFollow *follow) {
        Arguments none = {0};
        Reply reply = {0};
        int r;

        arena_reset(&follow->arena);
        r = asking(&(Asking){follow->socket, "native", "feed.follow", &follow->link, &follow->arena}, &none,
                   &reply);
        if (r)
                return r;
        if (reply.is_error)
                return complain(CLI_FAILED, "logs: " STR_FMT, STR_ARG(reply.message));
        follow->link.deadline_ms = 0; /* the waiting is done here */
        run_follow_look(follow);
        return CLI_OK;
}

/* ---- what comes ------------------------------------------------------------------------------ */

static void run_follow_take_line(RunFollow *follow, Str line) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *event;
        Json *message;

        if (json_parse(&arena, line.data, line.n, NULL, &message, NULL))
                return;
        follow->is_look_due |= str_is(json_str(json_get(message, "method")), "feed.gap");
        event = json_get(json_get(message, "params"), "event");
        if (!str_is(json_str(json_get(event, "owner")), "company") ||
            !str_is(json_str(json_get(event, "object")), follow->name))
                return;
        follow->is_look_due = true;
        follow->has_code |= json_int64(json_get(event, "exit_code"), &follow->code);
}

/* Everything that the daemon has told; an exit status. */
static int run_follow_take(RunFollow *follow) {
        Str line;
        int r;

        while (!(r = link_receive(&follow->link, FRAMING_LINE, &line)))
                run_follow_take_line(follow, line);
        if (r == LINK_E_TIMEOUT)
                return CLI_OK;
        if (r != LINK_E_CLOSED)
                return link_complain(r, follow->socket);
        switch (again_wait(&follow->again, follow->signals.fd)) {
        case AGAIN_BACK: return run_follow_ask(follow);
        case AGAIN_REFUSED: return CLI_NO_DAEMON;
        case AGAIN_SIGNAL:
        default: return CLI_OK; /* it is found where signals are looked for */
        }
}

static void run_follow_wait(RunFollow *follow, int timeout_ms) {
        struct pollfd pfds[] = {{.fd = follow->link.fd, .events = POLLIN},
                                {.fd = follow->signals.fd, .events = POLLIN},
                                {.fd = follow->changes, .events = POLLIN}};
        char dropped[4096]; /* that there was a change is all that counts */

        (void)poll(pfds, ARRAY_SIZE(pfds), timeout_ms);
        while (read(follow->changes, dropped, sizeof(dropped)) > 0)
                ;
        follow->is_look_due |= follow->state == RUN_ENDS;
}

/* Until its end: what was kept before it was forgotten is printed behind the look that has not found it.
 * *ret_signal: one that ended it earlier. */
static int run_follow_loop(RunFollow *follow, int *ret_signal) {
        for (;;) {
                bool is_over = follow->state == RUN_GONE, has_more;
                int r;

                *ret_signal = signals_take(&follow->signals);
                if (*ret_signal)
                        return CLI_OK;
                if (!run_files_print_new(follow->files, &has_more))
                        return CLI_FAILED; /* main() says why */
                if (has_more)
                        continue;
                if (is_over)
                        return CLI_OK;
                r = run_follow_take(follow);
                if (r)
                        return r;
                if (follow->is_look_due)
                        run_follow_look(follow);
                if (follow->state != RUN_GONE)
                        run_follow_wait(follow, follow->state == RUN_ENDS ? RUN_LOOK_MS : -1);
        }
}

/* ---- beginning and end ----------------------------------------------------------------------- */

static int run_follow_open(RunFollow *follow, const Options *options) {
        static const int numbers[] = {SIGTERM, SIGHUP, SIGINT, SIGQUIT};
        int r = asking_find(&follow->socket);

        if (!r)
                r = run_follow_ask(follow);
        if (r)
                return r;
        if (follow->is_own) {
                complain(CLI_FAILED, "logs: this is the very run %s: it would print itself without end",
                         follow->name);
                return CLI_FAILED;
        }
        follow->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (follow->state != RUN_GONE &&
            (follow->changes < 0 || inotify_add_watch(follow->changes, follow->files->folder,
                                                      IN_CREATE | IN_MODIFY | IN_MOVED_TO) < 0))
                return complain(CLI_FAILED, "cannot watch %s: %s", follow->files->folder, strerror(errno));
        again_init(&follow->again, follow->socket, &follow->link, options->no_reconnect);
        r = signals_open(&follow->signals, numbers, ARRAY_SIZE(numbers));
        return r ? complain(CLI_FAILED, "cannot watch for signals: %s", strerror(-r)) : CLI_OK;
}

/* Interrupted, it ends as any program that is interrupted, with the terminal in order. */
static int run_logs_follow(RunFiles *files, const char *name, const Options *options) {
        _cleanup_(run_follow_deinit) RunFollow follow = {
                .files = files, .name = name, .link = LINK_NULL, .signals = SIGNALS_NULL, .changes = -1};
        int number = 0, r = run_follow_open(&follow, options);

        if (r)
                return r;
        r = run_files_print_past(files, options->tail) ? run_follow_loop(&follow, &number) : CLI_FAILED;
        if (!run_files_end(files))
                return CLI_FAILED;
        if (number)
                die_by_signal(number);
        if (!r && follow.has_code)
                advise("[process exited (code %lld)]", (long long)follow.code);
        return r;
}

/* What is called as runs are, and is no folder here, can be nothing else. */
static int run_logs_complain(const char *name, bool *ret_is_run) {
        *ret_is_run = str_starts(str_from(strchr(name, '/') + 1), STR("run_")) && access(name, F_OK);
        if (!*ret_is_run)
                return CLI_OK;
        complain(CLI_FAILED, "logs: there is no run %s in the workspaces that are open", name);
        advise("runs that run: muster ps; of one that has ended, in the folder of its workspace, or look "
               "into");
        advise("  WORKSPACE/work/projects/PROJECT/runs/RUN/outputs");
        return CLI_FAILED;
}

int logs_of_run(const Options *options, const char *name, bool *ret_is_run) {
        _cleanup_(run_files_deinit) RunFiles files = RUN_FILES_NULL;
        int r;

        run_files_init(&files, options);
        r = run_files_find(&files, name);
        *ret_is_run = files.folder;
        if (r)
                return r;
        if (!files.folder)
                return run_logs_complain(name, ret_is_run);
        if (options->pty >= 0)
                return complain(CLI_USAGE, "logs: a run has no terminals, so --pty is for sessions");
        if (options->follow)
                return run_logs_follow(&files, name, options);
        return run_files_print_past(&files, options->tail) && run_files_end(&files) ? CLI_OK : CLI_FAILED;
}
