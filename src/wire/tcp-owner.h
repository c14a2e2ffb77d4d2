#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Whose a TCP connection of this machine is. TCP has no credentials, but the kernel knows the owner of every
 * socket and tells it (sock_diag(7)). Asks the kernel only; does not block.
 */
#include <sys/types.h>

#include "wire/address.h"

enum { _TCP_OWNER_E_SUCCESS, TCP_OWNER_E_UNKNOWN /* its other end is not a socket of this machine */ };

/* The owner of the other end of a connection between two sockets of this machine. */
int tcp_owner(const TcpEnd *peer, const TcpEnd *own, uid_t *ret);
