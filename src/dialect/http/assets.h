#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Asset: one file of the web console (web/), embedded into the program when it is built (scripts/gen-assets.py). Which files there are is decided by the
 * build: the whole console, or one page that does without it where npm was missing. All of it is constant and belongs to the program.
 *
 * It is not a web server: who asks for a file, which coding is taken and what headers go with it is the business of the HTTP dialect.
 */
#include "base/arena.h"
#include "base/str.h"

typedef struct Asset {
        Str path;          /* as in a request: "/", "/assets/main-0A1B2C3D.js"; the table is sorted by it */
        Str type;          /* Content-Type */
        Str etag;          /* with its quotes: SHA-256 of the plain bytes */
        bool is_immutable; /* the name holds a hash of the content: it may be kept for a year; else no-cache */
        size_t n_plain;    /* length without any coding */
        Str plain;         /* empty where only coded forms are kept; then gzip is never empty */
        Str gzip;          /* empty: no gain */
        Str brotli;        /* empty: no gain, or the build had no node */
} Asset;

/* NULL: there is none of this path. */
const Asset *asset_find(Str path);
/* Its bytes without any coding, perhaps in the arena. 0 or negative. */
int asset_plain(const Asset *asset, Arena *arena, Str *ret);

/* "console", or "fallback" with the reason why it is not the console, for the log and for daemon.info. */
const char *assets_kind(void);
const char *assets_reason(void);

/* Made by the build. */
extern const Asset assets_table[];
extern const size_t n_assets_table;
extern const char assets_table_kind[];
extern const char assets_table_reason[];
