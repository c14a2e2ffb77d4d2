/* SPDX-License-Identifier: MIT */
#include "cli/term/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macro.h"

enum { PATIENCE_MS = 1000 }; /* for a terminal that does not take its last bytes */

/* ---- last resort ----------------------------------------------------------------------------- */

static Terminal *shown; /* in raw mode; for a crash only */

static void on_crash(int number) {
        static const char plain[] = "\x1b\\\x1b[?1049l\x1b[0m\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l"
                                    "\x1b[?1006l\x1b[?2004l\r\n";

        if (shown) {
                (void)!write(shown->out, plain, sizeof(plain) - 1);
                (void)tcsetattr(shown->in, TCSANOW, &shown->before);
        }
        (void)raise(number); /* SA_RESETHAND: now as if we had not been there */
}

static void expect_crash(Terminal *terminal) {
        static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
        const struct sigaction action = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND};

        shown = terminal;
        for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
                struct sigaction before;

                if (!sigaction(numbers[i], NULL, &before) && before.sa_handler == SIG_DFL)
                        (void)sigaction(numbers[i], &action, NULL);
        }
}

/* ---- opening --------------------------------------------------------------------------------- */

/* A description of our own that does not block; the given one where that is not allowed. */
static int reopen(int fd, int flags) {
        char path[32];
        int own;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        own = open(path, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        return own >= 0 ? own : fd;
}

void terminal_open(Terminal *terminal) {
        *terminal = (Terminal){.in = STDIN_FILENO, .out = STDOUT_FILENO};
        modes_init(&terminal->modes);
        terminal->has_in = isatty(STDIN_FILENO);
        terminal->has_out = isatty(STDOUT_FILENO);
        if (terminal->has_in)
                terminal->in = reopen(STDIN_FILENO, O_RDONLY);
        if (terminal->has_out)
                terminal->out = reopen(STDOUT_FILENO, O_WRONLY);
}

void terminal_close(Terminal *terminal) {
        terminal_restore(terminal);
        shown = NULL;
        if (terminal->in != STDIN_FILENO)
                terminal->in = close_fd(terminal->in);
        if (terminal->out != STDOUT_FILENO)
                terminal->out = close_fd(terminal->out);
}

/* ---- modes ----------------------------------------------------------------------------------- */

/* Sets attributes also from the background, where the kernel would stop us. */
static int set_attributes(int fd, int when, const struct termios *attributes) {
        sigset_t set, before;
        int r;

        sigemptyset(&set);
        sigaddset(&set, SIGTTOU);
        (void)sigprocmask(SIG_BLOCK, &set, &before);
        do
                r = tcsetattr(fd, when, attributes) ? -errno : 0;
        while (r == -EINTR);
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        return r ? error_origin(r) : 0;
}

int terminal_raw(Terminal *terminal) {
        struct termios raw;
        int r;

        terminal->is_shown = true;
        if (!terminal->has_in)
                return 0;
        if (!terminal->is_raw && tcgetattr(terminal->in, &terminal->before))
                return error_origin(-errno);
        raw = terminal->before;
        cfmakeraw(&raw);
        raw.c_cc[VMIN] = 1;
        raw.c_cc[VTIME] = 0;
        expect_crash(terminal);
        r = tcsetattr(terminal->in, TCSANOW, &raw) ? error_origin(-errno) : 0; /* what was typed stays */
        terminal->is_raw |= !r;
        return r;
}

/* All of it, unless the terminal takes nothing for a while. */
static void write_patiently(int fd, Str text) {
        while (text.n) {
                struct pollfd pfd = {.fd = fd, .events = POLLOUT};
                ssize_t n = write(fd, text.data, text.n);

                if (n >= 0)
                        text = (Str){text.data + n, text.n - (size_t)n};
                else if (errno == EINTR)
                        continue;
                else if (errno != EAGAIN || poll(&pfd, 1, PATIENCE_MS) <= 0)
                        return;
        }
}

void terminal_restore(Terminal *terminal) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        if (terminal->has_out && terminal->is_shown && !undo_append(&text, &terminal->modes))
                write_patiently(terminal->out, buf_str(&text));
        terminal->is_shown = false;
        if (!terminal->is_raw)
                return;
        terminal->is_raw = false;
        (void)set_attributes(terminal->in, TCSANOW, &terminal->before); /* DRAIN could wait for ever */
}

bool terminal_size(unsigned *ret_cols, unsigned *ret_rows) {
        struct winsize size = {0};

        *ret_cols = *ret_rows = 0;
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && ioctl(STDIN_FILENO, TIOCGWINSZ, &size))
                return false;
        *ret_cols = size.ws_col;
        *ret_rows = size.ws_row;
        return size.ws_col && size.ws_row;
}
