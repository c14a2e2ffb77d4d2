/* SPDX-License-Identifier: MIT */
/*
 * Where coop clients find us: ~/.coop/sock (or --coop-socket), created as section 7.2 of the contract
 * demands: a symbolic link is refused, a stale socket is replaced only when it is ours, umask during bind,
 * mode 0600.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "dialect/coop/coop.h"
#include "dialect/tunnel/tunnel.h"
#include "core/daemon.h"

enum { NO_LOG = -1 };

typedef struct Paths {
        char *dir, *pid, *lock, *logs;
} Paths;

typedef struct CoopPlace { /* the endpoint's context */
        int log_slot;
} CoopPlace;

static void coop_endpoint_paths_deinit(Paths *paths) {
        free(paths->dir);
        free(paths->pid);
        free(paths->lock);
        free(paths->logs);
}

static int coop_endpoint_paths_init(Paths *paths, const char *sock) {
        _cleanup_(freep) char *copy = strdup(sock);

        paths->dir = copy ? strdup(dirname(copy)) : NULL;
        if (!paths->dir)
                return error_origin(-ENOMEM);
        paths->pid = path_join(paths->dir, "daemon.pid");
        paths->lock = path_join(paths->dir, "daemon.lock");
        paths->logs = path_join(paths->dir, "logs");
        return paths->pid && paths->lock && paths->logs ? 0 : error_origin(-ENOMEM);
}

/* logs/daemon.log begins anew with each start, as the original's. What it shows is not worth a start that
 * fails. */
static void coop_open_log(Endpoint *endpoint, const char *folder) {
        CoopPlace *place = endpoint->context ? endpoint->context : calloc(1, sizeof(*place));
        _cleanup_(freep) char *path = path_join(folder, "daemon.log");

        if (place)
                place->log_slot = NO_LOG;
        endpoint->context = place;
        if (!place || !path || dir_make(folder, 0700))
                return;
        (void)unlink(path);
        place->log_slot = daemon_add_log(endpoint->daemon, path, LOG_NOTICE);
}

static void coop_close_log(Endpoint *endpoint) {
        CoopPlace *place = endpoint->context;

        if (place && place->log_slot >= 0)
                log_remove(&endpoint->daemon->log, place->log_slot);
        if (place)
                place->log_slot = NO_LOG;
}

static void coop_free(Endpoint *endpoint) {
        coop_close_log(endpoint);
        free(endpoint->context);
}

/* A socket that a person has put elsewhere lies among other things. */
static bool coop_is_own_folder(const char *dir) {
        const char *slash = strrchr(dir, '/');

        return slash && !strcmp(slash, "/.coop");
}

static int coop_open(Endpoint *endpoint) {
        _cleanup_(coop_endpoint_paths_deinit) Paths paths = {0};
        char pid[32];
        int n = snprintf(pid, sizeof(pid), "%d\n", (int)getpid());
        int r;

        r = coop_endpoint_paths_init(&paths, endpoint->where);
        if (r)
                return error_trace(r);
        r = dir_make(paths.dir, 0700);
        if (r)
                return endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "cannot make %s: %s", paths.dir,
                                       strerror(-r));
        r = coop_is_own_folder(paths.dir) ? endpoint_set_folder(endpoint, paths.dir) : 0;
        r = r ? r : endpoint_lock(endpoint, paths.lock);
        if (r)
                return r;
        r = endpoint_listen_unix(endpoint, endpoint->where);
        if (r)
                return r;
        coop_open_log(endpoint, paths.logs);
        (void)file_replace(paths.pid, (Str){pid, (size_t)n}, 0600, FILE_RUNTIME); /* advisory by contract */
        return 0;
}

static void coop_close(Endpoint *endpoint) {
        _cleanup_(coop_endpoint_paths_deinit) Paths paths = {0};

        tunnels_end_all(endpoint->daemon, "coop was shut down"); /* they belong to its contract */
        coop_close_log(endpoint);
        endpoint_unlink(endpoint);
        if (!coop_endpoint_paths_init(&paths, endpoint->where) && endpoint_file_is_ours(paths.pid))
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
        .can_reopen = true,
        .served_exit = EXIT_STATUS_RUNNING,
        .open = coop_open,
        .close = coop_close,
        .free = coop_free,
};
