/* SPDX-License-Identifier: MIT */
#include "cli/link/daemon-log.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/place.h"
#include "base/time.h"
#include "cli/print/human.h"
#include "cli/print/report.h"

enum { FILES_MAX = 1000, LOOK_MS = 200 };

typedef struct DaemonLog {
        char *path;
        FILE *files[FILES_MAX + 1]; /* oldest first */
        size_t n_files;
        char *line; /* of getline() */
        size_t n_room;
        int64_t since_us; /* INT64_MIN: everything */
        bool is_shown;    /* the last line with a time was: what has none belongs to it */
        int changes;      /* inotify, of the folder; -1: none */
} DaemonLog;

static void daemon_log_deinit(DaemonLog *log) {
        for (size_t i = 0; i < log->n_files; i++)
                (void)fclose(log->files[i]);
        free(log->path);
        free(log->line);
        close_fd(log->changes);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* PATH for 0, PATH.N for others. */
static FILE *daemon_log_open(const DaemonLog *log, unsigned number) {
        _cleanup_(freep) char *name = NULL;

        if (asprintf(&name, number ? "%s.%u" : "%s", log->path, number) < 0) {
                name = NULL;
                return NULL;
        }
        return fopen(name, "re");
}

static bool daemon_log_is_same(FILE *a, FILE *b) {
        struct stat st_a, st_b;

        return !fstat(fileno(a), &st_a) && !fstat(fileno(b), &st_b) && st_a.st_dev == st_b.st_dev &&
               st_a.st_ino == st_b.st_ino;
}

/* All there are, without a gap in the numbers. One that is moved meanwhile is not taken twice. */
static void daemon_log_open_all(DaemonLog *log) {
        unsigned n = 1;
        FILE *file;

        while (n < FILES_MAX && (file = daemon_log_open(log, n))) {
                (void)fclose(file);
                n++;
        }
        for (unsigned i = n; i-- > 0;) {
                file = daemon_log_open(log, i);
                if (file && log->n_files && daemon_log_is_same(file, log->files[log->n_files - 1]))
                        (void)fclose(file);
                else if (file)
                        log->files[log->n_files++] = file;
        }
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool daemon_log_wants(DaemonLog *log, Str line) {
        const char *blank = memchr(line.data, ' ', line.n);
        int64_t us;

        if (blank && time_parse((Str){line.data, (size_t)(blank - line.data)}, &us))
                log->is_shown = us >= log->since_us;
        return log->is_shown;
}

/* What is left of a file, but for the first n_skip lines of those that are wanted; how many these are. */
static int64_t daemon_log_print(DaemonLog *log, FILE *file, int64_t n_skip) {
        int64_t n_wanted = 0;
        ssize_t n;

        while ((n = getline(&log->line, &log->n_room, file)) > 0) {
                Str line = {log->line, (size_t)n};

                if (daemon_log_wants(log, line) && n_wanted++ >= n_skip)
                        text_put(stdout, line);
        }
        clearerr(file);
        return n_wanted;
}

static void daemon_log_print_past(DaemonLog *log, int64_t tail) {
        int64_t n_skip = 0;

        for (size_t i = 0; tail >= 0 && i < log->n_files; i++) {
                n_skip += daemon_log_print(log, log->files[i], INT64_MAX);
                rewind(log->files[i]);
        }
        n_skip = tail >= 0 ? MAX(n_skip - tail, (int64_t)0) : 0;
        log->is_shown = log->since_us == INT64_MIN;
        for (size_t i = 0; i < log->n_files; i++) {
                int64_t n = daemon_log_print(log, log->files[i], n_skip);

                n_skip -= MIN(n, n_skip);
        }
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* The file behind this one, which has been moved away; NULL: it has not, or there is none yet. */
static FILE *daemon_log_next(const DaemonLog *log, FILE *now) {
        FILE *newer = NULL;

        for (unsigned i = 0; i < FILES_MAX; i++) {
                FILE *file = daemon_log_open(log, i);
                bool is_now = file && daemon_log_is_same(file, now);

                if (is_now || (!file && i > 0)) {
                        if (file)
                                (void)fclose(file);
                        else if (newer)
                                advise("[lines are missing: the log was changed faster than it could be "
                                       "shown]");
                        return newer;
                }
                if (newer)
                        (void)fclose(newer);
                newer = file;
        }
        return newer;
}

/* Where this cannot be had the files are looked at every LOOK_MS. */
static void daemon_log_watch(DaemonLog *log, const char *folder) {
        log->changes = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        if (log->changes >= 0 &&
            inotify_add_watch(log->changes, folder, IN_CREATE | IN_MODIFY | IN_MOVED_TO) < 0)
                log->changes = close_fd(log->changes);
}

static void daemon_log_wait(const DaemonLog *log) {
        struct pollfd pfd = {.fd = log->changes, .events = POLLIN};
        char dropped[4096]; /* that there was a change is all that counts */

        (void)poll(&pfd, 1, log->changes < 0 ? LOOK_MS : -1);
        while (log->changes >= 0 && read(log->changes, dropped, sizeof(dropped)) > 0)
                ;
}

static int daemon_log_follow(DaemonLog *log) {
        FILE **now = &log->files[log->n_files - 1];

        for (;;) {
                FILE *next = daemon_log_next(log, *now);

                (void)daemon_log_print(log, *now, 0); /* also what came before it was moved away */
                if (next) {
                        (void)fclose(*now);
                        *now = next;
                }
                if (fflush(stdout))
                        return CLI_FAILED; /* main() says why */
                if (!next)
                        daemon_log_wait(log);
        }
}

int daemon_log_show(const Options *options) {
        _cleanup_(daemon_log_deinit) DaemonLog log = {.since_us = INT64_MIN, .changes = -1};
        _cleanup_(freep) char *home = place_home();

        log.path = home ? path_join(home, PLACE_LOG) : NULL;
        if (!log.path)
                return complain(CLI_FAILED, "cannot tell where the log is: is HOME set?");
        if (options->since && !human_since(options->since, &log.since_us))
                return complain(
                        CLI_USAGE,
                        "logs: --since %s: a time like 2026-01-02T03:04:05Z, or 30s, 10m, 2h, 1d ago",
                        options->since);
        if (options->follow)
                daemon_log_watch(&log, home);
        daemon_log_open_all(&log);
        if (!log.n_files) {
                complain(CLI_FAILED, "there is no %s", log.path);
                advise("a daemon that was not started by muster up logs elsewhere, as a service: journalctl "
                       "--user "
                       "-u musterd");
                return CLI_FAILED;
        }
        daemon_log_print_past(&log, options->tail);
        return options->follow ? daemon_log_follow(&log) : CLI_OK;
}
