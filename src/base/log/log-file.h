#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * LogFile: a sink of the Log that is a file of our own, bounded in size and in how much of the same it
 * takes.
 *
 * A file that has grown to n_max bytes becomes PATH.1, what was PATH.1 becomes PATH.2 and so on; n_keep of
 * these are kept. Standard output and error, if they were the old file, become the new one. A line that
 * equals the one before it is counted ("last line repeated N times"). Of one place in the code, told by its
 * format, LOG_FILE_BURST lines of notice or worse are written in LOG_FILE_PERIOD_US; the others are counted,
 * too. What was counted is written when the next line is, by log_file_settle(), or at the end. Several
 * processes may write to one path: each follows when another one has moved the file away. The system calls
 * are made on the caller's thread: a write and an fstat for each line, a rename and an open for n_max bytes.
 * Private to log*.c; owned by its Log.
 */
#include "base/log/log-line.h"

enum { LOG_FILE_SITES = 64, LOG_FILE_BURST = 500, LOG_FILE_PERIOD_US = 10 * 1000000 };

typedef struct LogSite {
        const char *format; /* NULL: free */
        LogLevel level;
        int64_t since_us; /* when its period began */
        unsigned n, n_held;
} LogSite;

typedef struct LogFile {
        char *path;
        int fd;
        int flags;      /* of open(), beside the usual ones */
        uint64_t n_max; /* 0: it grows */
        unsigned n_keep;
        char last[LOG_LINE_MAX]; /* the line before, without its time */
        size_t n_last;
        LogLevel last_level;
        unsigned n_repeats;
        LogSite sites[LOG_FILE_SITES];
} LogFile;

/* When something is said, and by whom. */
typedef struct LogFact {
        int64_t wall_us, tick_us; /* tick: monotonic */
        LogLevel level;
        const char *format;
} LogFact;

int log_file_open(LogFile **ret, const char *path, uint64_t n_max, unsigned n_keep, int flags);
LogFile *log_file_free(LogFile *file); /* NULL is fine; what was counted has been settled before */
/* Whether this line is to be written; else it is counted. Writes first what was counted before it. */
bool log_file_admits(LogFile *file, const LogLine *line, const LogFact *fact);
/* One attempt; false: not all of it went out. */
bool log_file_write(LogFile *file, const char *text, size_t n);
/* Writes what was counted; all of it, or only where a period is over. True: something is left. */
bool log_file_settle(LogFile *file, int64_t wall_us, int64_t tick_us, bool is_all);
