/* SPDX-License-Identifier: MIT */
/*
 * muster-sandbox enter [--network SLIRP4NETNS] BWRAP ARGUMENT...
 * muster-sandbox confine [--expect DEVICE:INODE PATH]... [--write PATH]... -- COMMAND [ARGUMENT]...
 *
 * The two small steps on both sides of bubblewrap; core/sandbox/sandbox.h has the picture and makes both
 * command lines. `enter` runs outside and hands bubblewrap the system call filter by descriptor. `confine`
 * runs inside, after all mounts are made and before anything untrusted runs; of it one small process stays,
 * which waits for the command.
 */
#include <errno.h>
#include <linux/close_range.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/macro.h"
#include "base/signals.h"
#include "sandbox/filter.h"
#include "sandbox/landlock.h"
#include "sandbox/network.h"

enum { EXIT_SANDBOX = 125, EXIT_CANNOT_RUN = 126, EXIT_NOT_FOUND = 127 };

static _noreturn_ _printf_(2, 3) void sandbox_fail(int error, const char *format, ...) {
        va_list args;

        fputs("muster-sandbox: ", stderr);
        va_start(args, format);
        vfprintf(stderr, format, args);
        va_end(args);
        fprintf(stderr, "%s%s\n", error ? ": " : "", error ? strerror(error) : "");
        exit(EXIT_SANDBOX);
}

/* ---- outside --------------------------------------------------------------------------------- */

/*
 * bubblewrap stays as parent of the sandbox, in the same process group, and has --die-with-parent: a signal
 * to the group that ended it would be a KILL for everything inside. So it ignores what people and the shim
 * send; the command inside gets the signal itself, and its end ends bubblewrap. SIGKILL still takes all.
 */
static void ignore_signals(void) {
        static const int ignored[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
                                      SIGPIPE, SIGALRM, SIGTSTP, SIGTTIN, SIGTTOU};

        for (size_t i = 0; i < ARRAY_SIZE(ignored); i++)
                (void)signal(ignored[i], SIG_IGN);
}

/* A network of its own, with the name server that goes with it in the place of the word. */
static void enter_network(const char *program, int argc, char **argv) {
        static char number[16];
        char wrong[256] = "";
        int fd = network_resolver_fd(), r = fd < 0 ? fd : network_enter(program, wrong, sizeof(wrong));

        if (r)
                sandbox_fail(-r, "a network of its own, by %s%s%s", program, *wrong ? ": " : "", wrong);
        snprintf(number, sizeof(number), "%d", fd);
        for (int i = 0; i < argc; i++)
                if (strcmp(argv[i], "--") == 0)
                        return;
                else if (strcmp(argv[i], NETWORK_RESOLVER_WORD) == 0)
                        argv[i] = number;
}

static _noreturn_ void sandbox_enter(int argc, char **argv) {
        char **command = calloc((size_t)argc + 3, sizeof(*command)), number[16];
        int fd = sandbox_filter_fd();

        if (argc > 2 && strcmp(argv[0], "--network") == 0) {
                enter_network(argv[1], argc - 2, argv + 2);
                argc -= 2;
                argv += 2;
        }
        if (!command || fd < 0)
                sandbox_fail(command ? -fd : ENOMEM, "cannot make the filter");
        snprintf(number, sizeof(number), "%d", fd);
        command[0] = argv[0];
        command[1] = "--seccomp";
        command[2] = number;
        memcpy(command + 3, argv + 1, (size_t)(argc - 1) * sizeof(*argv));
        ignore_signals();
        execv(command[0], command);
        sandbox_fail(errno, "cannot run %s", argv[0]);
}

/* ---- inside ---------------------------------------------------------------------------------- */

typedef struct Confine {
        char **writable;
        size_t n_writable;
        char **command;
} Confine;

/* What was mounted must be what the daemon looked at: a folder may have become a link elsewhere in between.
 */
static void expect(const char *identity, const char *path) {
        char found[64];
        struct stat st;

        if (lstat(path, &st))
                sandbox_fail(errno, "%s", path);
        snprintf(found, sizeof(found), "%llx:%llx", (unsigned long long)st.st_dev,
                 (unsigned long long)st.st_ino);
        if (strcmp(found, identity) != 0)
                sandbox_fail(0, "%s: was exchanged while the sandbox was made", path);
}

static void sandbox_parse(int argc, char **argv, Confine *ret) {
        int i = 0;

        ret->writable = calloc((size_t)argc + 1, sizeof(*ret->writable));
        if (!ret->writable)
                sandbox_fail(ENOMEM, "confine");
        for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
                if (strcmp(argv[i], "--write") == 0 && i + 1 < argc)
                        ret->writable[ret->n_writable++] = argv[++i];
                else if (strcmp(argv[i], "--expect") == 0 && i + 2 < argc) {
                        expect(argv[i + 1], argv[i + 2]);
                        i += 2;
                } else
                        sandbox_fail(0, "confine does not know %s", argv[i]);
        }
        if (i + 1 >= argc)
                sandbox_fail(0, "confine without a command");
        ret->command = argv + i + 1;
}

/* The command's exit status as a shell would say it. */
static _noreturn_ void sandbox_wait_for(pid_t child) {
        int status = 0;

        while (waitpid(child, &status, 0) < 0 && errno == EINTR)
                ;
        exit(WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
}

/*
 * Returns in a child that leads a process group of its own, in front of the terminal. The group that we come
 * with is of another PID namespace: a shell that wants to give the terminal back to it when it ends (dash
 * does) would fail. The parent leaves the session, so that the new group is an orphaned one, in which Ctrl+Z
 * stops nobody: there is no shell outside to wake it again.
 */
static void lead(void) {
        pid_t child;

        (void)signal(SIGTTOU, SIG_IGN);
        child = fork();
        if (child < 0)
                sandbox_fail(errno, "fork");
        if (child > 0) {
                (void)setsid();
                sandbox_wait_for(child);
        }
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) || setpgid(0, 0))
                sandbox_fail(errno, "process group");
        if (isatty(STDIN_FILENO))
                (void)tcsetpgrp(STDIN_FILENO, getpid());
}

static _noreturn_ void confine(int argc, char **argv) {
        Confine args = {0};
        int r;

        sandbox_parse(argc, argv, &args);
        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
                sandbox_fail(errno, "no_new_privs");
        r = landlock_confine(args.writable, args.n_writable);
        if (r)
                sandbox_fail(-r, "Landlock");
        lead();
        signals_default();
        if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) && errno != ENOSYS)
                sandbox_fail(errno, "close_range");
        execvp(args.command[0], args.command);
        r = errno;
        fprintf(stderr, "muster-sandbox: %s: %s\n", args.command[0], strerror(r));
        exit(r == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_RUN);
}

int main(int argc, char **argv) {
        if (argc > 2 && strcmp(argv[1], "enter") == 0)
                sandbox_enter(argc - 2, argv + 2);
        if (argc > 2 && strcmp(argv[1], "confine") == 0)
                confine(argc - 2, argv + 2);
        sandbox_fail(
                0,
                "started by musterd only: muster-sandbox enter BWRAP ARGUMENT..., or confine OPTION... -- "
                "COMMAND...");
}
