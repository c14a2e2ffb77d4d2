/* SPDX-License-Identifier: MIT */
#include "base/macro.h"
#include "base/test-cmocka.h"
#include "company/govern/policy.h"

/* A row of the contract's table; empty words fit everything. */
typedef struct {
        PolicyAction action;
        const char *role, *visibility, *actor_team, *team, *actor_id, *producer;
        bool is_allowed;
        const char *rule_id, *reason;
} Row;

static void expect_row(const Row *row) {
        PolicyVerdict verdict = policy_decide(&(PolicyActor){.id = str_from(row->actor_id),
                                                             .role = str_from(row->role),
                                                             .team = str_from(row->actor_team)},
                                              row->action,
                                              &(PolicyResource){.visibility = str_from(row->visibility),
                                                                .team = str_from(row->team),
                                                                .producer = str_from(row->producer)});

        assert_int_equal(verdict.is_allowed, row->is_allowed);
        assert_string_equal(verdict.rule_id, row->rule_id);
        assert_string_equal(verdict.reason, row->reason);
}

static void test_rows(_unused_ void **state) {
        static const Row rows[] = {
                {POLICY_APPROVE, "worker", "org", "t", "t", "a", "a", false, "approve.role",
                 "role_not_allowed"},
                {POLICY_APPROVE, "worker", "private_agent", "t", "t", "a", "a", false, "approve.role",
                 "role_not_allowed"},
                {POLICY_READ, "worker", "org", "", "", "a", "b", true, "vis.org", "org_visible"},
                {POLICY_LAUNCH, "worker", "org", "", "", "a", "b", true, "vis.org", "org_visible"},
                {POLICY_APPROVE, "manager", "org", "", "", "a", "b", true, "vis.org", "org_visible"},
                {POLICY_READ, "human", "managers", "", "", "a", "b", true, "vis.managers",
                 "manager_visible"},
                {POLICY_READ, "ceo", "managers", "", "", "a", "b", true, "vis.managers", "manager_visible"},
                {POLICY_READ, "director", "managers", "", "", "a", "b", true, "vis.managers",
                 "manager_visible"},
                {POLICY_READ, "manager", "managers", "", "", "a", "b", true, "vis.managers",
                 "manager_visible"},
                {POLICY_READ, "worker", "managers", "t", "t", "a", "a", false, "vis.managers",
                 "role_not_allowed"},
                {POLICY_READ, "manager", "team", "x", "y", "a", "b", true, "vis.team.manager_override",
                 "manager_override"},
                {POLICY_READ, "worker", "team", "t", "t", "a", "b", true, "vis.team.same_team", "same_team"},
                {POLICY_READ, "worker", "team", "t", "u", "a", "b", false, "vis.team.mismatch",
                 "team_mismatch"},
                {POLICY_READ, "worker", "team", "", "", "a", "a", false, "vis.team.mismatch",
                 "team_mismatch"},
                {POLICY_READ, "worker", "team", "t", "", "a", "a", false, "vis.team.mismatch",
                 "team_mismatch"},
                {POLICY_READ, "human", "private_agent", "", "", "a", "b", true, "vis.private.human",
                 "human_override"},
                {POLICY_APPROVE, "human", "private_agent", "", "", "a", "", true, "vis.private.human",
                 "human_override"},
                {POLICY_READ, "worker", "private_agent", "", "", "a", "a", true, "vis.private.owner",
                 "owner"},
                {POLICY_READ, "ceo", "private_agent", "", "", "a", "b", false, "vis.private.owner",
                 "not_owner"},
                {POLICY_APPROVE, "ceo", "private_agent", "", "", "a", "", false, "vis.private.owner",
                 "not_owner"},
                {POLICY_READ, "worker", "private_agent", "", "", "", "", false, "vis.private.owner",
                 "not_owner"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                expect_row(&rows[i]);
}

/* Of every role, visibility and action: who is no manager never approves, and nothing but org is for all. */
static void test_every_combination(_unused_ void **state) {
        static const char *const roles[] = {"human", "ceo", "director", "manager", "worker"};
        static const char *const seen_by[] = {"org", "managers", "team", "private_agent", "", "nonsense"};

        for (size_t role = 0; role < ARRAY_SIZE(roles); role++)
                for (size_t seen = 0; seen < ARRAY_SIZE(seen_by); seen++)
                        for (int action = POLICY_READ; action <= POLICY_LAUNCH; action++) {
                                PolicyActor actor = {
                                        .id = STR("a"), .role = str_from(roles[role]), .team = STR("t")};
                                PolicyResource resource = {.visibility = str_from(seen_by[seen]),
                                                           .team = STR("u"),
                                                           .producer = STR("b")};
                                PolicyVerdict verdict =
                                        policy_decide(&actor, (PolicyAction)action, &resource);
                                bool is_worker = role == 4, is_shared = seen < 3;

                                if (seen == 0)
                                        assert_int_equal(verdict.is_allowed,
                                                         !(is_worker && action == POLICY_APPROVE));
                                else
                                        assert_int_equal(verdict.is_allowed,
                                                         is_shared ? !is_worker : role == 0);
                                assert_non_null(verdict.rule_id);
                                assert_non_null(verdict.reason);
                        }
}

/* A launch asks for a run, which is its agent's team's, or everybody's when that has none. */
static void test_a_launch(_unused_ void **state) {
        PolicyResource of_team = {
                .visibility = STR("team"), .team = STR("team_pay"), .producer = STR("agent_w")};
        PolicyResource of_all = {.visibility = STR("org"), .producer = STR("agent_w")};
        PolicyActor worker = {.id = STR("agent_z"), .role = STR("worker"), .team = STR("team_other")};
        PolicyVerdict verdict = policy_decide(&worker, POLICY_LAUNCH, &of_team);

        assert_false(verdict.is_allowed);
        assert_string_equal(verdict.rule_id, "vis.team.mismatch");
        worker.team = STR("team_pay");
        assert_string_equal(policy_decide(&worker, POLICY_LAUNCH, &of_team).rule_id, "vis.team.same_team");
        worker.role = STR("human");
        assert_string_equal(policy_decide(&worker, POLICY_LAUNCH, &of_team).rule_id,
                            "vis.team.manager_override");
        worker.role = STR("worker");
        assert_string_equal(policy_decide(&worker, POLICY_LAUNCH, &of_all).rule_id, "vis.org");
        assert_string_equal(policy_action_name(POLICY_LAUNCH), "launch");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_every_combination),
                cmocka_unit_test(test_a_launch),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
