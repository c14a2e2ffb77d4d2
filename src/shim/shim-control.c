/* SPDX-License-Identifier: MIT */
/*
 * The shim's words with a daemon: the one that started it, or any later one that connects to its socket.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/process.h"
#include "shim/shim-internal.h"

/* Bound through the folder's descriptor: the path of a state folder may be longer than a socket's name can
 * be. */
int shim_listen(Shim *shim) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/" SHIM_SOCKET, shim->dir_fd);
        shim->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (shim->listener < 0 || bind(shim->listener, (struct sockaddr *)&address, sizeof(address)) ||
            fchmodat(shim->dir_fd, SHIM_SOCKET, 0600, 0) || listen(shim->listener, 4))
                return errno;
        return 0;
}

/* Not the agent itself, which finds the socket if nobody hides it: what is in a sandbox is in a PID
 * namespace below ours, a daemon is in our own. */
static bool shim_control_is_ours(int fd) {
        struct ucred cred;
        ProcessStatus status;
        socklen_t n = sizeof(cred);

        if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) || cred.uid != geteuid())
                return false;
        return !process_status(cred.pid, &status) && status.n_namespaces == 1;
}

/* That the last daemon is gone stands behind its last words, and is heard before another one is taken for one too many. */
void shim_accept(Shim *shim) {
        int fd = accept4(shim->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0)
                return;
        while (shim->control >= 0 && shim_hear(shim))
                ;
        if (shim->control >= 0 ||
            !shim_control_is_ours(fd)) { /* one daemon at a time: the first one that is alive */
                (void)close(fd);
                return;
        }
        shim->control = fd;
        shim_tell_started(shim, 0);
        if (shim->child_ended)
                shim_tell(shim, SHIM_EXITED, shim->own.wait_status, 0);
        if (shim->tree_is_gone)
                shim_tell(shim, SHIM_GONE, 0, 0);
}

static void shim_control_send_message(Shim *shim, const ShimMessage *message, const int *fds, int n_fds) {
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(3 * sizeof(int))];
        } control = {0};
        struct iovec vector = {(void *)message, sizeof(*message)};
        struct msghdr header = {.msg_iov = &vector, .msg_iovlen = 1};

        if (shim->control < 0)
                return;
        if (n_fds) {
                header.msg_control = &control;
                header.msg_controllen = CMSG_SPACE((size_t)n_fds * sizeof(int));
                control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
                control.header.cmsg_len = CMSG_LEN((size_t)n_fds * sizeof(int));
                memcpy(CMSG_DATA(&control.header), fds, (size_t)n_fds * sizeof(int));
        }
        /* A daemon that does not take a few small messages is as good as gone: poll() will say so. */
        (void)sendmsg(shim->control, &header, MSG_NOSIGNAL);
}

void shim_tell(Shim *shim, uint32_t type, int a, int b) {
        shim_control_send_message(shim, &(ShimMessage){.type = type, .a = a, .b = b}, NULL, 0);
}

void shim_tell_started(Shim *shim, int error) {
        ShimMessage message = {
                .type = SHIM_STARTED, .a = error, .b = shim->child, .fds = error && shim->lacks_stdin};
        int fds[3], n = 0;

        for (int i = 0; i < shim->n_fds && !error; i++)
                if (shim->fds[i] >= 0) {
                        message.fds |= 1u << i;
                        fds[n++] = shim->fds[i];
                }
        shim_control_send_message(shim, &message, fds, n);
}

static void shim_control_obey(Shim *shim, const ShimMessage *message) {
        switch (message->type) {
        case SHIM_KILL: shim_kill(shim, message->a); break;
        case SHIM_CLOSE_INPUT:
                if (shim->n_fds > 1)
                        shim->fds[0] = close_fd(shim->fds[0]);
                break;
        case SHIM_RELEASE: shim->is_released = true; break;
        default: break; /* of a newer daemon: not for us */
        }
}

static bool record_is_ours(const ShimRecord *record, const ShimRecord *own) {
        return !memcmp(record->magic, own->magic, sizeof(own->magic)) && record->version == own->version &&
               record->kind == own->kind && record->shim_pid == own->shim_pid &&
               record->child_pid == own->child_pid && record->shim_start == own->shim_start &&
               record->child_start == own->child_start && record->boot == own->boot &&
               record->is_lossless == own->is_lossless &&
               atomic_load(&record->state) == atomic_load(&own->state);
}

/* What the daemon had noted in it is lost then; who we are, and how the child ended, is not. */
static void mend_record(Shim *shim) {
        _cleanup_(closep) int fd = openat(shim->dir_fd, SHIM_RECORD, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        struct stat st;

        if (fd < 0 || fstat(fd, &st))
                return;
        if ((st.st_size < SHIM_RECORD_BYTES || mapping_is_broken(shim->record_mapping)) &&
            (posix_fallocate(fd, 0, SHIM_RECORD_BYTES) ||
             mmap(shim->record, SHIM_RECORD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) ==
                     MAP_FAILED))
                return;
        mapping_mended(shim->record_mapping);
        if (!record_is_ours(shim->record, &shim->own))
                *shim->record = shim->own;
}

/* Through the folder's descriptor: we hold no other. */
void shim_mend(Shim *shim) {
        char path[64];

        mend_record(shim);
        snprintf(path, sizeof(path), "/proc/self/fd/%d/" SHIM_OUT, shim->dir_fd);
        ring_mend_if_cut(&shim->out, path);
        snprintf(path, sizeof(path), "/proc/self/fd/%d/" SHIM_ERR, shim->dir_fd);
        if (shim->err.header)
                ring_mend_if_cut(&shim->err, path);
}

bool shim_hear(Shim *shim) {
        ShimMessage message;
        ssize_t n = recv(shim->control, &message, sizeof(message), 0);

        if (n == (ssize_t)sizeof(message))
                shim_control_obey(shim, &message);
        else if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                shim->control = close_fd(
                        shim->control); /* the daemon is gone: from now on the output is ours to read */
                ring_recover(&shim->out);
                if (shim->err.header)
                        ring_recover(&shim->err);
                shim_note_kept(shim);
                shim_mend(shim);
        }
        return n > 0;
}
