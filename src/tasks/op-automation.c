/* SPDX-License-Identifier: MIT */
#include "gen/aiwg-ops.h"
#include "tasks/project.h"

static Automation *op_automation_of(const Call *call) {
        const Project *project = call->client->endpoint->context;

        return project->automation;
}

int op_aiwg_automation_status(Call *call, _unused_ const AiwgAutomationStatusArgs *args) {
        automation_write(op_automation_of(call), call_result(call));
        return 0;
}

/*
 * The original answers {success} for one rule, the contract {enabled}: both are given. For a rule that is
 * not there `enabled` is the engine's.
 */
static int answer_switch(Call *call, Str id, bool is_enabled) {
        Automation *automation = op_automation_of(call);
        bool is_known = automation_switch(automation, id, is_enabled);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_bool(w, "enabled", is_known ? is_enabled : automation->is_enabled);
        if (id.n)
                jw_field_bool(w, "success", is_known);
        jw_end_object(w);
        return 0;
}

int op_aiwg_automation_enable(Call *call, const AiwgAutomationEnableArgs *args) {
        return answer_switch(call, args->ruleId, true);
}

int op_aiwg_automation_disable(Call *call, const AiwgAutomationDisableArgs *args) {
        return answer_switch(call, args->ruleId, false);
}

int op_aiwg_automation_events(Call *call, const AiwgAutomationEventsArgs *args) {
        const Router *router = &op_automation_of(call)->router;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_key(w, "events");
        router_write_events(router, w, args->limit ? (size_t)args->limit : ROUTER_HISTORY);
        jw_key(w, "deadLetters");
        router_write_dead(router, w, ROUTER_LETTERS);
        jw_end_object(w);
        return 0;
}
