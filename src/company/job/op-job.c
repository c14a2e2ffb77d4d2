/* SPDX-License-Identifier: MIT */
/* Jobs over the wire: submitted, looked at by their records, no longer wanted; and which programs could do them. */
#include <errno.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/job/adapters.h"
#include "company/job/job.h"
#include "company/place.h"
#include "company/workspace.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/agentcompany-ops.h"
#include "gen/shapes.h"

typedef struct JobAt {
        Str workspace_dir, project_id;
} JobAt;

static void job_write_member(JsonWriter *w, const Json *json, const char *key) {
        const Json *value = json_get(json, key);

        if (value)
                jw_field_value(w, key, value);
}

static void job_write_poll(JsonWriter *w, const JobAt *at, const Json *record) {
        jw_field_str(w, "workspace_dir", at->workspace_dir);
        jw_field_str(w, "project_id", at->project_id);
        jw_field_str(w, "job_id", json_text_of(json_get(record, "job"), "job_id"));
        job_write_member(w, record, "status");
        job_write_member(w, record, "cancellation_requested");
        job_write_member(w, record, "current_attempt");
        job_write_member(w, record, "attempts");
        job_write_member(w, record, "final_result_relpath");
}

static bool job_load(Reading *reading, const JobAt *at, Str job_id, Json **ret) {
        const char *path = place_job(reading->arena, at->project_id, job_id, "job.yaml");

        return path &&
               document_load(reading->arena, reading->root, path, DOCUMENT_YAML, ret, NULL, NULL) == 0 &&
               shape_fits(&shape_job_record, *ret);
}

/* ---- submitting ------------------------------------------------------------------------------ */

static int job_submit_reply(Call *call, Workspace *workspace _unused_, Str status, const Carry *carry) {
        const AgentcompanyJobSubmitArgs *args = container_of(carry, AgentcompanyJobSubmitArgs, carry);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        job_write_member(w, args->job, "workspace_dir");
        job_write_member(w, args->job, "project_id");
        job_write_member(w, args->job, "job_id");
        jw_field_str(w, "status", status);
        jw_end_object(w);
        return 0;
}

static int job_submit_begin(Call *call, Workspace *workspace, const Carry *carry) {
        const AgentcompanyJobSubmitArgs *args = container_of(carry, AgentcompanyJobSubmitArgs, carry);

        return job_submit(call, workspace, args->job, call->client, job_submit_reply, carry);
}

int op_agentcompany_job_submit(Call *call, const AgentcompanyJobSubmitArgs *args) {
        return workspace_target(call, json_text_of(args->job, "workspace_dir"), WORKSPACE_FOLDER,
                                job_submit_begin, NULL, &args->carry);
}

/* ---- looking --------------------------------------------------------------------------------- */

static int job_list_read(Reading *reading, const Carry *carry) {
        const AgentcompanyJobListArgs *args = container_of(carry, AgentcompanyJobListArgs, carry);
        JobAt at = {args->workspace_dir, args->project_id};
        const char *folder = place_project(reading->arena, args->project_id, "jobs");
        StrList names = {0};
        int64_t n = 0;
        int r = folder ? place_names(reading->arena, reading->root, folder, NULL, &names) : 0;

        jw_begin_array(reading->w);
        for (size_t i = 0; r == 0 && i < names.n && n < args->limit; i++) {
                Json *record;

                if (!job_load(reading, &at, names.items[i], &record) ||
                    (args->status.n && !str_eq(json_text_of(record, "status"), args->status)))
                        continue;
                jw_begin_object(reading->w);
                job_write_poll(reading->w, &at, record);
                jw_end_object(reading->w);
                n++;
        }
        jw_end_array(reading->w);
        return error_trace(r);
}

int op_agentcompany_job_list(Call *call, Workspace *workspace, const AgentcompanyJobListArgs *args) {
        return workspace_read(call, workspace, job_list_read, &args->carry);
}

/* A record that is there and no record is told with what is wrong with it. */
static int job_get(Edit *edit, const JobAt *at, Str job_id) {
        const char *path = place_job(edit->arena, at->project_id, job_id, "job.yaml");
        Issues issues = ISSUES(edit->arena);
        char what[DOCUMENT_WHAT_MAX];
        Json *record = NULL;
        int r = path ? document_load(edit->arena, edit->root, path, DOCUMENT_YAML, &record, NULL, what)
                     : DOCUMENT_E_MISSING;

        if (r == DOCUMENT_E_MISSING)
                return edit_fail(edit, CALL_E_COMPANY, "Unknown job_id: " STR_FMT, STR_ARG(job_id));
        if (r == DOCUMENT_E_BROKEN)
                return edit_fail(edit, CALL_E_COMPANY, "%s: %s", path, what);
        if (r)
                return error_fold(r);
        edit->user = record;
        shape_check(&shape_job_record, record, NULL, &issues);
        return issues.n ? call_fail_issues(edit->call, &issues) : 0;
}

/* One that nobody is at, although its record says so: an earlier daemon was. */
static void job_look(Edit *edit, const JobAt *at, Str job_id) {
        Str status = json_text_of(edit->user, "status");

        if (str_is(status, "queued") || str_is(status, "running"))
                job_resume(edit->workspace, at->project_id, job_id);
}

