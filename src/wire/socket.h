#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Listening sockets and what stands at a socket's path. Called at start-up and from the command line; may
 * block briefly.
 */
#include <stdint.h>
#include <sys/types.h>

typedef enum SocketState {
        SOCKET_ABSENT,
        SOCKET_LIVE,  /* somebody accepts connections */
        SOCKET_STALE, /* a socket of ours that nobody listens on */
        SOCKET_ALIEN, /* not a socket, a symlink, or another user's */
} SocketState;

/* Never follows a symlink at the last component. *ret_pid (may be NULL): who listens, if it is live; 0 when
 * the kernel does not say (its queue is full, another PID namespace). */
int socket_probe(const char *path, SocketState *ret, pid_t *ret_pid);
pid_t socket_peer(int fd); /* the process at the other end of a Unix socket; 0: not known */
/* mode is enforced with umask during bind. The path is there once it can be connected to; until then the
 * socket is beside it, with .new behind the name. -EADDRINUSE when something is at the path. Backlog 4096.
 */
int socket_listen_unix(const char *path, mode_t mode, int *ret);
/* address: IPv4 or IPv6, "::" takes both. -EINVAL: it is none of them; *ret_port is the port, also when 0 was asked for. */
int socket_listen_tcp(const char *address, uint16_t port, int *ret, uint16_t *ret_port);
/* A blocking (or not) connection. */
int socket_connect_unix(const char *path, int flags, int *ret);
