#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Links of a project to repositories (repos.yaml). Worker.
 */
#include "company/edit.h"

typedef struct RepoLink {
        Str repo_id, label; /* an empty label is none */
} RepoLink;

typedef struct RepoLinks {
        RepoLink *items;
        size_t n;
} RepoLinks;

/* Adds them, or replaces those of the same repo_id; all of the project, by id, into *ret. As decide() returns. */
int repos_link(Edit *edit, Str project_id, const RepoLinks *more, RepoLinks *ret);
void repos_write(JsonWriter *w, const RepoLinks *links); /* [{"repo_id","label"?}] */
/* The array of the file; an empty one when there is none. */
int repos_of_project(int root, Arena *arena, Str project_id, Json **ret);
