/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "company/workspace"

#include "company/workspace.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "company/event.h"
#include "company/index/turn.h"
#include "company/index/worker.h"
#include "company/job/job.h"
#include "company/live/live.h"
#include "company/run/runs.h"
#include "company/pulse/beat.h"
#include "company/visit.h"
#include "core/daemon.h"
#include "core/long-reply.h"
#include "core/store/store.h"

/* ---- its life -------------------------------------------------------------------------------- */

static void workspace_unlink(Workspace *workspace) {
        *workspace->link = workspace->next;
        if (workspace->next)
                workspace->next->link = workspace->link;
}

static void workspace_push(Workspace *workspace) {
        Company *company = workspace->company;

        workspace->next = company->workspaces;
        workspace->link = &company->workspaces;
        if (workspace->next)
                workspace->next->link = &workspace->next;
        company->workspaces = workspace;
}

static void workspace_use(Workspace *workspace) {
        Company *company = workspace->company;

        workspace->used_ms = loop_now_ms(company->daemon->loop);
        workspace_unlink(workspace);
        workspace_push(workspace);
        if (!timer_is_set(&company->idle))
                (void)timer_set(&company->idle, COMPANY_LOOK_MS);
}

static Workspace *workspace_find(Company *company, uint64_t dev, uint64_t ino) {
        Workspace *workspace = company->workspaces;

        while (workspace && (workspace->dev != dev || workspace->ino != ino))
                workspace = workspace->next;
        return workspace;
}

Workspace *workspace_ref(Workspace *workspace) {
        workspace->n_refs++;
        return workspace;
}

void workspace_unref(void *object) {
        Workspace *workspace = object;

        if (workspace)
                workspace->n_refs--;
}

bool workspace_is_idle(const Workspace *workspace) {
        return !workspace->n_refs && store_is_idle(workspace->store);
}

void workspace_close(Workspace *workspace) {
        Company *company = workspace->company;

        log_info(&company->daemon->log, workspace->path, "workspace closed");
        workspace_unlink(workspace);
        company->n_workspaces--;
        jobs_free(workspace);
        runs_free(workspace);
        beat_free(workspace);
        index_close(workspace);
        if (company->daemon->is_stopping)
                store_end(workspace->store);
        else
                store_close(workspace->store, NULL, NULL);
        close(workspace->root);
        free(workspace->path);
        (void)pthread_mutex_destroy(&workspace->id_lock);
        free(workspace);
}

/* ---- finding it ------------------------------------------------------------------------------ */

/* What a call that named a workspace is waiting with; in its arena. */
typedef struct Opening Opening;
struct Opening {
        Carry step;    /* of the step on a worker */
        Opening *next; /* of those that wait until it is ready, with their call */
        Call *call;
        Str path; /* absolute */
        WorkspaceFn fn;
        WorkspaceLostFn lost;
        const Carry *carry;
        int fd; /* -1: it cannot be opened, error says why */
        int error;
        struct stat st;
};

static void workspace_told(void *user, const StoreTold *told) {
        Workspace *workspace = user;

        event_told(workspace->company->daemon->feed, workspace->path, told);
        live_told(workspace, told);
        index_notify(workspace);
}

/* Also when it could not be put right: it can be read, and who writes is told. */
static void workspace_on_ready(void *user, int r _unused_) {
        Workspace *workspace = user;
        Opening *opening;

        workspace->is_ready = true;
        runs_attach(workspace);
        while ((opening = workspace->waiting)) {
                Call *call = opening->call;
                int result;

                workspace->waiting = opening->next;
                result = opening->fn(call, workspace, opening->carry);
                if (result != CALL_LATER)
                        call_finish(call, result);
        }
}

static int workspace_open_store(Workspace *workspace, int root) {
        Daemon *daemon = workspace->company->daemon;
        StoreOptions options = {.loop = daemon->loop,
                                .root = root,
                                .path = workspace->path,
                                .policy = ledger_policy_of(&daemon->config),
                                .interval_ms = (unsigned)daemon->config.sync_interval_ms,
                                .told = workspace_told,
                                .user = workspace};

        return store_open(&workspace->store, &options, workspace_on_ready);
}

/* Takes the descriptor. NULL: no memory, or too many; it is closed then. */
static Workspace *workspace_new(Company *company, const Opening *opening) {
        Workspace *workspace = company_make_room(company) ? calloc(1, sizeof(*workspace)) : NULL;

        if (workspace) {
                workspace->company = company;
                workspace->path = strdup(opening->path.data);
        }
        if (!workspace || !workspace->path || runs_new(workspace) ||
            workspace_open_store(workspace, opening->fd)) {
                if (workspace) {
                        runs_free(workspace);
                        free(workspace->path);
                }
                free(workspace);
                close(opening->fd);
                return NULL;
        }
        (void)pthread_mutex_init(&workspace->id_lock, NULL);
        workspace->dev = opening->st.st_dev;
        workspace->ino = opening->st.st_ino;
        workspace->root = opening->fd;
        company->n_workspaces++;
        workspace_push(workspace);
        log_info(&company->daemon->log, workspace->path, "workspace opened");
        return workspace;
}

