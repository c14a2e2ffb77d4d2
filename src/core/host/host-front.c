/* SPDX-License-Identifier: MIT */
/*
 * Which program gets what is typed at a terminal now: the kernel gives it to the foreground process group.
 *
 *   agent, node that runs one, bash -c agent    one group, that of the shim's child
 *   an agent in a sandbox                       a group of its own (sandbox/main.c), that of the agent; the
 *                                               kernel translates its number into our PID namespace
 *   bash -ic agent                              a shell that was told what to run: what it runs stands for it
 *   a shell in which somebody runs an editor    the editor's group: not the program that was started here
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/process.h"
#include "base/utf8.h"
#include "core/host/host-internal.h"

static bool front_is_shell_name(const char *name) {
        static const char *const shells[] = {"sh",  "bash", "dash", "zsh", "fish",
                                             "ksh", "mksh", "ash",  "csh", "tcsh"};

        for (size_t i = 0; i < ARRAY_SIZE(shells); i++)
                if (!strcmp(name, shells[i]))
                        return true;
        return false;
}

static bool front_is_shell(pid_t pid) {
        ProcessStatus status;

        return !process_status(pid, &status) && front_is_shell_name(status.name);
}

/* A shell with "-c": it reads no commands from its terminal. */
static bool front_is_wrapper(pid_t pid) {
        char line[256];
        ssize_t n = front_is_shell(pid) ? process_read(pid, "cmdline", line, sizeof(line)) : -1;
        const char *option = n > 0 ? line + strlen(line) + 1 : NULL;

        return option && option < line + n && option[0] == '-' && option[1] != '-' && strchr(option, 'c');
}

bool hosted_is_in_front(Hosted *hosted, char other[PROCESS_NAME_MAX]) {
        pid_t agent = hosted_agent_pid(hosted), front;

        *other = 0;
        if (hosted->kind != SHIM_PTY || hosted->fd_in < 0)
                return true;
        front = tcgetpgrp(hosted->fd_in);
        if (front < 0 || (front && (front == getpgid(agent) || front == getpgid(hosted->pid))))
                return true;
        if (front && front_is_wrapper(agent) && !front_is_shell(front))
                return true;
        if (front)
                process_name(front, other);
        other[utf8_valid_prefix(other, strlen(other))] = 0;
        if (!*other)
                snprintf(other, PROCESS_NAME_MAX, "?");
        return false;
}
