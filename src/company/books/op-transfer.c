/* SPDX-License-Identifier: MIT */
/* Operations that copy a workspace out and in. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/macro.h"
#include "company/books/books.h"
#include "company/books/transfer.h"
#include "company/books/validate.h"
#include "company/place.h"
#include "company/visit.h"
#include "company/workspace.h"
#include "core/document.h"
#include "gen/agentcompany-ops.h"

/* One copy on its way; in the call's arena. */
typedef struct TransferJob {
        Carry carry;
        Transfer transfer;
        Str from_text, to_text; /* as the caller wrote them */
        bool is_import;
        size_t n_issues; /* of what was imported */
        int r;
} TransferJob;

/* Of the caller, else of the daemon. */
static const char *transfer_home(Call *call) {
        const char *home = visit_env(call, "HOME");

        return home ? home : getenv("HOME");
}

static int transfer_validate(const Transfer *transfer, Str path, bool is_portable, size_t *ret_n) {
        Validation validation = {
                .arena = transfer->arena, .is_portable = is_portable, .is_off = transfer->is_off};
        int r;

        validation.root = open(path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        r = validate(&validation);
        if (validation.root >= 0)
                close(validation.root);
        *ret_n = validation.n;
        return error_trace(r);
}

/* What an export leaves out: the folders of this machine, and its default settings. */
static int transfer_complete(TransferJob *job) {
        _cleanup_(freep) char *path = path_join(job->transfer.to.data, PLACE_MACHINE);
        _cleanup_(freep) char *folder = path_join(job->transfer.to.data, ".local");
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        const Json *machine = books_machine(job->transfer.arena);
        struct stat st;
        int r = path && folder && machine ? dir_make(folder, 0755) : error_origin(-ENOMEM);

        if (r || !lstat(path, &st))
                return error_trace(r);
        r = document_text(machine, DOCUMENT_YAML, STR_NULL, &text);
        return r ? error_trace(r) : error_trace(file_replace(path, buf_str(&text), 0644, FILE_DURABLE));
}

static void transfer_run(const Carry *carry) {
        TransferJob *job = container_of(carry, TransferJob, carry);
        Transfer *transfer_ = &job->transfer;
        size_t n_issues = 0;

        job->r = transfer_validate(transfer_, transfer_->from, job->is_import, &n_issues);
        if (!job->r && n_issues)
                job->r = transfer_refuse(transfer_, "%s is no valid workspace: %zu issue(s)",
                                         transfer_->from.data, n_issues);
        if (!job->r)
                job->r = transfer(transfer_);
        if (!job->r && job->is_import)
                job->r = transfer_complete(job);
        if (!job->r && job->is_import)
                job->r = transfer_validate(transfer_, transfer_->to, false, &job->n_issues);
}

static void transfer_write(JsonWriter *w, const TransferJob *job) {
        const Transfer *transfer_ = &job->transfer;

        jw_begin_object(w);
        jw_field_str(w, job->is_import ? "src_dir" : "workspace_dir", job->from_text);
        jw_field_str(w, job->is_import ? "workspace_dir" : "out_dir", job->to_text);
        jw_field_bool(w, "include_local", transfer_->has_local);
        jw_key(w, job->is_import ? "imported_entries" : "exported_entries");
        jw_begin_array(w);
        for (size_t i = 0; i < transfer_->entries.n; i++)
                jw_str(w, transfer_->entries.items[i]);
        jw_end_array(w);
        if (job->is_import) {
                jw_field_bool(w, "validation_ok", !job->n_issues);
                jw_field_uint(w, "validation_issues", job->n_issues);
        }
        jw_end_object(w);
}

static int transfer_done(Call *call, const Carry *carry) {
        TransferJob *job = container_of(carry, TransferJob, carry);

        if (job->r == TRANSFER_E_REFUSED)
                return call_fail(call, CALL_E_COMPANY, STR_FMT, STR_ARG(job->transfer.why));
        if (job->r == -ECANCELED)
                return call_fail(call, CALL_E_UNAVAILABLE, "the daemon stops");
        if (job->r)
                return call_fail(call, CALL_E_COMPANY, "The workspace could not be copied: %s",
                                 strerror(-job->r));
        transfer_write(call_result(call), job);
        return 0;
}

static int transfer_begin(Call *call, Str from, Str to, bool has_local, bool is_forced, bool is_import) {
        TransferJob *job = arena_alloc(&call->arena, sizeof(*job));

        if (!company_is_served(call))
                return call->error;
        if (!job)
                return error_origin(-ENOMEM);
        *job = (TransferJob){.transfer = {.arena = &call->arena,
                                          .from = visit_path(call, from),
                                          .to = visit_path(call, to),
                                          .home = transfer_home(call),
                                          .has_local = has_local,
                                          .is_off = &call->daemon->company->is_stopping,
                                          .is_forced = is_forced},
                             .from_text = from,
                             .to_text = to,
                             .is_import = is_import};
        if (!job->transfer.from.data || !job->transfer.to.data)
                return error_origin(-ENOMEM);
        return call_work(call, transfer_run, transfer_done, &job->carry);
}

int op_agentcompany_workspace_export(Call *call, const AgentcompanyWorkspaceExportArgs *args) {
        return transfer_begin(call, args->workspace_dir, args->out_dir, args->include_local, args->force,
                              false);
}

int op_agentcompany_workspace_import(Call *call, const AgentcompanyWorkspaceImportArgs *args) {
        return transfer_begin(call, args->src_dir, args->workspace_dir, args->include_local, args->force,
                              true);
}
