/* SPDX-License-Identifier: MIT */
/*
 * Where AIWG clients find us: .aiwg/daemon/daemon.sock of a project. The lock is an flock on
 * .aiwg/daemon/.lock, so it cannot outlive the process that took it.
 */
#define LOG_MODULE "aiwg/endpoint"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "dialect/aiwg/aiwg.h"
#include "tasks/project.h"

static void write_lock_pid(const Endpoint *endpoint) {
        char pid[32];
        int n = snprintf(pid, sizeof(pid), "%d", (int)project_pid(endpoint->context));

        /* For people and for the original; what counts is the lock on the file, not its text. */
        if (ftruncate(endpoint->lock_fd, 0) || pwrite(endpoint->lock_fd, pid, (size_t)n, 0) < 0)
                log_warning(&endpoint->daemon->log, "aiwg", "pid not written into the lock");
}

static int open_project(Endpoint *endpoint, Project *project) {
        char wrong[512];
        int r = project_folder_check(project);

        if (r)
                return r;
        r = project_prepare(project, wrong, sizeof(wrong));
        if (r == PROJECT_E_BAD_CONFIG)
                return endpoint_refuse(endpoint, ENDPOINT_E_CONFIG, "%s", wrong);
        if (r)
                return error_fold(r);
        r = endpoint_set_folder(endpoint, project->daemon_dir);
        r = r ? r : endpoint_lock(endpoint, project->lock_path);
        if (r)
                return r;
        r = endpoint_listen_unix(endpoint, project->sock_path);
        if (!r)
                r = project_begin(project);
        if (!r)
                write_lock_pid(endpoint);
        else
                (void)unlink(project->lock_path); /* the original would take it for a daemon that runs */
        return r;
}

static int aiwg_open(Endpoint *endpoint) {
        Project *project = endpoint->context;
        struct stat st;
        int r = 0;

        if (stat(endpoint->where, &st) || !S_ISDIR(st.st_mode))
                return endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "%s is no folder", endpoint->where);
        if (!project) {
                r = project_new(&project, endpoint, endpoint->where);
                if (r)
                        return error_trace(r);
                endpoint->context = project;
        }
        if (project->is_ending)
                return endpoint_refuse(endpoint, ENDPOINT_E_REFUSED, "its last tasks are still being ended");
        r = open_project(endpoint, project);
        if (r && endpoint->listener) {
                endpoint->listener = listener_free(endpoint->listener);
                endpoint_unlink(endpoint);
        }
        return r;
}

/* A stop of the whole daemon leaves tasks to the next one, as it leaves everything that is hosted. The
 * contract's own stop ends them, and so does the daemon that stands in for the original. */
static TaskStop aiwg_stop_means(const Project *project) {
        const Daemon *daemon = project->daemon;

        if (daemon->is_stopping && !daemon->ends_agents && !daemon_is_stand_in(daemon))
                return TASK_STOP_LEAVE;
        return project->is_forced ? TASK_STOP_KILL : TASK_STOP_DRAIN;
}

static void aiwg_close(Endpoint *endpoint) {
        Project *project = endpoint->context;

        endpoint_unlink(endpoint);
        project->lock_fd = endpoint->lock_fd; /* nobody else gets the project before its tasks have ended */
        endpoint->lock_fd = -1;
        project_end(project, aiwg_stop_means(project));
        project->is_forced = false;
}

static void aiwg_reload(Endpoint *endpoint) {
        char wrong[512];

        if (project_reload(endpoint->context, wrong, sizeof(wrong)))
                log_warning(&endpoint->daemon->log, "aiwg", "configuration kept as it was: %s", wrong);
}

static void aiwg_free(Endpoint *endpoint) {
        endpoint->context = project_free(endpoint->context);
}

const EndpointType aiwg_endpoint = {
        .name = "aiwg",
        .dialect = &aiwg_dialect.dialect,
        .limits = {.high_water = 256 << 10, .low_water = 64 << 10, .hard_limit = 32 << 20},
        .same_uid_only = true,
        .served_exit = EXIT_STATUS_RUNNING,
        .open = aiwg_open,
        .close = aiwg_close,
        .reload = aiwg_reload,
        .free = aiwg_free,
};
