#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * ProjectFolder: .aiwg/daemon, where the daemon writes and an agent that works in the project can write, too. A
 * link in place of it would have the daemon write, with its own rights, wherever the link leads.
 *
 * It is looked at when the project is opened. From then on files are written through a descriptor of the folder
 * that was seen then, whatever stands in its place meanwhile. It is not the folder of the history, which has
 * descriptors of its own (task-store.h). Embedded in its Project; workers get a copy.
 */
#include <sys/types.h>

typedef struct Project Project;

enum { PROJECT_FOLDER_MAX = 64 };

typedef struct ProjectFolder {
        const char *path; /* borrowed */
        dev_t dev;
        ino_t ino;
} ProjectFolder;

/* Before anything is made in it. Conditions: as EndpointType.open(). */
int project_folder_check(const Project *project);
/* It is there: this is the one that is meant. */
int project_folder_see(ProjectFolder *folder, const char *path);
/* The path of a file in it, through a descriptor that the caller closes afterwards. Descriptor or negative: -ELOOP
 * for a link, -ENOENT for another folder. */
int project_folder_pin(const ProjectFolder *folder, const char *name, char ret[PROJECT_FOLDER_MAX]);
