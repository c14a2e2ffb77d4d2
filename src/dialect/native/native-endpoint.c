/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "native/endpoint"

#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/place.h"
#include "core/daemon.h"
#include "core/tools.h"
#include "dialect/native/native.h"

/* The folder must be ours alone: whoever may write there could put another socket in our place. */
static int check_folder(Endpoint *endpoint, const char *dir) {
        struct stat st;

        if (lstat(dir, &st))
                return error_origin(-errno);
        if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
                return endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "%s is not a folder of ours", dir);
        if ((st.st_mode & 0077) && chmod(dir, 0700))
                return error_origin(-errno);
        return 0;
}

/* For who has another environment than we: cron, ssh, `su -`. Without it they miss us, and we serve all the
 * same. A crash leaves it behind: who reads it connects before believing it. */
static void native_leave_address(const Endpoint *endpoint) {
        Daemon *daemon = endpoint->daemon;
        _cleanup_(freep) char *path = daemon->home ? place_address(daemon->home) : NULL, *line = NULL;
        int r = path && asprintf(&line, "%s\n", endpoint->where) >= 0
                        ? file_replace(path, str_from(line), 0600, FILE_DURABLE)
                        : -ENOMEM;

        if (r)
                log_warning(&daemon->log, "-", "cannot write musterd.address: %s", strerror(-r));
}

/* Without it some programs do not get our tools. */
static void native_leave_tools(const Endpoint *endpoint) {
        int r = tools_leave_file(endpoint->daemon, endpoint->where);

        if (r)
                log_warning(&endpoint->daemon->log, "-", "cannot leave the file of tools: %s", strerror(-r));
}

static void native_remove_address(const Endpoint *endpoint) {
        _cleanup_(freep) char *path = endpoint->daemon->home ? place_address(endpoint->daemon->home) : NULL;

        if (path)
                (void)unlink(path);
}

static int native_open(Endpoint *endpoint) {
        _cleanup_(freep) char *copy = strdup(endpoint->where), *lock = NULL;
        const char *dir = copy ? dirname(copy) : NULL;
        int r;

        if (!dir || asprintf(&lock, "%s.lock", endpoint->where) < 0)
                return error_origin(-ENOMEM);
        r = dir_make(dir, 0700);
        if (r)
                return endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "cannot make %s: %s", dir,
                                       strerror(-r));
        r = check_folder(endpoint, dir);
        if (!r)
                r = endpoint_set_folder(endpoint, dir);
        if (!r)
                r = endpoint_lock(endpoint, lock);
        if (!r)
                r = endpoint_listen_unix(endpoint, endpoint->where);
        if (!r) {
                native_leave_address(endpoint);
                native_leave_tools(endpoint);
        }
        return r;
}

static void native_close(Endpoint *endpoint) {
        endpoint_unlink(endpoint);
        native_remove_address(endpoint);
}

const EndpointType native_endpoint = {
        .name = "native",
        .dialect = &door_dialect,
        .limits = {.high_water = 256 << 10,
                   .low_water = 64 << 10,
                   .hard_limit = 32 << 20,
                   .handshake_ms = 60000},
        .same_uid_only = true,
        .can_reopen = true,
        .served_exit = EXIT_STATUS_RUNNING,
        .open = native_open,
        .close = native_close,
};
