/* SPDX-License-Identifier: MIT */
#include "wire/tcp-owner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macro.h"

typedef struct OwnerQuestion {
        struct nlmsghdr header;
        struct inet_diag_req_v2 body;
} OwnerQuestion;

/* Seen from the other end: what is our peer is there the source. */
static int owner_ask(int fd, const TcpEnd *peer, const TcpEnd *own) {
        bool is_v4 = IN6_IS_ADDR_V4MAPPED(&peer->ip) && IN6_IS_ADDR_V4MAPPED(&own->ip);
        size_t at = is_v4 ? 12 : 0;
        OwnerQuestion question = {
                .header = {.nlmsg_len = sizeof(question),
                           .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                           .nlmsg_flags = NLM_F_REQUEST},
                .body = {.sdiag_family = is_v4 ? AF_INET : AF_INET6,
                         .sdiag_protocol = IPPROTO_TCP,
                         .idiag_states = ~0U,
                         .id = {.idiag_sport = htons(peer->port),
                                .idiag_dport = htons(own->port),
                                .idiag_if = is_v4 ? 0 : peer->scope,
                                .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};

        memcpy(question.body.id.idiag_src, peer->ip.s6_addr + at, sizeof(peer->ip) - at);
        memcpy(question.body.id.idiag_dst, own->ip.s6_addr + at, sizeof(own->ip) - at);
        return send(fd, &question, sizeof(question), MSG_NOSIGNAL) < 0 ? error_origin(-errno) : 0;
}

static int owner_answer(int fd, uid_t *ret) {
        union {
                struct nlmsghdr header;
                char bytes[4096];
        } answer;
        ssize_t n = recv(fd, &answer, sizeof(answer), MSG_DONTWAIT);
        struct inet_diag_msg found;

        if (n < 0)
                return error_origin(-errno);
        if (!NLMSG_OK(&answer.header, (size_t)n) || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
            answer.header.nlmsg_len < NLMSG_LENGTH(sizeof(found)))
                return TCP_OWNER_E_UNKNOWN;
        memcpy(&found, NLMSG_DATA(&answer.header), sizeof(found));
        if (!found.idiag_inode) /* nobody has it open any more */
                return TCP_OWNER_E_UNKNOWN;
        *ret = found.idiag_uid;
        return 0;
}

int tcp_owner(const TcpEnd *peer, const TcpEnd *own, uid_t *ret) {
        int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), r;

        if (fd < 0)
                return error_origin(-errno);
        r = owner_ask(fd, peer, own);
        if (!r)
                r = owner_answer(fd, ret);
        close_fd(fd);
        return error_trace(r);
}
