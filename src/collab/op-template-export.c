/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include "base/time.h"
#include "collab/collab.h"
#include "collab/group-work.h"
#include "collab/template-job.h"
#include "gen/cccc-ops.h"

static int template_export_run(_unused_ const Group *group, void *user) {
        TemplateJob *job = user;

        job->r = template_job_read(job);
        return 0; /* the failure has a code of its own */
}

static int template_export_fail(Call *call, int r) {
        return call_fail(call, CALL_E_TEMPLATE_EXPORT_FAILED, "cannot export: %s", strerror(-r));
}

static int export(Call *call, Group *group, const void *user) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const TemplateJob *job = user;
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

static int template_export_start(Call *call, Group *group, const void *args) {
        TemplateJob *job = template_job_new(&call->arena, args, STR_NULL, STR_NULL, group->doc);

        return job ? group_work(call, group, template_export_run, export, job) : -ENOMEM;
}

int op_cccc_group_template_export(Call *call, const CcccGroupTemplateExportArgs *args) {
        return collab_call(call, args->group_id, template_export_start, args);
}
