/* SPDX-License-Identifier: MIT */
#include "company/job/adapters.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "company/place.h"
#include "company/visit.h"
#include "company/workspace.h"
#include "core/daemon.h"
#include "core/document.h"
#include "core/driver.h"
#include "core/exec.h"

enum { ADAPTER_PROBE_MS = 4000, ADAPTER_OUTPUT_MAX = 4096 };

typedef struct AdapterKind {
        const char *name, *provider, *mode;
        const char *bins[2]; /* settings that say where the program is, the first counts */
        const char *probe;   /* the word that it has to understand; NULL: it is not asked */
        bool resumes, counts_tokens, exports_patches;
        const char *isolation;
} AdapterKind;

static const AdapterKind adapter_kinds[] = {
        {"codex_app_server",
         "codex",
         "protocol",
         {"codex_app_server", "codex"},
         "app-server",
         true,
         true,
         true,
         "recommended"},
        {"codex_cli", "codex", "cli", {"codex", NULL}, NULL, true, true, true, "recommended"},
        {"claude_cli", "claude", "cli", {"claude", NULL}, NULL, false, true, false, "unsupported"},
        {"gemini_cli", "gemini", "cli", {"gemini", NULL}, NULL, false, false, false, "unsupported"},
};

/* ---- one program ----------------------------------------------------------------------------- */

/* The official name, or one that begins with it and a dash. */
static bool adapter_is_approved(const AdapterKind *kind, Str bin) {
        const char *slash = memrchr(bin.data, '/', bin.n);
        Str name = slash ? (Str){slash + 1, bin.n - (size_t)(slash + 1 - bin.data)} : bin,
            official = str_from(kind->provider);

        return str_starts(name, official) && (name.n == official.n || name.data[official.n] == '-');
}

static bool adapter_answers(const DriverPlace *place, const AdapterKind *kind, const char *program) {
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        char *const argv[] = {(char *)program, (char *)kind->probe, (char *)"--help", NULL};
        int r = exec_run(&(ExecSpec){.argv = argv,
                                     .env = place->env,
                                     .folder = place->folder,
                                     .limit_ms = ADAPTER_PROBE_MS,
                                     .is_off = place->is_off,
                                     .n_max = ADAPTER_OUTPUT_MAX},
                         &result);

        return !r && !result.status;
}

