/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "collab/group-work.h"
#include "collab/permissions.h"
#include "collab/template-job.h"
#include "gen/cccc-ops.h"

static int template_preview_run(_unused_ const Group *group, void *user) {
        return template_job_read(user);
}

static int preview(Call *call, Group *group, const void *user) {
        const TemplateJob *job = user;
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

static int template_preview_start(Call *call, Group *group, const void *user) {
        const CcccGroupTemplatePreviewArgs *args = user;
        TemplateJob *job;
        int r;

        r = group_require(call, group->doc, args->by, RIGHT_FOREMAN, STR_NULL, "group.update",
                          CALL_E_PERMISSION_DENIED);
        if (r)
                return r;
        job = template_job_new(&call->arena, args, args->template, args->by, group->doc);
        return job ? group_work(call, group, template_preview_run, preview, job) : -ENOMEM;
}

int op_cccc_group_template_preview(Call *call, const CcccGroupTemplatePreviewArgs *args) {
        if (args->group_id.n && !str_trim(args->template).n)
                return call_fail(call, CALL_E_MISSING_TEMPLATE, "missing template");
        return collab_call(call, args->group_id, template_preview_start, args);
}
