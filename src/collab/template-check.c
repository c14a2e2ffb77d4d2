/* SPDX-License-Identifier: MIT */
#include "base/macro.h"
#include "collab/actor-id.h"
#include "collab/template.h"

static int check_actor(const TemplateActor *actor, char why[TEMPLATE_WHY_MAX]) {
        const char *fault = actor_id_fault(actor->id);

        if (fault)
                return template_complain(why, "invalid actor id: " STR_FMT " (%s)", STR_ARG(actor->id),
                                         fault);
        if (actor_id_is_reserved(actor->id))
                return template_complain(why, "reserved actor id: " STR_FMT, STR_ARG(actor->id));
        if (str_is(actor->runtime, "custom") && str_is(actor->runner, "pty") && !json_count(actor->command))
                return template_complain(why, "actor " STR_FMT ": a custom runtime needs a command",
                                         STR_ARG(actor->id));
        return 0;
}

int template_check(const Template *template, char why[TEMPLATE_WHY_MAX]) {
        for (size_t i = 0; i < template->n_actors; i++) {
                const TemplateActor *actor = &template->actors[i];
                int r;

                if (template_find(template, actor->id) != actor)
                        return template_complain(why, "duplicate actor id: " STR_FMT, STR_ARG(actor->id));
                r = check_actor(actor, why);
                if (r)
                        return r;
        }
        return 0;
}
