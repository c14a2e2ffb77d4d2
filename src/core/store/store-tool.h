#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * A store's folder without the daemon, for the command line: what a crash or a power loss left in the journal goes
 * into the files, so that other programs can go on there.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct StoreRepair {
        bool has_journal;    /* there was something to look at: no clean close came before */
        uint64_t n_restored; /* steps that the files had not */
        uint64_t n_aside;    /* for which there was no place any more: in .local/muster/cut */
        char cut[32];        /* the name of that file; "": none */
        pid_t other;         /* after -EWOULDBLOCK: the daemon that has it open; 0: it cannot be told */
} StoreRepair;

/* Everything is synced and the journal is empty afterwards. Makes nothing where no store was. -EWOULDBLOCK: a daemon
 * writes there. */
int store_repair(const char *path, int64_t wall_us, StoreRepair *ret);
