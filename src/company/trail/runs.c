/* SPDX-License-Identifier: MIT */
#include "company/trail/runs.h"

#include <errno.h>

#include "base/error.h"
#include "company/event.h"
#include "company/place.h"
#include "core/document.h"
#include "core/shape.h"
#include "gen/shapes.h"

/* A document that is built member by member. */
typedef struct RunDoc {
        Arena *arena;
        Json *json;
        int r;
} RunDoc;

static RunDoc run_doc(Arena *arena, const char *type) {
        RunDoc doc = {.arena = arena, .json = json_new(arena, JSON_OBJECT)};

        doc.r = json_set(arena, doc.json, STR("schema_version"), json_new_int(arena, 1));
        doc.r = doc.r ? doc.r : json_set(arena, doc.json, STR("type"), json_new_str(arena, str_from(type)));
        return doc;
}

static void run_doc_put(RunDoc *doc, const char *key, Str text) {
        doc->r = doc->r ? doc->r
                        : json_set(doc->arena, doc->json, str_from(key), json_new_str(doc->arena, text));
}

static void run_doc_put_list(RunDoc *doc, const char *key) {
        doc->r = doc->r ? doc->r
                        : json_set(doc->arena, doc->json, str_from(key), json_new(doc->arena, JSON_ARRAY));
}

static void run_doc_create(Edit *edit, const RunDoc *doc, const char *path) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        if (edit_try(edit, doc->r) && edit_try(edit, path ? 0 : -ENOMEM) &&
            edit_try(edit, document_text(doc->json, DOCUMENT_YAML, STR_NULL, &text)))
                (void)edit_create(edit, path, buf_str(&text));
}

static void run_doc_put_members(RunDoc *doc, const Json *members) {
        json_each (member, members)
                doc->r = doc->r ? doc->r
                                : json_set(doc->arena, doc->json, json_key(member),
                                           json_clone(doc->arena, member));
        doc->json = doc->r ? doc->json : shape_ordered(doc->arena, &shape_run, doc->json);
        doc->r = doc->json ? doc->r : -ENOMEM;
}

static void run_make_document(Edit *edit, Str project_id, Str agent_id, Str provider, const Json *members,
                              const RunMade *made) {
        RunDoc doc = run_doc(edit->arena, "run");

        run_doc_put(&doc, "id", made->run_id);
        run_doc_put(&doc, "project_id", project_id);
        run_doc_put(&doc, "agent_id", agent_id);
        run_doc_put(&doc, "provider", provider);
        run_doc_put(&doc, "created_at", edit_now(edit));
        run_doc_put(&doc, "status", STR("running"));
        run_doc_put(&doc, "context_pack_id", made->context_pack_id);
        run_doc_put(&doc, "events_relpath", place_run_of_project(edit->arena, made->run_id, "events.jsonl"));
        if (members)
                run_doc_put_members(&doc, members);
        run_doc_create(edit, &doc, place_run(edit->arena, project_id, made->run_id, "run.yaml"));
}

static void run_make_folder(Edit *edit, const char *path) {
        if (edit_try(edit, path ? 0 : -ENOMEM))
                (void)edit_mkdir(edit, path);
}

static void run_make_pack(Edit *edit, Str project_id, Str agent_id, const RunMade *made) {
        Str pack = made->context_pack_id;
        RunDoc manifest = run_doc(edit->arena, "context_pack_manifest"),
               policy = run_doc(edit->arena, "policy_snapshot");

        run_doc_put(&manifest, "id", made->context_pack_id);
        run_doc_put(&manifest, "created_at", edit_now(edit));
        run_doc_put(&manifest, "run_id", made->run_id);
        run_doc_put(&manifest, "project_id", project_id);
        run_doc_put(&manifest, "agent_id", agent_id);
        run_doc_put_list(&manifest, "included_docs");
        run_doc_put_list(&manifest, "tool_allowlist");
        run_doc_put(&policy, "id", edit_id(edit, "art"));
        run_doc_put(&policy, "created_at", edit_now(edit));
        run_doc_put(&policy, "run_id", made->run_id);
        run_doc_put_list(&policy, "tool_allowlist");
        run_doc_create(edit, &manifest, place_context_pack(edit->arena, project_id, pack, "manifest.yaml"));
        run_doc_create(edit, &policy,
                       place_context_pack(edit->arena, project_id, pack, "policy_snapshot.yaml"));
        run_make_folder(edit, place_context_pack(edit->arena, project_id, pack, "bundle"));
}

bool run_make(Edit *edit, Str project_id, Str agent_id, Str provider, RunMade *ret) {
        return run_make_of(edit, project_id, agent_id, provider, NULL, ret);
}

bool run_make_of(Edit *edit, Str project_id, Str agent_id, Str provider, const Json *members, RunMade *ret) {
        EventOf of = {.project_id = project_id};

        if (!id_is_path_safe(project_id))
                return false;
        *ret = (RunMade){.run_id = edit_id(edit, "run"), .context_pack_id = edit_id(edit, "ctx")};
        of.run_id = ret->run_id;
        run_make_document(edit, project_id, agent_id, provider, members, ret);
        run_make_pack(edit, project_id, agent_id, ret);
        run_make_folder(edit, place_run(edit->arena, project_id, ret->run_id, "outputs"));
        event_run_started(edit, &of, agent_id, provider, ret->context_pack_id);
        return !edit->r;
}

int run_each(int root, Arena *arena, Str project_id, RunSeeFn see, void *user) {
        _cleanup_(arena_deinit) Arena own = ARENA_NULL;
        const char *folder = place_project(arena, project_id, "runs");
        StrList names = {0};
        int r = folder ? place_names(arena, root, folder, NULL, &names) : 0;

        for (size_t i = 0; r == 0 && i < names.n; i++) {
                const char *path;
                Json *run;

                arena_reset(&own);
                path = place_run(&own, project_id, names.items[i], "run.yaml");
                if (path && document_load(&own, root, path, DOCUMENT_YAML, &run, NULL, NULL) == 0 &&
                    shape_fits(&shape_run, run))
                        r = see(user, project_id, run);
        }
        return error_trace(r);
}
