#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Environment: lists of NAME=VALUE, laid over each other: what the daemon gives to all that it hosts
 * (`muster env`), what came from the command line that began something, what a document says. The last word
 * counts, and each name is there once, for programs do not agree on which of two it is.
 *
 * A StrVec is the caller's. The daemon's own list is kept in <home>/environment.json, 0600.
 */
#include "base/json/json-writer.h"
#include "base/strvec.h"

enum { ENVIRONMENT_NAMES_MAX = 1000, ENVIRONMENT_BYTES_MAX = 512 << 10 };
enum { _ENVIRONMENT_E_SUCCESS, ENVIRONMENT_E_UNFIT };

int environment_put(StrVec *env, const char *name, const char *value); /* NULL: nothing */
int environment_put_all(StrVec *env, const StrVec *more);              /* over it */
/* The same for what came from a command line: folders of the PATH that was there stand behind the caller's.
 */
int environment_put_caller(StrVec *env, const StrVec *caller);
const char *environment_get(const StrVec *env, const char *name); /* NULL: not there */
bool environment_remove(StrVec *env, const char *name);           /* whether it was there */
bool environment_is_name(Str name);                               /* not empty, no '=', no NUL */
/* An object of strings over it; NULL: nothing. ENVIRONMENT_E_UNFIT: no such object, or it is too large. */
int environment_put_json(StrVec *env, const Json *object);
void environment_write(JsonWriter *w, const char *key, const StrVec *env);

/* Blocking; at start-up, on workers. */
int environment_load(StrVec *env, const char *home); /* a missing file is empty */
int environment_store(const char *home, Str text);   /* as environment_text() has it */
int environment_text(const StrVec *env, Buf *out);
