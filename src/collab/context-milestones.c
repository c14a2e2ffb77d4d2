/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/error.h"
#include "collab/context-internal.h"

static Json *find_milestone(Context *context, Str id) {
        Json *milestone = context_find(context_list(context, &context->main, "milestones", false), id);

        if (milestone)
                context->main.is_changed = true;
        return milestone;
}

static int context_milestones_not_found(Context *context, Str id) {
        return context_refuse(context, "Milestone not found: " STR_FMT, STR_ARG(id));
}

/* The status that an op asks for: the default when it does not. Refused: *ret is NULL. */
static int wanted_status(Context *context, const Json *item, const char *initial, const char **ret) {
        Str text = context_id(item, "status");

        *ret = text.n ? context_status(text) : initial;
        return *ret || !text.n
                       ? 0
                       : context_refuse(context, "Invalid milestone status: " STR_FMT, STR_ARG(text));
}

static int enter_status(Context *context, Json *milestone, const char *status) {
        int r = context_set_status(context, milestone, status);

        if (!r && !strcmp(status, "active") && !json_str(json_get(milestone, "started")).n)
                r = context_set_today(context, milestone, "started");
        return error_trace(r);
}

static int context_milestones_fill(Context *context, Json *milestone, Str id, const Json *item,
                                   const char *status) {
        int r;

        r = context_set(context, milestone, "id", id);
        if (!r)
                r = context_set(context, milestone, "name", context_text(item, "name"));
        if (!r)
                r = context_set(context, milestone, "description", context_text(item, "description"));
        if (!r)
                r = enter_status(context, milestone, status);
        if (!r)
                r = context_set_now(context, milestone, "updated_at");
        return error_trace(r);
}

int context_milestone_create(Context *context, const Json *item, Str *detail) {
        Str id = arena_printf(context->arena, "M%lld", (long long)context->last_milestone + 1);
        Json *list, *milestone;
        const char *status;
        int r;

        r = wanted_status(context, item, "planned", &status);
        if (r)
                return r;
        context->last_milestone++;
        context->main.is_changed = true;
        list = context_list(context, &context->main, "milestones", true);
        milestone = json_new(context->arena, JSON_OBJECT);
        if (!list || !milestone || !id.data)
                return error_origin(-ENOMEM);
        r = context_milestones_fill(context, milestone, id, item, status);
        if (!r)
                r = json_push(list, milestone);
        return r ? error_trace(r) : context_detail(context, detail, "Created %s", id.data);
}

int context_milestone_update(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "milestone_id");
        Json *milestone = find_milestone(context, id);
        const char *status;
        int r;

        if (!milestone)
                return context_milestones_not_found(context, id);
        r = wanted_status(context, item, NULL, &status);
        if (r)
                return r;
        r = context_set_given(context, milestone, "name", item);
        if (!r)
                r = context_set_given(context, milestone, "description", item);
        if (!r && status)
                r = enter_status(context, milestone, status);
        if (!r)
                r = context_set_now(context, milestone, "updated_at");
        return r ? error_trace(r) : context_detail(context, detail, "Updated " STR_FMT, STR_ARG(id));
}

int context_milestone_complete(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "milestone_id");
        Json *milestone = find_milestone(context, id);
        int r;

        if (!milestone)
                return context_milestones_not_found(context, id);
        r = context_set_status(context, milestone, "done");
        if (!r)
                r = context_set_today(context, milestone, "completed");
        if (!r)
                r = context_set(context, milestone, "outcomes", context_text(item, "outcomes"));
        if (!r)
                r = context_set_now(context, milestone, "updated_at");
        return r ? error_trace(r) : context_detail(context, detail, "Completed " STR_FMT, STR_ARG(id));
}

int context_milestone_restore(Context *context, const Json *item, Str *detail) {
        Str id = context_id(item, "milestone_id");
        Json *milestone = find_milestone(context, id);
        const char *status;
        int r;

        if (!milestone)
                return context_milestones_not_found(context, id);
        if (strcmp(context_status_of(milestone), "archived") != 0)
                return context_refuse(context, "Milestone is not archived: " STR_FMT, STR_ARG(id));
        r = context_unarchive(context, milestone, &status);
        if (!r)
                r = context_set_now(context, milestone, "updated_at");
        return r ? error_trace(r)
                 : context_detail(context, detail, "Restored " STR_FMT " -> %s", STR_ARG(id), status);
}
