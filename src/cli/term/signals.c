/* SPDX-License-Identifier: MIT */
#include "cli/term/signals.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/error.h"

/* nohup, or a shell that starts something in the background: who asks for that does not want us to end. */
static bool signals_is_ignored(int number) {
        struct sigaction action;

        return !sigaction(number, NULL, &action) && action.sa_handler == SIG_IGN;
}

int signals_open(Signals *signals, const int *numbers, size_t n) {
        sigset_t set;

        sigemptyset(&set);
        for (size_t i = 0; i < n; i++)
                if (!signals_is_ignored(numbers[i]))
                        sigaddset(&set, numbers[i]);
        signals->fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
        if (signals->fd < 0)
                return error_origin(-errno);
        if (sigprocmask(SIG_BLOCK, &set, &signals->before)) {
                int r = -errno;

                signals->fd = close_fd(signals->fd);
                return error_origin(r);
        }
        return 0;
}

void signals_deinit(Signals *signals) {
        if (signals->fd < 0)
                return;
        signals->fd = close_fd(signals->fd);
        (void)sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

int signals_take(Signals *signals) {
        struct signalfd_siginfo info;
        ssize_t n;

        do
                n = read(signals->fd, &info, sizeof(info));
        while (n < 0 && errno == EINTR);
        return n == (ssize_t)sizeof(info) ? (int)info.ssi_signo : 0;
}

void die_by_signal(int number) {
        sigset_t set;

        (void)fflush(stdout);
        (void)signal(number, SIG_DFL);
        sigemptyset(&set);
        sigaddset(&set, number);
        (void)sigprocmask(SIG_UNBLOCK, &set, NULL);
        (void)raise(number);
        _exit(128 + number); /* one whose default is not to end us */
}
