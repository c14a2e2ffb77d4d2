/* SPDX-License-Identifier: MIT */
/*
 * The engine and its project: what actions do, and daemon.json read again when it changes.
 */
#define LOG_MODULE "tasks/project"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "tasks/project.h"

enum { RELOAD_QUIET_MS = 200 };

/* ---- actions --------------------------------------------------------------------------------- */

static int project_automation_submit(void *user, const TaskRequest *request) {
        Project *project = user;
        const TaskSpec spec = {.prompt = request->prompt,
                               .agent = request->agent,
                               .priority = request->priority,
                               .metadata = request->metadata,
                               .approval = project_ask_approval(project, request->number)};
        const char *id = NULL;
        int r;

        if (request->prompt.n > TASK_PROMPT_MAX)
                return RULE_SUBMIT_E_INVALID;
        r = supervisor_submit(project, &spec, NULL, false, &id);
        if (r > 0)
                return r == SUPERVISOR_E_FULL || r == SUPERVISOR_E_TEXT_FULL ? RULE_SUBMIT_E_FULL
                                                                             : RULE_SUBMIT_E_STOPPING;
        if (!r)
                snprintf(request->ret_id, AUTOMATION_ID_MAX, "%s", id);
        return error_trace(r);
}

static void project_automation_notify(void *user, const RuleNotice *notice) {
        Project *project = user;
        _cleanup_(buf_deinit) Buf params = BUF_NULL;
        JsonWriter w = JSON_WRITER(&params);

        jw_begin_object(&w);
        jw_field_str(&w, "ruleId", notice->rule);
        jw_field_str(&w, "message", notice->message);
        if (notice->channel.n)
                jw_field_str(&w, "channel", notice->channel);
        else
                jw_field_null(&w, "channel");
        jw_key(&w, "event");
        jw_raw(&w, notice->event);
        jw_end_object(&w);
        if (!w.failed)
                task_tell(project, "event.automationNotify", buf_str(&params));
}

static void project_automation_say(void *user, const char *line) {
        Project *project = user;

        project_log_line(&project->log, "%s", line);
}

int project_automation_new(Project *project) {
        const RuleActions actions = {.submit = project_automation_submit,
                                     .notify = project_automation_notify,
                                     .log = project_automation_say,
                                     .ask = project_ask,
                                     .n_asked = project_asks_of,
                                     .ended = project_ask_ended,
                                     .user = project};

        return error_trace(automation_new(&project->automation, project->daemon->loop, &project->daemon->log,
                                          &project->daemon->watches, project->dir, &actions));
}

void project_task_kept(const Task *task, int r) {
        automation_task_kept(task->project->automation, str_from(task->id), r);
}

void project_task_ended(const Task *task) {
        Project *project = task->project;
        const char *state = task_state_name(task->final_state);
        int64_t now_us = loop_wall_us(project->daemon->loop);

        project_log_line(&project->log, "Task %s: %s (%lldms)", state, task->id,
                         (long long)(task->started_us ? (now_us - task->started_us) / 1000 : 0));
        automation_task_ended(project->automation, str_from(task->id), state, str_from(task->metadata));
        attention_task_ended(task);
}

/* ---- daemon.json again ----------------------------------------------------------------------- */

/* Says why in the log and in automation.status; what was in use stays in use. */
int project_use(Project *project, ProjectConfig *config, int r) {
        project->is_untrusted = r == PROJECT_E_UNTRUSTED;
        if (!r)
                r = project_config_apply(project, config);
        if (r) {
                if (r < 0)
                        snprintf(config->wrong, sizeof(config->wrong), "%s", strerror(-r));
                automation_set_config_error(project->automation, config->wrong);
                project_log_line(&project->log, "Configuration kept as it was: %s", config->wrong);
                return r;
        }
        automation_set_config_error(project->automation, NULL);
        project_log_line(&project->log, "Configuration reloaded");
        supervisor_pump(project);
        return error_trace(timer_set(&project->heartbeat, 0));
}

