/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "tasks/log"

#include "tasks/project-log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/time.h"
#include "base/utf8.h"

enum { SUFFIX_MAX = 16 };

typedef struct Writing {
        ProjectLog *log;
        ProjectFolder folder;
        char path[PROJECT_FOLDER_MAX];
        Buf text;
        int64_t max_bytes;
        unsigned max_files;
        int r;
} Writing;

static void project_log_start(ProjectLog *log);

/* ---- on a worker ----------------------------------------------------------------------------- */

static void project_log_name_of(const Writing *writing, unsigned number, char *out, size_t n_out) {
        if (number)
                snprintf(out, n_out, "%s.%u", writing->path, number);
        else
                snprintf(out, n_out, "%s", writing->path);
}

static void project_log_rotate(const Writing *writing) {
        size_t n = strlen(writing->path) + SUFFIX_MAX;
        _cleanup_(freep) char *from = malloc(n), *to = malloc(n);
        struct stat st;

        if (!from || !to || stat(writing->path, &st) || st.st_size <= writing->max_bytes)
                return;
        project_log_name_of(writing, writing->max_files, to, n);
        (void)unlink(to);
        for (unsigned i = writing->max_files; i-- > 0;) {
                project_log_name_of(writing, i, from, n);
                project_log_name_of(writing, i + 1, to, n);
                (void)rename(from, to);
        }
}

/* Whoever works in the project can put something else in its place: a FIFO must not hold a worker, and what
 * is a file elsewhere, too, is not written. */
static int project_log_open_file(const char *path) {
        _cleanup_(closep) int fd =
                open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
                return -EMLINK;
        r = fd;
        fd = -1;
        return r;
}

static void project_log_run(void *user) {
        Writing *writing = user;
        Str rest = buf_str(&writing->text);
        _cleanup_(closep) int fd = -1,
                              folder = project_folder_pin(&writing->folder, "daemon.log", writing->path);

        if (folder >= 0)
                project_log_rotate(writing);
        fd = folder >= 0 ? project_log_open_file(writing->path) : folder;
        if (fd < 0)
                writing->r = fd;
        while (!writing->r && rest.n) {
                ssize_t n = write(fd, rest.data, rest.n);
                if (n < 0 && errno != EINTR)
                        writing->r = -errno;
                if (n > 0)
                        rest = (Str){rest.data + n, rest.n - (size_t)n};
        }
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static void project_log_done(void *user) {
        Writing *writing = user;
        ProjectLog *log = writing->log;

        log->is_writing = false;
        if (writing->r)
                log_warning(&log->daemon->log, log->path, "not written: %s", strerror(-writing->r));
        buf_deinit(&writing->text);
        free(writing);
        project_log_start(log);
        daemon_release_stop(log->daemon);
}

static void project_log_start(ProjectLog *log) {
        Writing *writing =
                log->is_writing || !log->is_open || !log->pending.n ? NULL : calloc(1, sizeof(*writing));

        if (!writing)
                return;
        *writing = (Writing){.log = log,
                             .folder = *log->folder,
                             .text = log->pending,
                             .max_bytes = log->max_bytes,
                             .max_files = log->max_files};
        if (loop_work(log->daemon->loop, project_log_run, project_log_done, writing)) {
                free(writing);
                return;
        }
        log->pending = BUF_NULL;
        log->is_writing = true;
        daemon_hold_stop(log->daemon);
}

/* One fact, one line; and what a terminal would obey or hide is text of others. */
static void project_log_clean(char *line) {
        size_t n_left = strlen(line), n;

        for (char *at = line; n_left; at += n, n_left -= n) {
                int32_t code;

                n = utf8_next((Str){at, n_left}, &code);
                if (utf8_is_hidden(code))
                        memset(at, code == UTF8_WRONG || code >= ' ' ? '?' : ' ', n);
        }
}

static int project_log_append(ProjectLog *log, const char *format, va_list args) {
        char line[2048], time[TIME_TEXT_MAX];

        vsnprintf(line, sizeof(line), format, args);
        project_log_clean(line);
        time_format_ms(loop_wall_us(log->daemon->loop), time);
        if (log->n_lost &&
            buf_printf(&log->pending, "[%s] %llu lines lost\n", time, (unsigned long long)log->n_lost))
                return -ENOMEM;
        log->n_lost = 0;
        return buf_printf(&log->pending, "[%s] %s\n", time, line);
}

void project_log_line(ProjectLog *log, const char *format, ...) {
        va_list args;

        va_start(args, format);
        if (log->pending.n > PROJECT_LOG_MAX || project_log_append(log, format, args))
                log->n_lost++;
        va_end(args);
        project_log_start(log);
}

int project_log_init(ProjectLog *log, Daemon *daemon, const ProjectFolder *folder, const char *path) {
        *log = (ProjectLog){.daemon = daemon, .folder = folder, .path = strdup(path)};
        project_log_limits(log, 50, 5);
        return log->path ? 0 : error_origin(-ENOMEM);
}

void project_log_open(ProjectLog *log) {
        log->is_open = true;
        project_log_start(log);
}

void project_log_deinit(ProjectLog *log) {
        buf_deinit(&log->pending);
        free(log->path);
        log->path = NULL;
}

void project_log_limits(ProjectLog *log, double max_size_mb, double max_files) {
        log->max_bytes = (int64_t)(MIN(max_size_mb, 1e6) * 1024 * 1024);
        log->max_files = (unsigned)MIN(MAX(max_files, 1.0), 1000.0);
}
