#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Inside of Registry: what is done to registry.json on a worker. Knows neither loop nor calls.
 */
#include "collab/registry.h"

typedef struct RegistryJob {
        Registry *registry; /* not looked at by the worker */
        const char *path, *groups_path;
        int64_t now_us;
        RegistryEdit *edits;
        void *user;
        Document *document; /* out: with the edits, also when they could not be written */
        int r, write_r;     /* out: of reading, of writing */
} RegistryJob;

/* Reads the file (makes it anew when it is missing or broken), applies the edits, writes it if needed. */
void registry_job_run(RegistryJob *job);
/* A copy with its texts in one piece of memory, is_owned. NULL without memory. */
RegistryEdit *registry_edit_copy(const RegistryEdit *source);
