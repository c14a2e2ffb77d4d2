/* SPDX-License-Identifier: MIT */
/*
 * attach: a folder becomes a scope of a group: of the one that is named, else of the one that attached this
 * scope last, else of one that is made for it.
 */
#include <errno.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/collab.h"
#include "collab/group-attach.h"
#include "collab/group-change.h"
#include "collab/group-folder.h"
#include "collab/group-work.h"
#include "collab/scope.h"
#include "collab/scope-file.h"
#include "gen/cccc-ops.h"

typedef struct Attach {
        const CcccAttachArgs *args;
        const Scope *scope;
        GroupSpec spec;
        int64_t now_us;
} Attach;

static void attach_reply(Call *call, GroupChange *change) {
        const Attach *attach = change->user;
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_str(w, "scope_key", attach->scope->key);
        jw_field_str(w, "title", change->group->doc->title);
        jw_end_object(w);
}

static int attach_put(Call *call, Group *group, const void *user) {
        const Attach *attach = user;
        GroupChange *change = group_change_begin(group, call, 0);
        GroupDoc *doc = group_change_doc(change);

        if (!doc)
                return group_change_abort(change);
        change->user = (void *)attach;
        group_change_attach(change, attach->scope, attach->args->by);
        return group_change_commit(change, attach_reply);
}

/* ---- scope.yaml, which must be there before the document names it --------------------------------- */

static int attach_write_file(const Group *group, void *user) {
        const Attach *attach = user;

        return scope_file_write(group, attach->scope, attach->now_us);
}

static int put_file_first(Call *call, Group *group, const void *user) {
        Attach *attach = (Attach *)user;

        attach->now_us = loop_wall_us(call->daemon->loop);
        return group_work(call, group, attach_write_file, attach_put, attach);
}

/* ---- which group ---------------------------------------------------------------------------------- */

static int attach_make(Call *call, Attach *attach) {
        attach->spec =
                (GroupSpec){.id = attach->scope->group_id, .title = attach->scope->label, .topic = STR("")};
        return collab_make_group(call, &attach->spec, put_file_first, attach);
}

static int attach_choose(Call *call, Registry *registry, const void *user) {
        Attach *attach = (Attach *)user;
        Str id = arena_str(&call->arena, registry_default(registry, attach->scope->key));
        FileIdentity identity = {0};
        Group *group = NULL;

        if (group_id_is_valid(id) && !group_get(registry->collab, id, &group) &&
            !file_identify(group->doc_path, &identity) && identity.ino)
                return collab_edit(call, id, put_file_first, attach);
        return attach_make(call, attach);
}

static int attach_on_scope(Call *call, const Scope *scope, const void *user) {
        Attach *attach = arena_alloc(&call->arena, sizeof(*attach));

        if (!attach)
                return error_origin(-ENOMEM);
        *attach = (Attach){.args = user, .scope = scope};
        if (attach->args->group_id.n)
                return collab_edit(call, attach->args->group_id, put_file_first, attach);
        return registry_call(call, attach_choose, attach);
}

int op_cccc_attach(Call *call, const CcccAttachArgs *args) {
        return scope_call(call, args->path, attach_on_scope, args);
}
