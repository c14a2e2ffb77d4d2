#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * TaskFind: which tasks a short form of an id means: a number (7, task-7) or a beginning (task-00).
 *
 * Rows have no ids, so what is found has one as this daemon makes them (task- and at least four digits), or the same
 * without the zeros. Ids that another program has made up in another way are in the history only, and have to be said
 * whole. Pure but for the rows that are looked at; knows no project.
 */
#include "tasks/queue/task-rows.h"

enum { TASK_FIND_MIN = 6 /* characters of a beginning: task- and a digit */, TASK_FIND_ID_MAX = 32 };

/* The number that a word says: digits, bare or with task- before them; there zeros at their front say that it is the
 * beginning of an id. False: it says none. */
bool task_find_number(Str word, bool *ret_is_bare, uint64_t *ret);
bool task_find_number_of(Str id, uint64_t *ret); /* of a whole id, of this form */
/* The id of a row, if it can be told. */
bool task_find_id(const TaskRows *rows, uint64_t row, char ret[TASK_FIND_ID_MAX]);
/* Rows of tasks whose id begins so; at most n_max. */
size_t task_find_beginning(const TaskRows *rows, Str beginning, uint64_t *ret, size_t n_max);
