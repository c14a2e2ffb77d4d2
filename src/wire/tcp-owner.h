#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Whose a TCP connection of this machine is. TCP has no credentials, but the kernel knows the owner of every
 * socket and tells it (sock_diag(7)). Asks the kernel only; does not block.
 */
#include <netinet/in.h>
#include <sys/types.h>

enum { _TCP_OWNER_E_SUCCESS, TCP_OWNER_E_UNKNOWN /* its other end is not a socket of this machine */ };

/* The owner of the other end of a connection between two sockets of this machine. */
int tcp_owner(const struct sockaddr_in *peer, const struct sockaddr_in *own, uid_t *ret);
