/* SPDX-License-Identifier: MIT */
/* company.bootstrap: a workspace with departments, their managers and workers, and a first project. */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "base/macro.h"
#include "company/books/books.h"
#include "company/books/transfer.h"
#include "company/people/people.h"
#include "company/plan/plan.h"
#include "company/talk/talk.h"
#include "company/visit.h"
#include "company/workspace.h"
#include "core/daemon.h"
#include "gen/native-ops.h"

typedef struct Preset {
        const char *key, *label, *provider;
} Preset;

static const Preset presets[] = {
        {"engineering", "Engineering", "codex"},
        {"product", "Product", "claude_code"},
        {"design", "Design", "claude_code"},
        {"operations", "Operations", "codex"},
        {"qa", "QA", "codex"},
        {"security", "Security", "codex"},
        {"data", "Data", "claude_code"},
};

typedef struct Department {
        const Preset *preset;
        Str team_id, manager_id, worker_id;
} Department;

typedef struct Bootstrap { /* in the call's arena */
        Carry carry;
        const NativeCompanyBootstrapArgs *args;
        BooksInit init;
        Transfer clearing;
        int r;
        Department departments[ARRAY_SIZE(presets)];
        size_t n;
        Str ceo_id, director_id, project_id; /* empty: there is none */
} Bootstrap;

static void bootstrap_choose(Bootstrap *self) {
        const StrList *wanted = &self->args->departments;

        for (size_t i = 0; i < wanted->n; i++) {
                Str key = str_trim(wanted->items[i]);
                bool is_new = true;

                for (size_t k = 0; k < ARRAY_SIZE(presets); k++) {
                        if (key.n != strlen(presets[k].key) ||
                            strncasecmp(key.data, presets[k].key, key.n) != 0)
                                continue;
                        for (size_t d = 0; d < self->n; d++)
                                is_new = is_new && self->departments[d].preset != &presets[k];
                        if (is_new)
                                self->departments[self->n++].preset = &presets[k];
                }
        }
}

/* ---- the folder ------------------------------------------------------------------------------ */

static void bootstrap_run(const Carry *carry) {
        Bootstrap *self = container_of(carry, Bootstrap, carry);

        self->r = self->args->force ? transfer_clear(&self->clearing) : 0;
        if (self->r == TRANSFER_E_REFUSED)
                self->init.why = self->clearing.why;
        else if (!self->r)
                self->r = books_init(&self->init);
}

/* ---- who is in it ---------------------------------------------------------------------------- */

static Str bootstrap_agent(Edit *edit, const char *name, const char *role, const char *provider,
                           Str team_id) {
        NewAgent agent = {.id = edit_id(edit, "agent"),
                          .name = arena_str(edit->arena, str_from(name)),
                          .role = str_from(role),
                          .provider = str_from(provider),
                          .team_id = team_id};

        people_make_agent(edit, &agent);
        return agent.id;
}

static Str bootstrap_member(Edit *edit, const Department *of, const char *word, const char *role) {
        Str name = arena_printf(edit->arena, "%s %s", of->preset->label, word);

        return name.data ? bootstrap_agent(edit, name.data, role, of->preset->provider, of->team_id)
                         : STR_NULL;
}

static int bootstrap_decide(Edit *edit, const Carry *carry) {
        Bootstrap *self = container_of(carry, Bootstrap, carry);

        if (self->args->include_ceo)
                self->ceo_id = bootstrap_agent(edit, "CEO", "ceo", "manual", STR_NULL);
        if (self->args->include_director)
                self->director_id = bootstrap_agent(edit, "Director", "director", "codex", STR_NULL);
        for (size_t i = 0; i < self->n; i++) {
                Department *one = &self->departments[i];

                one->team_id = edit_id(edit, "team");
                people_make_team(edit, one->team_id, str_from(one->preset->label));
                one->manager_id = bootstrap_member(edit, one, "Manager", "manager");
                one->worker_id = bootstrap_member(edit, one, "Worker", "worker");
        }
        self->project_id = edit_id(edit, "proj");
        plan_make_project(edit, self->project_id, self->args->project_name);
        return 0;
}

