/* SPDX-License-Identifier: MIT */
#include "daemon/beside.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macro.h"

char *beside_find(const char *name) {
        char self[PATH_MAX], *slash, *path = NULL;
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

        self[MAX(n, 0)] = 0;
        slash = strrchr(self, '/');
        if (!slash)
                return NULL;
        *slash = 0;
        for (int i = 0; i < 2; i++) {
                free(path);
                path = NULL;
                if (asprintf(&path, i ? "%s/../libexec/muster/%s" : "%s/%s", self, name) < 0)
                        return NULL;
                if (!access(path, X_OK))
                        return path;
        }
        return path;
}
