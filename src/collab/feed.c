/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/feed"

#include "collab/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/error.h"
#include "collab/collab.h"

typedef struct FeedJob {
        Collab *collab;
        Str lines;
        void (*done)(void *user, int r);
        void *user;
        int r;
} FeedJob;

/* Other programs hold the lock for one write; a worker may wait for that. */
static int append(const Collab *collab, Str lines) {
        _cleanup_(closep) int lock = -1, fd = -1;
        ssize_t n;

        lock = open(collab->feed_lock_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (lock < 0 || flock(lock, LOCK_EX) < 0)
                return error_origin(-errno);
        fd = open(collab->feed_path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (fd < 0)
                return error_origin(-errno);
        n = write(fd, lines.data, lines.n);
        if (n < 0)
                return error_origin(-errno);
        return (size_t)n == lines.n ? 0 : error_origin(-ENOSPC);
}

static void run(void *user) {
        FeedJob *job = user;

        job->r = append(job->collab, job->lines);
}

static void done(void *user) {
        FeedJob *job = user;

        if (job->r)
                log_warning(&job->collab->daemon->log, "-", "cannot append to the feed: %s",
                            strerror(-job->r));
        job->done(job->user, job->r);
        free(job);
}

int feed_append(Collab *collab, Str lines, void (*appended)(void *user, int r), void *user) {
        FeedJob *job = calloc(1, sizeof(*job));

        if (!job)
                return error_origin(-ENOMEM);
        *job = (FeedJob){.collab = collab, .lines = lines, .done = appended, .user = user};
        if (!loop_work(collab->daemon->loop, run, done, job))
                return 0;
        free(job);
        return error_origin(-ENOMEM);
}
