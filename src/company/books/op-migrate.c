/* SPDX-License-Identifier: MIT */
/*
 * The one migration of the contract: events that older programs wrote get the members of today's envelope, and
 * every file a fresh chain. All of it is one change; what does not parse stays as it is.
 */
#include <errno.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/sha256.h"
#include "company/draft.h"
#include "company/place.h"
#include "company/visit.h"
#include "company/workspace.h"
#include "gen/agentcompany-ops.h"
#include "gen/shapes.h"

#define MIGRATE_ID "2026-02-12-event-envelope-v1-backfill"

enum { MIGRATE_FILE_MAX = 256 * 1024 * 1024 }; /* bytes of one events.jsonl; a larger one is refused */

typedef struct Migrate {
        Carry carry;
        const AgentcompanyWorkspaceMigrateArgs *args;
        Str path; /* of the workspace, absolute */
        bool was_applied;
        uint64_t n_scanned, n_updated, n_rewritten, n_broken;
} Migrate;

/* ---- one event ------------------------------------------------------------------------------- */

static int migrate_fill(Arena *arena, Json *event, const char *key, Json *value) {
        if (json_get(event, key))
                return 0;
        return error_trace(json_set(arena, event, str_from(key), value));
}

/* New members go to the end, in this order. */
static int migrate_envelope(Arena *arena, Json *event, Str run_id, uint64_t number, Str last_hash) {
        Str local = arena_printf(arena, "local_" STR_FMT, STR_ARG(run_id)), ref;
        Str id = arena_printf(arena, "evt_migrated_" STR_FMT "_%llu", STR_ARG(run_id),
                              (unsigned long long)number);
        int r = migrate_fill(arena, event, "schema_version", json_new_int(arena, 1));

        if (!r)
                r = migrate_fill(arena, event, "run_id", json_new_str(arena, run_id));
        if (!r)
                r = migrate_fill(arena, event, "session_ref", json_new_str(arena, local));
        if (!r)
                r = migrate_fill(arena, event, "event_id", json_new_str(arena, id));
        ref = json_text_of(event, "session_ref");
        if (!r)
                r = migrate_fill(arena, event, "correlation_id", json_new_str(arena, ref));
        if (!r)
                r = migrate_fill(arena, event, "causation_id", json_new(arena, JSON_NULL));
        if (!r)
                r = migrate_fill(arena, event, "ts_monotonic_ms", json_new_int(arena, (int64_t)number));
        if (!r)
                r = json_set(arena, event, STR("prev_event_hash"),
                             last_hash.n ? json_new_str(arena, last_hash) : json_new(arena, JSON_NULL));
        return error_trace(r);
}

static int migrate_hash(Arena *arena, const Json *event, Str *ret) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *bare = json_clone(arena, event);
        char hex[SHA256_HEX_MAX];
        int r = bare ? 0 : error_origin(-ENOMEM);

        if (bare)
                (void)json_remove(bare, STR("event_hash"));
        if (!r)
                r = json_write_es(&text, bare);
        if (!r)
                r = sha256_hex(buf_str(&text), hex);
        if (!r) {
                *ret = arena_str(arena, str_from(hex));
                r = ret->data ? 0 : error_origin(-ENOMEM);
        }
        return error_trace(r);
}

/* ---- one file -------------------------------------------------------------------------------- */

typedef struct MigrateFile {
        Arena *arena;
        Migrate *of;
        Str run_id, last_hash;
        uint64_t number; /* of the line, without blank ones */
        uint64_t n_changed;
        Buf out;
} MigrateFile;

static int migrate_event(MigrateFile *file, const Json *read, Str line) {
        Json *event = json_clone(file->arena, read);
        size_t start = file->out.n;
        int r = event ? migrate_envelope(file->arena, event, file->run_id, file->number, file->last_hash)
                      : error_origin(-ENOMEM);

        if (!r)
                r = migrate_hash(file->arena, event, &file->last_hash);
        if (!r)
                r = json_set(file->arena, event, STR("event_hash"),
                             json_new_str(file->arena, file->last_hash));
        if (!r)
                r = json_write_es(&file->out, event);
        if (!r && !str_eq(line, (Str){file->out.data + start, file->out.n - start}))
                file->n_changed++;
        return error_trace(r);
}

static int migrate_line(MigrateFile *file, Str line) {
        static const JsonLimits limits = {.is_lenient = true};
        Json *json = NULL;
        int r;

        if (!str_trim(line).n)
                return error_trace(buf_append_str(&file->out, line));
        file->number++;
        r = json_parse(file->arena, line.data, line.n, &limits, &json, NULL);
        if (r < 0)
                return error_trace(r);
        if (!r && json_is(json, JSON_OBJECT))
                return migrate_event(file, json, line);
        file->of->n_broken++;
        return error_trace(buf_append_str(&file->out, line));
}

static int migrate_text(MigrateFile *file, Str text) {
        int r = 0;

        while (!r && text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                size_t n = end ? (size_t)(end - text.data) : text.n;

                r = migrate_line(file, (Str){text.data, n});
                if (!r && end)
                        r = buf_append_str(&file->out, STR("\n"));
                text = (Str){text.data + n + !!end, text.n - n - !!end};
        }
        return error_trace(r);
}

