#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Secret: which variables of an environment hold one, told by their names, and what stands in its place
 * where others look: in answers, in events, on a terminal. The document that an actor is started from keeps
 * the value. Not a vault: who may read that file has it. Pure functions; the config adds words.
 */
#include "base/json/json-writer.h"
#include "core/config.h"

#define SECRET_MARK "[redacted]"

/* A name with KEY, TOKEN, SECRET, PASSW, CREDENTIAL, AUTH, COOKIE or a word of config->secret_names in it,
 * in any case; not KEYBOARD, KEYMAP, AUTHOR, SSH_AUTH_SOCK. config may be NULL. */
bool secret_is_name(const Config *config, Str name);
/* An environment for others: its object with the mark for each secret that is not empty. Other values as
 * they are. */
void secret_write_env(const Config *config, JsonWriter *w, const Json *env);
/* The same as a tree; what is no object as it is. NULL without memory. */
Json *secret_redact_env(const Config *config, Arena *arena, const Json *env);
/* An event of a group for others: lines that the original wrote, or we did of old, have the secrets of actors in them. True: *ret
 * is a tree without them; false: there are none. NULL in *ret with true: no memory, nothing may be shown. */
bool secret_redact_event(const Config *config, Arena *arena, Str line, Json **ret);
/* What somebody sends back who has seen the mark: a copy of given, in which a marked secret is the one that
 * stored (may be NULL) has, or is not there. NULL without memory. */
Json *secret_restore_env(const Config *config, Arena *arena, const Json *given, const Json *stored);
