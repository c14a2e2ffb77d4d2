/* SPDX-License-Identifier: MIT */
/*
 * project.add, project.set, project.ls, project.rm: which AIWG projects this daemon serves, and in which
 * sandbox their tasks run. That is kept before the answer leaves. project.trust: their
 * configuration, when an agent may have written it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "daemon/projects.h"
#include "dialect/aiwg/aiwg.h"
#include "gen/native-ops.h"
#include "tasks/project.h"

typedef struct ProjectSave ProjectSave;
struct ProjectSave {
        ProjectSave *next; /* came later */
        Call *call;
        const Endpoint *added; /* or changed. NULL: one was removed … */
        ProjectLoad ended;     /* … and these tasks with it … */
        Project *leaving;      /* … which may take a while; NULL: there was nothing to end */
        Timer patience;        /* with that */
        char *path;
        Buf text;
        int r;
};

enum { PROJECT_PATIENCE_MS = SUPERVISOR_DRAIN_MS + 3000 };

/* ---- answers ---------------------------------------------------------------------------------- */

static const char gone[] = "its folder was moved or deleted while it was served";

static bool project_is_gone(const Endpoint *endpoint) {
        const Project *project = endpoint->context;

        return project && endpoint->state == ENDPOINT_LISTENING && !task_store_is_there(&project->store);
}

static void write_project(const Endpoint *endpoint, JsonWriter *w) {
        const Project *project = endpoint->context;
        ProjectLoad load = project ? project_load(project) : (ProjectLoad){0};
        EndpointView view;

        endpoint_look(endpoint, &view);
        jw_begin_object(w);
        jw_field_cstr(w, "dir", endpoint->where);
        jw_field_cstr(w, "state", project_is_gone(endpoint) ? "gone" : view.state);
        if (project_is_gone(endpoint))
                jw_field_cstr(w, "reason", gone);
        else if (endpoint->state != ENDPOINT_LISTENING && *view.reason)
                jw_field_cstr(w, "reason", view.reason);
        if (project && project->automation && project->automation->config_error)
                jw_field_cstr(w, "config_error", project->automation->config_error);
        if (project && project->is_untrusted)
                jw_field_bool(w, "untrusted", true);
        if (project && project->is_open && project->supervisor.n_held)
                jw_field_uint(w, "held", project->supervisor.n_held);
        jw_field_bool(w, "kept", endpoint->is_kept);
        jw_field_cstr(w, "sandbox", endpoint->sandbox ? endpoint->sandbox : "none");
        if (endpoint->network)
                jw_field_cstr(w, "network", endpoint->network);
        jw_field_uint(w, "clients", endpoint->n_clients);
        jw_field_uint(w, "running", load.n_running);
        jw_field_uint(w, "queued", load.n_waiting);
        jw_end_object(w);
}

static void write_removed(ProjectLoad ended, JsonWriter *w) {
        jw_begin_object(w);
        jw_field_bool(w, "removed", true);
        jw_key(w, "tasks");
        project_write_load(ended, true, w);
        jw_end_object(w);
}

/* ---- keeping the list ------------------------------------------------------------------------ */

static void save_begin(ProjectSave *save);

static void save_run(void *user) {
        ProjectSave *save = user;

        save->r = file_replace(save->path, buf_str(&save->text), 0600, FILE_DURABLE);
}

static void save_answer(ProjectSave *save) {
        if (!save->r && save->added)
                write_project(save->added, call_result(save->call));
        else if (!save->r)
                write_removed(save->ended, call_result(save->call));
        call_finish(save->call, save->r);
        free(save->path);
        buf_deinit(&save->text);
        free(save);
}

static void save_on_ended(void *user) {
        ProjectSave *save = user;

        timer_clear(&save->patience);
        save_answer(save);
}

/* For example because the disk is full, and the end of a task cannot be kept. */
static void save_on_patience(Timer *timer) {
        ProjectSave *save = container_of(timer, ProjectSave, patience);

        project_when_ended(save->leaving, NULL, NULL);
        save->r = call_fail(save->call, CALL_E_UNAVAILABLE,
                            "no longer served, but its last tasks are still being ended: %s",
                            save->leaving->dir);
        save_answer(save);
}

/* A removal is answered when the project is free: whoever adds it then, by any name, gets it. */
static bool save_waits(ProjectSave *save) {
        if (save->r || !save->leaving || !save->leaving->is_ending)
                return false;
        timer_init(&save->patience, save->call->daemon->loop, save_on_patience);
        if (timer_set(&save->patience, PROJECT_PATIENCE_MS))
                return false;
        project_when_ended(save->leaving, save_on_ended, save);
        return true;
}

