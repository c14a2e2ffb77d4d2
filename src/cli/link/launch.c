/* SPDX-License-Identifier: MIT */
/*
 *   muster ──fork── helper (setsid, waits) ──fork── musterd
 *      ▲               │ pid, then how it ended        │
 *      └── pipe ───────┘◄── errno when exec fails ─────┤
 *      └── NOTIFY_SOCKET ◄── READY=1 ──────────────────┘
 */
#include "cli/link/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/link/connect.h"
#include "cli/link/notify.h"

typedef enum ReportKind { REPORT_PID, REPORT_ENDED, REPORT_NO_PROGRAM } ReportKind;

typedef struct Report {
        ReportKind kind;
        int value;
} Report;

/* What the child processes need; made before the first fork, since nothing may be allocated behind it. */
typedef struct Plan {
        char *beside;       /* musterd in the folder of our own program; NULL: not known */
        char **argv, **env; /* strings of others */
        Notify notify;
        int log_fd, null_fd;
        int report_fds[2]; /* read, write */
} Plan;

#define PLAN_NULL                                                                                           \
        {                                                                                                   \
                .notify = {.fd = -1}, .log_fd = -1, .null_fd = -1, .report_fds = { -1, -1 }                 \
        }

static void plan_deinit(Plan *plan) {
        free(plan->beside);
        free(plan->argv);
        free(plan->env);
        notify_deinit(&plan->notify);
        close_fd(plan->log_fd);
        close_fd(plan->null_fd);
        close_fd(plan->report_fds[0]);
        close_fd(plan->report_fds[1]);
}

/* ---- before the fork ------------------------------------------------------------------------- */

static char *path_beside_us(void) {
        char self[PATH_MAX], *slash, *path = NULL;
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

        if (n < 0)
                return NULL;
        self[n] = 0;
        slash = strrchr(self, '/');
        return slash && asprintf(&path, "%.*s/musterd", (int)(slash - self), self) >= 0 ? path : NULL;
}

static int plan_argv(Plan *plan, const Launch *from) {
        plan->argv = calloc((size_t)from->n_flags + 2, sizeof(*plan->argv));
        if (!plan->argv)
                return error_origin(-ENOMEM);
        plan->argv[0] = (char *)"musterd";
        for (int i = 0; i < from->n_flags; i++)
                plan->argv[i + 1] = from->flags[i];
        return 0;
}

/* Who the caller is, is not who the daemon is. */
static bool plan_drops(const char *line) {
        static const char *const names[] = {
                "MUSTER_HOSTED=", "MUSTER_SANDBOXED=", "CCCC_GROUP_ID=", "CCCC_ACTOR_ID=",
                "COOP_SESSION=",  "COOP_WORKSPACE=",   "COOP_CREATED="};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (!strncmp(line, names[i], strlen(names[i])))
                        return true;
        return false;
}

static int plan_environment(Plan *plan) {
        size_t n = 0;

        while (environ[n])
                n++;
        plan->env = calloc(n + 1, sizeof(*plan->env));
        if (!plan->env)
                return error_origin(-ENOMEM);
        for (size_t i = 0, k = 0; i < n; i++)
                if (!plan_drops(environ[i]))
                        plan->env[k++] = environ[i];
        return 0;
}

static int plan_files(Plan *plan, const char *log_path, off_t *ret_mark) {
        struct stat st;

        plan->null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
        plan->log_fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0600);
        if (plan->null_fd < 0 || plan->log_fd < 0 || fstat(plan->log_fd, &st))
                return error_origin(-errno);
        *ret_mark = st.st_size;
        return pipe2(plan->report_fds, O_CLOEXEC) ? error_origin(-errno) : 0;
}

static int plan_init(Plan *plan, const Launch *from, off_t *ret_mark) {
        int r = plan_files(plan, from->log_path, ret_mark);

        if (!r)
                r = plan_argv(plan, from);
        if (!r)
                r = notify_open(&plan->notify);
        if (r)
                return error_trace(r);
        plan->beside = path_beside_us();
        if (setenv("NOTIFY_SOCKET", plan->notify.address, 1))
                return error_origin(-errno);
        return error_trace(plan_environment(plan));
}

