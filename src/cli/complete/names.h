#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Names that only a daemon knows, for completion: of sessions, groups, actors, tasks, rules. Asks the daemon
 * that runs, briefly; when none does, or it is slow, there are no names. Owned by the caller of complete().
 */
#include "base/str.h"

typedef struct Names {
        const char *group, *project; /* as given on the line; NULL: that of this folder */
        void (*put)(void *user, Str name, Str summary);
        void *user;
} Names;

void names_of_sessions(const Names *names); /* and of whatever else runs */
void names_of_groups(const Names *names);
void names_of_actors(const Names *names);
void names_of_tasks(const Names *names);
void names_of_rules(const Names *names);
