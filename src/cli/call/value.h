#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * One value from its text, by its declared type. For args.c.
 */
#include "cli/call/args.h"

/* Says in args->why what is wrong; returns VALUE_E_WRONG. */
int args_wrong(Args *args, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A value of the declared type. text must live as long as the arena. For strings: one item. */
int value_from_text(Args *args, const OpDocParam *param, Str text, Json **ret);
int value_from_json(Args *args, Str key, Str text, Json **ret);
