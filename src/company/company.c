/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "company/company"

#include "company/company.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "company/inbox/waiting.h"
#include "company/index/worker.h"
#include "company/job/job.h"
#include "company/learn/evaluation.h"
#include "company/pulse/tick.h"
#include "company/run/runs.h"
#include "company/workspace.h"
#include "core/driver.h"

static Workspace *company_idlest(const Company *company) {
        Workspace *idlest = NULL;

        for (Workspace *workspace = company->workspaces; workspace; workspace = workspace->next)
                if (workspace_is_idle(workspace))
                        idlest = workspace; /* the list is ordered by use */
        return idlest;
}

bool company_make_room(Company *company) {
        Workspace *idlest;

        if (company->n_workspaces < COMPANY_WORKSPACES_MAX)
                return true;
        idlest = company_idlest(company);
        if (idlest)
                workspace_close(idlest);
        return idlest;
}

static void company_look(Timer *timer) {
        Company *company = container_of(timer, Company, idle);
        int64_t now_ms = loop_now_ms(company->daemon->loop);

        for (Workspace *workspace = company->workspaces, *next; workspace; workspace = next) {
                next = workspace->next;
                if (workspace_is_idle(workspace) && now_ms - workspace->used_ms >= COMPANY_IDLE_MS)
                        workspace_close(workspace);
        }
        if (company->workspaces)
                (void)timer_set(timer, COMPANY_LOOK_MS);
}

bool company_is_served(Call *call) {
        if (!call->daemon->company)
                (void)call_fail(call, CALL_E_COMPANY, "AgentCompany is not served by this daemon");
        return call->daemon->company;
}

int company_new(Company **ret, Daemon *daemon) {
        Company *company = calloc(1, sizeof(*company));

        if (!company)
                return error_origin(-ENOMEM);
        if (driver_cache_new(&company->drivers)) {
                free(company);
                return error_origin(-ENOMEM);
        }
        company->daemon = daemon;
        timer_init(&company->idle, daemon->loop, company_look);
        jobs_on_start(company);
        company->waiting = inbox_on_waiting;
        evaluations_init(company);
        *ret = company;
        return 0;
}

void company_stop(Company *company) {
        if (!company)
                return;
        company->is_stopping = company->index_work.is_off = true;
        for (Workspace *workspace = company->workspaces; workspace; workspace = workspace->next)
                tick_stop(workspace);
}

Company *company_free(Company *company) {
        if (!company)
                return NULL;
        lane_deinit(&company->evaluations);
        timer_clear(&company->idle);
        company->index_worker = index_worker_free(company->index_worker);
        while (company->workspaces)
                workspace_close(company->workspaces);
        runs_adopt_end(company);
        driver_cache_free(company->drivers);
        free(company);
        return NULL;
}
