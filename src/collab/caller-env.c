/* SPDX-License-Identifier: MIT */
#include "collab/caller-env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

struct CallerEnv {
        CallerEnv *next; /* noted later */
        char *group_id, *actor_id;
        StrVec env;
};

static CallerEnv *caller_env_free(CallerEnv *self) {
        if (!self)
                return NULL;
        free(self->group_id);
        free(self->actor_id);
        strvec_deinit(&self->env);
        free(self);
        return NULL;
}

static bool caller_env_is_of(const CallerEnv *self, Str group_id, Str actor_id) {
        return str_is(group_id, self->group_id) && (!actor_id.n || str_is(actor_id, self->actor_id));
}

/* What is said of a whole group is said of each actor, too. Where a new one is to be hung. */
static CallerEnv **caller_env_forget(Collab *collab, Str group_id, Str actor_id) {
        CallerEnv **at = &collab->callers;
        size_t n = 0;

        while (*at) {
                CallerEnv *self = *at;

                if (caller_env_is_of(self, group_id, actor_id)) {
                        *at = self->next;
                        caller_env_free(self);
                        continue;
                }
                at = &self->next;
                n++;
        }
        if (n >= CALLER_ENVS_MAX) {
                CallerEnv *first = collab->callers;

                collab->callers = first->next;
                caller_env_free(first);
                for (at = &collab->callers; *at;)
                        at = &(*at)->next;
        }
        return at;
}

int caller_env_note(Collab *collab, Str group_id, Str actor_id, const Json *object) {
        CallerEnv *self = object ? calloc(1, sizeof(*self)) : NULL;
        int r;

        if (!self)
                return object ? error_origin(-ENOMEM) : 0;
        self->group_id = strndup(group_id.data ? group_id.data : "", group_id.n);
        self->actor_id = strndup(actor_id.data ? actor_id.data : "", actor_id.n);
        r = self->group_id && self->actor_id ? environment_put_json(&self->env, object) : -ENOMEM;
        if (r) {
                caller_env_free(self);
                return r;
        }
        *caller_env_forget(collab, str_from(self->group_id), str_from(self->actor_id)) = self;
        return 0;
}

int caller_env_take(Call *call, Str group_id, Str actor_id, const Json *object) {
        int r = caller_env_note(call->daemon->collab, group_id, actor_id, object);

        return r == ENVIRONMENT_E_UNFIT
                       ? call_fail(call, CALL_E_INVALID_PARAMS, "caller_env maps names to texts")
                       : r;
}

const StrVec *caller_env_find(const Collab *collab, Str group_id, Str actor_id) {
        const StrVec *of_group = NULL;

        for (const CallerEnv *self = collab->callers; self; self = self->next) {
                if (!str_is(group_id, self->group_id))
                        continue;
                if (str_is(actor_id, self->actor_id))
                        return &self->env;
                if (!*self->actor_id)
                        of_group = &self->env;
        }
        return of_group;
}

void caller_env_free_all(Collab *collab) {
        while (collab->callers) {
                CallerEnv *self = collab->callers;

                collab->callers = self->next;
                caller_env_free(self);
        }
}
