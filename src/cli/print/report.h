#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the commands say to a person: complaints and advice on stderr, results on stdout. Text from outside
 * goes through text_put() or %s of these, so that no answer can drive a terminal or look like another one:
 * controls (C0, DEL, C1), what is no UTF-8, line separators and what turns the direction of writing around
 * are shown as `?`. Commands print in no other way (scripts/lint holds them to it, check `print`).
 *
 * Commands that a person is told to type (`muster up`) are named as this one was: by its path, if it was called by
 * one. That is done in formats, which are ours, and never in what they are filled with. In prose the daemon is
 * "musterd", so that `muster` with a word behind it is always a command (scripts/lint, check `texts`).
 */
#include <stdio.h>

#include "base/json/json.h"
#include "base/macro.h"

/* `muster: …` on stderr, broken between words on a terminal; returns status. */
int complain(int status, const char *format, ...) _printf_(2, 3);
/* A line on stderr without the name in front. */
void advise(const char *format, ...) _printf_(1, 2);
/* printf() for people, on stdout or elsewhere. */
void print(const char *format, ...) _printf_(1, 2);
void fprint(FILE *out, const char *format, ...) _printf_(2, 3);
/* A text of ours with such commands in it, for what is not said by these functions; NULL without memory. */
char *hint_new(const char *words);
void text_put(FILE *out, Str text);
void text_put_cell(FILE *out, Str text); /* line breaks and tabs as blanks */
/* What a program printed: for a terminal as text, for a pipe or a file as it is. */
void output_put(FILE *out, Str text);
/* A JSON text and a newline; what text_put() hides is escaped in it (\uXXXX), which changes no value. */
void json_put_text(FILE *out, Str json);
/* The same of a value, compact, or pretty when is_pretty. */
int json_print(FILE *out, const Json *json, bool is_pretty);
/* A line with what a stop made of tasks ({running, queued, ended}); nothing when there were none. */
void tasks_print(FILE *out, const Json *tasks);
/* For commands that act on what they are told and show what comes of it: an output that takes nothing, as on a
 * full disk, is known before anything is said. 0, or complains. */
int output_check(void);
/* Whether results for people are wanted: stdout is a terminal and --json was not given. */
bool is_for_people(bool json_option);
