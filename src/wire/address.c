/* SPDX-License-Identifier: MIT */
#include "wire/address.h"

#include <arpa/inet.h>
#include <string.h>

#include "base/hash.h"

static struct in6_addr address_from_v4(struct in_addr v4) {
        struct in6_addr ip = {.s6_addr = {[10] = 0xff, [11] = 0xff}};

        memcpy(ip.s6_addr + 12, &v4, sizeof(v4));
        return ip;
}

bool address_from_socket(const struct sockaddr_storage *from, TcpEnd *ret) {
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;

        if (from->ss_family == AF_INET) {
                memcpy(&v4, from, sizeof(v4));
                *ret = (TcpEnd){.ip = address_from_v4(v4.sin_addr), .port = ntohs(v4.sin_port)};
        } else if (from->ss_family == AF_INET6) {
                memcpy(&v6, from, sizeof(v6));
                *ret = (TcpEnd){.ip = v6.sin6_addr, .port = ntohs(v6.sin6_port), .scope = v6.sin6_scope_id};
        } else {
                return false;
        }
        return true;
}

socklen_t address_parse(const char *text, uint16_t port, struct sockaddr_storage *ret) {
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

        *ret = (struct sockaddr_storage){0};
        if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
                memcpy(ret, &v4, sizeof(v4));
                return sizeof(v4);
        }
        if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
                memcpy(ret, &v6, sizeof(v6));
                return sizeof(v6);
        }
        return 0;
}

void address_text(const struct in6_addr *ip, char out[ADDRESS_TEXT_MAX]) {
        if (IN6_IS_ADDR_V4MAPPED(ip))
                (void)inet_ntop(AF_INET, ip->s6_addr + 12, out, ADDRESS_TEXT_MAX);
        else
                (void)inet_ntop(AF_INET6, ip, out, ADDRESS_TEXT_MAX);
}

bool address_eq(const struct in6_addr *a, const struct in6_addr *b) {
        return !memcmp(a, b, sizeof(*a));
}

bool address_is_loopback(const struct in6_addr *ip) {
        return IN6_IS_ADDR_V4MAPPED(ip) ? ip->s6_addr[12] == IN_LOOPBACKNET : IN6_IS_ADDR_LOOPBACK(ip);
}

struct in6_addr address_network(const struct in6_addr *ip) {
        struct in6_addr network = *ip;

        if (!IN6_IS_ADDR_V4MAPPED(ip) && !IN6_IS_ADDR_LOOPBACK(ip))
                memset(network.s6_addr + 8, 0, 8);
        return network;
}

uint32_t address_number(const struct in6_addr *ip) {
        struct in6_addr network = address_network(ip);
        uint32_t number;
        uint64_t hash;

        if (IN6_IS_ADDR_V4MAPPED(&network)) {
                memcpy(&number, network.s6_addr + 12, sizeof(number));
                return ntohl(number);
        }
        hash = hash_bytes(HASH_START, &network, sizeof(network));
        return (uint32_t)(hash ^ hash >> 32);
}
