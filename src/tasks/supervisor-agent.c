/* SPDX-License-Identifier: MIT */
/*
 * The agent of a task: its command line, its start, its output, its end and its time limit.
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
#include "core/runtimes.h"
#include "tasks/project.h"

/* ---- how it ended ---------------------------------------------------------------------------- */

static void fail(Task *task, const char *error) {
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

static void settle(Task *task) {
        const Hosted *hosted = task->hosted;

        task_tell_rest(task);
        if (hosted->state == HOSTED_LOST)
                fail(task, "Agent lost: its host process was killed");
        else if (WIFSIGNALED(hosted->wait_status))
                end_by_signal(task, WTERMSIG(hosted->wait_status));
        else
                end_by_exit(task, WEXITSTATUS(hosted->wait_status));
}

static void on_ended(Hosted *hosted) {
        settle(hosted->user);
}

/* ---- its start ------------------------------------------------------------------------------- */

static void fail_start(Task *task, int error) {
        const char *name = strerrorname_np(error);
        char text[256];

        snprintf(text, sizeof(text), "spawn %.200s %s", task->project->agent_command,
                 name ? name : "failed");
        fail(task, text);
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

static void on_output(Viewer *viewer, HostOutput *output) {
        task_tell_output(container_of(viewer, Task, viewer), output);
}

static void show(Task *task) {
        task->viewer.output = on_output;
        if (!task->viewer.hosted)
                viewer_attach(&task->viewer, task->hosted);
}

static void on_started(Hosted *hosted, int error) {
        Task *task = hosted->user;

        if (hosted->is_adopted)
                return; /* its descriptors have come; everything else is as before */
        if (error) {
                task->hosted = NULL;
                fail_start(task, error);
                return;
        }
        show(task);
        supervisor_tell_later(task, tell_started);
        if (task->is_cancelled)
                host_kill(hosted, TASK_KILL_MS);
        supervisor_check_drained(task->project);
}

static const HostedHandler agent_handler = {.started = on_started, .ended = on_ended};

/* AGENT_COMMAND [AGENT_ARGS...] <headless form of the runtime> PROMPT [--agent NAME] */
static char **make_argv(const Task *task) {
        const Project *project = task->project;
        size_t n = 0;
        char **argv = calloc(project->agent_args.n + RUNTIME_ARGS_MAX + 5, sizeof(*argv));

        if (!argv)
                return NULL;
        argv[n++] = project->agent_command;
        for (size_t i = 0; i < project->agent_args.n; i++)
                argv[n++] = project->agent_args.items[i];
        for (const char *const *flag = project->runtime->headless; *flag; flag++)
                argv[n++] = (char *)*flag;
        argv[n++] = (char *)task->prompt.data;
        if (task->agent && project->runtime->agent_flag) {
                argv[n++] = (char *)project->runtime->agent_flag;
                argv[n++] = task->agent;
        }
        return argv;
}

/* By which a later daemon finds out whose it is. */
static int make_meta(const Task *task, Buf *meta) {
        JsonWriter w = JSON_WRITER(meta);

        jw_begin_object(&w);
        jw_field_cstr(&w, "project", task->project->dir);
        jw_field_cstr(&w, "task", task->id);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

static void set_limit(Task *task) {
        int64_t spent_ms = (loop_wall_us(task->project->daemon->loop) - task->started_us) / 1000;

        if (task->project->timeout_ms > 0)
                (void)timer_set(&task->limit, MAX((int64_t)task->project->timeout_ms - spent_ms, 0));
}

static int start_agent(Task *task) {
        const Project *project = task->project;
        _cleanup_(buf_deinit) Buf meta = BUF_NULL;
        _cleanup_(freep) char **argv = make_argv(task), **env_list = NULL;
        _cleanup_(strvec_deinit) StrVec env = {0};
        HostedSpec spec = {.owner = "tasks",
                           .object = task->id,
                           .workspace = project->dir,
                           .sandbox = "none",
                           .command = project->agent_command,
                           .kind = SHIM_PIPES,
                           .argv = argv,
                           .n_ring = TASK_OUTPUT_MAX,
                           .n_ring_err = TASK_STDERR_MAX,
                           .has_no_input = true};
        int r = argv ? make_meta(task, &meta) : -ENOMEM;

        if (!r)
                r = host_env_base(&env);
        r = r ? r : environment_put_all(&env, &project->daemon->env);
        r = r ? r : environment_put_caller(&env, &task->env);
        env_list = r ? NULL : strvec_list(&env);
        if (!r && !env_list)
                r = -ENOMEM;
        spec.env = env_list;
        spec.meta = buf_str(&meta);
        if (!r)
                r = host_start(project->daemon->host, &spec, &agent_handler, task, &task->hosted);
        return r;
}

void supervisor_start(Task *task) {
        static const TaskEnd cancelled = {.state = TASK_CANCELLED, .exit_code = -1, .reason = "cancelled"};
        int r;

        if (task->is_cancelled) {
                supervisor_end(task, &cancelled);
                return;
        }
        if (memchr(task->prompt.data, 0, task->prompt.n)) {
                fail(task, "The prompt holds a NUL character, which no argument can");
                return;
        }
        r = start_agent(task);
        if (r)
                fail_start(task, r > 0 ? ENOENT : -r);
        else
                set_limit(task);
}

void supervisor_adopt(Task *task, Hosted *hosted) {
        task->hosted = hosted;
        hosted->handler = &agent_handler;
        hosted->user = task;
        if (hosted->started_us)
                task->started_us = hosted->started_us;
        if (hosted->state != HOSTED_RUNNING && hosted->state != HOSTED_STARTING) {
                settle(task);
                return;
        }
        show(task);
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

static void on_limit(Timer *timer) {
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
        fail(task, !r && buf_cstr(&error) ? buf_cstr(&error) : "Task timed out");
        supervisor_stop_agent(task, TASK_KILL_MS);
}

void supervisor_watch(Task *task) {
        timer_init(&task->limit, task->project->daemon->loop, on_limit);
}
