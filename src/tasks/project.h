#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Project: one AIWG project folder that this daemon serves: its configuration and the files in .aiwg that
 * say who serves it and that it is alive (pid, heartbeat, state).
 *
 * Its tasks are kept by the TaskStore and run by the Supervisor. The socket belongs to the endpoint, the
 * lock too until the project ends: then it is held until the last task is. Owned by its Endpoint; freed with
 * the daemon, because a file may be in the making on a worker.
 */
#include "core/daemon.h"
#include "tasks/supervisor.h"
#include "tasks/task-store.h"

struct Project {
        Daemon *daemon;
        Endpoint *endpoint;
        char *dir;         /* the project folder */
        char *aiwg_dir;    /* .aiwg */
        char *daemon_dir;  /* .aiwg/daemon */
        char *config_path; /* .aiwg/daemon.json */
        char *pid_path;    /* .aiwg/daemon.pid: one level up, where the original's command line looks */
        char *lock_path, *sock_path, *heartbeat_path, *state_path;

        int64_t started_us, started_ms;
        int64_t heartbeat_ms;
        int64_t max_parallel;
        Timer heartbeat;
        bool is_writing; /* heartbeat and state are being written on a worker */
        bool is_open;
        bool is_ending; /* no longer served; its last tasks are being ended */
        int lock_fd;    /* is_ending: held until that is done */

        int64_t timeout_ms;     /* of one task; 0: none */
        uint64_t max_queue;     /* waiting tasks; 0: no limit */
        int64_t retention_days; /* of ended tasks; 0: for ever */
        char *agent_command;
        StrVec agent_args;
        const struct Runtime *runtime;
        TaskStore store;
        Supervisor supervisor;
};

enum { _PROJECT_E_SUCCESS, PROJECT_E_BAD_CONFIG };

int project_new(Project **ret, Endpoint *endpoint, const char *dir);
Project *project_free(Project *project);
/* Makes the folders and reads the configuration; reterr says what is wrong with it (PROJECT_E_BAD_CONFIG).
 */
int project_prepare(Project *project, char *reterr, size_t n_reterr);
/* Served from now on: pid file, heartbeat. */
int project_begin(Project *project);
/* No longer served: its tasks are ended (is_forced: at once), then the last state is written and pid file
 * and lock are removed. */
void project_end(Project *project, bool is_forced);
int project_reload(Project *project, char *reterr, size_t n_reterr);

/* For the ops and the state file. */
int64_t project_uptime_s(const Project *project);
void project_write_supervisor(const Project *project, JsonWriter *w);

/* project-config.c */
int project_config_load(Project *project, char *reterr, size_t n_reterr);
/* project-state.c */
int project_state_text(const Project *project, Buf *heartbeat, Buf *state);
