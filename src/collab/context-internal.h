#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the files of the context store share among themselves: access to the trees, and the ops that stand
 * in the table of context-apply.c. Nobody else includes this.
 */
#include "collab/context.h"

/* Applies one op; gives the text for people in *detail. 0, CONTEXT_E_REFUSED or negative. */
typedef int (*ContextOpFn)(Context *context, const Json *item, Str *detail);

int context_vision_update(Context *context, const Json *item, Str *detail);
int context_sketch_update(Context *context, const Json *item, Str *detail);
int context_milestone_create(Context *context, const Json *item, Str *detail);
int context_milestone_update(Context *context, const Json *item, Str *detail);
int context_milestone_complete(Context *context, const Json *item, Str *detail);
int context_milestone_restore(Context *context, const Json *item, Str *detail);
int context_task_create(Context *context, const Json *item, Str *detail);
int context_task_update(Context *context, const Json *item, Str *detail);
int context_task_restore(Context *context, const Json *item, Str *detail);
int context_note_add(Context *context, const Json *item, Str *detail);
int context_note_update(Context *context, const Json *item, Str *detail);
int context_note_remove(Context *context, const Json *item, Str *detail);
int context_reference_add(Context *context, const Json *item, Str *detail);
int context_reference_update(Context *context, const Json *item, Str *detail);
int context_reference_remove(Context *context, const Json *item, Str *detail);
int context_presence_update(Context *context, const Json *item, Str *detail);
int context_presence_clear(Context *context, const Json *item, Str *detail);

int context_own(Context *context, ContextDoc *doc); /* before its tree is changed. 0 or -ENOMEM */
int context_refuse(Context *context, const char *format, ...) _printf_(2, 3);
/* For the end of an op: the detail, and whether memory sufficed. */
int context_detail(Context *context, Str *detail, const char *format, ...) _printf_(3, 4);

/* An op's argument as text: numbers and true as they are written, everything else that is no string "". */
Str context_text(const Json *item, const char *key);
Str context_id(const Json *item, const char *key);        /* the same without blanks around it */
bool context_is_given(const Json *item, const char *key); /* there, and not null */

int context_set(Context *context, Json *object, const char *key, Str text);
int context_set_given(Context *context, Json *object, const char *key, const Json *item); /* if given */
int context_set_now(Context *context, Json *object, const char *key);                     /* time stamp */
int context_set_today(Context *context, Json *object, const char *key);                   /* date */

int context_add_task(Context *context, ContextDoc *doc); /* at the end; ids grow */
bool context_task_is_there(const ContextDoc *task);      /* readable, or made in this batch */

/* The list of that name, made when there is none and is_made is asked for. NULL: none, or no memory. */
Json *context_list(Context *context, ContextDoc *doc, const char *key, bool is_made);
Json *context_find(const Json *list, Str id); /* object with that id, or NULL */
int context_list_remove(Context *context, ContextDoc *doc, const char *key, const Json *item);

/* Statuses of milestones and tasks: the word as the contract spells it, NULL when it is none of them. */
const char *context_status(Str text);
const char *context_status_of(const Json *object);    /* as stored; what is none reads as planned */
const char *context_step_status(Str text);            /* pending, in_progress, done, or NULL */
const char *context_step_status_of(const Json *step); /* what is none reads as pending */
int context_set_status(Context *context, Json *object, const char *status); /* keeps archived_from right */
/* Back to where it was archived from; *ret is that status. The caller knows that it is archived. */
int context_unarchive(Context *context, Json *object, const char **ret);

/* Known members first and in this order, the others behind them in theirs. */
int context_order(Context *context, Json *object, const char *const keys[]);
