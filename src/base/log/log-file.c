/* SPDX-License-Identifier: MIT */
#include "base/log/log-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"

/* ---- the file -------------------------------------------------------------------------------- */

static int log_file_open_path(const char *path, int flags) {
        return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | flags, 0600);
}

static bool log_file_is_same(const struct stat *a, const struct stat *b) {
        return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

int log_file_open(LogFile **ret, const char *path, uint64_t n_max, unsigned n_keep, int flags) {
        LogFile *file = calloc(1, sizeof(*file));

        if (!file)
                return error_origin(-ENOMEM);
        *file = (LogFile){.path = strdup(path), .fd = -1, .flags = flags, .n_max = n_max, .n_keep = n_keep};
        if (file->path)
                file->fd = log_file_open_path(path, flags);
        if (file->fd < 0) {
                int r = file->path ? -errno : -ENOMEM;

                log_file_free(file);
                return error_origin(r);
        }
        *ret = file;
        return 0;
}

LogFile *log_file_free(LogFile *file) {
        if (!file)
                return NULL;
        close_fd(file->fd);
        free(file->path);
        free(file);
        return NULL;
}

/* What we and others print without the log goes where the log goes. */
static void log_file_move_standard(const struct stat *old, int fd) {
        struct stat st;

        for (int standard = STDOUT_FILENO; standard <= STDERR_FILENO; standard++)
                if (!fstat(standard, &st) && log_file_is_same(&st, old))
                        (void)dup2(fd, standard);
}

/* The file at the path from now on; when there can be none, the old one goes on. */
static void log_file_reopen(LogFile *file, const struct stat *old) {
        int fd = log_file_open_path(file->path, file->flags);

        if (fd < 0)
                return;
        log_file_move_standard(old, fd);
        close_fd(file->fd);
        file->fd = fd;
}

static char *log_file_numbered(const LogFile *file, unsigned number) {
        char *name = NULL;

        if (!number)
                return strdup(file->path);
        return asprintf(&name, "%s.%u", file->path, number) < 0 ? NULL : name;
}

static void log_file_shift(const LogFile *file) {
        if (!file->n_keep)
                (void)unlink(file->path);
        for (unsigned i = file->n_keep; i > 0; i--) {
                _cleanup_(freep) char *from = log_file_numbered(file, i - 1),
                                      *to = log_file_numbered(file, i);

                if (from && to)
                        (void)rename(from, to);
        }
}

/* Before n bytes are written: a full file moves away, and one that others moved away is left. */
static void log_file_make_room(LogFile *file, size_t n) {
        struct stat ours, there;

        if (fstat(file->fd, &ours))
                return;
        if (ours.st_nlink && (!file->n_max || !ours.st_size || (uint64_t)ours.st_size + n <= file->n_max))
                return;
        if (!stat(file->path, &there) && log_file_is_same(&ours, &there))
                log_file_shift(file);
        log_file_reopen(file, &ours);
}

bool log_file_write(LogFile *file, const char *text, size_t n) {
        ssize_t done;

        log_file_make_room(file, n);
        do
                done = write(file->fd, text, n);
        while (done < 0 && errno == EINTR);
        return done == (ssize_t)n;
}

/* ---- what is counted ------------------------------------------------------------------------- */

static void log_file_tell(LogFile *file, LogLine *line) {
        log_line_end(line);
        (void)log_file_write(file, line->text, line->n);
}

static void log_file_tell_repeats(LogFile *file, int64_t wall_us) {
        LogLine line;

        if (!file->n_repeats)
                return;
        log_line_begin(&line, wall_us, file->last_level, "base/log", NULL);
        log_line_printf(&line, "last line repeated %u times", file->n_repeats);
        log_file_tell(file, &line);
        file->n_repeats = 0;
}

static void log_file_tell_held(LogFile *file, LogSite *site, int64_t wall_us) {
        LogLine line;

        if (!site->n_held)
                return;
        log_line_begin(&line, wall_us, site->level, "base/log", NULL);
        log_line_printf(&line, "left out lines=%u like=\"%s\"", site->n_held, site->format);
        log_file_tell(file, &line);
        site->n_held = 0;
        file->n_last = 0; /* what comes next repeats nothing that was written last */
}

/* The site of this format; the one that has been quiet longest makes room. */
static LogSite *log_file_site(LogFile *file, const LogFact *fact) {
        LogSite *oldest = &file->sites[0];

        for (size_t i = 0; i < LOG_FILE_SITES; i++) {
                LogSite *site = &file->sites[i];

                if (site->format == fact->format)
                        return site;
                if (!site->format || (oldest->format && site->since_us < oldest->since_us))
                        oldest = site;
        }
        log_file_tell_held(file, oldest, fact->wall_us);
        *oldest = (LogSite){.format = fact->format, .level = fact->level, .since_us = fact->tick_us};
        return oldest;
}

static bool log_file_has_allowance(LogFile *file, const LogFact *fact) {
        LogSite *site;

        if (fact->level > LOG_NOTICE)
                return true; /* who asks for these wants them all; the size is bounded anyway */
        site = log_file_site(file, fact);
        if (fact->tick_us - site->since_us >= LOG_FILE_PERIOD_US) {
                log_file_tell_held(file, site, fact->wall_us);
                *site = (LogSite){.format = fact->format, .level = fact->level, .since_us = fact->tick_us};
        }
        if (site->n < LOG_FILE_BURST) {
                site->n++;
                return true;
        }
        site->n_held++;
        return false;
}

bool log_file_admits(LogFile *file, const LogLine *line, const LogFact *fact) {
        const char *text = line->text + line->n_stamp;
        size_t n = line->n - line->n_stamp;

        if (n == file->n_last && !memcmp(text, file->last, n)) {
                file->n_repeats++;
                return false;
        }
        log_file_tell_repeats(file, fact->wall_us);
        if (!log_file_has_allowance(file, fact))
                return false;
        memcpy(file->last, text, n);
        file->n_last = n;
        file->last_level = fact->level;
        return true;
}

bool log_file_settle(LogFile *file, int64_t wall_us, int64_t tick_us, bool is_all) {
        bool is_left = false;

        log_file_tell_repeats(file, wall_us);
        for (size_t i = 0; i < LOG_FILE_SITES; i++) {
                LogSite *site = &file->sites[i];

                if (is_all || tick_us - site->since_us >= LOG_FILE_PERIOD_US)
                        log_file_tell_held(file, site, wall_us);
                is_left = is_left || site->n_held;
        }
        return is_left;
}
