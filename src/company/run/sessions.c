/* SPDX-License-Identifier: MIT */
#include "company/run/sessions.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "company/event.h"
#include "company/place.h"
#include "company/run/runs.h"
#include "core/document.h"
#include "core/shape.h"
#include "core/host/shim.h"
#include "gen/shapes.h"

enum { SESSION_SLACK_MS = 5000 }; /* clocks are set, and ticks are coarse */

static bool session_is_over(Str status) {
        return str_is(status, "ended") || str_is(status, "failed") || str_is(status, "stopped");
}

/* The run's own document has the last word, when it has one. */
static Str session_run_status(int root, Arena *arena, const Json *json) {
        const char *path =
                place_run(arena, json_text_of(json, "project_id"), json_text_of(json, "run_id"), "run.yaml");
        Json *run;

        if (!path || document_load(arena, root, path, DOCUMENT_YAML, &run, NULL, NULL))
                return STR_NULL;
        return json_text_of(run, "status");
}

static bool session_has_marker(int root, Arena *arena, const Json *json) {
        return place_has(root, place_run(arena, json_text_of(json, "project_id"),
                                         json_text_of(json, "run_id"), "outputs/stop_requested.flag"));
}

/* A process that began after its number was claimed is another. */
static bool session_pid_lives(pid_t pid, int64_t claimed_ms) {
        uint64_t ticks = shim_start_time(pid);
        struct timespec now, up;
        int64_t began_ms;

        if (kill(pid, 0) < 0 && errno == ESRCH)
                return false;
        if (!ticks || !claimed_ms || clock_gettime(CLOCK_REALTIME, &now) ||
            clock_gettime(CLOCK_BOOTTIME, &up))
                return true;
        began_ms = (int64_t)(now.tv_sec - up.tv_sec) * 1000 + (now.tv_nsec - up.tv_nsec) / 1000000 +
                   (int64_t)(ticks * 1000 / (uint64_t)sysconf(_SC_CLK_TCK));
        return began_ms <= claimed_ms + SESSION_SLACK_MS;
}

/* What lives in this daemon has a Run, which has the last word. */
static void session_look(Workspace *workspace, Arena *arena, SessionRecord *record) {
        int root = workspace->root;
        int64_t pid = 0;
        uint64_t n;
        Str run;

        record->status = json_text_of(record->json, "status");
        record->error = json_text_of(record->json, "error");
        (void)json_int64(json_get(record->json, "started_at_ms"), &record->started_ms);
        if (!str_is(record->status, "running"))
                return;
        record->is_live =
                runs_state(workspace->runs, json_text_of(record->json, "session_ref"), &record->visit, &n);
        if (record->is_live)
                return;
        run = session_run_status(root, arena, record->json);
        if (session_is_over(run)) {
                record->status = run;
                return;
        }
        record->is_stopped = session_has_marker(root, arena, record->json);
        (void)json_int64(json_get(record->json, "pid"), &pid);
        (void)json_int64(json_get(record->json, "pid_claimed_at_ms"), &record->claimed_ms);
        if (pid > 0 && pid <= INT32_MAX && session_pid_lives((pid_t)pid, record->claimed_ms)) {
                record->pid = (pid_t)pid;
                record->error = STR("Session process is detached from this runtime (possible restart).");
                return;
        }
        record->is_dead = true;
        record->status = record->is_stopped ? STR("stopped") : STR("failed");
        record->error = STR("Session process is gone, and nobody has seen its end (possible restart).");
}

/* A session that begins or ends between two looks would be taken for dead: then it is looked at once more. */
static bool session_load(Workspace *workspace, Arena *arena, const char *path, SessionRecord *ret) {
        uint64_t n_before, n_after, visit;

        do {
                Json *json;

                (void)runs_state(workspace->runs, STR_NULL, &visit, &n_before);
                if (!path || document_load(arena, workspace->root, path, DOCUMENT_YAML, &json, NULL, NULL) ||
                    !shape_fits(&shape_session_record, json))
                        return false;
                *ret = (SessionRecord){.json = json, .path = path};
                session_look(workspace, arena, ret);
                (void)runs_state(workspace->runs, STR_NULL, &visit, &n_after);
        } while (ret->is_dead && n_before != n_after);
        return true;
}

bool session_of_text(Workspace *workspace, Arena *arena, Str name, Str text, SessionRecord *ret) {
        const Str path = arena_printf(arena, PLACE_SESSIONS "/" STR_FMT ".yaml", STR_ARG(name));
        const Str copy = arena_str(arena, text);
        Json *json;

        if (!path.data || !copy.data || json_parse(arena, copy.data, copy.n, NULL, &json, NULL))
                return false;
        *ret = (SessionRecord){.json = json, .path = path.data};
        session_look(workspace, arena, ret);
        /* what the index has may be old, and so is what follows from it */
        return !ret->is_dead || session_load(workspace, arena, path.data, ret);
}

bool session_read(Workspace *workspace, Arena *arena, Str session_ref, SessionRecord *ret) {
        return session_load(workspace, arena, place_session(arena, session_ref), ret) &&
               str_eq(json_text_of(ret->json, "session_ref"), session_ref);
}

bool session_fits(const SessionRecord *record, const SessionFilter *filter) {
        const Json *json = record->json;

        return (!filter->project_id.n || str_eq(json_text_of(json, "project_id"), filter->project_id)) &&
               (!filter->run_id.n || str_eq(json_text_of(json, "run_id"), filter->run_id)) &&
               (!filter->status.n || str_eq(record->status, filter->status));
}

