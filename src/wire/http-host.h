#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Host and Origin of HTTP requests: taken apart and compared. Pure; whether a host is ours, and which origins may
 * talk to it, is the caller's matter.
 */
#include "base/str.h"

typedef struct HttpHost {
        Str name;      /* of an IPv6 address without its brackets */
        unsigned port; /* 0: none was named */
        bool is_v6;
} HttpHost;

/* "name", "name:port", "1.2.3.4:port", "[::1]:port". Names have letters, digits, '-', '_' and '.', at most 253 bytes; a port has
 * a value from 1 to 65535. False: it is no such thing. */
bool http_host_split(Str text, HttpHost *ret);
/* Addresses by their value, names in any case; a dot at the end of a name means nothing. */
bool http_host_name_is(const HttpHost *host, Str name);
/* Whether the name is the address of this machine to itself: localhost, 127.0.0.0/8, ::1. */
bool http_host_is_loopback(const HttpHost *host);

/* "http://host" or "https://host", with a port or without, and nothing behind it. False: "null", or no such thing. */
bool http_origin_split(Str origin, bool *ret_is_tls, HttpHost *ret);
/* Whether a page of this origin talks to the server that it came from, by the Host of the request. Ports that are
 * not named are those of the origin's scheme. Over TLS the origin has to be https; otherwise it may be as well:
 * a proxy may have ended its TLS. */
bool http_origin_is_host(Str origin, Str host, bool is_tls);
