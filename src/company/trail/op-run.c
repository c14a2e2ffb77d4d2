/* SPDX-License-Identifier: MIT */
/* run.create, run.list and sharepack.replay: runs as files. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/error.h"
#include "company/place.h"
#include "company/trail/replay.h"
#include "company/trail/runs.h"
#include "company/workspace.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/agentcompany-ops.h"
#include "gen/shapes.h"

static int run_create_decide(Edit *edit, const Carry *carry) {
        const AgentcompanyRunCreateArgs *args = container_of(carry, AgentcompanyRunCreateArgs, carry);
        RunMade *made = arena_alloc(edit->arena, sizeof(*made));

        edit->user = made;
        edit->makes_folders = true;
        if (!made)
                return error_origin(-ENOMEM);
        if (!run_make(edit, args->project_id, args->agent_id, args->provider, made) && !edit->r)
                return edit_fail(edit, CALL_E_COMPANY, "project_id cannot be the name of a folder");
        return 0;
}

static void run_create_reply(Call *call, Edit *edit, const Carry *carry) {
        const AgentcompanyRunCreateArgs *args = container_of(carry, AgentcompanyRunCreateArgs, carry);
        const RunMade *made = edit->user;
        JsonWriter *w = call_result(call);
        const char *folder = place_run(&call->arena, args->project_id, made->run_id, "");
        Str dir = args->workspace_dir;

        while (dir.n > 1 && dir.data[dir.n - 1] == '/')
                dir.n--;
        jw_begin_object(w);
        jw_field_str(w, "run_id", made->run_id);
        jw_field_str(w, "context_pack_id", made->context_pack_id);
        jw_field_str(w, "run_dir",
                     arena_printf(&call->arena, STR_FMT "/%s", STR_ARG(dir), folder ? folder : ""));
        jw_end_object(w);
}

int op_agentcompany_run_create(Call *call, Workspace *workspace, const AgentcompanyRunCreateArgs *args) {
        return company_edit(call, workspace, run_create_decide, run_create_reply, &args->carry);
}

/* One row, written when it is seen. */
typedef struct RunRow {
        Str created_at, text;
} RunRow;
typedef struct RunRows {
        Arena *arena;
        Buf rows; /* of RunRow */
} RunRows;

static int run_list_see(void *user, Str project_id, const Json *run) {
        static const char *const keys[] = {"created_at", "status", "provider", "agent_id"};
        RunRows *rows = user;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        RunRow row;

        jw_begin_object(&w);
        jw_field_str(&w, "project_id", project_id);
        jw_field_str(&w, "run_id", json_text_of(run, "id"));
        for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
                jw_field_str(&w, keys[i], json_text_of(run, keys[i]));
        jw_end_object(&w);
        row = (RunRow){arena_str(rows->arena, json_text_of(run, "created_at")),
                       arena_str(rows->arena, buf_str(&text))};
        if (w.failed || !row.created_at.data || !row.text.data)
                return error_origin(-ENOMEM);
        return error_trace(buf_append(&rows->rows, &row, sizeof(row)));
}

static int run_list_order(const void *a, const void *b) {
        const RunRow *x = a, *y = b;
        int order = strcmp(y->created_at.data, x->created_at.data);

        return order ? order : strcmp(y->text.data, x->text.data);
}

static int run_list_collect(Reading *reading, const AgentcompanyRunListArgs *args, RunRows *rows) {
        StrList projects = {.items = (Str[]){args->project_id}, .n = 1};
        int r = args->project_id.n
                        ? 0
                        : place_names(reading->arena, reading->root, PLACE_PROJECTS, NULL, &projects);

        for (size_t i = 0; r == 0 && i < projects.n; i++)
                r = run_each(reading->root, reading->arena, projects.items[i], run_list_see, rows);
        return error_trace(r);
}

static int run_list_read(Reading *reading, const Carry *carry) {
        const AgentcompanyRunListArgs *args = container_of(carry, AgentcompanyRunListArgs, carry);
        _cleanup_(buf_deinit) Buf all = BUF_NULL;
        RunRows rows = {.arena = reading->arena};
        const RunRow *row;
        int r;

        if (!args->project_id.n && !place_has(reading->root, PLACE_PROJECTS))
                return reading_fail(reading, CALL_E_COMPANY,
                                    "ENOENT: no such file or directory, scandir '%s'", PLACE_PROJECTS);
        r = run_list_collect(reading, args, &rows);
        all = rows.rows;
        if (r)
                return error_trace(r);
        if (all.n)
                qsort(all.data, all.n / sizeof(*row), sizeof(*row), run_list_order);
        row = (const RunRow *)(const void *)all.data;
        jw_begin_array(reading->w);
        for (size_t i = 0; i < all.n / sizeof(*row); i++)
                jw_raw(reading->w, row[i].text);
        jw_end_array(reading->w);
        return 0;
}

