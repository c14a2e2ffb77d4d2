/* SPDX-License-Identifier: MIT */
/* Templates: export, preview, and import into a group that is there. */
#include <errno.h>

#include "base/error.h"
#include "base/time.h"
#include "collab/actor/runner.h"
#include "collab/collab.h"
#include "collab/group/group-doc.h"
#include "collab/group/group-work.h"
#include "collab/group/group.h"
#include "collab/template/template.h"
#include "gen/cccc-ops.h"

/*
 * group_template_import_replace, inside one edit of the group:
 *
 *   template and project looked at (worker) ─► sessions stopped ─► prompt files written (worker)
 *   ─► document and events kept as one change
 *
 * Everything is checked before anything is touched. When the change cannot be kept, the prompt files are
 * put back; sessions stay stopped.
 */

typedef struct Import { /* in the call's arena */
        Carry carry;
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
        const Import *import = container_of(change->carry, Import, carry);
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
        Import *import = container_of(change->carry, Import, carry);

        import->job->r = r;
        if (loop_work(import->call->daemon->loop, template_import_run_restore, template_import_restored,
                      import))
                template_import_restored(import);
}

static int run_undo(_unused_ const Group *group, const Carry *carry) {
        template_job_restore(container_of(carry, Import, carry)->job);
        return 0;
}

static int undone(Call *call, _unused_ Group *group, const Carry *carry) {
        const Import *import = container_of(carry, Import, carry);

        return template_import_refuse(call, import->job->r);
}

/* ---- document and events --------------------------------------------------------------------- */

static int template_import_change_group(Call *call, Group *group, Import *import) {
        GroupChange *change = group_change_begin(group, call, CALL_E_TEMPLATE_APPLY_FAILED);

        if (!change)
                return error_origin(-ENOMEM);
        change->carry = &import->carry;
        import->result = template_apply(change, &import->job->template, import->job->by);
        if (!import->result)
                return group_change_abort(change);
        return group_change_commit_or(change, template_import_reply, template_import_on_failed);
}

static int template_import_apply(Call *call, Group *group, const Carry *carry) {
        Import *import = container_of(carry, Import, carry);
        int r;

        if (import->job->r)
                return template_import_refuse(call, import->job->r);
        r = template_import_change_group(call, group, import);
        if (r == CALL_LATER)
                return r;
        import->job->r = r < 0 ? r : -ENOTRECOVERABLE;
        return group_work(call, group, run_undo, undone, &import->carry);
}

static int run_write(_unused_ const Group *group, const Carry *carry) {
        Import *import = container_of(carry, Import, carry);

        import->job->r = template_job_write(import->job);
        return 0; /* the failure has a code of its own */
}

static void template_import_on_stopped(void *user) {
        Import *import = user;
        Group *group = import->group;
        Call *call = import->call;
        int r = group_work(call, group, run_write, template_import_apply, &import->carry);

        if (r == CALL_LATER)
                return;
        group_edit_end(group);
        call_finish(call, r);
}

/* ---- checks ---------------------------------------------------------------------------------- */

static int template_import_run_read(_unused_ const Group *group, const Carry *carry) {
        Import *import = container_of(carry, Import, carry);

        import->job->r = template_job_read(import->job);
        return 0;
}

static int template_import_checked(Call *call, Group *group, const Carry *carry) {
        Import *import = container_of(carry, Import, carry);
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

int op_cccc_group_template_import_replace_first(Call *call, const CcccGroupTemplateImportReplaceArgs *args) {
        if (!str_eq(args->confirm, args->group_id))
                return call_fail(call, CALL_E_CONFIRMATION_REQUIRED, "confirm must equal group_id: " STR_FMT,
                                 STR_ARG(args->group_id));
        return str_trim(args->template).n ? 0 : call_fail(call, CALL_E_MISSING_TEMPLATE, "missing template");
}

int op_cccc_group_template_import_replace(Call *call, Group *group,
                                          const CcccGroupTemplateImportReplaceArgs *args) {
        Import *import = arena_alloc(&call->arena, sizeof(*import));

        if (!import)
                return error_origin(-ENOMEM);
        *import = (Import){.call = call, .group = group};
        import->job = template_job_new(&call->arena, args->template, args->by, group->doc);
        if (!import->job)
                return error_origin(-ENOMEM);
        import->job->is_for_apply = true;
        return group_work(call, group, template_import_run_read, template_import_checked, &import->carry);
}

static int template_export_run(_unused_ const Group *group, const Carry *carry) {
        TemplateJob *job = container_of(carry, TemplateJob, carry);

        job->r = template_job_read(job);
        return 0; /* the failure has a code of its own */
}

static int template_export_fail(Call *call, int r) {
        return call_fail(call, CALL_E_TEMPLATE_EXPORT_FAILED, "cannot export: %s", strerror(-r));
}

static int export(Call *call, Group *group, const Carry *carry) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const TemplateJob *job = container_of(carry, TemplateJob, carry);
        char ts[TIME_TEXT_MAX];
        JsonWriter *w;
        Template now;
        int r;

        r = job->r ? job->r : template_of_group(&now, &call->arena, group->doc->json, job->prompts);
        if (r)
                return template_export_fail(call, r);
        now.exported_at = (Str){ts, time_format_s(loop_wall_us(call->daemon->loop), ts)};
        now.cccc_version = str_from(collab_version(group->collab));
        r = template_export(&now, &call->arena, &text);
        if (r)
                return template_export_fail(call, r);
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "template", buf_str(&text));
        jw_field_str(w, "filename", template_filename(&call->arena, now.title));
        jw_end_object(w);
        return 0;
}

int op_cccc_group_template_export(Call *call, Group *group,
                                  _unused_ const CcccGroupTemplateExportArgs *args) {
        TemplateJob *job = template_job_new(&call->arena, STR_NULL, STR_NULL, group->doc);

        return job ? group_work(call, group, template_export_run, export, &job->carry) : -ENOMEM;
}

static int template_preview_run(_unused_ const Group *group, const Carry *carry) {
        return template_job_read(container_of(carry, TemplateJob, carry));
}

static int preview(Call *call, Group *group, const Carry *carry) {
        const TemplateJob *job = container_of(carry, TemplateJob, carry);
        JsonWriter *w;
        Template now;
        int r;

        if (job->is_invalid)
                return call_fail(call, CALL_E_INVALID_TEMPLATE, "%s", job->why);
        r = template_of_group(&now, &call->arena, group->doc->json, job->prompts);
        if (r)
                return r;
        w = call_result(call);
        jw_begin_object(w);
        jw_field_str(w, "scope_root", job->root);
        jw_key(w, "template");
        template_write(&job->template, w);
        jw_key(w, "diff");
        template_write_diff(&job->template, &now, w);
        jw_end_object(w);
        return 0;
}

int op_cccc_group_template_preview_first(Call *call, const CcccGroupTemplatePreviewArgs *args) {
        return str_trim(args->template).n ? 0 : call_fail(call, CALL_E_MISSING_TEMPLATE, "missing template");
}

int op_cccc_group_template_preview(Call *call, Group *group, const CcccGroupTemplatePreviewArgs *args) {
        TemplateJob *job = template_job_new(&call->arena, args->template, args->by, group->doc);

        return job ? group_work(call, group, template_preview_run, preview, &job->carry) : -ENOMEM;
}