static void workspace_rename(Workspace *workspace, Str path) {
        char *copy = str_is(path, workspace->path) ? NULL : strdup(path.data);

        if (!copy)
                return;
        free(workspace->path);
        workspace->path = copy;
}

static int workspace_enter(Call *call, Workspace *workspace, Opening *opening) {
        Opening **last = &workspace->waiting;
        int r;

        workspace_use(workspace);
        r = call_hold(call, workspace_ref(workspace), workspace_unref);
        if (!r)
                r = visit_name(call, workspace);
        if (r || workspace->is_ready)
                return r ? r : opening->fn(call, workspace, opening->carry);
        while (*last)
                last = &(*last)->next;
        opening->call = call;
        *last = opening;
        return CALL_LATER;
}

static void opening_run(const Carry *carry) {
        Opening *opening = container_of(carry, Opening, step);

        opening->fd = open(opening->path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        opening->error = opening->fd < 0 ? errno : 0;
        if (opening->fd >= 0 && fstat(opening->fd, &opening->st)) {
                opening->error = errno;
                close(opening->fd);
                opening->fd = -1;
        }
}

static int opening_done(Call *call, const Carry *carry) {
        Opening *opening = container_of(carry, Opening, step);
        Company *company = call->daemon->company;
        Workspace *workspace;

        if (opening->fd < 0)
                return opening->lost ? opening->lost(call, opening->carry)
                                     : call_fail(call, CALL_E_COMPANY, "%s: " STR_FMT,
                                                 strerror(opening->error), STR_ARG(opening->path));
        workspace = workspace_find(company, opening->st.st_dev, opening->st.st_ino);
        if (workspace) {
                close(opening->fd);
                workspace_rename(workspace, opening->path);
        } else
                workspace = workspace_new(company, opening);
        if (!workspace)
                return call_fail(call, CALL_E_COMPANY, "too many workspaces are open");
        return workspace_enter(call, workspace, opening);
}

/* One that is open under this very path, and is still what the path leads to; else NULL. */
static Workspace *workspace_at(Company *company, Str path) {
        Workspace *workspace = company->workspaces;
        struct stat st;

        while (workspace && !str_is(path, workspace->path))
                workspace = workspace->next;
        if (!workspace || stat(workspace->path, &st) || st.st_dev != workspace->dev ||
            st.st_ino != workspace->ino)
                return NULL;
        return workspace;
}

int workspace_target(Call *call, Str dir, _unused_ WorkspaceAccess access, WorkspaceFn fn,
                     WorkspaceLostFn lost, const Carry *carry) {
        Opening *opening = arena_alloc(&call->arena, sizeof(*opening));
        Workspace *workspace;

        if (!company_is_served(call))
                return call->error;
        if (!opening)
                return error_origin(-ENOMEM);
        *opening =
                (Opening){.path = visit_path(call, dir), .fn = fn, .lost = lost, .carry = carry, .fd = -1};
        if (!opening->path.data)
                return error_origin(-ENOMEM);
        workspace = workspace_at(call->daemon->company, opening->path);
        if (workspace)
                return workspace_enter(call, workspace, opening);
        return call_work(call, opening_run, opening_done, &opening->step);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void reading_run(const Carry *carry) {
        Reading *reading = container_of(carry, Reading, step);
        const Company *company = reading->call->daemon->company; /* NULL: it is not served */

        reading->r = company && company->is_stopping ? -ECANCELED : reading->fn(reading, reading->carry);
        if (reading->r == -ECANCELED)
                reading->r = reading_fail(reading, CALL_E_UNAVAILABLE, "the daemon stops");
        if (!reading->r)
                reading->r = reading->issues.is_failed ? error_origin(-ENOMEM) : spool_end(&reading->spool);
}

static int reading_done(Call *call, const Carry *carry) {
        Reading *reading = container_of(carry, Reading, step);
        int r = reading->r;

        if (reading->has_issues && r > 0)
                r = call_fail_issues(call, &reading->issues);
        else if (r > 0)
                r = call_fail(call, r, STR_FMT, STR_ARG(reading->message));
        else if (!r && reading->spool.fd >= 0)
                return long_reply_send(call, &reading->spool);
        else if (!r && reading->spool.text.n)
                call_give(call, &reading->spool.text);
        spool_deinit(&reading->spool);
        return r;
}

int workspace_read(Call *call, Workspace *workspace, ReadFn fn, const Carry *carry) {
        Reading *reading = arena_alloc(&call->arena, sizeof(*reading));

        if (!reading)
                return error_origin(-ENOMEM);
        *reading = (Reading){.call = call,
                             .workspace = workspace,
                             .root = workspace ? workspace->root : -1,
                             .arena = &call->arena,
                             .wall_us = loop_wall_us(call->daemon->loop),
                             .issues = ISSUES(&call->arena),
                             .fn = fn,
                             .carry = carry};
        spool_init(&reading->spool, call->daemon->home);
        reading->w = &reading->spool.w;
        return call_work(call, reading_run, reading_done, &reading->step);
}

int reading_fail(Reading *reading, int error, const char *format, ...) {
        char text[512];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        reading->message = arena_str(reading->arena, str_from(text));
        return error;
}

int reading_fail_issues(Reading *reading) {
        reading->has_issues = true;
        return CALL_E_INVALID_PARAMS;
}