int op_agentcompany_run_list(Call *call, Workspace *workspace, const AgentcompanyRunListArgs *args) {
        return workspace_read(call, workspace, run_list_read, &args->carry);
}

/* Relative paths of a manifest are opened below the workspace, whatever they say. */
static int sharepack_run(Reading *reading, const Json *run, const AgentcompanySharepackReplayArgs *args) {
        Str bundle = arena_str(reading->arena, json_text_of(run, "bundle_relpath"));
        _cleanup_(closep) int fd =
                bundle.data ? path_open_beneath(reading->root, bundle.data, O_RDONLY | O_NONBLOCK, 0)
                            : -ENOMEM;
        JsonWriter *w = reading->w;
        int r;

        if (fd < 0)
                return reading_fail(reading, CALL_E_COMPANY,
                                    "ENOENT: no such file or directory, open '" STR_FMT "'",
                                    STR_ARG(bundle));
        jw_begin_object(w);
        jw_field_str(w, "run_id", json_text_of(run, "run_id"));
        jw_field_str(w, "source_relpath", json_text_of(run, "source_relpath"));
        jw_field_str(w, "bundle_relpath", bundle);
        r = replay_write(&reading->spool, fd, !str_is(args->mode, "raw"),
                         args->has_tail ? (uint64_t)args->tail : 0);
        jw_end_object(w);
        return error_trace(r);
}

static int sharepack_runs(Reading *reading, const Json *manifest,
                          const AgentcompanySharepackReplayArgs *args) {
        bool is_found = !args->run_id.n;
        int r = 0;

        jw_key(reading->w, "runs");
        jw_begin_array(reading->w);
        json_each (run, json_get(manifest, "included_runs")) {
                if (r || (args->run_id.n && !str_eq(json_text_of(run, "run_id"), args->run_id)))
                        continue;
                is_found = true;
                r = sharepack_run(reading, run, args);
        }
        jw_end_array(reading->w);
        if (r == 0 && !is_found)
                return reading_fail(reading, CALL_E_COMPANY,
                                    "Run " STR_FMT " is not included in share pack " STR_FMT ".",
                                    STR_ARG(args->run_id), STR_ARG(args->share_pack_id));
        return r;
}

static int sharepack_manifest(Reading *reading, const AgentcompanySharepackReplayArgs *args, Json **ret) {
        const char *path =
                place_share_pack(reading->arena, args->project_id, args->share_pack_id, "manifest.yaml");
        char what[DOCUMENT_WHAT_MAX];
        int r = path ? document_load(reading->arena, reading->root, path, DOCUMENT_YAML, ret, NULL, what)
                     : DOCUMENT_E_MISSING;

        if (r == DOCUMENT_E_MISSING)
                return reading_fail(reading, CALL_E_COMPANY, "ENOENT: no such file or directory, open '%s'",
                                    path ? path : "manifest.yaml");
        if (r == DOCUMENT_E_BROKEN)
                return reading_fail(reading, CALL_E_COMPANY, "%s: %s", path, what);
        if (r)
                return error_fold(r);
        shape_check(&shape_share_pack, *ret, NULL, &reading->issues);
        if (reading->issues.n)
                return reading_fail_issues(reading);
        if (!str_eq(json_text_of(*ret, "project_id"), args->project_id))
                return reading_fail(reading, CALL_E_COMPANY, "Share pack " STR_FMT " is of another project.",
                                    STR_ARG(args->share_pack_id));
        return 0;
}

static int sharepack_read(Reading *reading, const Carry *carry) {
        const AgentcompanySharepackReplayArgs *args =
                container_of(carry, AgentcompanySharepackReplayArgs, carry);
        JsonWriter *w = reading->w;
        Json *manifest = NULL;
        int r = sharepack_manifest(reading, args, &manifest);

        if (r)
                return r;
        jw_begin_object(w);
        jw_field_str(w, "share_pack_id", args->share_pack_id);
        jw_field_str(w, "project_id", args->project_id);
        jw_field_str(w, "mode", args->mode);
        r = sharepack_runs(reading, manifest, args);
        jw_end_object(w);
        return r;
}

int op_agentcompany_sharepack_replay(Call *call, Workspace *workspace,
                                     const AgentcompanySharepackReplayArgs *args) {
        return workspace_read(call, workspace, sharepack_read, &args->carry);
}
