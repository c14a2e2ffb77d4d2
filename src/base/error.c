/* SPDX-License-Identifier: MIT */
#include "base/error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#undef error_report /* error.h puts a stand-in there for analysers */

int error_report(int r, const char *kind, const char *file, int line, const char *func) {
#ifdef MUSTER_DEBUG
        if (getenv("MUSTER_TRACE"))
                fprintf(stderr, "error %s: %s() %s:%d: %d (%s)\n", kind, func, file, line, r,
                        r < 0 ? strerror(-r) : "condition");
#else
        (void)file, (void)line, (void)func;
#endif
        if (kind[0] == 'f' && r > 0)
                return -ENOTRECOVERABLE;
        return r;
}
