/* SPDX-License-Identifier: MIT */
#include "base/nest.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/macro.h"

enum { PARENTS_MAX = 1000 };

static const char *nest_variable(const char *name) {
        const char *value = getenv(name);

        return value && *value ? value : NULL;
}

/* Reads name and parent from /proc/PID/stat; the name may hold anything, also brackets. */
static bool nest_read(pid_t pid, char name[32], pid_t *ret_parent) {
        char path[64], text[1024], *open_bracket, *close_bracket;
        ssize_t n;
        int fd, parent;

        snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
        close_fd(fd);
        text[MAX(n, (ssize_t)0)] = 0;
        open_bracket = strchr(text, '(');
        close_bracket = strrchr(text, ')');
        if (!open_bracket || !close_bracket || sscanf(close_bracket + 1, " %*c %d", &parent) != 1)
                return false;
        *close_bracket = 0;
        snprintf(name, 32, "%s", open_bracket + 1);
        *ret_parent = parent;
        return true;
}

static bool nest_has_shim_above(void) {
        pid_t pid = getppid();
        char name[32];

        for (int i = 0; i < PARENTS_MAX && pid > 1 && nest_read(pid, name, &pid); i++)
                if (!strcmp(name, "muster-shim"))
                        return true;
        return false;
}

bool nest_is_marked(void) {
        return nest_variable("MUSTER_HOSTED") != NULL;
}

bool nest_is_hosted(void) {
        return nest_is_marked() || nest_has_shim_above();
}

bool nest_is_allowed(void) {
        return nest_variable("MUSTER_NESTED") != NULL;
}

const char *nest_sandbox(void) {
        return nest_variable("MUSTER_SANDBOXED");
}
