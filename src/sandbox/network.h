#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * A network of its own for a sandbox: a user and a network namespace that this process enters, and
 * slirp4netns outside, which carries what is sent there through ordinary sockets of the user. The world and
 * the local network are reached, the host's own loopback is not. bubblewrap is run in it afterwards.
 */
#include <stddef.h>

/* Stands in the arguments of bubblewrap for the descriptor below. */
#define NETWORK_RESOLVER_WORD "@resolver"

/* Returns when the network works. slirp4netns ends with this process, whatever that becomes. Negative errno;
 * wrong then may say more. */
int network_enter(const char *program, char *wrong, size_t n_wrong);
/* A resolv.conf that names slirp4netns's name server; not close-on-exec. Or a negative errno. */
int network_resolver_fd(void);
