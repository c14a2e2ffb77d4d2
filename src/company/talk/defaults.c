/* SPDX-License-Identifier: MIT */
/*
 * What every workspace and every project has by default: a manager and a secretary, and conversations whose
 * name, slug, visibility and participants are brought up to date each time. A file is written only when its
 * content differs.
 */
#include <ctype.h>
#include <errno.h>

#include "base/error.h"
#include "company/draft.h"
#include "company/people/people.h"
#include "company/place.h"
#include "company/talk/talk.h"
#include "gen/shapes.h"

/* ---- agents ---------------------------------------------------------------------------------- */

Str talk_secretary(Arena *arena, Str project_id) {
        return arena_printf(arena, "agent_secretary_" STR_FMT, STR_ARG(project_id));
}

static void talk_make_agent(Edit *edit, Str id, Str name, const char *title, const char *role) {
        const char *path = place_agent(edit->arena, id, "agent.yaml");

        if (!path || !edit_exists(edit, path))
                people_make_agent(edit, &(NewAgent){.id = id,
                                                    .name = name,
                                                    .title = str_from(title),
                                                    .model_hint = STR("codex"),
                                                    .role = str_from(role),
                                                    .provider = STR("codex")});
}

/* ---- participants ---------------------------------------------------------------------------- */

enum { TALK_MEMBERS_MAX = 10000 }; /* of one default conversation; the others are left out */

typedef struct Members {
        Arena *arena;
        StrList ids;
} Members;

static bool members_init(Members *members, Edit *edit, size_t n_agents) {
        *members = (Members){.arena = edit->arena};
        members->ids.items = arena_alloc(edit->arena, (n_agents + 8) * sizeof(Str));
        return members->ids.items || edit_try(edit, error_origin(-ENOMEM));
}

static void members_add(Members *members, Str id) {
        for (size_t i = 0; i < members->ids.n; i++)
                if (str_eq(members->ids.items[i], id))
                        return;
        if (members->ids.n < TALK_MEMBERS_MAX)
                members->ids.items[members->ids.n++] = id;
}

/* Who acts as the ceo, agents of that role, the manager; of a project its secretary. */
static void members_add_heads(Members *members, const Json *agents, Str ceo, Str project_id) {
        members_add(members, ceo);
        json_each (agent, agents)
                if (str_is(json_text_of(agent, "role"), "ceo"))
                        members_add(members, json_text_of(agent, "id"));
        members_add(members, STR(TALK_GLOBAL_MANAGER));
        if (project_id.n)
                members_add(members, talk_secretary(members->arena, project_id));
}

/* ---- conversations --------------------------------------------------------------------------- */

typedef struct Wanted {
        Str id, project_id, name, slug;
        const char *kind, *visibility;
        StrList agent_ids, team_ids;
} Wanted;

static Json *talk_wanted(Edit *edit, const Wanted *wanted, Str created_at, Str created_by) {
        Draft draft;
        JsonWriter *w = draft_begin(&draft, "conversation");

        jw_field_str(w, "id", wanted->id);
        jw_field_cstr(w, "scope", wanted->project_id.n ? "project" : "workspace");
        draft_optional(w, "project_id", wanted->project_id);
        jw_field_cstr(w, "kind", wanted->kind);
        jw_field_str(w, "name", wanted->name);
        jw_field_str(w, "slug", wanted->slug);
        jw_field_cstr(w, "visibility", wanted->visibility);
        jw_field_str(w, "created_at", created_at);
        jw_field_str(w, "created_by", created_by);
        jw_field_bool(w, "auto_generated", true);
        jw_key(w, "participants");
        jw_begin_object(w);
        draft_strings(w, "agent_ids", &wanted->agent_ids);
        draft_strings(w, "team_ids", &wanted->team_ids);
        jw_end_object(w);
        return draft_end(&draft, edit->arena);
}

static void talk_keep(Edit *edit, const Wanted *wanted) {
        bool is_home = str_is(wanted->slug, "home");
        const char *path = place_conversation(edit->arena, wanted->project_id, wanted->id, is_home,
                                              "conversation.yaml");
        const char *messages =
                place_conversation(edit->arena, wanted->project_id, wanted->id, is_home, "messages.jsonl");
        Json *old = draft_read(edit, path, &shape_conversation), *json;

        json = talk_wanted(edit, wanted, old ? json_text_of(old, "created_at") : edit_now(edit),
                           old ? json_text_of(old, "created_by") : STR(TALK_GLOBAL_MANAGER));
        if (!old || !json_equal(old, json))
                draft_replace(edit, path, json);
        if (messages && !edit_exists(edit, messages))
                draft_create_text(edit, messages, STR(""));
}

