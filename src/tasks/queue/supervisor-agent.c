/* SPDX-License-Identifier: MIT */
/*
 * The agent of a task: its start, its output, its end and its time limit.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/sandbox/sandbox-job.h"
#include "tasks/project.h"

/* ---- how it ended ---------------------------------------------------------------------------- */

static void supervisor_agent_fail(Task *task, const char *error) {
        supervisor_end(task, &(TaskEnd){.state = TASK_FAILED, .error = error, .exit_code = -1});
}

static void end_by_signal(Task *task, int signum) {
        const char *name = sigabbrev_np(signum);
        char error[64];

        /* who ignores TERM is hung up on at our word */
        if (signum == SIGTERM || signum == SIGKILL ||
            (signum == SIGHUP && task->hosted && task->hosted->is_killed)) {
                supervisor_end(task, &(TaskEnd){.state = TASK_CANCELLED, .exit_code = -1, .signal = signum});
                return;
        }
        snprintf(error, sizeof(error), "Process killed by signal SIG%s", name ? name : "?");
        supervisor_end(task,
                       &(TaskEnd){.state = TASK_FAILED, .error = error, .exit_code = -1, .signal = signum});
}

/* What it said on stderr is the reason, else its exit status. */
static void end_by_exit(Task *task, int code) {
        TaskEnd end = {.state = code ? TASK_FAILED : TASK_COMPLETED, .exit_code = code};
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str said = code ? hosted_stderr(task->hosted) : STR_NULL;
        char fallback[64];

        snprintf(fallback, sizeof(fallback), "Process exited with code %d", code);
        if (code)
                end.error = said.n && !utf8_append_replaced(&text, said.data, said.n) &&
                                            !memchr(text.data, 0, text.n)
                                    ? buf_cstr(&text)
                                    : fallback;
        supervisor_end(task, &end);
}

/* In a sandbox a death by signal is the exit status of what holds it. Who was not killed may have meant
 * that status. */
static int signal_of(const Hosted *hosted) {
        int code = WIFEXITED(hosted->wait_status) ? WEXITSTATUS(hosted->wait_status) : 0;

        if (WIFSIGNALED(hosted->wait_status))
                return WTERMSIG(hosted->wait_status);
        return hosted->is_killed && hosted_is_sandboxed(hosted) && code > 128 ? code - 128 : 0;
}

static void supervisor_agent_settle(Task *task) {
        const Hosted *hosted = task->hosted;

        task_tell_rest(task);
        if (hosted->state == HOSTED_LOST)
                supervisor_agent_fail(task, "Agent lost: its host process was killed");
        else if (signal_of(hosted))
                end_by_signal(task, signal_of(hosted));
        else
                end_by_exit(task, WEXITSTATUS(hosted->wait_status));
}

static void supervisor_agent_on_ended(Hosted *hosted) {
        const Task *task = hosted->user;

        sandbox_note_end(task->project->daemon, hosted);
        supervisor_agent_settle(hosted->user);
}

/* ---- its start ------------------------------------------------------------------------------- */

void supervisor_start_failed(Task *task, int error, const char *why) {
        const char *name = strerrorname_np(error);
        char text[256];

        snprintf(text, sizeof(text), "spawn %.200s %s", task->project->agent_command,
                 name ? name : "failed");
        supervisor_agent_fail(task, why ? why : text);
}

static void tell_started(const Task *task) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;
        JsonWriter w = JSON_WRITER(&params);

        jw_begin_object(&w);
        jw_field_cstr(&w, "taskId", task->id);
        jw_field_int(&w, "pid", task->hosted->pid);
        jw_end_object(&w);
        if (!w.failed)
                task_tell(task->project, "event.taskStarted", buf_str(&params));
        task_announce(task, "started");
        project_log_line(&task->project->log, "Task started: %s (pid %d)", task->id, (int)task->hosted->pid);
}

static void supervisor_agent_on_output(Viewer *viewer, HostOutput *output) {
        task_tell_output(container_of(viewer, Task, viewer), output);
}

static void supervisor_agent_show(Task *task) {
        task->viewer.output = supervisor_agent_on_output;
        if (!task->viewer.hosted)
                viewer_attach(&task->viewer, task->hosted);
}

