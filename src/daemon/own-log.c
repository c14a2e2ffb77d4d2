/* SPDX-License-Identifier: MIT */
#include "daemon/own-log.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/place.h"
#include "daemon/setup.h"

enum { OWN_LOG_SETTLE_MS = 1000 };

/* The path of stderr, if it is a file of that name. */
static bool own_log_path(char path[PATH_MAX]) {
        struct stat st;
        const char *slash;
        ssize_t n;

        if (fstat(STDERR_FILENO, &st) || !S_ISREG(st.st_mode) || !st.st_nlink)
                return false;
        n = readlink("/proc/self/fd/2", path, PATH_MAX - 1);
        if (n <= 0)
                return false;
        path[n] = 0;
        slash = strrchr(path, '/');
        return slash && !strcmp(slash + 1, PLACE_LOG);
}

static void own_log_on_settle(Timer *timer) {
        Daemon *daemon = container_of(timer, Daemon, log_settle);

        if (log_settle(&daemon->log))
                (void)timer_set(timer, OWN_LOG_SETTLE_MS);
}

static void own_log_on_held(void *user) {
        Daemon *daemon = user;

        if (!timer_is_set(&daemon->log_settle))
                (void)timer_set(&daemon->log_settle, OWN_LOG_SETTLE_MS);
}

/* A person at a terminal, who has not asked for more. */
static bool own_log_awaits_greeting(const Config *config) {
        return !config->log_level && isatty(STDERR_FILENO);
}

void own_log_open(Daemon *daemon) {
        const Config *config = &daemon->config;
        LogLevel level = own_log_awaits_greeting(config) ? LOG_WARNING : setup_log_level(config);
        char path[PATH_MAX];

        if (!own_log_path(path) ||
            log_add_file(&daemon->log, path, (uint64_t)config->log_max_kb << 10,
                         (unsigned)MIN(config->log_keep, (int64_t)1000), level, 0) < 0)
                (void)log_add(&daemon->log, dup(STDERR_FILENO), level);
}

void own_log_greeted(Daemon *daemon) {
        if (own_log_awaits_greeting(&daemon->config))
                log_set_level(&daemon->log, 0, setup_log_level(&daemon->config));
}

void own_log_follow(Daemon *daemon) {
        timer_init(&daemon->log_settle, daemon->loop, own_log_on_settle);
        daemon->log.user = daemon;
        daemon->log.held = own_log_on_held;
}

void own_log_close(Daemon *daemon) {
        daemon->log.held = NULL;
        if (daemon->loop)
                timer_clear(&daemon->log_settle);
}
