/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "tasks/project"

#include "tasks/project.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

/* ---- heartbeat ------------------------------------------------------------------------------- */

typedef struct Beat {
        Project *project;
        ProjectFolder folder;
        Buf heartbeat, state;
        int r;
} Beat;

static int project_replace(const ProjectFolder *folder, const char *name, const Buf *text) {
        char path[PROJECT_FOLDER_MAX];
        _cleanup_(closep) int fd = project_folder_pin(folder, name, path);

        return error_trace(fd < 0 ? fd : file_replace(path, buf_str(text), 0644, FILE_RUNTIME));
}

static void beat_run(void *user) {
        Beat *beat = user;

        beat->r = project_replace(&beat->folder, "heartbeat", &beat->heartbeat);
        if (!beat->r)
                beat->r = project_replace(&beat->folder, "state.json", &beat->state);
}

static void beat_done(void *user) {
        Beat *beat = user;
        Project *project = beat->project;

        project->is_writing = false;
        if (beat->r)
                log_warning(&project->daemon->log, project->dir, "heartbeat not written: %s",
                            strerror(-beat->r));
        buf_deinit(&beat->heartbeat);
        buf_deinit(&beat->state);
        free(beat);
}

static void write_beat(Project *project) {
        Beat *beat = project->is_writing ? NULL : calloc(1, sizeof(*beat));

        if (!beat)
                return; /* a slow disk or no memory: the next one will do */
        *beat = (Beat){.project = project, .folder = project->folder};
        if (project_state_text(project, &beat->heartbeat, &beat->state) ||
            loop_work(project->daemon->loop, beat_run, beat_done, beat)) {
                buf_deinit(&beat->heartbeat);
                buf_deinit(&beat->state);
                free(beat);
                return;
        }
        project->is_writing = true;
}

static void project_on_heartbeat(Timer *timer) {
        Project *project = container_of(timer, Project, heartbeat);

        write_beat(project);
        if (trust_wants_look(project->daemon->trust, project->config_path))
                (void)timer_set(&project->reload, 0); /* the last sandbox has ended: is it as it was? */
        (void)timer_set(timer, project->heartbeat_ms);
}

/* ---- life ------------------------------------------------------------------------------------ */

static int project_make_paths(Project *project, const char *dir) {
        _cleanup_(freep) char *log_path = NULL;

        project->dir = strdup(dir);
        project->aiwg_dir = path_join(dir, ".aiwg");
        project->daemon_dir = path_join(dir, ".aiwg/daemon");
        project->config_path = path_join(dir, ".aiwg/daemon.json");
        project->pid_path = path_join(dir, ".aiwg/daemon.pid");
        project->lock_path = path_join(dir, ".aiwg/daemon/.lock");
        project->sock_path = path_join(dir, ".aiwg/daemon/daemon.sock");
        log_path = path_join(dir, ".aiwg/daemon/daemon.log");
        if (!log_path || project_log_init(&project->log, project->daemon, &project->folder, log_path))
                return error_origin(-ENOMEM);
        if (!project->dir || !project->aiwg_dir || !project->daemon_dir || !project->config_path ||
            !project->pid_path || !project->lock_path || !project->sock_path)
                return error_origin(-ENOMEM);
        return 0;
}

int project_new(Project **ret, Endpoint *endpoint, const char *dir) {
        Project *project = calloc(1, sizeof(*project));

        if (!project)
                return error_origin(-ENOMEM);
        project->daemon = endpoint->daemon;
        project->endpoint = endpoint;
        project->lock_fd = -1;
        project->process.fd = -1;
        project->store.rows.fd = -1;
        project->tickets.project = project;
        supervisor_init_lists(&project->supervisor);
        timer_init(&project->heartbeat, endpoint->daemon->loop, project_on_heartbeat);
        if (project_make_paths(project, dir) || project_automation_new(project)) {
                project_free(project);
                return error_origin(-ENOMEM);
        }
        *ret = project;
        return 0;
}

Project *project_free(Project *project) {
        if (!project)
                return NULL;
        timer_clear(&project->heartbeat);
        project_process_drop(project);
        project_automation_end(project);
        automation_free(project->automation);
        project_log_deinit(&project->log);
        supervisor_deinit(project);
        task_store_deinit(&project->store);
        task_tickets_deinit(&project->tickets);
        close_fd(project->lock_fd);
        strvec_deinit(&project->agent_args);
        free(project->agent_command);
        free(project->dir);
        free(project->aiwg_dir);
        free(project->daemon_dir);
        free(project->config_path);
        free(project->pid_path);
        free(project->lock_path);
        free(project->sock_path);
        free(project);
        return NULL;
}