static void supervisor_agent_on_started(Hosted *hosted, int error) {
        Task *task = hosted->user;

        if (hosted->is_adopted)
                return; /* its descriptors have come; everything else is as before */
        if (error) {
                task->hosted = NULL;
                supervisor_start_failed(task, error, NULL);
                return;
        }
        task_ticket_drop(task);
        supervisor_agent_show(task);
        task_tell_later(task, tell_started);
        if (task->is_cancelled)
                host_kill(hosted, TASK_KILL_MS);
        supervisor_check_drained(task->project);
}

const HostedHandler supervisor_agent_handler = {.started = supervisor_agent_on_started,
                                                .ended = supervisor_agent_on_ended};

static void set_limit(Task *task) {
        int64_t spent_ms = (loop_wall_us(task->project->daemon->loop) - task->started_us) / 1000;

        if (task->project->timeout_ms > 0)
                (void)timer_set(&task->limit, MAX((int64_t)task->project->timeout_ms - spent_ms, 0));
}

void supervisor_start(Task *task) {
        static const TaskEnd cancelled = {.state = TASK_CANCELLED, .exit_code = -1, .reason = "cancelled"};
        int r;

        if (task->is_cancelled) {
                supervisor_end(task, &cancelled);
                return;
        }
        if (memchr(task->prompt.data, 0, task->prompt.n)) {
                supervisor_agent_fail(task, "The prompt holds a NUL character, which no argument can");
                return;
        }
        if (!supervisor_knows_sandbox(task->project)) {
                supervisor_agent_fail(task, "Not started: nobody knows any more whether in a sandbox. Say "
                                            "it again: muster project "
                                            "set --sandbox bwrap, or none");
                return;
        }
        r = task->prompt.n >= 32 * (size_t)sysconf(_SC_PAGESIZE)
                    ? error_origin(-E2BIG) /* as exec would say */
                    : supervisor_spawn(task);
        if (r)
                supervisor_start_failed(task, r > 0 ? ENOENT : -r, NULL);
        else
                set_limit(task);
}

void supervisor_adopt(Task *task, Hosted *hosted) {
        task->hosted = hosted;
        hosted->handler = &supervisor_agent_handler;
        hosted->user = task;
        task_ticket_drop(task); /* it was started */
        if (!task->started_us)  /* its start was not kept any more */
                task->started_us = hosted->started_us;
        if (hosted->state != HOSTED_RUNNING && hosted->state != HOSTED_STARTING) {
                supervisor_agent_settle(task);
                return;
        }
        supervisor_agent_show(task);
        set_limit(task);
}

void supervisor_stop_agent(Task *task, int grace_ms) {
        Hosted *hosted = steal(&task->hosted);

        if (!hosted)
                return;
        viewer_detach(&task->viewer);
        host_discard(hosted, grace_ms);
        host_forget(hosted);
}

/* Its record still says which process it is, until the store is closed. */
void supervisor_leave_agent(Task *task) {
        Hosted *hosted = task->hosted;

        supervisor_drop_spawn(task);
        if (!hosted)
                return;
        if (task->viewer.hosted)
                viewer_detach(&task->viewer);
        hosted->handler = NULL;
        hosted->user = NULL;
        if (hosted->state == HOSTED_STARTING)
                task->hosted = NULL; /* it may still fail, and is gone then */
}

/* ---- its time -------------------------------------------------------------------------------- */

static void supervisor_agent_on_limit(Timer *timer) {
        Task *task = container_of(timer, Task, limit);
        _cleanup_(buf_deinit) Buf error = BUF_NULL;
        JsonWriter w = JSON_WRITER(&error);
        int r;

        if (task->is_ending) {
                supervisor_keep_end_again(task);
                return;
        }
        r = buf_append_str(&error, STR("Task timed out after "));
        jw_double(&w, task->project->timeout_ms); /* also a fraction, as the original has it */
        r = r || w.failed || buf_append_str(&error, STR("ms"));
        supervisor_agent_fail(task, !r && buf_cstr(&error) ? buf_cstr(&error) : "Task timed out");
        supervisor_stop_agent(task, TASK_KILL_MS);
}

void supervisor_watch(Task *task) {
        timer_init(&task->limit, task->project->daemon->loop, supervisor_agent_on_limit);
}
