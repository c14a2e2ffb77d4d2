/* SPDX-License-Identifier: MIT */
/*
 * How an endpoint looks to those who look for it: somebody may have removed our socket, or put another in
 * its place, and then we listen where nobody comes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "core/endpoint.h"
#include "wire/socket.h"

bool endpoint_is_cut_off(const Endpoint *endpoint) {
        struct stat st;

        return endpoint->type->can_reopen && endpoint->state == ENDPOINT_LISTENING && endpoint->bound.path &&
               (lstat(endpoint->bound.path, &st) || st.st_dev != endpoint->bound.device ||
                st.st_ino != endpoint->bound.inode);
}

void endpoint_look(const Endpoint *endpoint, EndpointView *ret) {
        const char *path = endpoint->bound.path;
        SocketState state = SOCKET_ABSENT;

        *ret = (EndpointView){.state = endpoint_state_name(endpoint->state), .by = endpoint->by};
        snprintf(ret->reason, sizeof(ret->reason), "%s", endpoint->reason);
        if (!endpoint_is_cut_off(endpoint))
                return;
        ret->by = (EndpointParty){0};
        if (!socket_probe(path, &state, &ret->by.pid) && state == SOCKET_LIVE) {
                ret->state = endpoint_state_name(ENDPOINT_SERVED);
                process_name(ret->by.pid, ret->by.program);
                snprintf(ret->reason, sizeof(ret->reason), "another daemon took our place");
        } else {
                ret->state = "cut off";
                snprintf(ret->reason, sizeof(ret->reason), "somebody removed its socket");
        }
}

bool endpoint_file_is_ours(const char *path) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        return !file_read(path, 64, &text) && buf_cstr(&text) && strtol(text.data, NULL, 10) == getpid();
}
