/* SPDX-License-Identifier: MIT */
/*
 * group_create_from_template: everything is checked first (worker), then a group is made for the folder and
 * gets scope, actors, settings and prompts in one change. When that cannot be kept, the prompt files are put
 * back and the group's folder goes.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/group/scope.h"
#include "collab/group/group-folder.h"
#include "collab/group/group-work.h"
#include "collab/template/template.h"
#include "gen/cccc-ops.h"

typedef struct Creation { /* in the call's arena */
        Carry carry;
        const CcccGroupCreateFromTemplateArgs *args;
        Call *call;
        Group *group;
        TemplateJob *job;
        Scope scope;
        GroupSpec spec;
        int64_t now_us;
        bool is_path;     /* the path is a folder */
        bool has_prompts; /* the project's prompts were read, and written */
} Creation;

static int template_create_refuse(Call *call, int r) {
        return call_fail(call, CALL_E_TEMPLATE_APPLY_FAILED, "cannot apply the template: %s", strerror(-r));
}

/* ---- when it cannot be kept ------------------------------------------------------------------ */

static void template_create_on_removed(void *user, _unused_ int r) {
        Creation *self = user;

        call_finish(self->call, template_create_refuse(self->call, self->job->r));
}

static void template_create_run_restore(void *user) {
        Creation *self = user;

        template_job_restore(self->job);
}

static void template_create_restored(void *user) {
        Creation *self = user;

        if (group_remove(self->group, template_create_on_removed, self))
                template_create_on_removed(self, 0);
        group_unref(self->group);
}

static void undo(Creation *self, int r) {
        self->job->r = r < 0 ? r : -ENOTRECOVERABLE;
        group_ref(self->group);
        if (loop_work(self->call->daemon->loop, template_create_run_restore, template_create_restored, self))
                template_create_restored(self);
}

static void template_create_on_failed(GroupChange *change, int r) {
        undo(container_of(change->carry, Creation, carry), r);
}

/* ---- the change ------------------------------------------------------------------------------ */

static void template_create_reply(Call *call, GroupChange *change) {
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_bool(w, "applied", true);
        jw_end_object(w);
}

static void write_creation(GroupChange *change, const CcccGroupCreateFromTemplateArgs *args) {
        JsonWriter *w = group_change_event(change, "group.create", args->by, STR(""));

        jw_begin_object(w);
        jw_field_str(w, "title", args->title);
        jw_field_str(w, "topic", args->topic);
        jw_end_object(w);
}

static void template_create_write_feed(GroupChange *change, Str title) {
        JsonWriter *w = group_change_feed(change, "group.created");

        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_str(w, "title", title);
        jw_end_object(w);
}

static int template_create_change_group(Call *call, Group *group, Creation *self) {
        GroupChange *change = group_change_begin(group, call, CALL_E_TEMPLATE_APPLY_FAILED);

        if (!group_change_doc(change))
                return group_change_abort(change);
        change->carry = &self->carry;
        write_creation(change, self->args);
        group_change_attach(change, &self->scope, self->args->by);
        if (!template_apply(change, &self->job->template, self->args->by))
                return group_change_abort(change);
        template_create_write_feed(change, self->args->title);
        return group_change_commit_or(change, template_create_reply, template_create_on_failed);
}

static int template_create_apply(Call *call, Group *group, const Carry *carry) {
        Creation *self = container_of(carry, Creation, carry);
        int r = self->job->r;

        if (!r)
                r = template_create_change_group(call, group, self);
        if (r == CALL_LATER)
                return r;
        group_edit_end(group);
        undo(self, r);
        return CALL_LATER;
}

static int run_files(const Group *group, const Carry *carry) {
        Creation *self = container_of(carry, Creation, carry);
        TemplateJob *job = self->job;

        if (self->has_prompts)
                return 0; /* the change is made once more */
        job->r = scope_file_write(group, &self->scope, self->now_us);
        if (!job->r)
                job->r = template_job_read(job);
        if (!job->r)
                job->r = template_job_write(job);
        self->has_prompts = true;
        return 0; /* the failure has a code of its own */
}

