#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * WebFile: a small JSON file in <home>/web, 0600 in a folder of 0700, replaced as a whole: tokens.json, servers.json.
 * One that cannot be understood is put aside as NAME.broken and counts as missing, so that it lets nobody in. All of
 * it blocks: for start-up, shutdown and workers.
 */
#include "base/json/json.h"
#include "base/log/log.h"

enum { WEB_FILE_MAX = 4 << 20 };

char *web_file_path(const char *home, const char *name); /* malloc'd */
/* The list `key` of the file's object, in the arena, which points into text; NULL: there is none. 0 or negative. */
int web_file_load(const char *path, const char *key, Log *log, Arena *arena, Buf *text, const Json **ret);
int web_file_store(const char *path, Str text); /* durable when it returns; makes the folder */
int web_file_remove(const char *path);          /* the same; fine when there is none */
