/* SPDX-License-Identifier: MIT */
#include "collab/permissions.h"

const ActorView *group_foreman(const GroupDoc *doc) {
        for (size_t i = 0; i < doc->n_actors; i++)
                if (doc->actors[i].is_enabled)
                        return &doc->actors[i];
        return NULL;
}

bool group_is_foreman(const GroupDoc *doc, Str actor) {
        const ActorView *foreman = group_foreman(doc);

        return foreman && str_eq(foreman->id, actor);
}

const char *group_role(const GroupDoc *doc, Str actor) {
        return group_is_foreman(doc, actor) ? "foreman" : "peer";
}

static bool permissions_is_allowed(const GroupDoc *doc, Str by, GroupRight right, Str target) {
        switch (right) {
        case RIGHT_FOREMAN: return group_is_foreman(doc, by);
        case RIGHT_FOREMAN_OR_SELF: return group_is_foreman(doc, by) || str_eq(by, target);
        case RIGHT_SELF: return str_eq(by, target);
        case RIGHT_USER: return false;
        }
        return false;
}

int group_require(Call *call, const GroupDoc *doc, Str by, GroupRight right, Str target, const char *action,
                  int error) {
        if (!by.n || str_is(by, "user"))
                return 0;
        if (!group_doc_actor(doc, by))
                return call_fail(call, error, "unknown actor: " STR_FMT, STR_ARG(by));
        if (permissions_is_allowed(doc, by, right, target))
                return 0;
        return call_fail(call, error, "permission denied: " STR_FMT " cannot %s", STR_ARG(by), action);
}
