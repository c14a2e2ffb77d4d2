/* SPDX-License-Identifier: MIT */
#include "base/log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log/log-file.h"

/*
 * How a sink is written without blocking. A terminal or pipe is usually shared with the shell and with other
 * programs, so O_NONBLOCK must not be set on it; instead log_add() opens it once more by way of /proc, which
 * gives a description of our own. Where that is not allowed, poll(2) before each write has to do: a pipe
 * that is ready takes PIPE_BUF bytes.
 */
enum { SINK_FILE, SINK_STREAM, SINK_SOCKET, SINK_OWN };

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
static void log_release(int fd) {
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
        log_release(fd);
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

static int64_t log_wall_us(Log *log) {
        struct timespec now;

        if (log->wall_us)
                return log->wall_us(log->user);
        clock_gettime(CLOCK_REALTIME, &now);
        return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t tick_us(Log *log) {
        struct timespec now;

        if (log->tick_us)
                return log->tick_us(log->user);
        clock_gettime(CLOCK_MONOTONIC, &now);
        return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int log_add_file(Log *log, const char *path, uint64_t n_max, unsigned n_keep, LogLevel level, int flags) {
        LogFile *file;
        int r = log_file_open(&file, path, n_max, n_keep, flags);

        if (r)
                return error_trace(r);
        r = log_add(log, file->fd, level);
        if (r < 0) {
                log_file_free(file);
                return error_trace(r);
        }
        log->sinks[r].kind = SINK_OWN;
        log->sinks[r].file = file;
        return r;
}

void log_remove(Log *log, int slot) {
        LogSink *sink = &log->sinks[slot];

        if (sink->file) {
                (void)log_file_settle(sink->file, log_wall_us(log), tick_us(log), true);
                sink->file = log_file_free(sink->file);
        } else
                log_release(sink->fd);
        sink->fd = -1;
        refresh_level(log);
}

void log_set_level(Log *log, int slot, LogLevel level) {
        log->sinks[slot].level = level;
        refresh_level(log);
}

/* One attempt, which does not wait. False when not all of it went out. */
static bool sink_write(LogSink *sink, const char *text, size_t n) {
        struct pollfd pfd = {.fd = sink->fd, .events = POLLOUT};
        ssize_t done;

        if (sink->kind == SINK_OWN)
                return log_file_write(sink->file, text, n);
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
        LogLine line;

        if (!sink->n_lost)
                return true;
        log_line_begin(&line, us, LOG_WARNING, "base/log", NULL);
        log_line_printf(&line, "lost lines=%u", sink->n_lost);
        log_line_end(&line);
        if (sink->torn) { /* end the half line that got out before */
                memmove(line.text + 1, line.text, line.n++);
                line.text[0] = '\n';
        }
        if (!sink_write(sink, line.text, line.n))
                return false;
        sink->n_lost = 0;
        return true;
}

/* To a file of our own: perhaps it is only counted. */
static bool sink_takes(Log *log, LogSink *sink, const LogLine *line, const LogFact *fact) {
        if (!sink->file || log_file_admits(sink->file, line, fact))
                return true;
        if (log->held)
                log->held(log->user);
        return false;
}

bool log_settle(Log *log) {
        bool is_left = false;

        for (unsigned i = 0; i < LOG_SINKS; i++)
                if (log->sinks[i].file &&
                    log_file_settle(log->sinks[i].file, log_wall_us(log), tick_us(log), false))
                        is_left = true;
        return is_left;
}

void log_line(Log *log, LogLevel level, const char *module, const char *id, const char *format, ...) {
        const int saved = errno; /* callers log and then return it; %m wants it too */
        const LogFact fact = {log_wall_us(log), tick_us(log), level, format};
        LogLine line;
        va_list ap;

        log_line_begin(&line, fact.wall_us, level, module, id);
        va_start(ap, format);
        errno = saved;
        log_line_vprintf(&line, format, ap);
        va_end(ap);
        log_line_end(&line);

        for (unsigned i = 0; i < LOG_SINKS; i++) {
                LogSink *sink = &log->sinks[i];

                if (sink->fd < 0 || level > sink->level)
                        continue;
                if (!sink_takes(log, sink, &line, &fact))
                        continue;
                if (!sink_report_lost(sink, fact.wall_us) || !sink_write(sink, line.text, line.n))
                        sink->n_lost++;
        }
        errno = saved;
}
