#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * HttpTarget: the target of a request in origin-form, as the segments of its path and the members of its query.
 *
 * Both are percent-decoded exactly once, into memory of the caller's arena; in the query '+' is a blank. What
 * could mean something else to somebody further down is refused here, so that a segment may be compared with names, but it
 * is still not a path: whoever makes a file name of one asks id_is_path_safe() as always.
 *
 *   "/"           no segments
 *   "/a/b"        "a", "b"
 *   "/a/"         "a", and is_folder
 */
#include "base/arena.h"

enum { HTTP_SEGMENTS_MAX = 16, HTTP_MEMBERS_MAX = 32 };

typedef struct HttpMember {
        Str name, value; /* "a": an empty value, as "a=" */
} HttpMember;

typedef struct HttpTarget {
        Str path; /* as it was sent, without the query */
        bool is_folder;
        size_t n_segments, n_members;
        Str segments[HTTP_SEGMENTS_MAX]; /* with a NUL behind each */
        HttpMember members[HTTP_MEMBERS_MAX];
} HttpTarget;

/* All of them: 400. */
enum {
        _HTTP_TARGET_E_SUCCESS,
        HTTP_TARGET_E_FORM,    /* does not begin with a slash, or has bytes that no target has */
        HTTP_TARGET_E_PERCENT, /* '%' without two hex digits */
        HTTP_TARGET_E_CONTROL, /* control characters, %00 among them */
        HTTP_TARGET_E_SLASH,   /* %2F or a backslash in a segment */
        HTTP_TARGET_E_DOTS,    /* a segment "." or "..", however written */
        HTTP_TARGET_E_EMPTY,   /* "//" */
        HTTP_TARGET_E_UTF8,
        HTTP_TARGET_E_LONG,  /* too many segments or members */
        HTTP_TARGET_E_TWICE, /* two members of one name */
        _HTTP_TARGET_E_N,
};

/* Conditions: the ones above; -ENOMEM. */
int http_target_parse(Arena *arena, Str target, HttpTarget *ret);
const char *http_target_reason(int condition); /* for people, a few words */
/* Case counts. False: there is none. */
bool http_target_find(const HttpTarget *target, Str name, Str *ret);
/* Whether the path has exactly these segments; "*" stands for any one. NULL ends the list. */
bool http_target_is(const HttpTarget *target, ...) __attribute__((sentinel));
