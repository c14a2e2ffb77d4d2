#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Addresses of TCP: an IPv6 address, or an IPv4 one in its IPv6 form (::ffff:1.2.3.4), so that both are compared, kept and shown by
 * the same few functions, also where one socket takes both. Pure; names are not resolved.
 */
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

enum { ADDRESS_TEXT_MAX = INET6_ADDRSTRLEN };

/* One end of a connection. */
typedef struct TcpEnd {
        struct in6_addr ip;
        uint16_t port;  /* host order */
        uint32_t scope; /* interface of a link-local address; 0: none */
} TcpEnd;

/* False: it is neither IPv4 nor IPv6. */
bool address_from_socket(const struct sockaddr_storage *from, TcpEnd *ret);
/* "1.2.3.4" or "::1", without brackets; how long *ret is. 0: it is none. */
socklen_t address_parse(const char *text, uint16_t port, struct sockaddr_storage *ret);
/* As people write it: IPv4 without its prefix. */
void address_text(const struct in6_addr *ip, char out[ADDRESS_TEXT_MAX]);

bool address_eq(const struct in6_addr *a, const struct in6_addr *b);
bool address_is_loopback(const struct in6_addr *ip);
/* What one host has of it: an IPv4 address as it is, of IPv6 the first 64 bits, as it can take any of the others. */
struct in6_addr address_network(const struct in6_addr *ip);
/* Of the network; for tables where two that fall together share, and no more. IPv4: the address, host order. */
uint32_t address_number(const struct in6_addr *ip);
