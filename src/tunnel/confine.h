#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What muster-tunnel gives up before it reads its first packet: whoever finds a fault in the code that reads packets has a process that can
 * talk over the sockets it was given, and nothing else. Bits of TUNNEL_PROTECTIONS say what holds. It binds this process for good.
 */
#include <stdint.h>

enum {
        CONFINE_FILES = 64,
        CONFINE_SPACE = 128 * 1024 * 1024,
};

/* First, when there is one thread: no new privileges, not dumpable, limits, and with Landlock no file but the kernel's source of random
 * numbers, which usrsctp opens. Returns a negative errno when something that every kernel has was refused. */
int confine_begin(uint8_t *protections);
/* Last, for all threads: no file at all, and only the system calls of the list. */
int confine_end(uint8_t *protections);
