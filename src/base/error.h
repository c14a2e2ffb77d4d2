#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Error convention of the whole tree.
 *
 * Functions return int: 0 is success. A negative number (an errno value, negated) is a failure of the
 * machine: it travels up untouched until somebody fails one request or one object because of it. A positive
 * number is a named condition of that one function, listed in its header, and its caller must handle it:
 * never forward a positive number across a module's edge.
 *
 *   error_origin(-errno)  where a negative number is born
 *   error_trace(r)        where it passes through (positive numbers and 0 pass unchanged)
 *   error_fold(r)         where no positive number is expected any more: turns one into -ENOTRECOVERABLE
 *
 * All three are free on success; on failure they print the path to stderr when MUSTER_TRACE is set in the
 * environment of a debug build, and nothing otherwise.
 */
#include "base/macro.h"

int error_report(int r, const char *kind, const char *file, int line, const char *func);

#ifdef __clang_analyzer__ /* what an analyser has to know: a failure is never 0 */
#define error_report(r, ...)                                                                                \
        ({                                                                                                  \
                int _f = (r);                                                                               \
                if (_f == 0)                                                                                \
                        __builtin_unreachable();                                                            \
                _f;                                                                                         \
        })
#endif

#define error_origin(r) error_report((r), "origin", __FILE__, __LINE__, __func__)
#define error_trace(r)                                                                                      \
        ({                                                                                                  \
                int _e = (r);                                                                               \
                unlikely(_e < 0) ? error_report(_e, "trace", __FILE__, __LINE__, __func__) : _e;            \
        })
#define error_fold(r)                                                                                       \
        ({                                                                                                  \
                int _e = (r);                                                                               \
                unlikely(_e != 0) ? error_report(_e, "fold", __FILE__, __LINE__, __func__) : _e;            \
        })
