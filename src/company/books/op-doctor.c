/* SPDX-License-Identifier: MIT */
/* workspace.doctor, and workspace.diagnostics: what the doctor says and what is known besides, as files for somebody else. */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/macro.h"
#include "company/books/doctor.h"
#include "company/index/lists.h"
#include "company/index/turn.h"
#include "company/job/adapters.h"
#include "company/run/sessions.h"
#include "company/view/view.h"
#include "company/visit.h"
#include "gen/agentcompany-ops.h"

typedef struct DoctorVisit {
        Carry carry;
        Doctor doctor;
} DoctorVisit;

static int doctor_read(Reading *reading, const Carry *carry) {
        DoctorVisit *visit = container_of(carry, DoctorVisit, carry);

        visit->doctor.reading = reading;
        return doctor_write(&visit->doctor, reading->w);
}

static int doctor_begin_checks(Call *call, Workspace *workspace, Str adapters, const Carry *carry) {
        DoctorVisit *visit = container_of(carry, DoctorVisit, carry);

        visit->doctor.adapters = adapters;
        return index_read_call(call, workspace, doctor_read, carry);
}

int op_agentcompany_workspace_doctor(Call *call, Workspace *workspace,
                                     const AgentcompanyWorkspaceDoctorArgs *args) {
        DoctorVisit *visit = arena_alloc(&call->arena, sizeof(*visit));

        if (!visit)
                return error_origin(-ENOMEM);
        *visit = (DoctorVisit){.doctor = {.workspace_dir = args->workspace_dir,
                                          .rebuilds_index = args->rebuild_index,
                                          .syncs_index = args->sync_index}};
        return adapters_look(call, workspace, doctor_begin_checks, &visit->carry);
}

/* ---- diagnostics ----------------------------------------------------------------------------- */

enum { BUNDLE_NAMES_MAX = 100 }; /* bundles of one second in one folder; one more is refused */

typedef enum BundlePart {
        BUNDLE_DOCTOR,
        BUNDLE_ADAPTERS,
        BUNDLE_SESSIONS,
        BUNDLE_MONITOR,
        BUNDLE_INBOX,
        BUNDLE_INDEX, /* may be missing */
        BUNDLE_MANIFEST,
        BUNDLE_N_PARTS
} BundlePart;

/* As they are told; the files are written in the order above, so that who finds the manifest finds all of them. */
static const BundlePart bundle_order[] = {BUNDLE_MANIFEST, BUNDLE_DOCTOR, BUNDLE_ADAPTERS, BUNDLE_SESSIONS,
                                          BUNDLE_MONITOR,  BUNDLE_INBOX,  BUNDLE_INDEX};
static const struct {
        const char *key, *file;
} bundle_files[] = {
        [BUNDLE_DOCTOR] = {"doctor", "doctor.json"},
        [BUNDLE_ADAPTERS] = {"adapters", "adapters.json"},
        [BUNDLE_SESSIONS] = {"sessions", "sessions.json"},
        [BUNDLE_MONITOR] = {"monitor_snapshot", "monitor.snapshot.json"},
        [BUNDLE_INBOX] = {"review_inbox_snapshot", "review_inbox.snapshot.json"},
        [BUNDLE_INDEX] = {"index_stats", "index.stats.json"},
        [BUNDLE_MANIFEST] = {"manifest", "manifest.json"},
};

/* A folder of files about a workspace, in the making. */
typedef struct Bundle {
        Carry carry;
        const AgentcompanyWorkspaceDiagnosticsArgs *args;
        Doctor doctor;
        Str path, out_dir; /* absolute: of the workspace, and of what the bundle goes into */
        const SessionList *sessions;
        Json *parts[BUNDLE_N_PARTS]; /* NULL: there is no such file */
        Str name;
        char now[TIME_TEXT_MAX];
} Bundle;

/* What a part has written becomes its tree. r: of the part. */
static int bundle_take(Bundle *bundle, BundlePart part, const JsonWriter *w, int r) {
        Arena *arena = bundle->doctor.reading->arena;
        Str text = r || w->failed ? STR_NULL : arena_str(arena, buf_str(w->out));

        if (r)
                return r;
        if (!text.data)
                return error_origin(-ENOMEM);
        return error_fold(json_parse(arena, text.data, text.n, NULL, &bundle->parts[part], NULL));
}

static int bundle_read_view(Bundle *bundle, BundlePart part) {
        const AgentcompanyWorkspaceDiagnosticsArgs *args = bundle->args;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        View view;
        int r = view_begin(&view, bundle->doctor.reading, args->workspace_dir,
                           args->sync_index ? VIEW_SYNCED : VIEW_AS_IT_IS);

        view.w = &w;
        if (!r && part == BUNDLE_MONITOR)
                r = view_monitor(&view, &(ViewScope){.limit = args->monitor_limit});
        else if (!r)
                r = view_inbox(&view, &(ViewInbox){.pending_limit = args->pending_limit,
                                                   .decisions_limit = args->decisions_limit});
        return bundle_take(bundle, part, &w, r);
}

