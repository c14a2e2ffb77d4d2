/* SPDX-License-Identifier: MIT */
/* Operations on the workspace itself. */
#include <errno.h>

#include "base/error.h"
#include "company/books/books.h"
#include "company/books/validate.h"
#include "company/visit.h"
#include "company/workspace.h"
#include "core/store/store.h"
#include "gen/agentcompany-ops.h"
#include "gen/native-ops.h"

/* ---- init ------------------------------------------------------------------------------------ */

typedef struct InitJob {
        Carry carry;
        BooksInit init;
        int r;
} InitJob;

static void init_run(const Carry *carry) {
        InitJob *job = container_of(carry, InitJob, carry);

        job->r = books_init(&job->init);
}

static int init_done(Call *call, const Carry *carry) {
        InitJob *job = container_of(carry, InitJob, carry);
        JsonWriter *w;

        if (job->r == BOOKS_E_REFUSED)
                return call_fail(call, CALL_E_COMPANY, STR_FMT, STR_ARG(job->init.why));
        if (job->r)
                return call_fail(call, CALL_E_COMPANY, "%s: " STR_FMT, strerror(-job->r),
                                 STR_ARG(job->init.path));
        w = call_result(call);
        jw_begin_object(w);
        jw_field_bool(w, "ok", true);
        jw_end_object(w);
        return 0;
}

int op_agentcompany_workspace_init(Call *call, const AgentcompanyWorkspaceInitArgs *args) {
        InitJob *job = arena_alloc(&call->arena, sizeof(*job));

        if (!company_is_served(call))
                return call->error;
        if (!job)
                return error_origin(-ENOMEM);
        *job = (InitJob){.init = {.path = visit_path(call, args->workspace_dir),
                                  .company_name = args->company_name,
                                  .is_forced = args->force,
                                  .wall_us = loop_wall_us(call->daemon->loop),
                                  .arena = &call->arena}};
        if (!job->init.path.data)
                return error_origin(-ENOMEM);
        return call_work(call, init_run, init_done, &job->carry);
}

/* ---- open, validate -------------------------------------------------------------------------- */

static int books_validate(Reading *reading, Validation *validation) {
        *validation = (Validation){.root = reading->root,
                                   .arena = reading->arena,
                                   .is_off = &reading->call->daemon->company->is_stopping};
        return error_trace(validate(validation));
}

static int books_read_open(Reading *reading, const Carry *carry) {
        const AgentcompanyWorkspaceOpenArgs *args =
                container_of(carry, AgentcompanyWorkspaceOpenArgs, carry);
        Validation validation;
        int r = books_validate(reading, &validation);

        jw_begin_object(reading->w);
        jw_field_str(reading->w, "workspace_dir", args->workspace_dir);
        jw_field_bool(reading->w, "valid", !validation.n);
        jw_key(reading->w, "issues");
        validate_write(&validation, reading->w);
        jw_end_object(reading->w);
        return r;
}

int op_agentcompany_workspace_open(Call *call, Workspace *workspace,
                                   const AgentcompanyWorkspaceOpenArgs *args) {
        return workspace_read(call, workspace, books_read_open, &args->carry);
}

int op_agentcompany_workspace_open_lost(Call *call, const AgentcompanyWorkspaceOpenArgs *args) {
        return workspace_read(call, NULL, books_read_open, &args->carry);
}

static int books_read_validate(Reading *reading, _unused_ const Carry *carry) {
        Validation validation;
        int r = books_validate(reading, &validation);

        jw_begin_object(reading->w);
        jw_field_bool(reading->w, "ok", !validation.n);
        if (validation.n) {
                jw_key(reading->w, "issues");
                validate_write(&validation, reading->w);
        }
        jw_end_object(reading->w);
        return r;
}

int op_agentcompany_workspace_validate(Call *call, Workspace *workspace,
                                       const AgentcompanyWorkspaceValidateArgs *args) {
        return workspace_read(call, workspace, books_read_validate, &args->carry);
}

int op_agentcompany_workspace_validate_lost(Call *call, const AgentcompanyWorkspaceValidateArgs *args) {
        return workspace_read(call, NULL, books_read_validate, &args->carry);
}

/* ---- which are open -------------------------------------------------------------------------- */

int op_native_company_workspaces(Call *call, _unused_ const NativeCompanyWorkspacesArgs *args) {
        const Company *company = call->daemon->company;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "workspaces");
        jw_begin_array(w);
        for (const Workspace *one = company ? company->workspaces : NULL; one; one = one->next) {
                jw_begin_object(w);
                jw_field_cstr(w, "workspace_dir", one->path);
                jw_field_uint(w, "clients", one->n_visits);
                jw_field_bool(w, "is_ready", one->is_ready);
                jw_field_bool(w, "is_idle", !one->store || store_is_idle(one->store));
                jw_field_int(w, "other_daemon", one->store ? store_other(one->store) : 0);
                jw_end_object(w);
        }
        jw_end_array(w);
        jw_end_object(w);
        return 0;
}
