/* SPDX-License-Identifier: MIT */
#include "core/tunnel/tunnel-net.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "wire/address.h"

enum { TUNNEL_NET_STUN_PORT = 3478, TUNNEL_NET_STUN_MAX = 256 };

/* ---- one socket ------------------------------------------------------------------------------ */

static void tunnel_net_set_port(struct sockaddr_storage *address, uint16_t port) {
        if (address->ss_family == AF_INET6)
                ((struct sockaddr_in6 *)address)->sin6_port = htons(port);
        else
                ((struct sockaddr_in *)address)->sin_port = htons(port);
}

static int tunnel_net_bind(int fd, struct sockaddr_storage *address, TunnelPorts ports) {
        socklen_t n =
                address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
        unsigned port = ports.first;

        do {
                tunnel_net_set_port(address, (uint16_t)port);
                if (!bind(fd, (struct sockaddr *)address, n))
                        return 0;
        } while (errno == EADDRINUSE && port++ < ports.last);
        return -errno;
}

static int tunnel_net_socket(const struct sockaddr_storage *at, TunnelPorts ports, int *ret) {
        struct sockaddr_storage address = *at;
        int buffer = TUNNEL_NET_BUFFER, on = 1, r;
        int fd = socket(at->ss_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0)
                return -errno;
        (void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer, sizeof(buffer));
        if (at->ss_family == AF_INET6)
                (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
        r = tunnel_net_bind(fd, &address, ports);
        if (r)
                close_fd(fd);
        else
                *ret = fd;
        return r;
}

static void tunnel_net_note(TunnelNet *net, int fd) {
        union {
                struct sockaddr any;
                struct sockaddr_in in;
                struct sockaddr_in6 in6;
        } bound;
        socklen_t n = sizeof(bound);
        TunnelAddress *address = &net->addresses[net->n];

        memset(&bound, 0, sizeof(bound));
        (void)getsockname(fd, &bound.any, &n);
        *address = (TunnelAddress){.family = bound.any.sa_family == AF_INET6 ? 6 : 4};
        if (bound.any.sa_family == AF_INET6) {
                memcpy(address->bytes, &bound.in6.sin6_addr, 16);
                address->port = ntohs(bound.in6.sin6_port);
        } else {
                memcpy(address->bytes, &bound.in.sin_addr, 4);
                address->port = ntohs(bound.in.sin_port);
        }
        net->fds[net->n++] = fd;
}

static int tunnel_net_add(TunnelNet *net, const struct sockaddr_storage *at, TunnelPorts ports) {
        int fd = -1, r = tunnel_net_socket(at, ports, &fd);

        if (!r)
                tunnel_net_note(net, fd);
        return r;
}

/* ---- which addresses ------------------------------------------------------------------------- */

static int tunnel_net_open_said(TunnelNet *net, const StrVec *said, TunnelPorts ports,
                                char why[TUNNEL_NET_WHY]) {
        for (size_t i = 0; i < said->n; i++) {
                struct sockaddr_storage address;
                int r;

                if (net->n == TUNNEL_SOCKETS_MAX || !address_parse(said->items[i], 0, &address)) {
                        snprintf(why, TUNNEL_NET_WHY,
                                 net->n == TUNNEL_SOCKETS_MAX ? "%.64s: too many addresses"
                                                              : "%.64s is no address",
                                 said->items[i]);
                        return TUNNEL_NET_E_ADDRESS;
                }
                r = tunnel_net_add(net, &address, ports);
                if (r) {
                        snprintf(why, TUNNEL_NET_WHY, "%.64s: %s", said->items[i], strerror(-r));
                        return TUNNEL_NET_E_ADDRESS;
                }
        }
        return 0;
}

/* A link-local address means something only together with an interface, which the other side has not. */
static bool tunnel_net_is_reachable(const struct ifaddrs *one, int family) {
        const struct sockaddr_in6 *in6;

        if (!one->ifa_addr || one->ifa_addr->sa_family != family || !(one->ifa_flags & IFF_UP) ||
            (one->ifa_flags & IFF_LOOPBACK))
                return false;
        if (family == AF_INET)
                return (ntohl(((const struct sockaddr_in *)(const void *)one->ifa_addr)->sin_addr.s_addr) >>
                        16) != 0xa9fe;
        in6 = (const struct sockaddr_in6 *)(const void *)one->ifa_addr;
        return !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr) && !IN6_IS_ADDR_MULTICAST(&in6->sin6_addr);
}

