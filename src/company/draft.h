#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Draft: a new document, written member by member as the contract orders them, then a tree and the text of a
 * file. Workers; what comes out lies in the arena.
 */
#include "base/json/json-writer.h"
#include "company/edit.h"
#include "core/shape.h"

typedef struct Draft {
        Buf text;
        JsonWriter w;
} Draft;

/* {"schema_version":1,"type":TYPE — the caller writes the rest of the members. */
JsonWriter *draft_begin(Draft *draft, const char *type);
/* The tree; NULL without memory. */
Json *draft_end(Draft *draft, Arena *arena);
/* A member that is left out when it is empty. */
void draft_optional(JsonWriter *w, const char *key, Str value);
void draft_strings(JsonWriter *w, const char *key, const StrList *list);

/* Adds the file to the edit, as YAML; without a path (an id that can be none) the edit fails. */
void draft_create(Edit *edit, const char *path, const Json *json);
void draft_replace(Edit *edit, const char *path, const Json *json); /* what was read with edit_read() */
void draft_create_text(Edit *edit, const char *path, Str text);
/* A YAML document through the edit, so that its state is remembered: NULL when it is missing, broken or of another
 * shape. */
Json *draft_read(Edit *edit, const char *path, const Shape *shape);
/* A new id, which is edit->user from then on, and the reply {KEY: that id}. data is NULL without memory. */
Str draft_id(Edit *edit, const char *prefix);
void draft_reply_id(Call *call, const Edit *edit, const char *key);
/* Each string once, in order. */
int draft_unique(Arena *arena, const StrList *list, StrList *ret);