static void save_done(void *user) {
        ProjectSave *save = user;
        Daemon *daemon = save->call->daemon;

        daemon->project_saves = save->next;
        if (!save_waits(save))
                save_answer(save);
        if (daemon->project_saves)
                save_begin(daemon->project_saves);
}

/* The text is made here: it has everything that was said until now. */
static void save_begin(ProjectSave *save) {
        Daemon *daemon = save->call->daemon;

        save->r = projects_text(daemon, &save->text);
        if (!save->r)
                save->r = loop_work(daemon->loop, save_run, save_done, save);
        if (save->r)
                save_done(save);
}

/* One after the other, or an older text could be the last one to be written. */
static int save_later(Call *call, const Endpoint *added, Project *leaving, ProjectLoad ended) {
        ProjectSave *save = calloc(1, sizeof(*save)), **end = &call->daemon->project_saves;
        bool is_first = !*end;

        if (!save)
                return error_origin(-ENOMEM);
        *save = (ProjectSave){.call = call, .added = added, .leaving = leaving, .ended = ended};
        save->path = path_join(call->daemon->home, "projects.json");
        if (!save->path) {
                free(save);
                return error_origin(-ENOMEM);
        }
        while (*end)
                end = &(*end)->next;
        *end = save;
        if (is_first)
                save_begin(save);
        return CALL_LATER;
}

/* ---- the ops --------------------------------------------------------------------------------- */

static Endpoint *project_find(Daemon *daemon, Str dir) {
        Endpoint *e = daemon->endpoints;

        while (e && (e->type != &aiwg_endpoint || e->is_removed || !str_is(dir, e->where)))
                e = e->next;
        return e;
}

int op_native_project_ls(Call *call, _unused_ const NativeProjectLsArgs *args) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "projects");
        jw_begin_array(w);
        for (const Endpoint *e = call->daemon->endpoints; e; e = e->next)
                if (e->type == &aiwg_endpoint && !e->is_removed)
                        write_project(e, w);
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}

int op_native_project_add(Call *call, const NativeProjectAddArgs *args) {
        Endpoint *endpoint = NULL;
        int r;

        if (call->daemon->is_stopping)
                return call_fail(call, CALL_E_UNAVAILABLE, "the daemon stops");
        if (args->dir.data[0] != '/' || memchr(args->dir.data, 0, args->dir.n))
                return call_fail(call, CALL_E_INVALID_PARAMS, "dir must be an absolute path");
        r = projects_endpoint(call->daemon, args->dir.data, &endpoint);
        if (!r) /* before it is opened: tasks of an earlier daemon go on then */
                r = projects_say(call->daemon, endpoint, args->sandbox.data, args->network.data);
        if (r)
                return error_trace(r);
        if (endpoint->state != ENDPOINT_LISTENING)
                (void)endpoint_open(endpoint);
        if (endpoint->state != ENDPOINT_LISTENING) {
                endpoint->is_removed = !endpoint->is_kept;
                return call_fail(call, CALL_E_UNAVAILABLE, "%s: %s", endpoint_state_name(endpoint->state),
                                 endpoint->reason);
        }
        if (project_is_gone(endpoint))
                return call_fail(call, CALL_E_UNAVAILABLE, "%s; end that with: muster project rm %s", gone,
                                 endpoint->where);
        endpoint->is_removed = false;
        endpoint->is_kept = true;
        return save_later(call, endpoint, NULL, (ProjectLoad){0});
}

int op_native_project_set(Call *call, const NativeProjectSetArgs *args) {
        Endpoint *endpoint = project_find(call->daemon, args->dir);
        int r;

        if (!endpoint)
                return call_fail(call, CALL_E_PROJECT_NOT_FOUND, "not served: " STR_FMT, STR_ARG(args->dir));
        if (!args->sandbox.data && !args->network.data)
                return call_fail(call, CALL_E_INVALID_PARAMS, "sandbox or network must be given");
        r = projects_say(call->daemon, endpoint, args->sandbox.data, args->network.data);
        return r ? error_trace(r) : save_later(call, endpoint, NULL, (ProjectLoad){0});
}