static void tunnel_net_open_family(TunnelNet *net, const struct ifaddrs *all, int family, size_t n_max,
                                   TunnelPorts ports) {
        size_t n = 0;

        for (const struct ifaddrs *one = all; one && n < n_max; one = one->ifa_next) {
                struct sockaddr_storage address = {0};

                if (!tunnel_net_is_reachable(one, family))
                        continue;
                memcpy(&address, one->ifa_addr,
                       family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
                n += !tunnel_net_add(net, &address, ports);
        }
}

static int tunnel_net_open_all(TunnelNet *net, TunnelPorts ports, char why[TUNNEL_NET_WHY]) {
        struct sockaddr_storage loopback;
        struct ifaddrs *all = NULL;
        int r;

        if (!getifaddrs(&all)) {
                tunnel_net_open_family(net, all, AF_INET, TUNNEL_NET_V4, ports);
                tunnel_net_open_family(net, all, AF_INET6, TUNNEL_NET_V6, ports);
                freeifaddrs(all);
        }
        if (net->n)
                return 0;
        (void)address_parse("127.0.0.1", 0, &loopback);
        r = tunnel_net_add(net, &loopback, ports);
        if (r)
                snprintf(why, TUNNEL_NET_WHY, "no UDP socket: %s", strerror(-r));
        return r ? TUNNEL_NET_E_ADDRESS : 0;
}

int tunnel_net_open(TunnelNet *ret, const StrVec *said, TunnelPorts ports, char why[TUNNEL_NET_WHY]) {
        int r;

        *ret = (TunnelNet){0};
        r = said->n ? tunnel_net_open_said(ret, said, ports, why) : tunnel_net_open_all(ret, ports, why);
        if (r)
                tunnel_net_close(ret);
        return r;
}

void tunnel_net_close(TunnelNet *net) {
        while (net->n)
                close_fd(net->fds[--net->n]);
}

/* ---- words ----------------------------------------------------------------------------------- */

static bool tunnel_net_number(const char *text, size_t n, uint16_t *ret) {
        unsigned value = 0;

        if (!n || n > 5)
                return false;
        for (size_t i = 0; i < n; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return false;
                value = value * 10 + (unsigned)(text[i] - '0');
        }
        *ret = (uint16_t)value;
        return value && value <= UINT16_MAX;
}

bool tunnel_net_ports(const char *text, TunnelPorts *ret) {
        const char *dash = text ? strchr(text, '-') : NULL;

        *ret = (TunnelPorts){0};
        if (!text)
                return true;
        if (!tunnel_net_number(text, dash ? (size_t)(dash - text) : strlen(text), &ret->first))
                return false;
        ret->last = ret->first;
        return !dash ||
               (tunnel_net_number(dash + 1, strlen(dash + 1), &ret->last) && ret->last >= ret->first);
}

/* "HOST:PORT": the two parts; an IPv6 address stands in brackets. */
static bool tunnel_net_split(const char *stun, char host[TUNNEL_NET_STUN_MAX], uint16_t *ret_port) {
        const char *end = strrchr(stun, *stun == '[' ? ']' : ':');
        const char *port = end;
        size_t n = end ? (size_t)(end - stun) : strlen(stun);

        if (*stun == '[') {
                if (!end)
                        return false;
                stun++, n--;
                port = end[1] ? end + 1 : NULL;
                if (port && *port != ':')
                        return false;
        }
        *ret_port = TUNNEL_NET_STUN_PORT;
        if (!n || n >= TUNNEL_NET_STUN_MAX ||
            (port && !tunnel_net_number(port + 1, strlen(port + 1), ret_port)))
                return false;
        memcpy(host, stun, n);
        host[n] = '\0';
        return true;
}

int tunnel_net_resolve(const char *stun, TunnelAddress *ret, char why[TUNNEL_NET_WHY]) {
        struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM}, *found = NULL;
        char host[TUNNEL_NET_STUN_MAX];
        uint16_t port;
        int r;

        if (!tunnel_net_split(stun, host, &port)) {
                snprintf(why, TUNNEL_NET_WHY, "%.64s is no HOST:PORT", stun);
                return TUNNEL_NET_E_ADDRESS;
        }
        hints.ai_family = strchr(host, ':') ? AF_INET6 : AF_INET;
        r = getaddrinfo(host, NULL, &hints, &found);
        if (r) {
                snprintf(why, TUNNEL_NET_WHY, "%.64s: %s", host, gai_strerror(r));
                return TUNNEL_NET_E_ADDRESS;
        }
        *ret = (TunnelAddress){.family = hints.ai_family == AF_INET6 ? 6 : 4, .port = port};
        if (ret->family == 6)
                memcpy(ret->bytes, &((const struct sockaddr_in6 *)(const void *)found->ai_addr)->sin6_addr,
                       16);
        else
                memcpy(ret->bytes, &((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr, 4);
        freeaddrinfo(found);
        return 0;
}