static int bundle_read_part(Bundle *bundle, BundlePart part) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        int r = 0;

        switch (part) {
        case BUNDLE_DOCTOR: r = doctor_write(&bundle->doctor, &w); break;
        case BUNDLE_ADAPTERS: jw_raw(&w, bundle->doctor.adapters); break;
        case BUNDLE_SESSIONS: sessions_write(&w, bundle->sessions); break;
        case BUNDLE_INDEX:
                if (index_write_stats(bundle->doctor.reading->workspace->index, &w))
                        return 0; /* the rest is worth having without it */
                break;
        default: return bundle_read_view(bundle, part);
        }
        return bundle_take(bundle, part, &w, r);
}

static void bundle_write_files(const Bundle *bundle, JsonWriter *w) {
        jw_key(w, "files");
        jw_begin_object(w);
        for (size_t i = 0; i < ARRAY_SIZE(bundle_order); i++) {
                const BundlePart part = bundle_order[i];

                jw_field_cstr(w, bundle_files[part].key,
                              part == BUNDLE_MANIFEST || bundle->parts[part] ? bundle_files[part].file
                                                                             : NULL);
        }
        jw_end_object(w);
}

/* The members of a part that the manifest tells as well. */
static void bundle_write_same(const Json *part, JsonWriter *w, const char *const names[]) {
        for (size_t i = 0; names[i]; i++)
                jw_field_value(w, names[i], json_get(part, names[i]));
}

static void bundle_write_runtime(JsonWriter *w) {
        struct utsname name;

        jw_key(w, "runtime");
        jw_begin_object(w);
        jw_field_cstr(w, "muster", MUSTER_VERSION);
        jw_field_cstr(w, "platform", "linux");
        if (!uname(&name)) {
                jw_field_cstr(w, "arch", name.machine);
                jw_field_cstr(w, "release", name.release);
        }
        jw_end_object(w);
}

static void bundle_write_counts(const Bundle *bundle, JsonWriter *w) {
        const Json *monitor = bundle->parts[BUNDLE_MONITOR], *inbox = bundle->parts[BUNDLE_INBOX];
        const Json *doctor = bundle->parts[BUNDLE_DOCTOR];
        size_t n_running = 0;

        for (size_t i = 0; i < bundle->sessions->n; i++)
                n_running += str_is(bundle->sessions->records[i].status, "running");
        jw_key(w, "doctor");
        jw_begin_object(w);
        bundle_write_same(doctor, w, (const char *const[]){"ok", "summary", NULL});
        jw_field_uint(w, "checks", json_count(json_get(doctor, "checks")));
        jw_end_object(w);
        jw_key(w, "monitor");
        jw_begin_object(w);
        jw_field_uint(w, "rows", json_count(json_get(monitor, "rows")));
        bundle_write_same(monitor, w, (const char *const[]){"index_rebuilt", "index_synced", NULL});
        jw_end_object(w);
        jw_key(w, "review_inbox");
        jw_begin_object(w);
        jw_field_uint(w, "pending", json_count(json_get(inbox, "pending")));
        jw_field_uint(w, "recent_decisions", json_count(json_get(inbox, "recent_decisions")));
        bundle_write_same(inbox, w, (const char *const[]){"parse_errors", NULL});
        jw_end_object(w);
        jw_key(w, "sessions");
        jw_begin_object(w);
        jw_field_uint(w, "total", bundle->sessions->n);
        jw_field_uint(w, "running", n_running);
        jw_end_object(w);
}

static int bundle_make_manifest(Bundle *bundle) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_int(&w, "schema_version", 1);
        jw_field_cstr(&w, "type", "workspace_diagnostics");
        jw_field_cstr(&w, "generated_at", bundle->now);
        jw_field_str(&w, "workspace_dir", bundle->path);
        bundle_write_runtime(&w);
        bundle_write_counts(bundle, &w);
        bundle_write_files(bundle, &w);
        jw_end_object(&w);
        return bundle_take(bundle, BUNDLE_MANIFEST, &w, 0);
}

