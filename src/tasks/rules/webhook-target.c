/* SPDX-License-Identifier: MIT */
#include <arpa/inet.h>
#include <stdio.h>
#include <strings.h>

#include "tasks/rules/webhook.h"

static int webhook_target_refuse(char reterr[WEBHOOK_WHY_MAX], const char *why) {
        snprintf(reterr, WEBHOOK_WHY_MAX, "%s", why);
        return WEBHOOK_E_REFUSED;
}

static bool is_local_address(const char *host) {
        struct in6_addr six;
        struct in_addr four;

        if (inet_pton(AF_INET, host, &four) == 1)
                return ntohl(four.s_addr) >> 24 == 127;
        return !strcasecmp(host, "localhost") ||
               (inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six));
}

static bool is_host_end(char c) {
        return c == ':' || c == '/' || c == '?' || c == '#';
}

/* Takes the host off the front: [::1] or a name of letters, digits, dots and dashes. */
static bool take_host(Str *text, WebhookTarget *target) {
        bool is_bracketed = text->n && text->data[0] == '[';
        size_t from = is_bracketed, n = from;

        while (n < text->n && (is_bracketed ? text->data[n] != ']' : !is_host_end(text->data[n]))) {
                char c = text->data[n];
                if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '-' || c == '_' || (is_bracketed && c == ':')))
                        return false;
                n++;
        }
        if (n == from || n - from >= sizeof(target->host) || (is_bracketed && n == text->n))
                return false;
        memcpy(target->host, text->data + from, n - from);
        *text = (Str){text->data + n + is_bracketed, text->n - n - is_bracketed};
        return true;
}

static bool take_port(Str *text, WebhookTarget *target) {
        size_t n = 1;
        unsigned port = 0;

        snprintf(target->port, sizeof(target->port), "%s", target->is_tls ? "443" : "80");
        if (!text->n || text->data[0] != ':')
                return true;
        while (n < text->n && n < 6 && text->data[n] >= '0' && text->data[n] <= '9')
                port = port * 10 + (unsigned)(text->data[n++] - '0');
        if (n == 1 || !port || port > 65535)
                return false;
        snprintf(target->port, sizeof(target->port), "%u", port);
        *text = (Str){text->data + n, text->n - n};
        return true;
}

/* What is left goes into the request line, so nothing in it may end that line. */
static bool take_path(Str text, WebhookTarget *target) {
        const char *fragment = text.n ? memchr(text.data, '#', text.n) : NULL;
        size_t n = fragment ? (size_t)(fragment - text.data) : text.n;

        if (n && text.data[0] != '/' && text.data[0] != '?')
                return false;
        for (size_t i = 0; i < n; i++)
                if (text.data[i] <= ' ' || text.data[i] >= 0x7f)
                        return false;
        if (n + 2 > sizeof(target->path))
                return false;
        snprintf(target->path, sizeof(target->path), "%s%.*s", n && text.data[0] == '/' ? "" : "/", (int)n,
                 n ? text.data : "");
        return true;
}

int webhook_target(WebhookTarget *ret, Str url, char reterr[WEBHOOK_WHY_MAX]) {
        *ret = (WebhookTarget){0};
        if (url.n >= WEBHOOK_URL_MAX)
                return webhook_target_refuse(reterr, "the address is too long");
        ret->is_tls = url.n > 8 && !strncasecmp(url.data, "https://", 8);
        if (!ret->is_tls && (url.n < 8 || strncasecmp(url.data, "http://", 7) != 0))
                return webhook_target_refuse(reterr, "not an http:// or https:// address");
        url = (Str){url.data + 7 + ret->is_tls, url.n - 7 - ret->is_tls};
        if (!take_host(&url, ret) || !take_port(&url, ret) || !take_path(url, ret))
                return webhook_target_refuse(reterr, "not a proper address");
        ret->is_local = is_local_address(ret->host);
        return 0;
}

bool webhook_is_allowed(const WebhookTarget *target, const Str *hosts, size_t n_hosts) {
        char both[sizeof(target->host) + sizeof(target->port) + 1];
        int n = snprintf(both, sizeof(both), "%s:%s", target->host, target->port);

        if (target->is_local)
                return true;
        for (size_t i = 0; i < n_hosts; i++)
                if ((hosts[i].n == strlen(target->host) &&
                     !strncasecmp(hosts[i].data, target->host, hosts[i].n)) ||
                    (hosts[i].n == (size_t)n && !strncasecmp(hosts[i].data, both, hosts[i].n)))
                        return true;
        return false;
}
