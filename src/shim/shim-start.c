/* SPDX-License-Identifier: MIT */
/*
 * From arguments to a running child: terminal or pipes, fork, a clean child, exec, and the errno of an exec
 * that failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/signals.h"
#include "shim/shim-internal.h"

enum { SLAVE_PATH_MAX = 64 };

typedef struct Ends {
        char slave[SLAVE_PATH_MAX]; /* PTY */
        int child[3];               /* pipes: the child's stdin, stdout, stderr */
} Ends;

static int open_pty(Shim *shim, const ShimArgs *args, Ends *ends) {
        struct winsize size = {.ws_col = (unsigned short)args->cols, .ws_row = (unsigned short)args->rows};
        int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

        if (master < 0)
                return errno;
        shim->fds[0] = master;
        shim->n_fds = 1;
        if (grantpt(master) || unlockpt(master) || ptsname_r(master, ends->slave, sizeof(ends->slave)) ||
            ioctl(master, TIOCSWINSZ, &size))
                return errno;
        return 0;
}

/* No input: both ends lead nowhere, so that the number of descriptors stays the same. */
static int open_null(Shim *shim, Ends *ends) {
        shim->fds[0] = open("/dev/null", O_WRONLY | O_CLOEXEC);
        ends->child[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return shim->fds[0] < 0 || ends->child[0] < 0 ? errno : 0;
}

/* A FIFO would keep us waiting. */
static int shim_open_stdin(const char *path) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat st = {0};
        int error = fd < 0 || fstat(fd, &st) ? errno : 0;

        if (!error && !S_ISREG(st.st_mode))
                error = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
        if (!error && fcntl(fd, F_SETFL, 0))
                error = errno;
        if (!error)
                return fd;
        close_fd(fd);
        return -error;
}

static int open_file(Shim *shim, const ShimArgs *args, Ends *ends) {
        int error = open_null(shim, ends), fd;

        if (error)
                return error;
        fd = shim_open_stdin(args->stdin_path);
        shim->lacks_stdin = fd < 0;
        close_fd(ends->child[0]);
        ends->child[0] = fd < 0 ? -1 : fd;
        return fd < 0 ? -fd : 0;
}

static int open_pipes(Shim *shim, const ShimArgs *args, Ends *ends) {
        bool has_pipe = !args->has_no_input && !args->stdin_path;
        int error = 0;

        if (!has_pipe)
                error = args->stdin_path ? open_file(shim, args, ends) : open_null(shim, ends);
        shim->n_fds = 3;
        for (int i = has_pipe ? 0 : 1; i < 3 && !error; i++) {
                int pair[2], ours = i == 0 ? 1 : 0;

                if (pipe2(pair, O_CLOEXEC))
                        return errno;
                shim->fds[i] = pair[ours];
                ends->child[i] = pair[!ours];
                if (fcntl(shim->fds[i], F_SETFL, O_NONBLOCK))
                        return errno;
        }
        return error;
}

/* ---- in the child: only async-signal-safe calls ---------------------------------------------- */

static int take_terminal(const char *slave) {
        struct termios mode;
        int fd;

        if (setsid() < 0)
                return errno;
        fd = open(slave, O_RDWR);
        if (fd < 0 || ioctl(fd, TIOCSCTTY, 0))
                return errno;
        if (!tcgetattr(fd, &mode)) {
                mode.c_iflag |= IUTF8;
                (void)tcsetattr(fd, TCSANOW, &mode);
        }
        for (int i = 0; i < 3; i++)
                if (dup2(fd, i) < 0)
                        return errno;
        if (fd > 2)
                (void)close(fd);
        return 0;
}

static int take_pipes(const Ends *ends) {
        if (setsid() < 0)
                return errno;
        for (int i = 0; i < 3; i++)
                if (dup2(ends->child[i], i) < 0)
                        return errno;
        return 0;
}

