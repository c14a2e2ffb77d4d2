/* SPDX-License-Identifier: MIT */
/*
 * muster-mcp: the loop of the bridge, its end, and the daemon that it may start. A program of its own, since one runs for every
 * agent for as long as that does, and needs little of what `muster` is linked with.
 *
 *   muster-mcp SOCKET ADDRESS-FILE WAIT-MS VERBOSE MUSTER
 *
 * It is started by `muster mcp` only, which has all options and places; what is not there is an empty word.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bridge/bridge.h"

enum { FD_STDIN, FD_SIGNALS, FDS_OWN };
enum { ARG_SOCKET = 1, ARG_ADDRESS, ARG_WAIT, ARG_VERBOSE, ARG_MUSTER, ARGS };

static const char *bridge_word(const char *text) {
        return text && *text ? text : NULL;
}

static Str bridge_said(const char *name) {
        const char *text = getenv(name);

        return text ? str_from(text) : STR_NULL;
}

/* Read in pieces; what is not a whole line stays. */
static void bridge_read(Bridge *bridge) {
        enum { STEP = 64 << 10 };
        ssize_t n;

        if (buf_reserve(&bridge->in, STEP)) {
                bridge->is_in_over = true;
                return;
        }
        n = read(STDIN_FILENO, bridge->in.data + bridge->in.n, STEP);
        if (n > 0)
                bridge->in.n += (size_t)n;
        else if (n == 0 || (errno != EINTR && errno != EAGAIN))
                bridge->is_in_over = true;
}

/* At the first request that there is, and never again: who ends the daemon later means it. By `muster stdio` of nothing, which
 * starts a daemon where there is none; `muster up` would also start the agents that somebody has stopped. */
static void bridge_start_daemon(Bridge *bridge) {
        const char *muster = bridge->first ? bridge->start : NULL;

        if (!muster)
                return;
        bridge->start = NULL;
        if (fork() == 0) {
                int nothing = open("/dev/null", O_RDWR);
                sigset_t none;

                sigemptyset(&none);
                sigprocmask(SIG_SETMASK, &none, NULL);
                (void)signal(SIGPIPE, SIG_DFL);
                (void)dup2(nothing, STDIN_FILENO);
                (void)dup2(nothing, STDOUT_FILENO);
                execl(muster, "muster", "stdio", (char *)NULL);
                _exit(127);
        }
}

static int bridge_signals(void) {
        sigset_t mask;

        sigemptyset(&mask);
        sigaddset(&mask, SIGTERM);
        sigaddset(&mask, SIGINT);
        sigprocmask(SIG_BLOCK, &mask, NULL);
        return signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int bridge_patience_ms(int64_t due_ms) {
        int64_t left = due_ms - bridge_now_ms();

        return due_ms == BRIDGE_NEVER ? -1 : (int)MAX(left, (int64_t)0);
}

/* False: it is over. */
static bool bridge_turn(Bridge *bridge, int signals, int64_t *end_ms) {
        struct pollfd fds[FDS_OWN + BRIDGE_UNDER_WAY + BRIDGE_LISTENS] = {{.fd = -1, .events = POLLIN},
                                                                          {.fd = signals, .events = POLLIN}};
        int64_t due;
        size_t n;

        bridge_start_daemon(bridge);
        due = MIN(ask_turn(bridge, bridge_now_ms()), *end_ms);
        if (bridge->is_out_over || (bridge->is_in_over && (!bridge->first || bridge_now_ms() >= *end_ms)))
                return false;
        if (!bridge->is_in_over && bridge->n_asks < BRIDGE_WAITING_MAX)
                fds[FD_STDIN].fd = STDIN_FILENO;
        n = ask_watch(bridge, fds + FDS_OWN);
        if (poll(fds, FDS_OWN + n, bridge_patience_ms(due)) < 0)
                return errno == EINTR;
        ask_ready(bridge, fds + FDS_OWN, n);
        if (fds[FD_STDIN].revents)
                bridge_read(bridge);
        if (fds[FD_SIGNALS].revents)
                bridge->is_in_over = true;
        bridge_take(bridge);
        if (bridge->is_in_over && *end_ms == BRIDGE_NEVER) {
                *end_ms = bridge_now_ms() + BRIDGE_END_MS;
                ask_cancel_waits(bridge);
        }
        while (waitpid(-1, NULL, WNOHANG) > 0)
                ;
        return true;
}

int main(int argc, char **argv) {
        int64_t end_ms = BRIDGE_NEVER;
        Bridge bridge = {0};
        int signals, r;

        if (argc != ARGS) {
                dprintf(STDERR_FILENO, "muster-mcp is started by muster mcp\n");
                return 2;
        }
        bridge = (Bridge){.socket = argv[ARG_SOCKET],
                          .address_path = bridge_word(argv[ARG_ADDRESS]),
                          .absent_ms = atoll(argv[ARG_WAIT]),
                          .is_verbose = bridge_word(argv[ARG_VERBOSE]),
                          .start = bridge_word(argv[ARG_MUSTER]),
                          .said = {bridge_said("CCCC_GROUP_ID"), bridge_said("CCCC_ACTOR_ID")}};
        (void)signal(SIGPIPE, SIG_IGN);
        signals = bridge_signals();
        bridge_init(&bridge);
        while (bridge_turn(&bridge, signals, &end_ms))
                ;
        r = bridge.is_out_over ? 1 : 0;
        bridge_deinit(&bridge);
        close_fd(signals);
        return r;
}
