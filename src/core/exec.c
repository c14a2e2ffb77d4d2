/* SPDX-License-Identifier: MIT */
#include "core/exec.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/signals.h"

enum { EXEC_PIECE = 16 * 1024, EXEC_LOOK_MS = 50, EXEC_STACK = 64 * 1024 };

typedef struct {
        const ExecSpec *spec;
        ExecResult *result;
        int pipes[2][2]; /* of stdout and stderr: our end, its end */
        int pidfd;
        pid_t pid, parent;
        volatile int error; /* of the child, which could not become the program; 0: it did */
        int64_t deadline_ms;
} ExecRun;

void exec_result_deinit(ExecResult *result) {
        buf_deinit(&result->out);
        buf_deinit(&result->err);
}

Str exec_first_line(const ExecResult *result) {
        Str text = str_trim(buf_str(&result->err));
        const char *end;

        if (!text.n)
                text = str_trim(buf_str(&result->out));
        end = text.n ? memchr(text.data, '\n', text.n) : NULL;
        return str_trim((Str){text.data, end ? (size_t)(end - text.data) : text.n});
}

static int64_t exec_now_ms(void) {
        struct timespec now;

        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* No signal is blocked or ignored in it. */
static void exec_reset_signals(void) {
        static const sigset_t none;

        signals_default();
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static int exec_take_place(const ExecRun *run) {
        int null = open("/dev/null", O_RDONLY);

        if (null < 0 || dup2(null, 0) < 0 || dup2(run->pipes[0][1], 1) < 0 || dup2(run->pipes[1][1], 2) < 0)
                return -1;
        if (null > 2)
                (void)close(null);
        return run->spec->folder ? chdir(run->spec->folder) : 0;
}

/*
 * The child, in the memory of the daemon, whose thread stands still until the program is there: only calls
 * that a signal handler may make, and no locals that others could point to. It leads a group of its own. The
 * kernel kills it when the thread that started it ends: that thread waits for it, so it ends only with a
 * daemon that was killed. If that was before the kernel was asked, the parent is another by then.
 */
static int exec_child(void *user) {
        ExecRun *run = user;

        if (!setpgid(0, 0) && !prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == run->parent &&
            !exec_take_place(run)) {
                exec_reset_signals();
                (void)execve(run->spec->argv[0], run->spec->argv, run->spec->env ? run->spec->env : environ);
        }
        run->error = errno;
        _exit(127);
}

/* As posix_spawn() does it, which cannot ask for the signal. No handler may run in the memory that both
 * share. */
static int exec_spawn(ExecRun *run) {
        _Alignas(16) char stack[EXEC_STACK];
        sigset_t all, before;

        run->parent = getpid();
        run->error = 0;
        sigfillset(&all);
        (void)pthread_sigmask(SIG_BLOCK, &all, &before);
        run->pid = clone(exec_child, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, run);
        if (run->pid < 0)
                run->error = errno;
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (!run->error)
                return 0;
        while (run->pid > 0 && waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
                ;
        return error_origin(-run->error);
}

static int exec_open(ExecRun *run) {
        int r = 0;

        for (int i = 0; !r && i < 2; i++)
                r = pipe2(run->pipes[i], O_CLOEXEC) ? error_origin(-errno) : 0;
        if (!r)
                r = exec_spawn(run);
        for (int i = 0; i < 2; i++)
                run->pipes[i][1] = close_fd(run->pipes[i][1]);
        for (int i = 0; !r && i < 2; i++)
                (void)fcntl(run->pipes[i][0], F_SETFL, O_NONBLOCK);
        return r;
}

static void exec_close(ExecRun *run) {
        for (int i = 0; i < 2; i++) {
                (void)close_fd(run->pipes[i][0]);
                (void)close_fd(run->pipes[i][1]);
        }
        (void)close_fd(run->pidfd);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Takes what is there. False: nothing more will come. */
static bool exec_take(const ExecRun *run, int which) {
        Buf *out = which ? &run->result->err : &run->result->out;
        char piece[EXEC_PIECE];
        ssize_t n;

        while ((n = read(run->pipes[which][0], piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR))
                if (n > 0 && out->n < run->spec->n_max)
                        (void)buf_append(
                                out, piece,
                                MIN((size_t)n, run->spec->n_max - out->n)); /* without memory: less */
        return n < 0 && errno == EAGAIN;
}

/* Until the process has ended or its time is over. */
static int exec_watch(ExecRun *run) {
        for (;;) {
                int64_t left = run->deadline_ms - exec_now_ms();
                struct pollfd fds[] = {{.fd = run->pidfd, .events = POLLIN},
                                       {.fd = run->pipes[0][0], .events = POLLIN},
                                       {.fd = run->pipes[1][0], .events = POLLIN}};

                if (run->spec->is_off && *run->spec->is_off)
                        return -ECANCELED;
                if (left <= 0)
                        return -ETIMEDOUT;
                if (run->spec->is_off)
                        left = MIN(left, EXEC_LOOK_MS);
                if (poll(fds, ARRAY_SIZE(fds), (int)left) < 0 && errno != EINTR)
                        return error_origin(-errno);
                for (int i = 0; i < 2; i++)
                        if (fds[i + 1].revents && !exec_take(run, i))
                                run->pipes[i][0] = close_fd(run->pipes[i][0]);
                if (fds[0].revents)
                        return 0;
        }
}

/* The group goes before its leader is reaped, so that its number cannot be another's by then. */
static void exec_end(ExecRun *run) {
        (void)kill(-run->pid, SIGKILL);
        while (waitpid(run->pid, &run->result->status, 0) < 0 && errno == EINTR)
                ;
        for (int i = 0; i < 2; i++)
                if (run->pipes[i][0] >= 0)
                        (void)exec_take(run, i);
}

int exec_run(const ExecSpec *spec, ExecResult *ret) {
        ExecRun run = {.spec = spec, .result = ret, .pipes = {{-1, -1}, {-1, -1}}, .pidfd = -1};
        int r = exec_open(&run);

        *ret = EXEC_RESULT_NULL;
        if (!r) {
                run.deadline_ms = exec_now_ms() + spec->limit_ms;
                run.pidfd = pidfd_open(run.pid, 0);
                r = run.pidfd < 0 ? error_origin(-errno) : exec_watch(&run);
                exec_end(&run);
        }
        exec_close(&run);
        if (r)
                exec_result_deinit(ret);
        return r;
}
