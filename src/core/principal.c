/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/principal"

#include "core/principal.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/daemon.h"
#include "core/host/host.h"

/* The number was the peer's all the time, if the process is still there (also as a zombie) afterwards. Where
 * there are no such descriptors the number is believed: between connect() and accept() there is little time
 * for it to become another's. */
static bool principal_is_sandboxed(const Client *client, int pidfd) {
        if (host_is_sandboxed_caller(client->daemon->host, client_pid(client)))
                return true;
        return pidfd >= 0 && syscall(SYS_pidfd_send_signal, pidfd, 0, NULL, 0) && errno == ESRCH;
}

void principal_establish(Client *client) {
        const struct Host *host = client->daemon->host;
        int pidfd;

        if (!host || conn_peer(client->conn)->is_remote || !host_has_sandboxed(host))
                return;
        pidfd = conn_peer_pidfd(client->conn);
        client->is_sandboxed = pidfd == -ESRCH || pidfd == -EINVAL || principal_is_sandboxed(client, pidfd);
        if (client->is_sandboxed)
                log_notice(&client->daemon->log, client->endpoint->type->name,
                           "client in a sandbox, or gone: it may only look client=%llu pid=%d",
                           (unsigned long long)client->number, (int)client_pid(client));
        if (pidfd >= 0)
                close_fd(pidfd);
}

const char *principal_refusal(const Client *client, const Op *op) {
        if (op->scope == OP_SCOPE_VIEW && !(op->flags & OP_REVEALS))
                return NULL;
        if (client->is_sandboxed)
                return "the caller is in a sandbox and may only look";
        if (conn_peer(client->conn)->is_remote && !client->has_token && client->daemon->host &&
            host_has_sandboxed(client->daemon->host))
                return "while an agent runs in a sandbox, callers over TCP may only look; use the Unix "
                       "socket";
        return NULL;
}