static void clean_signals(void) {
        sigset_t none;

        signals_default();
        sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int enter_cgroup(const char *folder) {
        int dir, fd;

        if (!*folder)
                return 0;
        dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        fd = dir < 0 ? -1 : openat(dir, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        return fd < 0 || write(fd, "0", 1) != 1 ? errno : 0;
}

/* The number of files may be raised again by the program; the number of processes may not. */
static int limit(const ShimArgs *args) {
        struct rlimit files, processes = {args->n_processes, args->n_processes};

        if (args->n_files && !getrlimit(RLIMIT_NOFILE, &files)) {
                files.rlim_cur = MIN((rlim_t)args->n_files, files.rlim_max);
                if (setrlimit(RLIMIT_NOFILE, &files))
                        return errno;
        }
        return args->n_processes && setrlimit(RLIMIT_NPROC, &processes) ? errno : 0;
}

static int become(const ShimArgs *args, const Ends *ends) {
        int r;

        /* Should the shim be killed, its child goes too: nobody would be left to reap or to kill it. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL))
                return errno;
        r = enter_cgroup(args->cgroup);
        if (!r)
                r = args->kind == SHIM_PTY ? take_terminal(ends->slave) : take_pipes(ends);
        if (r)
                return r;
        r = limit(args);
        if (r)
                return r;
        if (chdir(args->cwd))
                return errno;
        clean_signals();
        execvp(args->argv[0], args->argv);
        return errno;
}

static _noreturn_ void child_main(const ShimArgs *args, const Ends *ends, int report) {
        int error = become(args, ends);

        if (write(report, &error, sizeof(error)) < 0)
                _exit(126);
        _exit(127);
}

/* ---- in the shim ----------------------------------------------------------------------------- */

static void close_child_ends(const ShimArgs *args, Ends *ends) {
        if (args->kind == SHIM_PIPES)
                for (int i = 0; i < 3; i++)
                        close_fd(ends->child[i]);
}

static int fork_child(Shim *shim, const ShimArgs *args, Ends *ends) {
        int report[2], error = 0;

        if (pipe2(report, O_CLOEXEC)) /* closed by a good exec; a failed one sends its errno */
                return errno;
        shim->child = fork();
        if (shim->child == 0)
                child_main(args, ends, report[1]);
        (void)close(report[1]);
        if (shim->child < 0)
                error = errno;
        else if (read(report[0], &error, sizeof(error)) != (ssize_t)sizeof(error))
                error = 0;
        (void)close(report[0]);
        if (error && shim->child > 0)
                (void)waitpid(shim->child, NULL, 0);
        return error;
}

static void note_running(Shim *shim) {
        ShimRecord *record = shim->record, *own = &shim->own;

        *own = (ShimRecord){.version = SHIM_VERSION,
                            .kind = shim->n_fds == 1 ? SHIM_PTY : SHIM_PIPES,
                            .state = SHIM_STATE_RUNNING,
                            .shim_pid = getpid(),
                            .shim_start = shim_start_time(getpid()),
                            .child_pid = shim->child,
                            .child_start = shim_start_time(shim->child),
                            .started_us = shim_wall_us(),
                            .boot = shim_boot_hash(),
                            .is_lossless = record->is_lossless && shim->n_fds == 3,
                            .level = SHIM_LEVEL};
        memcpy(own->magic, "musshim1", sizeof(own->magic));
        record->shim_pid = own->shim_pid;
        record->shim_start = own->shim_start;
        record->child_pid = own->child_pid;
        record->child_start = own->child_start;
        record->started_us = own->started_us;
        record->boot = own->boot;
        record->level = own->level;
        atomic_store(&record->state, SHIM_STATE_RUNNING);
}

int shim_start(Shim *shim, const ShimArgs *args) {
        Ends ends = {.child = {-1, -1, -1}};
        int error = args->kind == SHIM_PTY ? open_pty(shim, args, &ends) : open_pipes(shim, args, &ends);

        if (!error)
                error = fork_child(shim, args, &ends);
        close_child_ends(args, &ends);
        if (!error) {
                note_running(shim);
                return 0;
        }
        shim->record->exec_errno = error;
        shim->record->ended_us = shim_wall_us();
        atomic_store(&shim->record->state, SHIM_STATE_FAILED);
        return error;
}
