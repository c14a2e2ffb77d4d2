#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What a request says about itself in fields with a grammar of their own: who it is from, which codings it takes,
 * what it has already, which part it wants. Pure; answers nothing.
 */
#include "wire/http-head.h"

/* The token of "Authorization: Bearer TOKEN". False: there is none, it is empty, or has bytes that no token has. */
bool http_bearer(const HttpHead *head, Str *ret);

enum { HTTP_CODING_GZIP = 1, HTTP_CODING_BR = 2 };
/* Which codings Accept-Encoding takes, as bits; what has q=0 is not taken. Without the field: none. */
unsigned http_codings(const HttpHead *head);

/* Whether If-None-Match names this ETag (with its quotes) or "*": 304. W/ means nothing here. */
bool http_none_match(const HttpHead *head, Str etag);

enum {
        _HTTP_RANGE_E_SUCCESS,
        HTTP_RANGE_E_WHOLE, /* none asked for, or something that need not be understood: all of it, with 200 */
        HTTP_RANGE_E_OUTSIDE, /* 416 */
};
/* The one part "Range: bytes=…" asks for, of n_size bytes: *ret_n > 0 bytes from *ret_first. */
int http_range(const HttpHead *head, uint64_t n_size, uint64_t *ret_first, uint64_t *ret_n);