static int template_create_fill(Call *call, Group *group, const Carry *carry) {
        Creation *self = container_of(carry, Creation, carry);

        self->group = group;
        self->now_us = loop_wall_us(call->daemon->loop);
        return group_work(call, group, run_files, template_create_apply, &self->carry);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int template_create_refuse_scope(Call *call, const Creation *self, Str group_id) {
        JsonWriter *w = call_details(call);

        jw_begin_object(w);
        jw_field_str(w, "group_id", group_id);
        jw_field_str(w, "path", self->scope.root);
        jw_end_object(w);
        return call_fail(call, CALL_E_SCOPE_ALREADY_ATTACHED, "this folder has a group already: " STR_FMT,
                         STR_ARG(group_id));
}

/* An entry of the registry whose group is gone does not count. */
static bool is_there(Collab *collab, Str id) {
        FileIdentity identity = {0};
        Group *group = NULL;

        return group_id_is_valid(id) && !group_get(collab, id, &group) &&
               !file_identify(group->doc_path, &identity) && identity.ino;
}

static int template_create_make(Call *call, Registry *registry, const Carry *carry) {
        Creation *self = container_of(carry, Creation, carry);
        Str id = arena_str(&call->arena, registry_default(registry, self->scope.key));

        if (is_there(registry->collab, id))
                return template_create_refuse_scope(call, self, id);
        self->spec = (GroupSpec){
                .id = group_new_id(&call->arena), .title = self->args->title, .topic = self->args->topic};
        return self->spec.id.data ? collab_make_group(call, &self->spec, template_create_fill, &self->carry)
                                  : error_origin(-ENOMEM);
}

static int template_create_judge(Call *call, const Creation *self) {
        const TemplateJob *job = self->job;

        if (!self->is_path)
                return call_fail(call, CALL_E_INVALID_PATH, "path is no folder: " STR_FMT,
                                 STR_ARG(self->args->path));
        if (job->r)
                return error_trace(job->r);
        if (job->is_invalid)
                return call_fail(call, CALL_E_INVALID_TEMPLATE, "%s", job->why);
        return 0;
}

static void run_checks(const Carry *carry) {
        Creation *self = container_of(carry, Creation, carry);
        _cleanup_(freep) char *path = path_expand(self->args->path.data);
        TemplateJob *job = self->job;
        struct stat st;

        self->is_path = path && stat(path, &st) == 0 && S_ISDIR(st.st_mode);
        job->r = path ? 0 : error_origin(-ENOMEM);
        if (self->is_path)
                job->r = scope_detect(job->arena, str_from(path), &self->scope);
        if (!job->r && self->is_path)
                job->r = template_job_read(job);
        job->root = self->scope.root;
}

static int template_create_checked(Call *call, const Carry *carry) {
        Creation *self = container_of(carry, Creation, carry);
        int r = template_create_judge(call, self);

        return r ? r : registry_call(call, template_create_make, &self->carry);
}

int op_cccc_group_create_from_template(Call *call, const CcccGroupCreateFromTemplateArgs *args) {
        Creation *self;

        if (!args->path.n)
                return call_fail(call, CALL_E_MISSING_PATH, "missing path");
        if (!str_trim(args->template).n)
                return call_fail(call, CALL_E_MISSING_TEMPLATE, "missing template");
        self = arena_alloc(&call->arena, sizeof(*self));
        if (!self)
                return error_origin(-ENOMEM);
        *self = (Creation){.args = args, .call = call};
        self->job = template_job_new(&call->arena, args->template, args->by, NULL);
        if (!self->job)
                return error_origin(-ENOMEM);
        self->job->is_for_apply = true;
        return call_work(call, run_checks, template_create_checked, &self->carry);
}
