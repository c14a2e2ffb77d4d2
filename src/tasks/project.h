#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Project: one AIWG project folder that this daemon serves: its configuration and the files in .aiwg that
 * say who serves it and that it is alive (pid, heartbeat, state).
 *
 * Its tasks are kept by the TaskStore and run by the Supervisor; its rules are run by the Automation. The
 * socket belongs to the endpoint, the lock too until the project ends: then it is held until the last task
 * is. Owned by its Endpoint; freed with the daemon, because a file may be in the making on a worker.
 */
#include <sys/stat.h>

#include "core/daemon.h"
#include "core/trust.h"
#include "tasks/rules/automation.h"
#include "tasks/project-folder.h"
#include "tasks/project-log.h"
#include "tasks/project-process.h"
#include "tasks/queue/supervisor.h"
#include "tasks/queue/task-store.h"
#include "tasks/queue/task-ticket.h"

struct Project {
        Daemon *daemon;
        Endpoint *endpoint;
        char *dir;         /* the project folder */
        char *aiwg_dir;    /* .aiwg */
        char *daemon_dir;  /* .aiwg/daemon */
        char *config_path; /* .aiwg/daemon.json */
        char *pid_path;    /* .aiwg/daemon.pid: one level up, where the original's command line looks */
        char *lock_path, *sock_path;
        ProjectFolder folder; /* daemon_dir, as it was when the project was opened */

        int64_t started_us, started_ms;
        int64_t heartbeat_ms;
        int64_t max_parallel;
        Timer heartbeat;
        bool is_writing; /* heartbeat and state are being written on a worker */
        bool is_open;
        bool is_forced; /* whoever stops it does not want to wait for running tasks */
        bool is_ending; /* no longer served; its last tasks are being ended, or brought to the disk */
        int lock_fd;    /* is_ending: held until that is done */
        void (*ended)(void *user); /* is_ending: told then; NULL: nobody */
        void *ended_user;
        ProjectProcess process;

        double timeout_ms;      /* of one task, as the configuration multiplies; 0: none */
        uint64_t max_queue;     /* waiting tasks; 0: no limit */
        int64_t retention_days; /* of ended tasks; 0: for ever */
        char *agent_command;
        StrVec agent_args;
        const struct Runtime *runtime;
        TaskStore store;
        TaskTickets tickets;
        Supervisor supervisor;

        Automation *automation;
        struct RuleAsk *asks; /* what its rules ask a person, see project-ask.c */
        ProjectLog log;
        Watch *config_watch;     /* of daemon.json */
        struct stat config_seen; /* of daemon.json, when it was read last */
        Timer reload;            /* it has changed, and may not be whole yet */
        bool is_reloading;       /* it is being read on a worker */
        bool is_untrusted;       /* it says something that nobody has accepted: not in use */
};

enum { _PROJECT_E_SUCCESS, PROJECT_E_BAD_CONFIG, PROJECT_E_UNTRUSTED };

int project_new(Project **ret, Endpoint *endpoint, const char *dir);
Project *project_free(Project *project);
/* Makes the folders and reads the configuration; reterr says what is wrong with it (PROJECT_E_BAD_CONFIG). */
int project_prepare(Project *project, char *reterr, size_t n_reterr);
/* Served from now on: its process, pid file, heartbeat. Conditions: as EndpointType.open(). */
int project_begin(Project *project);
/* No longer served: its tasks are ended or left, then the last state is written and pid file and lock are
 * removed. */
void project_end(Project *project, TaskStop how);
/* Tells, once, that nothing of it is left and its lock is free. One at a time; NULL: not any more. Only
 * while project->is_ending. */
void project_when_ended(Project *project, void (*ended)(void *user), void *user);
/* Tasks that have not ended; zero while it is not served. */
typedef struct ProjectLoad {
        uint64_t n_running, n_waiting;
} ProjectLoad;
ProjectLoad project_load(const Project *project);
/* {running, queued, ended}: what becomes of them at a stop. */
void project_write_load(ProjectLoad load, bool are_ended, JsonWriter *w);
int project_reload(Project *project, char *reterr, size_t n_reterr);

