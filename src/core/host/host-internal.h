#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the parts of core/host share: host.c (table, state), host-start.c (folder, spawn), host-adopt.c
 * (finding them again), host-control.c (words with the shim), host-io.c (output, input, viewers).
 */
#include "core/host/host.h"

struct Host {
        Daemon *daemon;
        char *dir; /* <home>/host */
        Hosted *first;
};

int hosted_new(Hosted **ret, Host *host, const char *id);
void hosted_unlink_and_free(
        Hosted *hosted); /* out of the table, descriptors closed, memory freed after this turn */
void hosted_set_state(Hosted *hosted, HostedEvent event);
int hosted_open_files(Hosted *hosted); /* record and rings of hosted->dir; condition RING_E_DAMAGED */
Log *host_log(const Host *host);

/* host-control.c */
int hosted_open_control(Hosted *hosted, int fd); /* takes fd */
void hosted_tell(Hosted *hosted, uint32_t type, int a);
void hosted_check_end(Hosted *hosted); /* moves on to ENDED when everything is in */

/* host-io.c */
/* Takes fds; which: as in ShimMessage. */
int hosted_open_io(Hosted *hosted, const int *fds, int n_fds, unsigned which);
void hosted_close_io(Hosted *hosted);
bool hosted_output_is_over(const Hosted *hosted);
void hosted_read_rest(Hosted *hosted); /* what is left after the tree is gone */
