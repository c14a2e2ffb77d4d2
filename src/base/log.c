/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"
#include "base/utf8.h"

/*
 * How a sink is written without blocking. A terminal or pipe is usually shared with the shell and with other
 * programs, so O_NONBLOCK must not be set on it; instead log_add() opens it once more by way of /proc, which
 * gives a description of our own. Where that is not allowed, poll(2) before each write has to do: a pipe
 * that is ready takes PIPE_BUF bytes.
 */
enum { SINK_FILE, SINK_STREAM, SINK_SOCKET };

/* A finished line, with its newline. */
typedef struct Line {
        char text[LOG_LINE_MAX];
        size_t n;
} Line;

static const char *const level_names[] = {
        [LOG_ERR] = "err",   [LOG_WARNING] = "warning", [LOG_NOTICE] = "notice",
        [LOG_INFO] = "info", [LOG_DEBUG] = "debug",
};

const char *log_level_name(LogLevel level) {
        return (size_t)level < ARRAY_SIZE(level_names) ? level_names[level] : "?";
}

int log_level_from_name(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(level_names); i++)
                if (strcasecmp(name, level_names[i]) == 0)
                        return (int)i;
        return -EINVAL;
}

static void refresh_level(Log *log) {
        log->level = LOG_ERR;
        for (unsigned i = 0; i < LOG_SINKS; i++)
                if (log->sinks[i].fd >= 0)
                        log->level = MAX(log->level, log->sinks[i].level);
}

/* The standard streams stay open: the next open() would get their number, and all stray output with it. */
static void release(int fd) {
        if (fd > STDERR_FILENO)
                close_fd(fd);
}

void log_init(Log *log) {
        *log = (Log){.level = LOG_ERR};
        for (unsigned i = 0; i < LOG_SINKS; i++)
                log->sinks[i].fd = -1;
}

void log_deinit(Log *log) {
        for (int i = 0; i < LOG_SINKS; i++)
                log_remove(log, i);
}

/* Returns fd, or a non-blocking description of the same stream in its place. */
static int reopen_nonblock(int fd) {
        char path[32];
        int own;

        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        if (own < 0)
                return fd;
        release(fd);
        return own;
}

int log_add(Log *log, int fd, LogLevel level) {
        LogSink *sink;
        struct stat st;
        int slot = 0;

        while (slot < LOG_SINKS && log->sinks[slot].fd >= 0)
                slot++;
        if (slot == LOG_SINKS)
                return error_origin(-ENOSPC);

        sink = &log->sinks[slot];
        *sink = (LogSink){.fd = fd, .level = level, .kind = SINK_STREAM};
        if (fstat(fd, &st) == 0) {
                if (S_ISREG(st.st_mode))
                        sink->kind = SINK_FILE;
                else if (S_ISSOCK(st.st_mode))
                        sink->kind = SINK_SOCKET;
                else
                        sink->fd = reopen_nonblock(fd);
        }
        refresh_level(log);
        return slot;
}

void log_remove(Log *log, int slot) {
        release(log->sinks[slot].fd);
        log->sinks[slot].fd = -1;
        refresh_level(log);
}

void log_set_level(Log *log, int slot, LogLevel level) {
        log->sinks[slot].level = level;
        refresh_level(log);
}

/* Printable UTF-8 only, so that neither a newline nor an escape sequence of a client gets into the log. */
static void line_sanitize(char *text, size_t n) {
        for (size_t i = 0; i < n; i++) {
                unsigned char c = (unsigned char)text[i];

                if (c < ' ' || c == 0x7f)
                        text[i] = '?';
                else if (c == 0xc2 && i + 1 < n && (unsigned char)text[i + 1] < 0xa0) /* U+0080 to U+009F */
                        text[i] = text[i + 1] = '?';
        }
        for (size_t i = utf8_valid_prefix(text, n); i < n; i += utf8_valid_prefix(text + i, n - i))
                text[i] = '?';
}

static void line_begin(Line *line, int64_t us, LogLevel level, const char *module, const char *id) {
        char stamp[TIME_TEXT_MAX];
        int n;

        time_format_ms(us, stamp);
        n = snprintf(line->text, sizeof(line->text), id ? "%s %s %s [%s] " : "%s %s %s ", stamp,
                     log_level_name(level), module, id);
        line->n = MIN((size_t)MAX(n, 0), sizeof(line->text) - 1);
}

_printf_(2, 0) static void line_vprintf(Line *line, const char *format, va_list ap) {
        size_t room = sizeof(line->text) - line->n;
        int n = vsnprintf(line->text + line->n, room, format, ap);

        if (n > 0)
                line->n += MIN((size_t)n, room - 1);
}

_printf_(2, 3) static void line_printf(Line *line, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        line_vprintf(line, format, ap);
        va_end(ap);
}

/* The printf functions above leave one byte for the newline; a line that was cut ends in dots. */
static void line_end(Line *line) {
        if (line->n == sizeof(line->text) - 1)
                memset(line->text + line->n - 3, '.', 3);
        line_sanitize(line->text, line->n);
        line->text[line->n++] = '\n';
}

/* One attempt, which does not wait. False when not all of it went out. */
static bool sink_write(LogSink *sink, const char *text, size_t n) {
        struct pollfd pfd = {.fd = sink->fd, .events = POLLOUT};
        ssize_t done;

        if (sink->kind == SINK_STREAM && (poll(&pfd, 1, 0) != 1 || pfd.revents != POLLOUT))
                return false; /* full, or nobody reads it any more and SIGPIPE is waiting */
        do
                done = sink->kind == SINK_SOCKET ? send(sink->fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL)
                                                 : write(sink->fd, text, n);
        while (done < 0 && errno == EINTR);
        if (done > 0)
                sink->torn = (size_t)done < n;
        return done == (ssize_t)n;
}

/* True when there is nothing (more) to confess. */
static bool sink_report_lost(LogSink *sink, int64_t us) {
        Line line;

        if (!sink->n_lost)
                return true;
        line_begin(&line, us, LOG_WARNING, "base/log", NULL);
        line_printf(&line, "lost lines=%u", sink->n_lost);
        line_end(&line);
        if (sink->torn) { /* end the half line that got out before */
                memmove(line.text + 1, line.text, line.n++);
                line.text[0] = '\n';
        }
        if (!sink_write(sink, line.text, line.n))
                return false;
        sink->n_lost = 0;
        return true;
}

static int64_t wall_us(Log *log) {
        struct timespec now;

        if (log->wall_us)
                return log->wall_us(log->user);
        clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void log_line(Log *log, LogLevel level, const char *module, const char *id, const char *format, ...) {
        const int saved = errno; /* callers log and then return it; %m wants it too */
        int64_t us = wall_us(log);
        Line line;
        va_list ap;

        line_begin(&line, us, level, module, id);
        va_start(ap, format);
        errno = saved;
        line_vprintf(&line, format, ap);
        va_end(ap);
        line_end(&line);

        for (unsigned i = 0; i < LOG_SINKS; i++) {
                LogSink *sink = &log->sinks[i];

                if (sink->fd < 0 || level > sink->level)
                        continue;
                if (!sink_report_lost(sink, us) || !sink_write(sink, line.text, line.n))
                        sink->n_lost++;
        }
        errno = saved;
}