/* Why it cannot be used, in the arena; data is NULL when it can. */
static Str adapter_reason(const DriverPlace *place, Arena *arena, const AdapterKind *kind, Str bin) {
        const char *program;

        if (!adapter_is_approved(kind, bin))
                return arena_printf(arena, "%s is set to a program that is not %s: " STR_FMT, kind->provider,
                                    kind->provider, STR_ARG(bin));
        program = driver_find(place, arena, bin);
        if (!program)
                return arena_printf(arena, "%s is not installed: " STR_FMT, kind->provider, STR_ARG(bin));
        if (kind->probe && !adapter_answers(place, kind, program))
                return arena_printf(arena, STR_FMT " has no %s", STR_ARG(bin), kind->probe);
        return STR_NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static Str adapter_bin(const AdapterKind *kind, const Json *bins) {
        for (size_t i = 0; i < ARRAY_SIZE(kind->bins) && kind->bins[i]; i++) {
                Str bin = json_text_of(bins, kind->bins[i]);

                if (bin.n)
                        return bin;
        }
        return str_from(kind->provider);
}

static void adapter_write_capabilities(JsonWriter *w, const AdapterKind *kind) {
        jw_key(w, "capabilities");
        jw_begin_object(w);
        jw_field_bool(w, "supports_streaming_events", true);
        jw_field_bool(w, "supports_resumable_session", kind->resumes);
        jw_field_bool(w, "supports_structured_output", true);
        jw_field_bool(w, "supports_token_usage", kind->counts_tokens);
        jw_field_bool(w, "supports_patch_export", kind->exports_patches);
        jw_field_bool(w, "supports_interactive_approval_callbacks", false);
        jw_field_cstr(w, "supports_worktree_isolation", kind->isolation);
        jw_end_object(w);
}

static void adapter_write(const DriverPlace *place, Arena *arena, const AdapterKind *kind, const Json *bins,
                          JsonWriter *w) {
        Str reason = adapter_reason(place, arena, kind, adapter_bin(kind, bins));

        jw_begin_object(w);
        jw_field_cstr(w, "name", kind->name);
        jw_field_cstr(w, "provider", kind->provider);
        jw_field_cstr(w, "mode", kind->mode);
        jw_field_bool(w, "available", !reason.data);
        if (reason.data)
                jw_field_str(w, "reason", reason);
        adapter_write_capabilities(w, kind);
        jw_end_object(w);
}

static int adapters_write(const DriverPlace *place, int root, Arena *arena, JsonWriter *w,
                          char what[DOCUMENT_WHAT_MAX]) {
        Json *machine = NULL;
        int r = document_load(arena, root, PLACE_MACHINE, DOCUMENT_YAML, &machine, NULL, what);

        if (r)
                return error_trace(r);
        jw_begin_array(w);
        for (size_t i = 0; i < ARRAY_SIZE(adapter_kinds); i++)
                adapter_write(place, arena, &adapter_kinds[i], json_get(machine, "provider_bins"), w);
        jw_end_array(w);
        return 0;
}

/* ---- whose environment ----------------------------------------------------------------------- */

/* Copies what the call's connection brings, since that may end meanwhile. */
static int adapters_capture(Call *call, DriverPlace *ret) {
        char **env;
        int r = visit_environment(&call->arena, call->client, &env);

        if (r)
                return error_trace(r);
        *ret = (DriverPlace){.env = env,
                             .folder = visit_path(call, STR(".")).data,
                             .is_off = &call->daemon->company->is_stopping};
        return ret->folder ? 0 : error_origin(-ENOMEM);
}

/* ---- looking --------------------------------------------------------------------------------- */

typedef struct AdaptersJob { /* in the call's arena */
        Call *call;
        Workspace *workspace;
        DriverPlace place;
        AdaptersFn then;
        const Carry *carry;
        Buf out;
        JsonWriter w;
        char what[DOCUMENT_WHAT_MAX];
        int r;
} AdaptersJob;

static void adapters_run(void *user) {
        AdaptersJob *job = user;

        job->r = adapters_write(&job->place, job->workspace->root, &job->call->arena, &job->w, job->what);
}

static int adapters_go_on(AdaptersJob *job) {
        Call *call = job->call;
        Str list;

        if (job->workspace->company->is_stopping) /* a program that could not answer is not unable */
                return call_fail(call, CALL_E_UNAVAILABLE, "the daemon stops");
        if (job->r == DOCUMENT_E_MISSING)
                return call_fail(call, CALL_E_COMPANY, "The workspace has no " PLACE_MACHINE);
        if (job->r)
                return call_fail(call, CALL_E_COMPANY, PLACE_MACHINE " cannot be read: %s",
                                 job->r > 0 ? job->what : strerror(-job->r));
        list = job->w.failed ? STR_NULL : arena_str(&call->arena, buf_str(&job->out));
        return list.data ? job->then(call, job->workspace, list, job->carry) : error_origin(-ENOMEM);
}

static void adapters_done(void *user) {
        AdaptersJob *job = user;
        int r = adapters_go_on(job);

        buf_deinit(&job->out);
        if (r != CALL_LATER)
                call_finish(job->call, r);
}

int adapters_look(Call *call, Workspace *workspace, AdaptersFn then, const Carry *carry) {
        AdaptersJob *job = arena_alloc(&call->arena, sizeof(*job));
        int r;

        if (!job)
                return error_origin(-ENOMEM);
        *job = (AdaptersJob){.call = call, .workspace = workspace, .then = then, .carry = carry};
        job->w = JSON_WRITER(&job->out);
        r = adapters_capture(call, &job->place);
        if (r)
                return error_trace(r);
        return loop_work_slow(call->daemon->loop, adapters_run, adapters_done, job) ? error_origin(-ENOMEM)
                                                                                    : CALL_LATER;
}
