#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Waiting for a task: its end, or its output until then. The exit status is CLI_OK when it was completed.
 */
#include "cli/link/task-link.h"

/* Why its end was not seen: a condition of the Link. */
int task_complain(const TaskLink *link, int r, const char *id);
/* Until it has ended; then its result on stdout (is_json: the record), or why not on stderr. */
int task_wait(TaskLink *link, const char *id, bool is_json);
/* Its output on stdout and stderr as it comes, until it has ended. */
int task_tail(TaskLink *link, const char *id);
/* What it has printed so far, and no more. */
int task_show(TaskLink *link, const char *id);

/* Of cmd-task.c, for chat. */
int task_words(Buf *out, char **words, int n); /* joined by blanks; a single -: what stdin holds */
bool task_is_number(const char *text);         /* as JSON has them */
void task_table_print(const Json *records);
