#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * HttpHead: the head of an HTTP/1.1 request, as spans of the bytes that FRAMING_HEAD (wire/framing.h) handed out. A
 * pure function over them: no connection, no routes, nothing is decoded or copied.
 *
 * It takes a strict subset of RFC 9112 and refuses the rest, each thing under a name of its own, so that no two
 * programs can read one request differently:
 *
 *   lines    end in CR LF; no CR, LF or NUL elsewhere; no folded lines; at most HTTP_FIELDS_MAX fields
 *   method   token characters; which methods there are is the caller's matter
 *   target   printable ASCII without '#': an origin-form ("/…"), or "*" with OPTIONS (wire/http-target.h)
 *   version  HTTP/1.1
 *   names    token characters, the colon right behind them
 *   values   no control bytes but tabs inside; bytes from 0x80 on are kept as they are: a browser sends cookies
 *            that another server on the same host has set, and the page would not load because of them
 *   Host     exactly one, a name or an address with a port or without (wire/http-host.h)
 *   body     of Content-Length bytes, one number of digits; 0 without it. Transfer-Encoding is refused, whatever
 *            it says: with 411, as it asks for a length, and with 400 when there is one as well
 *   twice    nothing that may only be said once: see the list in the source
 *   Expect   100-continue or nothing
 *
 * The spans live as long as the bytes.
 */
#include "wire/http-host.h"

enum { HTTP_HEAD_MAX = 16 * 1024, HTTP_FIELDS_MAX = 64 };

typedef struct HttpField {
        Str name, value; /* the value without blanks around it */
} HttpField;

typedef struct HttpHead {
        Str method, target, host;
        HttpHost server; /* the host, taken apart */
        uint64_t n_body;
        bool closes;          /* Connection: close */
        bool wants_websocket; /* GET with Connection: Upgrade and Upgrade: websocket */
        bool wants_continue;  /* Expect: 100-continue */
        unsigned known;       /* bits: fields that parsing looks at and that are there … */
        unsigned twice;       /* … more than once */
        size_t n_fields;
        HttpField fields[HTTP_FIELDS_MAX];
} HttpHead;

enum {
        _HTTP_E_SUCCESS,
        HTTP_E_LINE,      /* an LF without CR, a CR without LF, bytes behind the head, or no head at all */
        HTTP_E_REQUEST,   /* the first line has not three parts */
        HTTP_E_METHOD,    /* is no token */
        HTTP_E_TARGET,    /* its bytes, or its form */
        HTTP_E_VERSION,   /* another version of HTTP */
        HTTP_E_NAME,      /* of a field: empty, blanks, or no token */
        HTTP_E_VALUE,     /* control bytes */
        HTTP_E_FOLDED,    /* a field that goes on in the next line */
        HTTP_E_FIELDS,    /* too many */
        HTTP_E_HOST,      /* none, two, or no host */
        HTTP_E_LENGTH,    /* no number, or a number of more than 18 digits */
        HTTP_E_TWICE,     /* a field that there may be one of */
        HTTP_E_TRANSFER,  /* Transfer-Encoding */
        HTTP_E_AMBIGUOUS, /* … and Content-Length */
        HTTP_E_EXPECT,    /* something else than 100-continue */
        _HTTP_E_N,
};

/* Conditions: the ones above. *ret is to be looked at after success only. */
int http_head_parse(Str bytes, HttpHead *ret);
unsigned http_head_status(int condition);    /* of the answer: 400, 411, 417, 431, 505 */
const char *http_head_reason(int condition); /* for people, a few words */

/* ---- fields ---------------------------------------------------------------------------------- */

/* The first field of this name, in any case. False: there is none. */
bool http_head_find(const HttpHead *head, Str name, Str *ret);
static inline Str http_head_get(const HttpHead *head, Str name) {
        Str value = STR_NULL;

        return http_head_find(head, name, &value) ? value : STR_NULL;
}

/* The items of a list with commas, over all fields of its name, without blanks around them; empty ones are left out.
 * Quotes mean nothing.
 *
 *   HttpItems items = http_items(head, STR("Sec-WebSocket-Protocol"));
 *   while (http_items_next(&items, &item)) …
 */
typedef struct HttpItems {
        const HttpHead *head;
        Str name, rest;
        size_t i_next; /* field to look at when rest is empty */
} HttpItems;

HttpItems http_items(const HttpHead *head, Str name);
bool http_items_next(HttpItems *items, Str *ret);
bool http_head_has_item(const HttpHead *head, Str name, Str item); /* in any case */
