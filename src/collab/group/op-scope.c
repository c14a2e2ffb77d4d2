/* SPDX-License-Identifier: MIT */
/* The scopes of a group: attach, group_use, group_detach_scope. */
#include <errno.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/group/group-change.h"
#include "collab/group/group-doc.h"
#include "collab/group/group-folder.h"
#include "collab/group/group-work.h"
#include "collab/group/scope.h"
#include "gen/cccc-ops.h"

/* group_use and group_detach_scope: which of the attached scopes is the active one, and letting one go. */

static void group_scopes_tell_registry(GroupChange *change, Str active) {
        RegistryEdit *edit = group_change_registry(change);

        edit->default_scope_key = arena_str(&change->arena, active);
}

/* ---- group_use ------------------------------------------------------------------------------- */

typedef struct Use {
        Carry carry;
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

static int group_scopes_use(Call *call, Group *group, const Carry *carry) {
        const Use *self = container_of(carry, Use, carry);
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

static int group_scopes_on_scope(Call *call, const Scope *scope, const Carry *carry) {
        Use *self = arena_alloc(&call->arena, sizeof(*self));

        if (!self)
                return error_origin(-ENOMEM);
        *self = (Use){.args = container_of(carry, CcccGroupUseArgs, carry), .scope = scope};
        return collab_edit(call, self->args->group_id, group_scopes_use, &self->carry);
}

int op_cccc_group_use(Call *call, const CcccGroupUseArgs *args) {
        if (!args->group_id.n)
                return call_fail(call, CALL_E_MISSING_GROUP_ID, "missing group_id");
        return scope_call(call, args->path, group_scopes_on_scope, &args->carry);
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

static int detach(Call *call, Group *group, const Carry *carry) {
        const CcccGroupDetachScopeArgs *args = container_of(carry, CcccGroupDetachScopeArgs, carry);
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

static int remove_file(const Group *group, const Carry *carry) {
        const CcccGroupDetachScopeArgs *args = container_of(carry, CcccGroupDetachScopeArgs, carry);

        return scope_file_remove(group, args->scope_key);
}

/* scope.yaml goes first: it is only a note, and the next attach writes it again. */
int op_cccc_group_detach_scope(Call *call, Group *group, const CcccGroupDetachScopeArgs *args) {
        if (!group_doc_scope(group->doc, args->scope_key))
                return call_fail(call, CALL_E_GROUP_DETACH_SCOPE_FAILED, "scope not attached: " STR_FMT,
                                 STR_ARG(args->scope_key));
        return group_work(call, group, remove_file, detach, &args->carry);
}

/*
 * attach: a folder becomes a scope of a group: of the one that is named, else of the one that attached this
 * scope last, else of one that is made for it.
 */
typedef struct Attach {
        Carry carry;
        const CcccAttachArgs *args;
        const Scope *scope;
        GroupSpec spec;
        int64_t now_us;
} Attach;

static void attach_reply(Call *call, GroupChange *change) {
        const Attach *attach = container_of(change->carry, Attach, carry);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_str(w, "scope_key", attach->scope->key);
        jw_field_str(w, "title", change->group->doc->title);
        jw_end_object(w);
}

static int attach_put(Call *call, Group *group, const Carry *carry) {
        const Attach *attach = container_of(carry, Attach, carry);
        GroupChange *change = group_change_begin(group, call, 0);
        GroupDoc *doc = group_change_doc(change);

        if (!doc)
                return group_change_abort(change);
        change->carry = carry;
        group_change_attach(change, attach->scope, attach->args->by);
        return group_change_commit(change, attach_reply);
}

/* ---- scope.yaml, which must be there before the document names it --------------------------------- */

static int attach_write_file(const Group *group, const Carry *carry) {
        const Attach *attach = container_of(carry, Attach, carry);

        return scope_file_write(group, attach->scope, attach->now_us);
}

static int put_file_first(Call *call, Group *group, const Carry *carry) {
        Attach *attach = container_of(carry, Attach, carry);

        attach->now_us = loop_wall_us(call->daemon->loop);
        return group_work(call, group, attach_write_file, attach_put, &attach->carry);
}

/* ---- which group ---------------------------------------------------------------------------------- */

static int attach_make(Call *call, Attach *attach) {
        attach->spec =
                (GroupSpec){.id = attach->scope->group_id, .title = attach->scope->label, .topic = STR("")};
        return collab_make_group(call, &attach->spec, put_file_first, &attach->carry);
}

static int attach_choose(Call *call, Registry *registry, const Carry *carry) {
        Attach *attach = container_of(carry, Attach, carry);
        Str id = arena_str(&call->arena, registry_default(registry, attach->scope->key));
        FileIdentity identity = {0};
        Group *group = NULL;

        if (group_id_is_valid(id) && !group_get(registry->collab, id, &group) &&
            !file_identify(group->doc_path, &identity) && identity.ino)
                return collab_edit(call, id, put_file_first, &attach->carry);
        return attach_make(call, attach);
}

static int attach_on_scope(Call *call, const Scope *scope, const Carry *carry) {
        Attach *attach = arena_alloc(&call->arena, sizeof(*attach));

        if (!attach)
                return error_origin(-ENOMEM);
        *attach = (Attach){.args = container_of(carry, CcccAttachArgs, carry), .scope = scope};
        if (attach->args->group_id.n)
                return collab_edit(call, attach->args->group_id, put_file_first, &attach->carry);
        return registry_call(call, attach_choose, &attach->carry);
}

int op_cccc_attach(Call *call, const CcccAttachArgs *args) {
        return scope_call(call, args->path, attach_on_scope, &args->carry);
}