static int session_order(const void *a, const void *b) {
        const SessionRecord *x = a, *y = b;
        Str one = json_text_of(x->json, "session_ref"), two = json_text_of(y->json, "session_ref");
        int order;

        if (x->started_ms != y->started_ms)
                return x->started_ms < y->started_ms ? 1 : -1;
        order = memcmp(one.data, two.data, MIN(one.n, two.n));
        return order ? order : (one.n > two.n) - (one.n < two.n);
}

int sessions_read(Workspace *workspace, Arena *arena, const SessionFilter *filter, SessionList *ret) {
        StrList names = {0};
        int r = place_names(arena, workspace->root, PLACE_SESSIONS, ".yaml", &names);

        *ret = (SessionList){0};
        if (r)
                return error_trace(r);
        ret->records = arena_alloc(arena, (names.n + 1) * sizeof(*ret->records));
        if (!ret->records)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < names.n; i++) {
                Str path = arena_printf(arena, PLACE_SESSIONS "/" STR_FMT ".yaml", STR_ARG(names.items[i]));
                SessionRecord *record = &ret->records[ret->n];

                ret->n += path.data && session_load(workspace, arena, path.data, record) &&
                          session_fits(record, filter);
        }
        sessions_sort(ret);
        return 0;
}

void sessions_sort(SessionList *list) {
        if (list->n)
                qsort(list->records, list->n, sizeof(*list->records), session_order);
}

void session_judge(SessionRecord *record, uint64_t visit) {
        if (record->is_live && record->visit != visit)
                record->error = STR("Session runs in this daemon and belongs to another connection.");
}

/* A document of the workspace, changed and put back; what it was made from is compared again when it is kept. */
static Json *session_open(Edit *edit, const char *path) {
        Json *json;
        Str text;

        if (!path || edit_read(edit, path, DOCUMENT_MAX, &text) ||
            document_parse(edit->arena, text, DOCUMENT_YAML, &json, NULL, NULL))
                return NULL;
        return json;
}

static void session_put(Edit *edit, const char *path, const Json *json) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        if (edit_try(edit, document_text(json, DOCUMENT_YAML, STR_NULL, &text)))
                (void)edit_replace(edit, path, buf_str(&text));
}

static void session_set(Edit *edit, Json *json, const char *key, Json *value) {
        (void)edit_try(edit, json_set(edit->arena, json, str_from(key), value));
}

void session_bury(Edit *edit, const SessionRecord *record) {
        Str project = json_text_of(record->json, "project_id"),
            run_id = json_text_of(record->json, "run_id");
        const char *run_path = place_run(edit->arena, project, run_id, "run.yaml");
        Json *json = session_open(edit, record->path), *run = session_open(edit, run_path);
        EventOf of = {.project_id = project,
                      .run_id = run_id,
                      .session_ref = json_text_of(record->json, "session_ref")};

        if (!json || !str_is(json_text_of(json, "status"), "running"))
                return;
        session_set(edit, json, "status", json_new_str(edit->arena, record->status));
        session_set(edit, json, "error", json_new_str(edit->arena, record->error));
        session_set(edit, json, "ended_at_ms", json_new_int(edit->arena, edit->wall_us / 1000));
        session_put(edit, record->path, json);
        if (!run)
                return;
        session_set(edit, run, "status", json_new_str(edit->arena, record->status));
        session_set(edit, run, "ended_at", json_new_str(edit->arena, edit_now(edit)));
        session_put(edit, run_path, run);
        event_run_orphaned(edit, &of, record->is_stopped);
}

static void session_write_member(JsonWriter *w, const Json *json, const char *key) {
        const Json *value = json_get(json, key);

        if (value)
                jw_field_value(w, key, value);
}

void session_write(JsonWriter *w, const SessionRecord *record, bool is_list) {
        static const char *const more[] = {"workspace_dir",
                                           "started_at_ms",
                                           "ended_at_ms",
                                           "mode",
                                           "pid",
                                           "pid_claimed_at_ms",
                                           "stop_marker_relpath",
                                           "protocol_thread_id",
                                           "protocol_turn_id"};

        session_write_member(w, record->json, "session_ref");
        session_write_member(w, record->json, "project_id");
        session_write_member(w, record->json, "run_id");
        jw_field_str(w, "status", record->status);
        session_write_member(w, record->json, "exit_code");
        session_write_member(w, record->json, "signal");
        if (record->error.n)
                jw_field_str(w, "error", record->error);
        for (size_t i = 0; is_list && i < ARRAY_SIZE(more); i++)
                session_write_member(w, record->json, more[i]);
}

int sessions_settle(Edit *edit, const SessionFilter *filter, SessionList **ret) {
        SessionList *list = arena_alloc(edit->arena, sizeof(*list));
        int r = list ? sessions_read(edit->workspace, edit->arena, filter, list) : error_origin(-ENOMEM);

        *ret = list;
        for (size_t i = 0; r == 0 && i < list->n; i++)
                if (list->records[i].is_dead)
                        session_bury(edit, &list->records[i]);
        return error_trace(r);
}

void sessions_write(JsonWriter *w, const SessionList *list) {
        jw_begin_array(w);
        for (size_t i = 0; i < list->n; i++) {
                jw_begin_object(w);
                session_write(w, &list->records[i], true);
                jw_end_object(w);
        }
        jw_end_array(w);
}
