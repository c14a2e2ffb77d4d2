/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "tasks/process"

#include "tasks/project-process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "tasks/project-signal.h"
#include "tasks/project.h"

pid_t project_pid(const Project *project) {
        return project->process.pid ? project->process.pid : getpid();
}

/* ---- what it says ---------------------------------------------------------------------------- */

static void process_obey(Project *project, const ProjectSignal *told) {
        Endpoint *endpoint = project->endpoint;

        log_notice(&project->daemon->log, project->dir, "signal=%d by=%d", told->signum, told->by);
        if (told->signum != SIGHUP)
                daemon_stop_endpoint(project->daemon, endpoint, told->by,
                                     told->signum == SIGINT ? "its process was sent SIGINT"
                                                            : "its process was sent SIGTERM");
        else if (project->is_open)
                endpoint->type->reload(endpoint);
}

static void process_on_readable(void *user, _unused_ unsigned events) {
        Project *project = user;
        ProjectSignal told;
        ssize_t n = recv(project->process.fd, &told, sizeof(told), MSG_DONTWAIT);

        if (n == (ssize_t)sizeof(told))
                process_obey(project, &told);
        else if (n >= 0 || (errno != EAGAIN && errno != EINTR))
                loop_fd_watch(project->process.watch, 0); /* it has ended, which its status tells */
}

/* Nobody but a person (or the original's command line, which loses its patience) kills it: that is meant for
 * the project. */
static void process_on_ended(void *user, int status) {
        Project *project = user;
        ProjectProcess *process = &project->process;
        void (*ended)(Project *) = steal(&process->ended);

        process->child = NULL;
        process->watch = loop_fd_close(process->watch);
        process->fd = close_fd(process->fd);
        if (project->is_open) {
                log_notice(&project->daemon->log, project->dir, "its process was ended status=%d", status);
                project->is_forced = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
                daemon_stop_endpoint(project->daemon, project->endpoint, 0, "its process was killed");
        }
        process->pid = 0;
        if (ended)
                ended(project);
}

/* ---- its life -------------------------------------------------------------------------------- */

/* A session of its own, so that nothing typed at the daemon's terminal is meant for it; deaf from birth,
 * until it listens. */
static int process_attributes(posix_spawnattr_t *attributes) {
        sigset_t set;
        int r;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        r = posix_spawnattr_setsigmask(attributes, &set);
        if (!r)
                r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
        return r;
}

static int process_actions(posix_spawn_file_actions_t *actions, int fd) {
        int r = 0;

        for (int i = 0; !r && i < 3; i++)
                r = posix_spawn_file_actions_addopen(actions, i, "/dev/null", O_RDWR, 0);
        if (!r)
                r = posix_spawn_file_actions_adddup2(actions, fd, PROJECT_SIGNAL_FD);
        return r ? r : posix_spawn_file_actions_addchdir_np(actions, "/");
}

static int process_spawn(const Project *project, int fd, pid_t *ret) {
        char *argv[] = {"muster-project", project->dir, NULL}, *env[] = {NULL};
        posix_spawn_file_actions_t actions;
        posix_spawnattr_t attributes;
        int r = posix_spawn_file_actions_init(&actions);

        if (r)
                return error_origin(-r);
        r = posix_spawnattr_init(&attributes);
        if (!r) {
                r = process_attributes(&attributes);
                if (!r)
                        r = process_actions(&actions, fd);
                if (!r)
                        r = posix_spawn(ret, project->daemon->project_path, &actions, &attributes, argv,
                                        env);
                posix_spawnattr_destroy(&attributes);
        }
        posix_spawn_file_actions_destroy(&actions);
        return r ? error_origin(-r) : 0;
}

static bool process_is_needed(const Project *project) {
        const Endpoint *first = project->daemon->endpoints;

        return !daemon_is_stand_in(project->daemon) || (first && first->next);
}

int project_process_start(Project *project) {
        ProjectProcess *process = &project->process;
        Loop *loop = project->daemon->loop;
        int pair[2], r;

        *process = (ProjectProcess){.fd = -1};
        if (!process_is_needed(project))
                return 0;
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
                return error_origin(-errno);
        process->fd = pair[0];
        r = process_spawn(project, pair[1], &process->pid);
        close_fd(pair[1]);
        if (!r)
                r = loop_child_open(loop, process->pid, process_on_ended, project, &process->child);
        if (!r)
                r = loop_fd_open(loop, process->fd, process_on_readable, project, &process->watch);
        if (r) {
                project_process_drop(project);
                return error_trace(r);
        }
        loop_fd_watch(process->watch, LOOP_READ);
        return 0;
}

void project_process_end(Project *project, void (*ended)(Project *project)) {
        ProjectProcess *process = &project->process;

        process->watch = loop_fd_close(process->watch);
        process->fd = close_fd(process->fd);
        if (!process->child) {
                ended(project);
                return;
        }
        process->ended = ended;
        (void)kill(process->pid, SIGKILL); /* it would go by itself, unless somebody has stopped it */
}

void project_process_drop(Project *project) {
        ProjectProcess *process = &project->process;

        process->watch = loop_fd_close(process->watch);
        process->fd = close_fd(process->fd);
        if (process->child)
                (void)kill(process->pid, SIGKILL);
        process->child = loop_child_release(process->child);
        process->pid = 0;
        process->ended = NULL;
}
