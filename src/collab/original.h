#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The version that ping names, by who asks (docs/decisions/0020-shutdown-keeps-cccc-open.md).
 *
 * The command line of the original replaces a daemon that names another version than its own, and stays with
 * one that names none. So it is told none; so is whoever cannot be looked at (over TCP, from another PID
 * namespace), who may be it. Everybody else is told ours. A configured version is told to all.
 */
#include "core/client.h"

struct Collab;

/* Who asked last: a client that asks a thousand times a second is looked at once. Part of Collab. */
typedef struct Original {
        pid_t pid;
        int64_t until_ms; /* how long that is believed */
        bool is_it;
} Original;

const char *original_version_for(struct Collab *collab, const Client *client);
/* Whether these words of a command line (n bytes, a NUL behind each) start a program of the original's. */
bool original_is_started_by(const char *words, size_t n);
