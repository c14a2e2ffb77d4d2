#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Mapping: a file that is mapped although others can write it. When it is cut under us the first touch of a
 * page that is gone would kill the process (SIGBUS); here it finds zeros instead, and the mapping is marked
 * as broken for its owner to see.
 *
 * The table of mappings is the one thing outside of Daemon: a signal handler gets no pointer of ours. It is
 * fixed, needs no lock, and a full one is an error of whoever wants to map. What is in a mapping is never
 * to be trusted; that is up to the owner. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

typedef struct Mapping Mapping;

/* Handles SIGBUS from now on. A fault that is in no mapping goes to whoever handled it before. */
void mapping_handle_faults(void);
/* Whole pages that are mapped already. NULL: the table is full. */
Mapping *mapping_add(void *at, size_t n);
/* After it was unmapped. Always NULL. */
Mapping *mapping_remove(Mapping *mapping);
/* Pages of it were gone, or its owner has found nonsense in it. NULL is whole. */
bool mapping_is_broken(const Mapping *mapping);
void mapping_break(Mapping *mapping);
/* Another file, or the mended one, was mapped in its place. */
void mapping_mended(Mapping *mapping);
