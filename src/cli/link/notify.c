/* SPDX-License-Identifier: MIT */
#include "cli/link/notify.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/str.h"

/* An empty abstract name asks the kernel for a free one. */
static int bind_free(Notify *notify) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        socklen_t n = offsetof(struct sockaddr_un, sun_path);
        size_t n_name;

        if (bind(notify->fd, (struct sockaddr *)&address, n))
                return error_origin(-errno);
        n = sizeof(address);
        if (getsockname(notify->fd, (struct sockaddr *)&address, &n))
                return error_origin(-errno);
        n_name = n - offsetof(struct sockaddr_un, sun_path);
        if (n_name < 2 || n_name >= NOTIFY_ADDRESS_MAX)
                return error_origin(-ENAMETOOLONG);
        memcpy(notify->address, address.sun_path, n_name);
        notify->address[0] = '@';
        notify->address[n_name] = 0;
        return 0;
}

int notify_open(Notify *notify) {
        int r;

        notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (notify->fd < 0)
                return error_origin(-errno);
        if (setsockopt(notify->fd, SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int)))
                r = error_origin(-errno);
        else
                r = bind_free(notify);
        if (r)
                notify_deinit(notify);
        return error_trace(r);
}

void notify_deinit(Notify *notify) {
        notify->fd = close_fd(notify->fd);
}

static bool notify_has_line(Str text, Str line) {
        while (text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                Str first = {text.data, end ? (size_t)(end - text.data) : text.n};

                if (str_eq(first, line))
                        return true;
                text.data += first.n + (end != NULL);
                text.n -= first.n + (end != NULL);
        }
        return false;
}

static bool is_from_us(struct msghdr *message) {
        for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c))
                if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
                        struct ucred sender;

                        memcpy(&sender, CMSG_DATA(c), sizeof(sender));
                        return sender.uid == geteuid();
                }
        return false;
}

bool notify_is_ready(Notify *notify) {
        bool is_ready = false;

        for (;;) {
                char text[4096];
                _Alignas(struct cmsghdr) char control[256];
                struct iovec part = {.iov_base = text, .iov_len = sizeof(text)};
                struct msghdr message = {.msg_iov = &part,
                                         .msg_iovlen = 1,
                                         .msg_control = control,
                                         .msg_controllen = sizeof(control)};
                ssize_t n = recvmsg(notify->fd, &message, MSG_CMSG_CLOEXEC);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return is_ready;
                if (is_from_us(&message) && notify_has_line((Str){text, (size_t)n}, STR("READY=1")))
                        is_ready = true;
        }
}
