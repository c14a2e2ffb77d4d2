/* SPDX-License-Identifier: MIT */
/*
 * Where coop clients find us: ~/.coop/sock (or --coop-socket), created as section 7.2 of the contract
 * demands: a symbolic link is refused, a stale socket is replaced only when it is ours, umask during bind,
 * mode 0600.
 */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "dialect/coop/coop.h"
#include "core/daemon.h"

typedef struct Paths {
        char *dir, *pid, *lock;
} Paths;

static void paths_deinit(Paths *paths) {
        free(paths->dir);
        free(paths->pid);
        free(paths->lock);
}

static int paths_init(Paths *paths, const char *sock) {
        _cleanup_(freep) char *copy = strdup(sock);

        paths->dir = copy ? strdup(dirname(copy)) : NULL;
        if (!paths->dir)
                return error_origin(-ENOMEM);
        paths->pid = path_join(paths->dir, "daemon.pid");
        paths->lock = path_join(paths->dir, "daemon.lock");
        return paths->pid && paths->lock ? 0 : error_origin(-ENOMEM);
}

static int coop_open(Endpoint *endpoint) {
        _cleanup_(paths_deinit) Paths paths = {0};
        char pid[32];
        int n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
        int r;

        r = paths_init(&paths, endpoint->where);
        if (r)
                return error_trace(r);
        r = dir_make(paths.dir, 0700);
        if (r)
                return endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "cannot make %s: %s", paths.dir,
                                       strerror(-r));
        r = endpoint_lock(endpoint, paths.lock);
        if (r)
                return r;
        r = endpoint_listen_unix(endpoint, endpoint->where);
        if (r)
                return r;
        (void)file_replace(paths.pid, (Str){pid, (size_t)n}, 0600, FILE_RUNTIME); /* advisory by contract */
        return 0;
}

static void coop_close(Endpoint *endpoint) {
        _cleanup_(paths_deinit) Paths paths = {0};

        endpoint_unlink(endpoint);
        if (!paths_init(&paths, endpoint->where) && endpoint_file_is_ours(paths.pid))
                (void)unlink(paths.pid);
}

const EndpointType coop_endpoint = {
        .name = "coop",
        .dialect = &coop_dialect,
        .limits = {.high_water = 256 << 10,
                   .low_water = 64 << 10,
                   .hard_limit = 32 << 20,
                   .handshake_ms = 10000},
        .same_uid_only = true,
        .served_exit = EXIT_STATUS_RUNNING,
        .open = coop_open,
        .close = coop_close,
};