/* Conversations have those who are there by now. */
static int bootstrap_decide_defaults(Edit *edit, const Carry *carry) {
        const Bootstrap *self = container_of(carry, Bootstrap, carry);

        talk_defaults(edit, self->project_id, self->ceo_id, NULL);
        return 0;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void bootstrap_write_departments(const Bootstrap *self, JsonWriter *w) {
        jw_key(w, "departments");
        jw_begin_array(w);
        for (size_t i = 0; i < self->n; i++) {
                jw_begin_object(w);
                jw_field_cstr(w, "key", self->departments[i].preset->key);
                jw_field_str(w, "team_id", self->departments[i].team_id);
                jw_field_str(w, "manager_agent_id", self->departments[i].manager_id);
                jw_field_str(w, "worker_agent_id", self->departments[i].worker_id);
                jw_end_object(w);
        }
        jw_end_array(w);
}

static void bootstrap_reply(Call *call, _unused_ Edit *edit, const Carry *carry) {
        const Bootstrap *self = container_of(carry, Bootstrap, carry);
        const bool has_director = self->director_id.n;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "workspace_dir", self->args->workspace_dir);
        jw_field_str(w, "company_name", self->init.company_name);
        jw_field_str(w, "project_id", self->project_id);
        bootstrap_write_departments(self, w);
        jw_key(w, "agents");
        jw_begin_object(w);
        if (self->ceo_id.n)
                jw_field_str(w, "ceo_agent_id", self->ceo_id);
        if (has_director)
                jw_field_str(w, "director_agent_id", self->director_id);
        jw_end_object(w);
        jw_key(w, "default_session");
        jw_begin_object(w);
        jw_field_str(w, "project_id", self->project_id);
        jw_field_str(w, "actor_id", has_director ? self->director_id : self->departments[0].manager_id);
        jw_field_cstr(w, "actor_role", has_director ? "director" : "manager");
        jw_field_str(w, "actor_team_id", self->departments[0].team_id);
        jw_end_object(w);
        jw_end_object(w);
}

/* ---- the steps ------------------------------------------------------------------------------- */

static int bootstrap_then_defaults(Call *call, Edit *edit, const Carry *carry) {
        return company_edit(call, edit->workspace, bootstrap_decide_defaults, bootstrap_reply, carry);
}

static int bootstrap_fill(Call *call, Workspace *workspace, const Carry *carry) {
        return company_edit_then(call, workspace, bootstrap_decide, bootstrap_then_defaults, carry);
}

static int bootstrap_done(Call *call, const Carry *carry) {
        Bootstrap *self = container_of(carry, Bootstrap, carry);

        if (self->r > 0)
                return call_fail(call, CALL_E_COMPANY, STR_FMT, STR_ARG(self->init.why));
        if (self->r)
                return call_fail(call, CALL_E_COMPANY, "%s: " STR_FMT, strerror(-self->r),
                                 STR_ARG(self->init.path));
        return workspace_target(call, self->init.path, WORKSPACE_FOLDER, bootstrap_fill, NULL, carry);
}

int op_native_company_bootstrap(Call *call, const NativeCompanyBootstrapArgs *args) {
        Bootstrap *self = arena_alloc(&call->arena, sizeof(*self));
        Str path = visit_path(call, args->workspace_dir);

        if (!company_is_served(call))
                return call->error;
        if (!self || !path.data)
                return error_origin(-ENOMEM);
        *self = (Bootstrap){.args = args,
                            .init = {.path = path,
                                     .company_name = args->company_name,
                                     .is_forced = args->force,
                                     .wall_us = loop_wall_us(call->daemon->loop),
                                     .arena = &call->arena},
                            .clearing = {.arena = &call->arena, .to = path, .home = getenv("HOME")}};
        bootstrap_choose(self);
        if (!self->n)
                return call_fail(call, CALL_E_COMPANY,
                                 "none of these departments is there: engineering, product, design, "
                                 "operations, qa, security, data");
        return call_work(call, bootstrap_run, bootstrap_done, &self->carry);
}
