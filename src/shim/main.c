/* SPDX-License-Identifier: MIT */
/*
 * muster-shim DIR pty|pipes|pipes-null|pipes-file=PATH COLS ROWS NOFILE NPROC CGROUP CWD COMMAND [ARGUMENT]...
 *
 * Started by musterd only, with the control socket as descriptor 3 and the child's environment as its own.
 * DIR holds the record and the rings, made by the daemon beforehand. See core/host/shim.h for the protocol.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/macro.h"
#include "shim/shim-internal.h"

enum {
        FIXED_ARGS = 9,
};

#define SHIM_FILE_WORD "pipes-file=" /* and the path */

static int shim_parse(int argc, char **argv, ShimArgs *ret) {
        if (argc <= FIXED_ARGS)
                return EINVAL;
        *ret = (ShimArgs){
                .dir = argv[1],
                .kind = strcmp(argv[2], "pty") == 0 ? SHIM_PTY : SHIM_PIPES,
                .has_no_input = strcmp(argv[2], "pipes-null") == 0,
                .stdin_path = strncmp(argv[2], SHIM_FILE_WORD, strlen(SHIM_FILE_WORD)) == 0
                                      ? argv[2] + strlen(SHIM_FILE_WORD)
                                      : NULL,
                .cols = (unsigned)strtoul(argv[3], NULL, 10),
                .rows = (unsigned)strtoul(argv[4], NULL, 10),
                .n_files = strtoul(argv[5], NULL, 10),
                .n_processes = strtoul(argv[6], NULL, 10),
                .cgroup = argv[7],
                .cwd = argv[8],
                .argv = argv + FIXED_ARGS,
        };
        return 0;
}

/* ---- before the start ------------------------------------------------------------------------ */

static int shim_open_record(Shim *shim) {
        _cleanup_(closep) int fd = openat(shim->dir_fd, SHIM_RECORD, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        void *map = fd < 0 ? MAP_FAILED
                           : mmap(NULL, SHIM_RECORD_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

        if (map == MAP_FAILED)
                return errno;
        shim->record = map;
        shim->record_mapping = mapping_add(map, SHIM_RECORD_BYTES);
        return shim->record_mapping ? 0 : ENOSPC;
}

static int open_files(Shim *shim, const ShimArgs *args) {
        int error;

        shim->dir_fd = open(args->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (shim->dir_fd < 0 || fchdir(shim->dir_fd))
                return errno;
        error = shim_open_record(shim);
        if (error)
                return error;
        if (ring_open(&shim->out, SHIM_OUT) || (args->kind == SHIM_PIPES && ring_open(&shim->err, SHIM_ERR)))
                return EIO;
        if (*args->cgroup) {
                shim->cgroup = open(args->cgroup, O_PATH | O_DIRECTORY | O_CLOEXEC);
                if (shim->cgroup < 0)
                        return errno;
        }
        return chdir("/") ? errno : 0; /* holds no folder: file systems can be unmounted under us */
}

/* A session of its own, deaf to what people type at the daemon's terminal; only SIGCHLD matters, and comes
 * as a descriptor. */
static int leave_parent(Shim *shim) {
        static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGPIPE,
                                      SIGTSTP, SIGTTIN, SIGTTOU, SIGXFSZ};
        sigset_t children;

        mapping_handle_faults();
        (void)setsid();
        for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
                (void)signal(ignored[i], SIG_IGN);
        sigemptyset(&children);
        sigaddset(&children, SIGCHLD);
        if (sigprocmask(SIG_SETMASK, &children, NULL) || prctl(PR_SET_CHILD_SUBREAPER, 1) ||
            prctl(PR_SET_NAME, "muster-shim"))
                return errno;
        shim->signals = signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK);
        return shim->signals < 0 ? errno : 0;
}

/* ---- the loop -------------------------------------------------------------------------------- */

/* Without a daemon: when the tree is gone what is left in the terminal is read out, and then there is
 * nothing to wait for but, when that finds no room, the next daemon. */
static bool is_done(Shim *shim) {
        if (shim->is_released && shim->tree_is_gone)
                return true;
        if (shim->control >= 0 || !shim->tree_is_gone)
                return false;
        return shim_drain_rest(shim);
}

static int wait_ms(const Shim *shim, bool is_closed) {
        int kill_ms = shim_kill_wait_ms(shim);

        return is_closed && (kill_ms < 0 || kill_ms > SHIM_REOPEN_MS) ? SHIM_REOPEN_MS : kill_ms;
}

/* What is not to be read is not waited for either: poll(2) would tell of its end again and again. */
static int pollable(Shim *shim, int stream) {
        return shim_may_read(shim, stream) ? shim_output_fd(shim, stream) : -1;
}

static void shim_turn(Shim *shim) {
        bool has_daemon = shim->control >= 0;
        bool is_closed = !has_daemon && shim_now_ms() < shim->reopen_at_ms;
        struct pollfd fds[] = {
                {.fd = shim->signals, .events = POLLIN},
                {.fd = has_daemon ? shim->control : -1, .events = POLLIN},
                {.fd = shim->listener, .events = POLLIN},
                {.fd = has_daemon || is_closed ? -1 : pollable(shim, 0), .events = POLLIN},
                {.fd = has_daemon ? -1 : pollable(shim, 1), .events = POLLIN},
        };
        struct signalfd_siginfo info;

        if (poll(fds, ARRAY_SIZE(fds), wait_ms(shim, is_closed)) < 0)
                return;
        while (fds[0].revents && read(shim->signals, &info, sizeof(info)) > 0)
                ;
        shim_reap(shim);
        if (fds[3].revents)
                shim_drain(shim, 0);
        if (fds[4].revents)
                shim_drain(shim, 1);
        if (fds[1].revents)
                shim_hear(shim);
        if (fds[2].revents)
                shim_accept(shim);
        shim_kill_step(shim);
}

int main(int argc, char **argv) {
        Shim shim = {.control = SHIM_CONTROL_FD,
                     .listener = -1,
                     .signals = -1,
                     .cgroup = -1,
                     .fds = {-1, -1, -1}};
        ShimArgs args;
        int error = shim_parse(argc, argv, &args);

        (void)fcntl(SHIM_CONTROL_FD, F_SETFD, FD_CLOEXEC);
        (void)fcntl(SHIM_CONTROL_FD, F_SETFL, O_NONBLOCK);
        if (!error)
                error = open_files(&shim, &args);
        if (!error)
                error = leave_parent(&shim);
        if (!error)
                error = shim_listen(&shim);
        if (!error)
                error = shim_start(&shim, &args);
        shim_tell_started(&shim, error); /* should the daemon be gone already, the next one adopts it */
        if (error)
                return 1;
        while (!is_done(&shim))
                shim_turn(&shim);
        return 0;
}