static int job_poll_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyJobPollArgs *args = container_of(carry, AgentcompanyJobPollArgs, carry);

        return job_get(edit, &(JobAt){args->workspace_dir, args->project_id}, args->job_id);
}

static void job_poll_reply(Call *call, Edit *edit, const Carry *carry) {
        const AgentcompanyJobPollArgs *args = container_of(carry, AgentcompanyJobPollArgs, carry);
        JobAt at = {args->workspace_dir, args->project_id};
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        job_write_poll(w, &at, edit->user);
        jw_end_object(w);
        job_look(edit, &at, args->job_id);
}

int op_agentcompany_job_poll(Call *call, Workspace *workspace, const AgentcompanyJobPollArgs *args) {
        return company_edit(call, workspace, job_poll_decide, job_poll_reply, &args->carry);
}

/* ---- what it has brought --------------------------------------------------------------------- */

typedef struct JobFile {
        const char *name, *key;
} JobFile;
static const JobFile job_files[] = {{"result.json", "result"},
                                    {"manager_digest.json", "manager_digest"},
                                    {"heartbeat_report.json", "heartbeat_report"}};

/* Beside the record, for the reply: what lies beside it on the disk. */
static int job_collect_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyJobCollectArgs *args = container_of(carry, AgentcompanyJobCollectArgs, carry);
        JobAt at = {args->workspace_dir, args->project_id};
        int r = job_get(edit, &at, args->job_id);

        for (size_t i = 0; !r && i < ARRAY_SIZE(job_files); i++) {
                const char *path = place_job(edit->arena, at.project_id, args->job_id, job_files[i].name);
                Json *json;

                /* A file that is missing, or is no JSON, is left out. */
                if (path &&
                    document_load(edit->arena, edit->root, path, DOCUMENT_JSON, &json, NULL, NULL) == 0)
                        edit_try(edit, json_set(edit->arena, edit->user, str_from(job_files[i].key), json));
        }
        return r;
}

static void job_collect_reply(Call *call, Edit *edit, const Carry *carry) {
        const AgentcompanyJobCollectArgs *args = container_of(carry, AgentcompanyJobCollectArgs, carry);
        JobAt at = {args->workspace_dir, args->project_id};
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        job_write_poll(w, &at, edit->user);
        for (size_t i = 0; i < ARRAY_SIZE(job_files); i++)
                job_write_member(w, edit->user, job_files[i].key);
        jw_end_object(w);
        job_look(edit, &at, args->job_id);
}

int op_agentcompany_job_collect(Call *call, Workspace *workspace, const AgentcompanyJobCollectArgs *args) {
        return company_edit(call, workspace, job_collect_decide, job_collect_reply, &args->carry);
}

/* ---- one that is no longer wanted ------------------------------------------------------------ */

/* The record is where it stands that it is not wanted: whatever the job does next, it finds it there. */
static int job_cancel_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyJobCancelArgs *args = container_of(carry, AgentcompanyJobCancelArgs, carry);
        const char *path = place_job(edit->arena, args->project_id, args->job_id, "job.yaml");
        Json *record = path ? draft_read(edit, path, &shape_job_record) : NULL;

        if (!record)
                return edit_fail(edit, CALL_E_COMPANY,
                                 "There is no job " STR_FMT ", or its record is broken",
                                 STR_ARG(args->job_id));
        edit->user = record;
        edit_try(edit, json_set(edit->arena, record, STR("cancellation_requested"),
                                json_new_bool(edit->arena, true)));
        edit_try(edit, json_set(edit->arena, record, STR("updated_at"),
                                json_new_str(edit->arena, edit_now(edit))));
        draft_replace(edit, path, record);
        return 0;
}

static void job_cancel_reply(Call *call, Edit *edit, const Carry *carry) {
        const AgentcompanyJobCancelArgs *args = container_of(carry, AgentcompanyJobCancelArgs, carry);
        JobAt at = {args->workspace_dir, args->project_id};
        JsonWriter *w = call_result(call);
        Job *job;

        jw_begin_object(w);
        job_write_poll(w, &at, edit->user);
        jw_end_object(w);
        job_look(edit, &at, args->job_id);
        if ((job = job_find(edit->workspace, args->project_id, args->job_id)))
                job_stop(job);
}

int op_agentcompany_job_cancel(Call *call, Workspace *workspace, const AgentcompanyJobCancelArgs *args) {
        return company_edit(call, workspace, job_cancel_decide, job_cancel_reply, &args->carry);
}

/* ---- programs -------------------------------------------------------------------------------- */

static int job_tell_adapters(Call *call, _unused_ Workspace *workspace, Str list,
                             _unused_ const Carry *carry) {
        jw_raw(call_result(call), list);
        return 0;
}

int op_agentcompany_adapter_status(Call *call, Workspace *workspace,
                                   const AgentcompanyAdapterStatusArgs *args) {
        return adapters_look(call, workspace, job_tell_adapters, &args->carry);
}
