#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What muster-project tells the daemon over its descriptor 3: a signal came, and from whom. One message
 * each. The end of that connection, from either side, is the end of both: the program goes when the daemon
 * closes it or dies, and the daemon hears when the program was killed.
 */
#include <stdint.h>

enum { PROJECT_SIGNAL_FD = 3 };

typedef struct ProjectSignal {
        int32_t signum;
        int32_t by; /* the process that sent it; 0: not known */
} ProjectSignal;
