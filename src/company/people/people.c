/* SPDX-License-Identifier: MIT */
#include "company/people/people.h"

#include <errno.h>
#include <stdlib.h>

#include "base/collate.h"
#include "base/error.h"
#include "company/draft.h"
#include "company/place.h"
#include "core/document.h"
#include "gen/shapes.h"

typedef const char *(*PeoplePlaceFn)(Arena *arena, Str id, const char *name);

/* *ret is NULL for what is missing or not what it should be. */
static int people_load(int root, Arena *arena, const char *path, const Shape *shape, Json **ret) {
        Json *json = NULL;
        int r = path ? document_load(arena, root, path, DOCUMENT_YAML, &json, NULL, NULL)
                     : DOCUMENT_E_MISSING;

        *ret = NULL;
        if (r < 0)
                return error_trace(r);
        if (!r && shape_fits(shape, json))
                *ret = json;
        return 0;
}

static int people_compare(const void *a, const void *b) {
        const Json *x = *(Json *const *)a, *y = *(Json *const *)b;
        Str id_x = json_text_of(x, "id"), id_y = json_text_of(y, "id");
        int order = text_compare(json_text_of(x, "name"), json_text_of(y, "name"));

        if (!order)
                order = memcmp(id_x.data, id_y.data, MIN(id_x.n, id_y.n));
        return order ? order : (id_x.n > id_y.n) - (id_x.n < id_y.n);
}

/* The list that these are, by name. */
static int people_sorted(Arena *arena, Json **items, size_t n, Json **ret) {
        Json *list = json_new(arena, JSON_ARRAY);

        if (n)
                qsort(items, n, sizeof(*items), people_compare);
        for (size_t i = 0; i < n; i++)
                if (!list || json_push(list, items[i]))
                        return error_origin(-ENOMEM);
        *ret = list;
        return list ? 0 : error_origin(-ENOMEM);
}

static int people_list(int root, Arena *arena, const char *folder, PeoplePlaceFn place, const char *name,
                       const Shape *shape, Json **ret) {
        StrList ids;
        Json **items;
        size_t n = 0;
        int r = place_names(arena, root, folder, NULL, &ids);

        items = r ? NULL : arena_alloc(arena, ids.n * sizeof(Json *));
        if (!r && !items)
                r = error_origin(-ENOMEM);
        for (size_t i = 0; !r && i < ids.n; i++) {
                r = people_load(root, arena, place(arena, ids.items[i], name), shape, &items[n]);
                n += !r && items[n];
        }
        return r ? error_trace(r) : people_sorted(arena, items, n, ret);
}

int people_agents(int root, Arena *arena, Json **ret) {
        return people_list(root, arena, PLACE_AGENTS, place_agent, "agent.yaml", &shape_agent, ret);
}

int people_teams(int root, Arena *arena, Json **ret) {
        return people_list(root, arena, PLACE_TEAMS, place_team, "team.yaml", &shape_team, ret);
}

const Json *people_agent(int root, Arena *arena, Str agent_id) {
        Json *agent = NULL;

        (void)people_load(root, arena, place_agent(arena, agent_id, "agent.yaml"), &shape_agent, &agent);
        return agent;
}

/* ---- new ones -------------------------------------------------------------------------------- */

void people_make_team(Edit *edit, Str id, Str name) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "team");

        jw_field_str(w, "id", id);
        jw_field_str(w, "name", name);
        jw_field_str(w, "created_at", edit_now(edit));
        draft_create(edit, place_team(edit->arena, id, "team.yaml"), draft_end(&draft, edit->arena));
        draft_create_text(edit, place_team(edit->arena, id, "memory.md"),
                          STR("# Team Memory (Curated)\n\n## Principles\n\n## Decisions\n\n## Links\n"));
}

void people_make_agent(Edit *edit, const NewAgent *agent) {
        const char *journal = place_agent(edit->arena, agent->id, "journal.md");
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "agent");

        jw_field_str(w, "id", agent->id);
        jw_field_str(w, "name", agent->name);
        draft_optional(w, "display_title", agent->title);
        draft_optional(w, "model_hint", agent->model_hint);
        jw_field_str(w, "role", agent->role);
        jw_field_str(w, "provider", agent->provider);
        draft_optional(w, "team_id", agent->team_id);
        jw_field_str(w, "created_at", edit_now(edit));
        jw_key(w, "launcher");
        jw_begin_object(w);
        jw_end_object(w);
        draft_create(edit, place_agent(edit->arena, agent->id, "agent.yaml"),
                     draft_end(&draft, edit->arena));
        if (journal && !edit_exists(edit, journal))
                draft_create_text(edit, journal,
                                  arena_printf(edit->arena,
                                               "# Agent Journal (Append-only)\n\n- created_at: " STR_FMT
                                               "\n- agent_id: " STR_FMT "\n\n## Entries\n",
                                               STR_ARG(edit_now(edit)), STR_ARG(agent->id)));
}

int people_set_machine(Edit *edit, const char *map, Str key, Str value) {
        Json *machine = draft_read(edit, PLACE_MACHINE, &shape_machine), *entries;
        int r;

        if (!machine)
                return edit_fail(edit, CALL_E_COMPANY, "%s is missing or cannot be read", PLACE_MACHINE);
        machine = json_clone(edit->arena, machine);
        entries = json_get(machine, map);
        r = entries ? json_set(edit->arena, entries, key, json_new_str(edit->arena, value))
                    : error_origin(-ENOMEM);
        draft_replace(edit, PLACE_MACHINE, machine);
        return error_trace(r);
}