/* Only what nobody in a sandbox may have written, or what was accepted. */
static int finish_reload(Project *project, ProjectConfig *config, int r) {
        if (!r)
                r = project_config_judge(project, config);
        r = project_use(project, config, r);
        if (!r)
                project_config_keep(project, config);
        return r;
}

int project_reload(Project *project, char *reterr, size_t n_reterr) {
        _cleanup_(project_config_deinit)
                ProjectConfig config = {.moment = trust_moment(project->daemon->trust)};
        int r = project_config_read(&config, project->config_path, true);

        r = finish_reload(project, &config, r);
        snprintf(reterr, n_reterr, "%s", config.wrong);
        return r;
}

typedef struct Reload {
        Project *project;
        char *path;
        ProjectConfig config;
        int r;
} Reload;

static void reload_run(void *user) {
        Reload *reload = user;

        reload->r = project_config_read(&reload->config, reload->path, true);
}

static void reload_done(void *user) {
        Reload *reload = user;
        Project *project = reload->project;

        project->is_reloading = false;
        if (project->is_open && finish_reload(project, &reload->config, reload->r))
                log_warning(&project->daemon->log, project->dir, "configuration kept as it was: %s",
                            reload->config.wrong);
        else if (project->is_open)
                log_notice(&project->daemon->log, project->dir, "configuration reloaded");
        project_config_deinit(&reload->config);
        free(reload->path);
        free(reload);
}

static void on_reload(Timer *timer) {
        Project *project = container_of(timer, Project, reload);
        Reload *reload = project->is_reloading ? NULL : calloc(1, sizeof(*reload));

        if (!reload) {
                (void)timer_set(timer, RELOAD_QUIET_MS);
                return;
        }
        reload->project = project;
        reload->config.moment = trust_moment(project->daemon->trust);
        reload->path = strdup(project->config_path);
        if (!reload->path || loop_work(project->daemon->loop, reload_run, reload_done, reload)) {
                free(reload->path);
                free(reload);
                return;
        }
        project->is_reloading = true;
}

/* Half a file that somebody is still writing is not read: it has to be quiet for a moment. */
static void on_config_change(void *user, WatchEvent event, Str path, _unused_ bool is_dir) {
        Project *project = user;

        if (event != WATCH_DELETED && str_is(path, "daemon.json"))
                (void)timer_set(&project->reload, RELOAD_QUIET_MS);
}

/* It may have changed between the first reading and the first walk, which nobody tells. */
static void project_automation_on_settled(void *user) {
        Project *project = user;
        const struct stat *seen = &project->config_seen;
        struct stat st;

        if (stat(project->config_path, &st))
                return;
        if (st.st_ino != seen->st_ino || st.st_size != seen->st_size ||
            st.st_mtim.tv_sec != seen->st_mtim.tv_sec || st.st_mtim.tv_nsec != seen->st_mtim.tv_nsec)
                (void)timer_set(&project->reload, RELOAD_QUIET_MS);
}

static bool is_other_file(_unused_ const void *user, Str path, _unused_ bool is_dir) {
        return !str_is(path, "daemon.json");
}

static void project_automation_on_trouble(_unused_ void *user, _unused_ const char *what) {}

void project_automation_begin(Project *project) {
        int r;

        timer_init(&project->reload, project->daemon->loop, on_reload);
        r = watch_open(&project->config_watch, &project->daemon->watches, project->daemon->loop,
                       &(WatchSpec){.root = project->aiwg_dir,
                                    .is_flat = true,
                                    .is_ignored = is_other_file,
                                    .changed = on_config_change,
                                    .troubled = project_automation_on_trouble,
                                    .settled = project_automation_on_settled,
                                    .user = project});
        if (r)
                log_warning(&project->daemon->log, project->dir,
                            "daemon.json is read again on SIGHUP only: %s", strerror(-r));
        automation_start(project->automation);
}

void project_automation_end(Project *project) {
        if (!project->reload.loop)
                return;
        timer_clear(&project->reload);
        project->config_watch = watch_close(project->config_watch);
        project_asks_leave(project);
        automation_stop(project->automation);
}
