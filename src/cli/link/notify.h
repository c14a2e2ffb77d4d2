#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Notify: the receiving end of the sd_notify protocol. The address is in the abstract namespace, so that no
 * file is left behind and no path is too long; since anybody could write there, only messages of our own
 * user count.
 */
#include <stdbool.h>

enum { NOTIFY_ADDRESS_MAX = 64 };

typedef struct Notify {
        int fd;
        char address[NOTIFY_ADDRESS_MAX]; /* for NOTIFY_SOCKET, with @ in front */
} Notify;

int notify_open(Notify *notify);
void notify_deinit(Notify *notify);
/* Takes what has arrived, without waiting. Whether READY=1 was among it. */
bool notify_is_ready(Notify *notify);
