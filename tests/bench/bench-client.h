#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the programs of this folder share: a clock, dying with a reason, and dialling a server.
 * ADDRESS is the path of a Unix socket, or tcp:HOST:PORT with a numeric IPv4 host.
 */
#include <stdint.h>

uint64_t now_ns(void);
void die(const char *what) __attribute__((noreturn)); /* with errno in words */
/* A non-blocking connection. -1 with errno; a full listen queue (EAGAIN) is waited for and counted in
 * *n_retries. */
int dial(const char *address, long *n_retries);
