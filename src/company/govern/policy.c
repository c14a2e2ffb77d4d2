/* SPDX-License-Identifier: MIT */
#include "company/govern/policy.h"

#include "base/macro.h"

static PolicyVerdict policy_verdict(bool is_allowed, const char *rule_id, const char *reason) {
        return (PolicyVerdict){.is_allowed = is_allowed, .rule_id = rule_id, .reason = reason};
}

static bool policy_is_manager(Str role) {
        static const char *const roles[] = {"human", "ceo", "director", "manager"};

        for (size_t i = 0; i < ARRAY_SIZE(roles); i++)
                if (str_is(role, roles[i]))
                        return true;
        return false;
}

static PolicyVerdict policy_of_managers(const PolicyActor *actor) {
        bool is_allowed = policy_is_manager(actor->role);

        return policy_verdict(is_allowed, "vis.managers",
                              is_allowed ? "manager_visible" : "role_not_allowed");
}

static PolicyVerdict policy_of_team(const PolicyActor *actor, const PolicyResource *resource) {
        if (policy_is_manager(actor->role))
                return policy_verdict(true, "vis.team.manager_override", "manager_override");
        if (actor->team.n && str_eq(actor->team, resource->team))
                return policy_verdict(true, "vis.team.same_team", "same_team");
        return policy_verdict(false, "vis.team.mismatch", "team_mismatch");
}

/* Not even a ceo sees what is an agent's own. */
static PolicyVerdict policy_of_owner(const PolicyActor *actor, const PolicyResource *resource) {
        bool is_owner = resource->producer.n && str_eq(resource->producer, actor->id);

        if (str_is(actor->role, "human"))
                return policy_verdict(true, "vis.private.human", "human_override");
        return policy_verdict(is_owner, "vis.private.owner", is_owner ? "owner" : "not_owner");
}

PolicyVerdict policy_decide(const PolicyActor *actor, PolicyAction action, const PolicyResource *resource) {
        if (action == POLICY_APPROVE && str_is(actor->role, "worker"))
                return policy_verdict(false, "approve.role", "role_not_allowed");
        if (str_is(resource->visibility, "org"))
                return policy_verdict(true, "vis.org", "org_visible");
        if (str_is(resource->visibility, "managers"))
                return policy_of_managers(actor);
        if (str_is(resource->visibility, "team"))
                return policy_of_team(actor, resource);
        return policy_of_owner(actor, resource);
}

const char *policy_action_name(PolicyAction action) {
        static const char *const names[] = {"read", "approve", "launch"};

        return names[action];
}