int project_prepare(Project *project, char *reterr, size_t n_reterr) {
        static const char *const folders[] = {"", "actions", "events"};
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(folders); i++) {
                _cleanup_(freep) char *path = path_join(project->daemon_dir, folders[i]);
                r = path ? dir_make(path, 0755) : -ENOMEM;
                if (r)
                        return error_trace(r);
        }
        r = project_folder_see(&project->folder, project->daemon_dir);
        if (r)
                return error_trace(r);
        return project_config_load(project, reterr, n_reterr);
}

static int write_pid(const Project *project) {
        char pid[32];
        int n = snprintf(pid, sizeof(pid), "%d", (int)project_pid(project));

        return error_trace(file_replace(project->pid_path, (Str){pid, (size_t)n}, 0644, FILE_RUNTIME));
}

int project_begin(Project *project) {
        int r = project_process_start(project);

        if (r)
                return endpoint_refuse(project->endpoint, ENDPOINT_E_REFUSED, "cannot start %s: %s",
                                       project->daemon->project_path, strerror(-r));
        r = write_pid(project);
        if (r) {
                project_process_drop(project);
                return error_trace(r);
        }
        project->started_us = loop_wall_us(project->daemon->loop);
        project->started_ms = loop_now_ms(project->daemon->loop);
        project->is_open = true;
        supervisor_init(project);
        project_log_open(&project->log);
        project_automation_begin(project);
        project_log_line(&project->log, "IPC server listening: %s", project->sock_path);
        project_log_line(&project->log, "Daemon started successfully");
        r = task_store_open(&project->store, project, supervisor_load);
        if (r)
                supervisor_load(project, r);
        return error_trace(
                timer_set(&project->heartbeat, 0)); /* the first one right after the socket is up */
}

static void on_process_ended(Project *project) {
        void (*ended)(void *) = steal(&project->ended);

        project->is_ending = false;
        if (ended)
                ended(project->ended_user);
        daemon_release_stop(project->daemon);
}

void project_when_ended(Project *project, void (*ended)(void *user), void *user) {
        assert(!ended || (project->is_ending && !project->ended));
        project->ended = ended;
        project->ended_user = user;
}

/* Its process goes last: who waits for that finds nothing left of the rest. */
static void project_on_ticketed(Project *project) {
        project_log_line(&project->log, "Daemon stopped");
        (void)unlink(project->pid_path);
        (void)unlink(project->lock_path);
        project->lock_fd = close_fd(project->lock_fd);
        supervisor_deinit(project);
        task_store_deinit(&project->store);
        project_process_end(project, on_process_ended);
}

static void project_on_closed(Project *project) {
        task_tickets_finish(project, project_on_ticketed);
}

/* The last state is written on the loop: nothing is served any more that could wait for it. */
static void project_on_drained(Project *project) {
        _cleanup_(buf_deinit) Buf heartbeat = BUF_NULL, state = BUF_NULL;

        timer_clear(&project->heartbeat);
        if (!project_state_text(project, &heartbeat, &state))
                (void)project_replace(&project->folder, "state.json", &state);
        task_store_close(&project->store, project_on_closed);
}

ProjectLoad project_load(const Project *project) {
        uint64_t counts[TASK_N_STATES] = {0};

        if (project->is_open)
                supervisor_count(project, counts);
        return (ProjectLoad){.n_running = counts[TASK_RUNNING], .n_waiting = counts[TASK_QUEUED]};
}

/* Work is never ended without a word: daemon.log and whoever asks about the endpoint say how much it was. */
static void say_end(Project *project, TaskStop how) {
        ProjectLoad load = project_load(project);
        const Endpoint *endpoint = project->endpoint;
        char text[96] = "";

        if (load.n_running || load.n_waiting)
                snprintf(text, sizeof(text), "tasks %s: %llu running, %llu waiting",
                         how == TASK_STOP_LEAVE ? "left for the next daemon" : "ended",
                         (unsigned long long)load.n_running, (unsigned long long)load.n_waiting);
        project_log_line(&project->log, "Shutting down%s%s", *text ? "; " : "", text);
        if (*text && how != TASK_STOP_LEAVE)
                endpoint_note(project->endpoint, endpoint->by.pid, "%s%s%s", endpoint->reason,
                              *endpoint->reason ? "; " : "", text);
}

void project_end(Project *project, TaskStop how) {
        if (!project->is_open)
                return;
        say_end(project, how);
        project->is_open = false;
        project->is_ending = true;
        daemon_hold_stop(project->daemon);
        project_automation_end(project);
        supervisor_drain(project, how, project_on_drained);
}

int64_t project_uptime_s(const Project *project) {
        return (loop_now_ms(project->daemon->loop) - project->started_ms) / 1000;
}
