/* SPDX-License-Identifier: MIT */
/* Operations on agents, teams, and the settings of this machine. */
#include <errno.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/people/people.h"
#include "company/workspace.h"
#include "gen/agentcompany-ops.h"
#include "gen/native-ops.h"

/* Members that the document has, in this order; those that it does not have are left out. */
static void people_copy(JsonWriter *w, const Json *document, const char *const names[]) {
        for (; *names; names++) {
                const Json *value = json_get(document, *names);

                if (value)
                        jw_field_value(w, *names, value);
        }
}

static bool people_fits(const Json *agent, const char *key, Str wanted) {
        return !wanted.n || str_eq(json_text_of(agent, key), wanted);
}

static int people_read_agents(Reading *reading, const Carry *carry) {
        static const char *const names[] = {"name",       "display_title", "avatar",     "role", "provider",
                                            "model_hint", "team_id",       "created_at", NULL};
        const AgentcompanyWorkspaceAgentsListArgs *args =
                container_of(carry, AgentcompanyWorkspaceAgentsListArgs, carry);
        Json *agents = NULL;
        int r = people_agents(reading->root, reading->arena, &agents);

        if (r)
                return error_trace(r);
        jw_begin_array(reading->w);
        json_each (agent, agents) {
                if (!people_fits(agent, "role", args->role) || !people_fits(agent, "team_id", args->team_id))
                        continue;
                jw_begin_object(reading->w);
                jw_field_str(reading->w, "agent_id", json_text_of(agent, "id"));
                people_copy(reading->w, agent, names);
                jw_end_object(reading->w);
        }
        jw_end_array(reading->w);
        return 0;
}

int op_agentcompany_workspace_agents_list(Call *call, Workspace *workspace,
                                          const AgentcompanyWorkspaceAgentsListArgs *args) {
        return workspace_read(call, workspace, people_read_agents, &args->carry);
}

static int people_read_teams(Reading *reading, _unused_ const Carry *carry) {
        static const char *const names[] = {"name", "created_at", NULL};
        Json *teams = NULL;
        int r = people_teams(reading->root, reading->arena, &teams);

        if (r)
                return error_trace(r);
        jw_begin_array(reading->w);
        json_each (team, teams) {
                jw_begin_object(reading->w);
                jw_field_str(reading->w, "team_id", json_text_of(team, "id"));
                people_copy(reading->w, team, names);
                jw_end_object(reading->w);
        }
        jw_end_array(reading->w);
        return 0;
}

int op_agentcompany_workspace_teams_list(Call *call, Workspace *workspace,
                                         const AgentcompanyWorkspaceTeamsListArgs *args) {
        return workspace_read(call, workspace, people_read_teams, &args->carry);
}

/* ---- new ones, which the contract leaves to outside tools ------------------------------------ */

static int people_decide_team(Edit *edit, const Carry *carry) {
        const NativeCompanyTeamNewArgs *args = container_of(carry, NativeCompanyTeamNewArgs, carry);
        Str id = draft_id(edit, "team");

        if (!id.data)
                return error_origin(-ENOMEM);
        people_make_team(edit, id, args->name);
        return 0;
}

static void people_reply_team(Call *call, Edit *edit, _unused_ const Carry *carry) {
        draft_reply_id(call, edit, "team_id");
}

int op_native_company_team_new(Call *call, Workspace *workspace, const NativeCompanyTeamNewArgs *args) {
        return company_edit(call, workspace, people_decide_team, people_reply_team, &args->carry);
}

static int people_decide_agent(Edit *edit, const Carry *carry) {
        const NativeCompanyAgentNewArgs *args = container_of(carry, NativeCompanyAgentNewArgs, carry);
        Str id = draft_id(edit, "agent");

        if (!id.data)
                return error_origin(-ENOMEM);
        people_make_agent(edit, &(NewAgent){.id = id,
                                            .name = args->name,
                                            .role = args->role,
                                            .provider = args->provider,
                                            .team_id = args->team_id});
        return 0;
}

static void people_reply_agent(Call *call, Edit *edit, _unused_ const Carry *carry) {
        draft_reply_id(call, edit, "agent_id");
}

int op_native_company_agent_new(Call *call, Workspace *workspace, const NativeCompanyAgentNewArgs *args) {
        return company_edit(call, workspace, people_decide_agent, people_reply_agent, &args->carry);
}

/* ---- the settings of this machine ------------------------------------------------------------ */

static void people_reply_set(Call *call, _unused_ Edit *edit, _unused_ const Carry *carry) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_end_object(w);
}

static int people_decide_repo(Edit *edit, const Carry *carry) {
        const NativeCompanyMachineSetRepoArgs *args =
                container_of(carry, NativeCompanyMachineSetRepoArgs, carry);

        return people_set_machine(edit, "repo_roots", args->repo_id, args->path);
}

int op_native_company_machine_set_repo(Call *call, Workspace *workspace,
                                       const NativeCompanyMachineSetRepoArgs *args) {
        return company_edit(call, workspace, people_decide_repo, people_reply_set, &args->carry);
}

static int people_decide_program(Edit *edit, const Carry *carry) {
        const NativeCompanyMachineSetProviderBinArgs *args =
                container_of(carry, NativeCompanyMachineSetProviderBinArgs, carry);

        return people_set_machine(edit, "provider_bins", args->provider, args->path);
}

int op_native_company_machine_set_provider_bin(Call *call, Workspace *workspace,
                                               const NativeCompanyMachineSetProviderBinArgs *args) {
        return company_edit(call, workspace, people_decide_program, people_reply_set, &args->carry);
}
