#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The system call filter of a sandbox, written out by hand: everything is allowed but the two ioctls by
 * which a process puts bytes into the input of its terminal (TIOCSTI, TIOCLINUX), and system calls of an ABI
 * that this filter does not understand. Without it an agent could type a command into whatever reads the
 * terminal after it.
 */
#include <linux/filter.h>
#include <stddef.h>

extern const struct sock_filter sandbox_filter[];
extern const size_t sandbox_filter_n;

/* A descriptor to read the program from, positioned at its start and NOT close-on-exec: it is for the
 * program that is executed next. Returns it, or a negative errno. */
int sandbox_filter_fd(void);
