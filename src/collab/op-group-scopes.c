/* SPDX-License-Identifier: MIT */
/* group_use and group_detach_scope: which of the attached scopes is the active one, and letting one go. */
#include <errno.h>

#include "base/error.h"
#include "collab/group-change.h"
#include "collab/group-work.h"
#include "collab/permissions.h"
#include "collab/scope-file.h"
#include "collab/scope.h"
#include "gen/cccc-ops.h"

static void group_scopes_tell_registry(GroupChange *change, Str active) {
        RegistryEdit *edit = group_change_registry(change);

        edit->default_scope_key = arena_str(&change->arena, active);
}

/* ---- group_use ------------------------------------------------------------------------------- */

typedef struct Use {
        const CcccGroupUseArgs *args;
        const Scope *scope;
} Use;

static int group_scopes_refuse_scope(Call *call, Str key) {
        JsonWriter *w = call_details(call);

        jw_begin_object(w);
        jw_field_cstr(w, "hint", "attach scope first (cccc attach <path> --group <id>)");
        jw_end_object(w);
        return call_fail(call, CALL_E_SCOPE_NOT_ATTACHED, "scope not attached: " STR_FMT, STR_ARG(key));
}

static void reply_use(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_str(w, "active_scope_key", change->group->doc->active_scope_key);
        group_change_write_event(change, w, "event", 0);
        jw_end_object(w);
}

static int group_scopes_use(Call *call, Group *group, const void *user) {
        const Use *self = user;
        const ScopeView *scope = group_doc_scope(group->doc, self->scope->key);
        GroupChange *change;
        GroupDoc *doc;
        JsonWriter *w;

        if (!scope)
                return group_scopes_refuse_scope(call, self->scope->key);
        change = group_change_begin(group, call, 0);
        doc = group_change_doc(change);
        if (!doc)
                return group_change_abort(change);
        change_try(change, group_doc_set_str(doc, "active_scope_key", scope->key));
        w = group_change_event(change, "group.set_active_scope", self->args->by, scope->key);
        jw_begin_object(w);
        jw_field_str(w, "path", self->scope->root); /* another clone's than the attached one, perhaps */
        jw_end_object(w);
        group_scopes_tell_registry(change, scope->key);
        return group_change_commit(change, reply_use);
}

static int group_scopes_on_scope(Call *call, const Scope *scope, const void *args) {
        Use *self = arena_alloc(&call->arena, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        *self = (Use){.args = args, .scope = scope};
        return collab_edit(call, self->args->group_id, group_scopes_use, self);
}

int op_cccc_group_use(Call *call, const CcccGroupUseArgs *args) {
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        return scope_call(call, args->path, group_scopes_on_scope, args);
}

/* ---- group_detach_scope ---------------------------------------------------------------------- */

/* Goes over to the first scope that is left. */
static Str next_active(GroupDoc *doc, Str detached) {
        if (!str_eq(doc->active_scope_key, detached))
                return doc->active_scope_key;
        for (size_t i = 0; i < doc->n_scopes; i++)
                if (!str_eq(doc->scopes[i].key, detached))
                        return doc->scopes[i].key;
        return STR("");
}

static int detach(Call *call, Group *group, const void *user) {
        const CcccGroupDetachScopeArgs *args = user;
        GroupChange *change = group_change_begin(group, call, CALL_E_GROUP_DETACH_SCOPE_FAILED);
        GroupDoc *doc;
        JsonWriter *w;
        Str active;

        doc = group_change_doc(change);
        if (!doc)
                return group_change_abort(change);
        active = next_active(doc, args->scope_key);
        change_try(change, group_doc_set_str(doc, "active_scope_key", active));
        change_try(change, group_doc_list_remove(doc, "scopes", "scope_key", args->scope_key) ? 0 : -ENOMEM);
        w = group_change_event(change, "group.detach_scope", args->by, args->scope_key);
        jw_begin_object(w);
        jw_field_str(w, "scope_key", args->scope_key);
        jw_end_object(w);
        group_scopes_tell_registry(change, active);
        change->registry.detached_scope = args->scope_key;
        return group_change_commit(change, group_change_reply);
}

static int remove_file(const Group *group, void *user) {
        const CcccGroupDetachScopeArgs *args = user;

        return scope_file_remove(group, args->scope_key);
}

/* scope.yaml goes first: it is only a note, and the next attach writes it again. */
static int check_detach(Call *call, Group *group, const void *user) {
        const CcccGroupDetachScopeArgs *args = user;
        int r = group_require(call, group->doc, args->by, RIGHT_FOREMAN, STR_NULL, "group.detach_scope",
                              CALL_E_GROUP_DETACH_SCOPE_FAILED);

        if (r)
                return r;
        if (!group_doc_scope(group->doc, args->scope_key))
                return call_fail(call, CALL_E_GROUP_DETACH_SCOPE_FAILED, "scope not attached: " STR_FMT,
                                 STR_ARG(args->scope_key));
        return group_work(call, group, remove_file, detach, (void *)args);
}

int op_cccc_group_detach_scope(Call *call, const CcccGroupDetachScopeArgs *args) {
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        if (!args->scope_key.n)
                return call_fail(call, CALL_E_MISSING_SCOPE_KEY, "missing scope_key");
        return collab_edit(call, args->group_id, check_detach, args);
}
