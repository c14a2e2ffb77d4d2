/* SPDX-License-Identifier: MIT */
/*
 * Which process of a sandbox is the one that people mean: bubblewrap and our own helper stand before it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process.h"
#include "core/host/host-internal.h"

enum { HELPERS_MAX = 6 };

static bool is_helper(pid_t pid) {
        char name[32];

        return process_read(pid, "comm", name, sizeof(name)) > 0 &&
               (!strcmp(name, "bwrap\n") || !strncmp(name, "muster-sandbox", 14));
}

/* What carries the network of a sandbox is a child of bubblewrap, too. */
static bool is_carrier(pid_t pid) {
        char name[32];

        return process_read(pid, "comm", name, sizeof(name)) > 0 && !strcmp(name, "slirp4netns\n");
}

static pid_t first_child(pid_t pid) {
        char name[64], text[64], *end = text;

        snprintf(name, sizeof(name), "task/%d/children", (int)pid);
        if (process_read(pid, name, text, sizeof(text)) <= 0)
                return 0;
        for (pid_t child; (child = (pid_t)strtol(end, &end, 10)) > 0;)
                if (!is_carrier(child))
                        return child;
        return 0;
}

/* 0: it is on its way in, or out. */
static pid_t host_agent_look(const Hosted *hosted) {
        pid_t pid = hosted->pid;

        for (int i = 0; i < HELPERS_MAX && pid > 0 && is_helper(pid); i++)
                pid = first_child(pid);
        return MAX(pid, 0);
}

/* Looked for until it is found: a program keeps its number whatever it becomes. */
bool hosted_has_agent(Hosted *hosted) {
        if (!hosted->agent_pid && hosted->state == HOSTED_RUNNING)
                hosted->agent_pid =
                        strcmp(hosted->sandbox, "none") != 0 ? host_agent_look(hosted) : hosted->pid;
        return hosted->agent_pid > 0;
}

pid_t hosted_agent_pid(Hosted *hosted) {
        return hosted_has_agent(hosted) ? hosted->agent_pid : hosted->pid;
}
