#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Log: one line per fact, with time, level, module and the id of the object it is about.
 *
 *   2026-01-02T03:04:05.678Z notice wire/listener [cccc] listening path=/run/x.sock
 *
 * A line is at most LOG_LINE_MAX bytes and is written with one system call that cannot block: a pipe or
 * terminal that is full loses the line, and the next one that gets through says how many were lost. Up to
 * LOG_SINKS outputs, each with its own level; one that is a file of our own is bounded. Message bodies and
 * secrets never appear above debug. Owned by the Daemon.
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

typedef enum LogLevel { LOG_ERR, LOG_WARNING, LOG_NOTICE, LOG_INFO, LOG_DEBUG } LogLevel;

enum { LOG_LINE_MAX = 4096, LOG_SINKS = 8 };

typedef struct LogSink {
        int fd; /* -1: free slot */
        LogLevel level;
        unsigned n_lost;
        uint8_t kind;         /* private: how to write to it without blocking */
        bool torn;            /* private: the last line got out in part */
        struct LogFile *file; /* private: a file of our own; it has the descriptor */
} LogSink;

typedef struct Log {
        LogSink sinks[LOG_SINKS];
        LogLevel level;                 /* the most talkative of all sinks */
        int64_t (*wall_us)(void *user); /* NULL: the real clock */
        int64_t (*tick_us)(void *user); /* the same, monotonic */
        void (*held)(void *user); /* a line was counted instead of written: log_settle() soon; or NULL */
        void *user;
} Log;

void log_init(Log *log);
void log_deinit(Log *log);
/* Takes the descriptor (but never closes 0 to 2). Returns the slot, or -ENOSPC. */
int log_add(Log *log, int fd, LogLevel level);
/* A file of our own, made when missing: it is changed for a new one when it has n_max bytes (0: never), old
 * ones are PATH.1 to PATH.n_keep, and floods of the same are counted instead of written; see log-file.h.
 * flags: more of open(), such as O_NOFOLLOW. Returns the slot. */
int log_add_file(Log *log, const char *path, uint64_t n_max, unsigned n_keep, LogLevel level, int flags);
/* Writes what was counted in files of our own. True: there will be more to write later. */
bool log_settle(Log *log);
void log_remove(Log *log, int slot);
void log_set_level(Log *log, int slot, LogLevel level);
int log_level_from_name(const char *name); /* "err" … "debug", any case; -EINVAL */
const char *log_level_name(LogLevel level);

void log_line(Log *log, LogLevel level, const char *module, const char *id, const char *format, ...)
        _printf_(5, 6);

/* Each .c file that logs defines LOG_MODULE first. log may be NULL (tests): then nothing is written. */
#define log_at(log, lvl, id, ...)                                                                           \
        do {                                                                                                \
                Log *_log = (log);                                                                          \
                if (_log && (lvl) <= _log->level)                                                           \
                        log_line(_log, (lvl), LOG_MODULE, (id), __VA_ARGS__);                               \
        } while (0)
#define log_err(log, id, ...)     log_at(log, LOG_ERR, id, __VA_ARGS__)
#define log_warning(log, id, ...) log_at(log, LOG_WARNING, id, __VA_ARGS__)
#define log_notice(log, id, ...)  log_at(log, LOG_NOTICE, id, __VA_ARGS__)
#define log_info(log, id, ...)    log_at(log, LOG_INFO, id, __VA_ARGS__)
#define log_debug(log, id, ...)   log_at(log, LOG_DEBUG, id, __VA_ARGS__)
