/* SPDX-License-Identifier: MIT */
#include "wire/http-host.h"

#include <arpa/inet.h>

enum { HOST_NAME_MAX_BYTES = 253 };

static bool host_parse_port(Str digits, unsigned *ret) {
        unsigned port = 0;

        if (!digits.n || digits.n > 5)
                return false;
        for (size_t i = 0; i < digits.n; i++) {
                if (digits.data[i] < '0' || digits.data[i] > '9')
                        return false;
                port = port * 10 + (unsigned)(digits.data[i] - '0');
        }
        *ret = port;
        return port && port <= 65535;
}

static bool host_name_is_good(Str name) {
        static const bool is_char[256] = {
                ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true,
                ['-'] = true,         ['_'] = true,         ['.'] = true,
        };

        for (size_t i = 0; i < name.n; i++)
                if (!is_char[(unsigned char)name.data[i]])
                        return false;
        return name.n && name.n <= HOST_NAME_MAX_BYTES;
}

/* Of either family; false: it is none. */
static bool host_address(Str name, int family, void *ret) {
        char text[INET6_ADDRSTRLEN];

        if (name.n >= sizeof(text) || memchr(name.data, '\0', name.n))
                return false;
        memcpy(text, name.data, name.n);
        text[name.n] = '\0';
        return inet_pton(family, text, ret) == 1;
}

bool http_host_split(Str text, HttpHost *ret) {
        const char *end = text.n ? text.data + text.n : NULL, *colon;
        struct in6_addr address;

        *ret = (HttpHost){0};
        if (!text.n)
                return false;
        if (text.data[0] == '[') {
                const char *close = memchr(text.data, ']', text.n);

                if (!close)
                        return false;
                ret->is_v6 = true;
                ret->name = (Str){text.data + 1, (size_t)(close - text.data) - 1};
                if (!ret->name.n || !host_address(ret->name, AF_INET6, &address))
                        return false;
                colon = close + 1;
        } else {
                colon = memchr(text.data, ':', text.n);
                colon = colon ? colon : end;
                ret->name = (Str){text.data, (size_t)(colon - text.data)};
                if (!host_name_is_good(ret->name))
                        return false;
        }
        if (colon == end)
                return true;
        return *colon == ':' && host_parse_port((Str){colon + 1, (size_t)(end - colon) - 1}, &ret->port);
}

static Str host_without_dot(Str name) {
        return name.n > 1 && name.data[name.n - 1] == '.' ? (Str){name.data, name.n - 1} : name;
}

bool http_host_name_is(const HttpHost *host, Str name) {
        struct in6_addr a, b;

        if (host->is_v6)
                return name.n && host_address(host->name, AF_INET6, &a) &&
                       host_address(name, AF_INET6, &b) && !memcmp(&a, &b, sizeof(a));
        return str_eq_nocase(host_without_dot(host->name), host_without_dot(name));
}

bool http_host_is_loopback(const HttpHost *host) {
        struct in_addr address;

        if (host->is_v6)
                return http_host_name_is(host, STR("::1"));
        if (host_address(host->name, AF_INET, &address))
                return ntohl(address.s_addr) >> 24 == 127;
        return http_host_name_is(host, STR("localhost"));
}

bool http_origin_split(Str origin, bool *ret_is_tls, HttpHost *ret) {
        static const Str schemes[] = {STR("http://"), STR("https://")};

        for (size_t i = 0; i < 2; i++) {
                Str scheme = {origin.data, schemes[i].n};

                if (origin.n <= schemes[i].n || !str_eq_nocase(scheme, schemes[i]))
                        continue;
                *ret_is_tls = i;
                return http_host_split((Str){origin.data + scheme.n, origin.n - scheme.n}, ret);
        }
        return false;
}

bool http_origin_is_host(Str origin, Str host, bool is_tls) {
        HttpHost from, to;
        bool from_tls;
        unsigned usual;

        if (!http_origin_split(origin, &from_tls, &from) || !http_host_split(host, &to) ||
            (is_tls && !from_tls))
                return false;
        usual = from_tls ? 443 : 80;
        return from.is_v6 == to.is_v6 && http_host_name_is(&from, to.name) &&
               (from.port ? from.port : usual) == (to.port ? to.port : usual);
}