/* A folder of its own: another bundle of the same second gets another name. Its path is malloc'd. */
static int bundle_make_folder(Bundle *bundle, char **ret) {
        Arena *arena = bundle->doctor.reading->arena;
        char stamp[TIME_TEXT_MAX];
        size_t n = 0;
        int r = dir_make(bundle->out_dir.data, 0755);

        for (const char *c = bundle->now; *c && *c != '.'; c++)
                if (*c != '-' && *c != ':')
                        stamp[n++] = *c;
        stamp[n] = 0;
        for (int i = 1; !r && i <= BUNDLE_NAMES_MAX; i++) {
                bundle->name =
                        i == 1 ? arena_printf(arena, "agentcompany-diagnostics-%s-%d", stamp, getpid())
                               : arena_printf(arena, "agentcompany-diagnostics-%s-%d-%d", stamp, getpid(),
                                              i);
                *ret = bundle->name.data ? path_join(bundle->out_dir.data, bundle->name.data) : NULL;
                if (!*ret)
                        return error_origin(-ENOMEM);
                if (!mkdir(*ret, 0700))
                        return 0;
                r = errno == EEXIST && i < BUNDLE_NAMES_MAX ? 0 : error_origin(-errno);
                free(*ret);
                *ret = NULL;
        }
        return error_trace(r);
}

static int bundle_keep(const Bundle *bundle, const char *folder, BundlePart part) {
        _cleanup_(freep) char *path = path_join(folder, bundle_files[part].file);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = path ? json_write_pretty(&text, bundle->parts[part], 2) : error_origin(-ENOMEM);

        if (!r)
                r = buf_append(&text, "\n", 1);
        return r ? error_trace(r) : error_trace(file_replace(path, buf_str(&text), 0644, FILE_DURABLE));
}

static int bundle_keep_all(Bundle *bundle) {
        _cleanup_(freep) char *folder = NULL;
        int r = bundle_make_folder(bundle, &folder);

        for (BundlePart part = 0; !r && part < BUNDLE_N_PARTS; part++)
                if (bundle->parts[part])
                        r = bundle_keep(bundle, folder, part);
        return r ? reading_fail(bundle->doctor.reading, CALL_E_COMPANY,
                                "The diagnostics cannot be written to %s: %s", bundle->out_dir.data,
                                strerror(-r))
                 : 0;
}

static void bundle_write(const Bundle *bundle, JsonWriter *w) {
        const AgentcompanyWorkspaceDiagnosticsArgs *args = bundle->args;
        const bool has_slash = args->out_dir.data[args->out_dir.n - 1] == '/';
        Str folder = arena_printf(bundle->doctor.reading->arena, STR_FMT "%s" STR_FMT,
                                  STR_ARG(args->out_dir), has_slash ? "" : "/", STR_ARG(bundle->name));

        jw_begin_object(w);
        jw_field_str(w, "workspace_dir", args->workspace_dir);
        jw_field_str(w, "out_dir", args->out_dir);
        jw_field_str(w, "bundle_dir", folder);
        jw_field_cstr(w, "generated_at", bundle->now);
        bundle_write_files(bundle, w);
        jw_end_object(w);
}

static int bundle_read(Reading *reading, const Carry *carry) {
        Bundle *bundle = container_of(carry, Bundle, carry);
        int r = 0;

        bundle->doctor.reading = reading;
        time_format_ms(reading->wall_us, bundle->now);
        for (BundlePart part = 0; !r && part < BUNDLE_MANIFEST; part++)
                r = bundle_read_part(bundle, part);
        if (!r)
                r = bundle_make_manifest(bundle);
        if (!r)
                r = bundle_keep_all(bundle);
        if (!r)
                bundle_write(bundle, reading->w);
        return r;
}

static int bundle_settle(Edit *edit, const Carry *carry) {
        Bundle *bundle = container_of(carry, Bundle, carry);
        SessionList *list = NULL;
        int r = sessions_settle(edit, &(SessionFilter){0}, &list);

        bundle->sessions = list;
        return error_trace(r);
}

static int bundle_begin(Call *call, Edit *edit, const Carry *carry) {
        return index_read_call(call, edit->workspace, bundle_read, carry);
}

static int bundle_begin_sessions(Call *call, Workspace *workspace, Str adapters, const Carry *carry) {
        Bundle *bundle = container_of(carry, Bundle, carry);

        bundle->doctor.adapters = adapters;
        return company_edit_then(call, workspace, bundle_settle, bundle_begin, carry);
}

int op_agentcompany_workspace_diagnostics(Call *call, Workspace *workspace,
                                          const AgentcompanyWorkspaceDiagnosticsArgs *args) {
        Bundle *bundle = arena_alloc(&call->arena, sizeof(*bundle));

        if (!bundle)
                return error_origin(-ENOMEM);
        *bundle = (Bundle){.args = args,
                           .path = visit_path(call, args->workspace_dir),
                           .out_dir = visit_path(call, args->out_dir),
                           .doctor = {.workspace_dir = args->workspace_dir,
                                      .rebuilds_index = args->rebuild_index,
                                      .syncs_index = args->sync_index}};
        if (!bundle->path.data || !bundle->out_dir.data)
                return error_origin(-ENOMEM);
        return adapters_look(call, workspace, bundle_begin_sessions, &bundle->carry);
}
