#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * TemplateJob: what the template ops do on workers: parse the text, look at the project's folder, read,
 * write and put back its prompt files (CCCC_PREAMBLE.md, CCCC_HELP.md, CCCC_STANDUP.md).
 *
 * Lives in the call's arena, which belongs to the worker while one is at it. Knows no loop.
 */
#include "collab/group-doc.h"
#include "collab/template.h"

typedef struct TemplateJob {
        const void *args; /* of the op */
        Arena *arena;     /* the call's */
        Str by;
        Str text;          /* of the template; empty: none is wanted */
        Str root;          /* of the scope, NUL-terminated; empty: no scope */
        bool is_folder;    /* root is there */
        bool is_for_apply; /* the template must be fit to be applied, too */

        bool is_invalid; /* why says what is wrong with the text */
        char why[TEMPLATE_WHY_MAX];
        Template template;
        Str prompts[_TEMPLATE_PROMPTS];     /* as the project has them; empty: not there */
        bool is_file[_TEMPLATE_PROMPTS];    /* there is a file, even if it says nothing */
        bool is_written[_TEMPLATE_PROMPTS]; /* this one was replaced or removed by us */
        int r;
} TemplateJob;

/* NULL without memory. doc: the group's, for its active scope; NULL: none. */
TemplateJob *template_job_new(Arena *arena, const void *args, Str text, Str by, const GroupDoc *doc);

/* On a worker. 0 or negative; an invalid template is none of its failures. */
int template_job_read(TemplateJob *job);
/* Makes the files what the template says. When it fails they are as before. */
int template_job_write(TemplateJob *job);
/* As they were before template_job_write(). */
void template_job_restore(TemplateJob *job);
