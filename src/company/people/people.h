#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The people of a workspace: its agents and teams, as documents. Everything here reads files and runs on
 * workers; trees lie in the arena. Documents that do not have their shape are passed over.
 */
#include "company/edit.h"

/* An array of documents, by name. 0 or negative. */
int people_agents(int root, Arena *arena, Json **ret);
int people_teams(int root, Arena *arena, Json **ret);
/* Adds the documents of a new one to the edit. */
void people_make_team(Edit *edit, Str id, Str name);
typedef struct NewAgent {
        Str id, name, role, provider;
        Str title, model_hint, team_id; /* empty: none */
} NewAgent;
void people_make_agent(Edit *edit, const NewAgent *agent);
/* Sets one entry of a map in the settings of this machine. As decide() returns. */
int people_set_machine(Edit *edit, const char *map, Str key, Str value);
/* One of them; NULL: there is none, or not one that has its shape. */
const Json *people_agent(int root, Arena *arena, Str agent_id);
