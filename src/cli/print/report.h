#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the commands say to a person: complaints and advice on stderr, results on stdout. Text from outside
 * goes through text_put() or %s of these, which show control characters as `?`, so that no answer can drive
 * a terminal.
 */
#include <stdio.h>

#include "base/json.h"
#include "base/macro.h"

/* `muster: …` on stderr; returns status. */
int complain(int status, const char *format, ...) _printf_(2, 3);
/* A line on stderr without the name in front. */
void advise(const char *format, ...) _printf_(1, 2);
void text_put(FILE *out, Str text);
/* The value and a newline: as the daemon wrote it, or pretty when is_pretty. */
int json_print(FILE *out, const Json *json, bool is_pretty);
/* A line with what a stop made of tasks ({running, queued, ended}); nothing when there were none. */
void tasks_print(FILE *out, const Json *tasks);
/* Whether results for people are wanted: stdout is a terminal and --json was not given. */
bool is_for_people(bool json_option);