int op_native_project_rm(Call *call, const NativeProjectRmArgs *args) {
        Endpoint *endpoint = project_find(call->daemon, args->dir);
        Project *project = endpoint ? endpoint->context : NULL;
        ProjectLoad ended = {0};

        if (!endpoint)
                return call_fail(call, CALL_E_PROJECT_NOT_FOUND, "not served: " STR_FMT, STR_ARG(args->dir));
        if (project) {
                project->is_forced = args->force;
                ended = project_load(project);
        }
        endpoint->is_removed = true;
        endpoint->is_kept = false;
        projects_forget(call->daemon, endpoint->where);
        endpoint_close(endpoint);
        return save_later(call, NULL, project, ended);
}

typedef struct ProjectTrusting {
        Call *call;
        Project *project;
        const char *held; /* "": none */
} ProjectTrusting;

/* Whether those that wait now are those that were looked at. */
static bool trust_fits(const ProjectTrusting *trusting) {
        char digest[SHA256_HEX_MAX];

        return !*trusting->held ||
               (!supervisor_held_digest(trusting->project, digest) && !strcmp(digest, trusting->held));
}

static int trust_stale(const ProjectTrusting *trusting) {
        return call_fail(trusting->call, CALL_E_UNAVAILABLE,
                         "%s: other tasks wait than those that were looked at; look once more",
                         trusting->project->dir);
}

static void on_trusted(void *user, int r, const char *wrong) {
        ProjectTrusting *trusting = user;
        Project *project = trusting->project;
        Call *call = trusting->call;
        size_t n_held = *trusting->held && project->is_open ? project->supervisor.n_held : 0;
        JsonWriter *w;

        if (r > 0)
                r = call_fail(call, CALL_E_UNAVAILABLE, "%s", wrong);
        else if (!r && !trust_fits(trusting))
                r = trust_stale(trusting);
        if (r) {
                call_finish(call, r);
                return;
        }
        if (n_held)
                supervisor_release_held(project);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_cstr(w, "dir", project->dir);
        jw_field_bool(w, "trusted", true);
        jw_field_uint(w, "released", n_held);
        jw_end_object(w);
        call_finish(call, 0);
}

/* NULL: the call has failed, with *ret. */
static Project *project_find_open(Call *call, Str dir, int *ret) {
        const Endpoint *endpoint = project_find(call->daemon, dir);
        Project *project = endpoint ? endpoint->context : NULL;

        if (project && project->is_open)
                return project;
        *ret = endpoint ? call_fail(call, CALL_E_UNAVAILABLE, "%s: %s", endpoint_state_name(endpoint->state),
                                    endpoint->reason)
                        : call_fail(call, CALL_E_PROJECT_NOT_FOUND, "not served: " STR_FMT, STR_ARG(dir));
        return NULL;
}

/* It may have been closed while the call waited for its tasks. */
static int project_tell_held(Call *call, Project *project, const Carry *carry) {
        const NativeProjectHeldArgs *args = container_of(carry, NativeProjectHeldArgs, carry);
        char digest[SHA256_HEX_MAX];
        JsonWriter *w;
        int r = 0;

        project = project_find_open(call, args->dir, &r);
        if (!project)
                return r;
        r = supervisor_held_digest(project, digest);
        if (r)
                return error_trace(r);
        w = call_result(call);
        jw_begin_object(w);
        jw_key(w, "tasks");
        supervisor_write_held(project, w);
        jw_field_uint(w, "n", project->supervisor.n_held);
        jw_field_cstr(w, "held", project->supervisor.n_held ? digest : "");
        jw_end_object(w);
        return 0;
}

int op_native_project_held(Call *call, const NativeProjectHeldArgs *args) {
        int r = 0;
        Project *project = project_find_open(call, args->dir, &r);

        return project ? supervisor_call(call, project, project_tell_held, &args->carry) : r;
}

int op_native_project_trust(Call *call, const NativeProjectTrustArgs *args) {
        Project *project;
        ProjectTrusting *trusting;
        int r = 0;

        if (args->sha256.n && (args->sha256.n != 64 || strspn(args->sha256.data, "0123456789abcdef") != 64))
                return call_fail(call, CALL_E_INVALID_PARAMS, "sha256 must be 64 digits of lower-case hex");
        project = project_find_open(call, args->dir, &r);
        if (!project)
                return r;
        trusting = arena_alloc(&call->arena, sizeof(*trusting));
        if (!trusting)
                return error_origin(-ENOMEM);
        *trusting = (ProjectTrusting){call, project, args->held.n ? args->held.data : ""};
        if (!trust_fits(trusting))
                return trust_stale(trusting);
        r = project_trust(project, args->sha256, on_trusted, trusting);
        return r ? error_trace(r) : CALL_LATER;
}
