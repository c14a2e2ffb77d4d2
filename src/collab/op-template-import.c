/* SPDX-License-Identifier: MIT */
/*
 * group_template_import_replace, inside one edit of the group:
 *
 *   template and project looked at (worker) ─► sessions stopped ─► prompt files written (worker)
 *   ─► document and events kept as one change
 *
 * Everything is checked before anything is touched. When the change cannot be kept, the prompt files are
 * put back; sessions stay stopped.
 */
#include <errno.h>

#include "base/error.h"
#include "collab/collab.h"
#include "collab/group-stop.h"
#include "collab/group-work.h"
#include "collab/permissions.h"
#include "collab/runner.h"
#include "collab/template-apply.h"
#include "collab/template-job.h"
#include "gen/cccc-ops.h"

typedef struct Import { /* in the call's arena */
        TemplateJob *job;
        TemplateResult *result;
        GroupStop stop;
        Call *call;
        Group *group;
} Import;

static int template_import_refuse(Call *call, int r) {
        return call_fail(call, CALL_E_TEMPLATE_APPLY_FAILED, "cannot apply the template: %s", strerror(-r));
}

/* ---- last: the answer ------------------------------------------------------------------------ */

static void write_prompt_paths(const TemplateJob *job, JsonWriter *w) {
        jw_key(w, "prompt_paths");
        jw_begin_object(w);
        for (TemplatePrompt i = 0; i < _TEMPLATE_PROMPTS; i++)
                if (job->is_written[i]) {
                        Str path =
                                arena_printf(job->arena, "%s/%s", job->root.data, template_prompt_file(i));
                        jw_field_str(w, template_prompt_name(i), path);
                }
        jw_end_object(w);
}

static void template_import_reply(Call *call, GroupChange *change) {
        const Import *import = change->user;
        JsonWriter *w = call_result(call);

        runners_end_unlisted(change->group);
        jw_begin_object(w);
        jw_field_cstr(w, "group_id", change->group->id);
        jw_field_bool(w, "applied", true);
        jw_field_value(w, "removed", import->result->removed);
        jw_field_value(w, "added", import->result->added);
        jw_field_value(w, "updated", import->result->updated);
        jw_field_value(w, "settings_patch", import->job->template.settings);
        write_prompt_paths(import->job, w);
        jw_end_object(w);
}

/* ---- undoing --------------------------------------------------------------------------------- */

static void template_import_run_restore(void *user) {
        Import *import = user;

        template_job_restore(import->job);
}

static void template_import_restored(void *user) {
        Import *import = user;

        call_finish(import->call, template_import_refuse(import->call, import->job->r));
}

/* The edit has ended; the call ends when the files are as they were. */
static void template_import_on_failed(GroupChange *change, int r) {
        Import *import = change->user;

        import->job->r = r;
        if (loop_work(import->call->daemon->loop, template_import_run_restore, template_import_restored,
                      import))
                template_import_restored(import);
}

static int run_undo(_unused_ const Group *group, void *user) {
        template_import_run_restore(user);
        return 0;
}

static int undone(Call *call, _unused_ Group *group, const void *user) {
        const Import *import = user;

        return template_import_refuse(call, import->job->r);
}

/* ---- document and events --------------------------------------------------------------------- */

static int template_import_change_group(Call *call, Group *group, Import *import) {
        GroupChange *change = group_change_begin(group, call, CALL_E_TEMPLATE_APPLY_FAILED);

        if (!change)
                return error_origin(-ENOMEM);
        change->user = import;
        import->result = template_apply(change, &import->job->template, import->job->by);
        if (!import->result)
                return group_change_abort(change);
        return group_change_commit_or(change, template_import_reply, template_import_on_failed);
}

static int template_import_apply(Call *call, Group *group, const void *user) {
        Import *import = (Import *)user;
        int r;

        if (import->job->r)
                return template_import_refuse(call, import->job->r);
        r = template_import_change_group(call, group, import);
        if (r == CALL_LATER)
                return r;
        import->job->r = r < 0 ? r : -ENOTRECOVERABLE;
        return group_work(call, group, run_undo, undone, import);
}

static int run_write(_unused_ const Group *group, void *user) {
        Import *import = user;

        import->job->r = template_job_write(import->job);
        return 0; /* the failure has a code of its own */
}

static void template_import_on_stopped(void *user) {
        Import *import = user;
        Group *group = import->group;
        Call *call = import->call;
        int r = group_work(call, group, run_write, template_import_apply, import);

        if (r == CALL_LATER)
                return;
        group_edit_end(group);
        call_finish(call, r);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int template_import_run_read(_unused_ const Group *group, void *user) {
        Import *import = user;

        import->job->r = template_job_read(import->job);
        return 0;
}

static int template_import_checked(Call *call, Group *group, const void *user) {
        Import *import = (Import *)user;
        const TemplateJob *job = import->job;

        if (!job->is_folder)
                return call_fail(call, CALL_E_INVALID_SCOPE,
                                 job->root.n ? "the scope's folder is missing: " STR_FMT
                                             : "the group has no active scope" STR_FMT,
                                 STR_ARG(job->root));
        if (job->is_invalid)
                return call_fail(call, CALL_E_INVALID_TEMPLATE, "%s", job->why);
        if (job->r)
                return template_import_refuse(call, job->r);
        group_stop_all(&import->stop, group, template_import_on_stopped, import);
        return CALL_LATER;
}

static int template_import_start(Call *call, Group *group, const void *user) {
        const CcccGroupTemplateImportReplaceArgs *args = user;
        Import *import;
        int r;

        r = group_require(call, group->doc, args->by, RIGHT_FOREMAN, STR_NULL, "group.update",
                          CALL_E_PERMISSION_DENIED);
        if (r)
                return r;
        import = arena_alloc(&call->arena, sizeof(*import));
        if (!import)
                return error_origin(-ENOMEM);
        *import = (Import){.call = call, .group = group};
        import->job = template_job_new(&call->arena, args, args->template, args->by, group->doc);
        if (!import->job)
                return error_origin(-ENOMEM);
        import->job->is_for_apply = true;
        return group_work(call, group, template_import_run_read, template_import_checked, import);
}

int op_cccc_group_template_import_replace(Call *call, const CcccGroupTemplateImportReplaceArgs *args) {
        if (args->group_id.n && !str_eq(args->confirm, args->group_id))
                return call_fail(call, CALL_E_CONFIRMATION_REQUIRED, "confirm must equal group_id: " STR_FMT,
                                 STR_ARG(args->group_id));
        if (args->group_id.n && !str_trim(args->template).n)
                return call_fail(call, CALL_E_MISSING_TEMPLATE, "missing template");
        return collab_edit(call, args->group_id, template_import_start, args);
}