/* Letters and digits in lower case, all else as one dash between them. */
static Str talk_slug(Arena *arena, Str name) {
        char *text = arena_alloc(arena, name.n + 1);
        size_t n = 0;

        for (size_t i = 0; text && i < name.n; i++) {
                unsigned char c = (unsigned char)name.data[i];

                if (c < 0x80 && isalnum(c))
                        text[n++] = (char)tolower(c);
                else if (n && text[n - 1] != '-')
                        text[n++] = '-';
        }
        while (n && text[n - 1] == '-')
                n--;
        return n ? (Str){text, n} : STR("team");
}

static Str talk_project_conversation(Edit *edit, Str project_id, const char *what, Str of) {
        return arena_printf(edit->arena, "conv_" STR_FMT "_%s" STR_FMT, STR_ARG(project_id), what,
                            STR_ARG(of));
}

static bool talk_is_executive(const Json *agent) {
        Str role = json_text_of(agent, "role");

        return str_is(role, "director") || str_is(role, "manager");
}

static void talk_keep_meeting(Edit *edit, const Json *agents, Str project_id, Str ceo, Str id) {
        Members members;

        if (!members_init(&members, edit, json_count(agents)))
                return;
        members_add_heads(&members, agents, ceo, project_id);
        json_each (agent, agents)
                if (talk_is_executive(agent))
                        members_add(&members, json_text_of(agent, "id"));
        talk_keep(edit, &(Wanted){.id = id,
                                  .project_id = project_id,
                                  .name = STR("Executive Meeting"),
                                  .slug = STR("executive-meeting"),
                                  .kind = "channel",
                                  .visibility = "org",
                                  .agent_ids = members.ids});
}

static void talk_keep_team(Edit *edit, const Json *agents, const Json *team, Str project_id, Str ceo,
                           Str id) {
        Str team_id = json_text_of(team, "id"), name = json_text_of(team, "name");
        Members members;

        if (!members_init(&members, edit, json_count(agents)))
                return;
        members_add_heads(&members, agents, ceo, project_id);
        json_each (agent, agents)
                if (str_eq(json_text_of(agent, "team_id"), team_id))
                        members_add(&members, json_text_of(agent, "id"));
        talk_keep(edit, &(Wanted){.id = id,
                                  .project_id = project_id,
                                  .name = name,
                                  .slug = talk_slug(edit->arena, name),
                                  .kind = "channel",
                                  .visibility = "team",
                                  .agent_ids = members.ids,
                                  .team_ids = {.items = &team_id, .n = 1}});
}

static void talk_keep_home(Edit *edit, const Json *agents, Str project_id, Str ceo, Str id) {
        Members members;

        if (!members_init(&members, edit, json_count(agents)))
                return;
        members_add_heads(&members, agents, ceo, project_id);
        talk_keep(edit, &(Wanted){.id = id,
                                  .project_id = project_id,
                                  .name = project_id.n ? STR("Home") : STR("Workspace Home"),
                                  .slug = STR("home"),
                                  .kind = "home",
                                  .visibility = "org",
                                  .agent_ids = members.ids});
}

static void talk_project_defaults(Edit *edit, const Json *agents, Str project_id, Str ceo, StrList *ids) {
        Json *teams = NULL;

        if (!edit_try(edit, people_teams(edit->root, edit->arena, &teams)))
                return;
        ids->items = arena_alloc(edit->arena, (json_count(teams) + 2) * sizeof(Str));
        if (!ids->items) {
                (void)edit_try(edit, error_origin(-ENOMEM));
                return;
        }
        ids->items[ids->n++] = talk_project_conversation(edit, project_id, "home", STR_NULL);
        talk_keep_home(edit, agents, project_id, ceo, ids->items[0]);
        ids->items[ids->n++] = talk_project_conversation(edit, project_id, "executive_meeting", STR_NULL);
        talk_keep_meeting(edit, agents, project_id, ceo, ids->items[1]);
        json_each (team, teams) {
                Str id = talk_project_conversation(edit, project_id, "team_", json_text_of(team, "id"));

                ids->items[ids->n++] = id;
                talk_keep_team(edit, agents, team, project_id, ceo, id);
        }
}

void talk_defaults(Edit *edit, Str project_id, Str ceo, StrList *ret_ids) {
        StrList ids = {0};
        Json *agents = NULL;

        ceo = ceo.n ? ceo : STR(TALK_CEO);
        if (!edit_try(edit, people_agents(edit->root, edit->arena, &agents)))
                return;
        talk_make_agent(edit, STR(TALK_GLOBAL_MANAGER), STR("General Manager"), "Global Assistant",
                        "manager");
        talk_keep_home(edit, agents, STR_NULL, ceo, STR("conv_workspace_home"));
        if (project_id.n) {
                talk_make_agent(edit, talk_secretary(edit->arena, project_id),
                                arena_printf(edit->arena, "Project Secretary " STR_FMT, STR_ARG(project_id)),
                                "Executive Secretary", "worker");
                talk_project_defaults(edit, agents, project_id, ceo, &ids);
        }
        if (ret_ids)
                *ret_ids = ids;
}
