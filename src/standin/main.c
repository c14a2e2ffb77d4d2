/* SPDX-License-Identifier: MIT */
/*
 * muster-project DIR
 *
 * The process whose pid stands in .aiwg/daemon.pid of a project that musterd serves among others. Clients of
 * the original end and reload its daemon by signals to that pid: here they mean this project alone. Started
 * by musterd only, with SIGTERM, SIGINT and SIGHUP blocked and a connection as descriptor 3; it passes them
 * on and is gone when that connection ends. It holds no file, no folder and no state. DIR is for people who
 * look at the list of processes.
 */
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tasks/project-signal.h"

static void standin_pass_on(int signals) {
        struct signalfd_siginfo info;
        ProjectSignal told;

        if (read(signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
                return;
        told = (ProjectSignal){.signum = (int32_t)info.ssi_signo, .by = (int32_t)info.ssi_pid};
        (void)send(PROJECT_SIGNAL_FD, &told, sizeof(told), MSG_NOSIGNAL); /* gone: the next poll says so */
}

int main(void) {
        struct pollfd fds[2] = {{.events = POLLIN}, {.fd = PROJECT_SIGNAL_FD, .events = POLLIN}};
        sigset_t set;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        fds[0].fd = signalfd(-1, &set, SFD_CLOEXEC);
        if (fds[0].fd < 0 || sigprocmask(SIG_BLOCK, &set, NULL))
                return 1;
        while (!fds[1].revents) {
                if (poll(fds, 2, -1) < 0)
                        continue;
                if (fds[0].revents)
                        standin_pass_on(fds[0].fd);
        }
        return 0;
}