static int migrate_file(Edit *edit, Migrate *migrate, Str project_id, Str run_id) {
        const char *path = place_run(edit->arena, project_id, run_id, "events.jsonl");
        MigrateFile file = {.arena = edit->arena, .of = migrate, .run_id = run_id};
        Str text, kept;
        int r = path ? edit_read(edit, path, MIGRATE_FILE_MAX, &text) : FILE_E_MISSING;

        if (r == FILE_E_MISSING)
                return 0;
        if (r > 0)
                return edit_fail(edit, CALL_E_COMPANY, "%s is over %d bytes", path, MIGRATE_FILE_MAX);
        if (!r)
                r = migrate_text(&file, text);
        if (!r) {
                migrate->n_scanned++;
                migrate->n_updated += file.n_changed > 0;
                migrate->n_rewritten += file.n_changed;
        }
        if (!r && file.n_changed && !migrate->args->dry_run) {
                kept = arena_str(edit->arena, buf_str(&file.out));
                r = kept.data ? edit_replace(edit, path, kept) : error_origin(-ENOMEM);
        }
        buf_deinit(&file.out);
        return error_trace(r);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int migrate_files(Edit *edit, Migrate *migrate) {
        StrList projects = {0}, runs = {0};
        int r = place_names(edit->arena, edit->root, PLACE_PROJECTS, NULL, &projects);

        for (size_t i = 0; !r && i < projects.n; i++) {
                r = place_names(edit->arena, edit->root,
                                place_project(edit->arena, projects.items[i], "runs"), NULL, &runs);
                for (size_t j = 0; !r && j < runs.n; j++)
                        r = migrate_file(edit, migrate, projects.items[i], runs.items[j]);
        }
        return r;
}

static void migrate_write_entry(Edit *edit, JsonWriter *w, const Migrate *migrate) {
        jw_begin_object(w);
        jw_field_cstr(w, "id", MIGRATE_ID);
        jw_field_str(w, "applied_at", edit_now(edit));
        jw_field_bool(w, "dry_run", false);
        jw_field_uint(w, "files_scanned", migrate->n_scanned);
        jw_field_uint(w, "files_updated", migrate->n_updated);
        jw_field_uint(w, "events_rewritten", migrate->n_rewritten);
        jw_field_uint(w, "parse_errors", migrate->n_broken);
        jw_end_object(w);
}

static void migrate_note(Edit *edit, const Migrate *migrate, const Json *state) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "workspace_migration_state");

        jw_key(w, "applied");
        jw_begin_array(w);
        json_each (entry, json_get(state, "applied"))
                if (!str_is(json_text_of(entry, "id"), MIGRATE_ID))
                        jw_value(w, entry);
        migrate_write_entry(edit, w, migrate);
        jw_end_array(w);
        draft_replace(edit, PLACE_MIGRATIONS, draft_end(&draft, edit->arena));
}

static bool migrate_is_noted(const Json *state) {
        json_each (entry, json_get(state, "applied"))
                if (str_is(json_text_of(entry, "id"), MIGRATE_ID))
                        return true;
        return false;
}

static int migrate_decide(Edit *edit, const Carry *carry) {
        Migrate *migrate = container_of(carry, Migrate, carry);
        const Json *state = draft_read(edit, PLACE_MIGRATIONS, &shape_migration_state);
        int r;

        *migrate = (Migrate){.args = migrate->args, .path = migrate->path};
        migrate->was_applied = migrate_is_noted(state) && !migrate->args->force;
        if (migrate->was_applied)
                return 0;
        r = migrate_files(edit, migrate);
        if (!r && !migrate->args->dry_run)
                migrate_note(edit, migrate, state);
        return r;
}

static void migrate_reply(Call *call, _unused_ Edit *edit, const Carry *carry) {
        const Migrate *migrate = container_of(carry, Migrate, carry);
        JsonWriter *w = call_result(call);

        jw_begin_object(w);
        jw_field_str(w, "workspace_dir", migrate->path);
        jw_field_cstr(w, "migration_id", MIGRATE_ID);
        jw_field_bool(w, "dry_run", migrate->args->dry_run);
        jw_field_bool(w, "forced", migrate->args->force);
        jw_field_bool(w, "already_applied", migrate->was_applied);
        jw_field_bool(w, "applied", !migrate->was_applied && !migrate->args->dry_run);
        jw_field_cstr(w, "state_relpath", PLACE_MIGRATIONS);
        jw_field_uint(w, "files_scanned", migrate->n_scanned);
        jw_field_uint(w, "files_updated", migrate->n_updated);
        jw_field_uint(w, "events_rewritten", migrate->n_rewritten);
        jw_field_uint(w, "parse_errors", migrate->n_broken);
        jw_end_object(w);
}

int op_agentcompany_workspace_migrate(Call *call, Workspace *workspace,
                                      const AgentcompanyWorkspaceMigrateArgs *args) {
        Migrate *migrate = arena_alloc(&call->arena, sizeof(*migrate));

        if (!migrate)
                return error_origin(-ENOMEM);
        *migrate = (Migrate){.args = args, .path = visit_path(call, args->workspace_dir)};
        return company_edit(call, workspace, migrate_decide, migrate_reply, &migrate->carry);
}