/* ---- the child processes --------------------------------------------------------------------- */

static void launch_report(const Plan *plan, ReportKind kind, int value) {
        const Report r = {kind, value};

        if (write(plan->report_fds[1], &r, sizeof(r)) < 0) {
                /* Nobody is waiting any more. */
        }
}

/* Signals as a program expects them, whatever our caller had set. */
static void reset_signals(void) {
        sigset_t none;

        sigemptyset(&none);
        for (int i = 1; i < NSIG; i++)
                (void)signal(i, SIG_DFL);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

_noreturn_ static void become_daemon(const Plan *plan) {
        (void)dup2(plan->null_fd, STDIN_FILENO);
        (void)dup2(plan->log_fd, STDOUT_FILENO);
        (void)dup2(plan->log_fd, STDERR_FILENO);
        (void)close_range(3, ~0U, CLOSE_RANGE_CLOEXEC); /* what our caller left open is not for the daemon */
        reset_signals();
        if (plan->beside)
                (void)execve(plan->beside, plan->argv, plan->env);
        if (!plan->beside || errno == ENOENT)
                (void)execvpe("musterd", plan->argv, plan->env);
        launch_report(plan, REPORT_NO_PROGRAM, errno);
        _exit(127);
}

_noreturn_ static void become_helper(const Plan *plan, pid_t parent) {
        int status = 0;
        pid_t pid;

        (void)setsid();
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* not passed on to the daemon */
        if (getppid() != parent)
                _exit(1);
        pid = fork();
        if (pid == 0)
                become_daemon(plan);
        if (pid < 0) {
                launch_report(plan, REPORT_NO_PROGRAM, errno);
                _exit(1);
        }
        launch_report(plan, REPORT_PID, pid);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        launch_report(plan, REPORT_ENDED, status);
        _exit(0);
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* One report. 0: nothing decided yet. */
static int take_report(const Plan *plan, LaunchOutcome *ret) {
        Report r;
        ssize_t n = read(plan->report_fds[0], &r, sizeof(r));

        if (n < 0 && errno == EINTR)
                return 0;
        if (n != sizeof(r)) { /* the helper was killed */
                ret->status = SIGKILL;
                return LAUNCH_E_ENDED;
        }
        switch (r.kind) {
        case REPORT_PID: ret->pid = r.value; return 0;
        case REPORT_NO_PROGRAM: ret->exec_errno = r.value; return LAUNCH_E_NO_PROGRAM;
        case REPORT_ENDED:
        default: ret->status = r.value; return LAUNCH_E_ENDED;
        }
}

static int launch_await(Plan *plan, int64_t deadline_ms, LaunchOutcome *ret) {
        for (;;) {
                struct pollfd pfds[] = {{.fd = plan->report_fds[0], .events = POLLIN},
                                        {.fd = plan->notify.fd, .events = POLLIN}};
                int n = poll(pfds, ARRAY_SIZE(pfds), deadline_left_ms(deadline_ms)), r = 0;

                if (n < 0 && errno != EINTR)
                        return error_origin(-errno);
                if (n == 0)
                        return LAUNCH_E_TIMEOUT;
                if (n > 0 && pfds[0].revents)
                        r = take_report(plan, ret);
                if (r)
                        return r;
                if (n > 0 && pfds[1].revents && notify_is_ready(&plan->notify))
                        return 0;
        }
}

int launch(const Launch *from, LaunchOutcome *ret) {
        _cleanup_(plan_deinit) Plan plan = PLAN_NULL;
        pid_t parent = getpid(), helper;
        int r;

        *ret = (LaunchOutcome){0};
        r = plan_init(&plan, from, &ret->log_mark);
        if (r)
                return error_trace(r);
        helper = fork();
        if (helper < 0)
                return error_origin(-errno);
        if (helper == 0)
                become_helper(&plan, parent);
        plan.report_fds[1] = close_fd(plan.report_fds[1]);
        r = launch_await(&plan, from->deadline_ms, ret);
        (void)kill(helper, SIGKILL);
        while (waitpid(helper, NULL, 0) < 0 && errno == EINTR)
                ;
        (void)unsetenv("NOTIFY_SOCKET");
        return r;
}