/* For the ops and the state file. */
int64_t project_uptime_s(const Project *project);
void project_write_supervisor(const Project *project, JsonWriter *w);

/* project-config.c: daemon.json, read (on any thread) and then put in use (on the loop). */
typedef struct ProjectConfig {
        Arena arena;
        Buf text;
        Json *json;
        RuleSet *rules;
        bool is_default; /* it was not there, or is no JSON; wrong says so in the second case */
        char wrong[512];
        struct stat seen; /* the file before it was read; zero: not there */
        char *real;       /* its path without links */
        TrustMoment moment;
        bool is_missing, is_too_large;
        bool is_held; /* held: what stands here is what was accepted, not what the file says */
} ProjectConfig;
/* The bytes of the file, and what they say. Condition: PROJECT_E_BAD_CONFIG; config->wrong says why. At a
 * reload everything must be right, at the start only what the contract demands: then what is wrong in rules
 * switches those off. */
int project_config_read(ProjectConfig *config, const char *path, bool is_reload);
int project_config_fetch(ProjectConfig *config, const char *path);
int project_config_parse(ProjectConfig *config, const char *path, bool is_reload);
int project_config_apply(Project *project, ProjectConfig *config);
void project_config_deinit(ProjectConfig *config);
int project_config_load(Project *project, char *reterr, size_t n_reterr); /* at the start */
/* project-trust.c. Whether the file may say this; says in config->wrong why not. Condition:
 * PROJECT_E_UNTRUSTED. */
int project_config_judge(const Project *project, ProjectConfig *config);
/* What is in use is what was accepted: written down if that is news. */
void project_config_keep(Project *project, const ProjectConfig *config);
/* A person has looked at the file and accepts it: sha256 (hex, "": any) is of what was seen. Takes the file
 * as it is now, keeps that, puts it in use; then done(), where wrong is what stands in the way, or NULL. */
typedef void (*ProjectTrustFn)(void *user, int r, const char *wrong);
int project_trust(Project *project, Str sha256, ProjectTrustFn done, void *user);
/* project-automation.c */
int project_use(Project *project, ProjectConfig *config, int r); /* the end of a reload: r of the reading */
int project_automation_new(Project *project);
void project_automation_begin(Project *project);
void project_automation_end(Project *project);
void project_task_kept(const Task *task, int r); /* its submission is on the disk, or failed */
void project_task_ended(const Task *task);       /* its end is kept and told */
/* project-ask.c: rules that ask a person first (RuleActions). */
int project_ask(void *user, const RuleQuestion *question);
size_t project_asks_of(void *user, Str rule);
void project_ask_ended(void *user, uint64_t number, const char *error);
Str project_ask_approval(const Project *project,
                         uint64_t number);  /* that allowed it; empty: none was needed */
void project_asks_resume(Project *project); /* what an earlier daemon asked; its tasks are known */
void project_asks_leave(Project *project);  /* the next daemon goes on with them */
/* project-state.c */
int project_state_text(const Project *project, Buf *heartbeat, Buf *state);
/* queue/op-task-submit.c: what a task that is submitted is refused for, else its submission; as a handler returns. */
int task_submit_spec(Call *call, Project *project, TaskSpec *spec);
/* fleet-task.c: tasks as the fleet knows them (core/fleet/fleet.h), and what their projects are called. */
extern const struct FleetOwner fleet_task;
/* attention-task.c: those that failed, for a person (core/attention/attention.h). */
extern const struct AttentionKind attention_task;
void attention_task_ended(const Task *task);
Project *project_next(const Daemon *daemon,
                      const Project *after); /* those served; NULL: the first, no more */
Str project_name(const Daemon *daemon, Arena *arena, const char *dir); /* data is NULL without memory */
