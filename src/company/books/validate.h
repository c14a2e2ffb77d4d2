#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Validation: whether a workspace is as the contract has it. Reads every document of company, organisation,
 * projects, runs, tasks, artifacts, packs and the inbox; not comments, conversations, jobs and sessions.
 * Worker.
 */
#include "base/json/json-writer.h"

enum { VALIDATE_ISSUES_MAX = 10000 }; /* told of one workspace; the rest is left out */

typedef struct ValidateIssue {
        struct ValidateIssue *next;
        const char *code; /* static */
        Str message;
        Str path; /* relative to the workspace; data NULL: the contract tells none */
} ValidateIssue;

typedef struct Validation {
        int root; /* -1: there is no such folder */
        Arena *arena;
        bool is_portable;           /* .local may be missing: an exported workspace */
        const _Atomic bool *is_off; /* once it is set: -ECANCELED; NULL: never */
        ValidateIssue *first, *last;
        size_t n;
        int r; /* the first failure of the machine */
} Validation;

/* The headings that an artifact of this type has, up to NULL; NULL: there is no such type. */
const char *const *validate_headings_of(Str artifact_type);

/* 0 or negative; what is wrong stands in the list. */
int validate(Validation *validation);
void validate_write(const Validation *validation, JsonWriter *w); /* [{"code","message","path"?}] */
