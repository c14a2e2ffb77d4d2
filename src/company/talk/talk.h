#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Talk: comments on runs, artifacts and agents; conversations and their messages; and the agents and
 * conversations that every workspace and project has by default. Everything runs on workers; trees lie in
 * the arena. What does not have its shape is passed over.
 */
#include "company/edit.h"
#include "company/workspace.h"

typedef struct TalkTarget {
        Str project_id;
        Str agent_id, artifact_id, run_id; /* empty: any */
} TalkTarget;

/* Writes an array of comments, newest first, at most limit, in the turn of a call (index/turn.h): by the index, and
 * where there is none, or none that can be used, by the files. */
int talk_write_comments(Reading *reading, JsonWriter *w, const TalkTarget *target, int64_t limit);

/* A comment that is added to the edit, with the event of the run that it is about. The document into *ret. As decide()
 * returns. */
typedef struct TalkComment {
        Str author_id, author_role, visibility, body;
        TalkTarget target; /* one of its three ids at least */
} TalkComment;
int talk_add_comment(Edit *edit, const TalkComment *given, const Json **ret);

/* Of a project, or with an empty id of the workspace; home first, then the executives, channels, dms, by name. */
int talk_conversations(int root, Arena *arena, Str project_id, Json **ret);
/* One of them with the path of its folder; NULL: there is none. */
Json *talk_conversation(int root, Arena *arena, Str project_id, Str conversation_id,
                        const char **ret_folder);
/* The last messages, oldest first. */
int talk_messages(int root, Arena *arena, const char *folder, size_t limit, Json **ret);

#define TALK_GLOBAL_MANAGER "agent_global_manager"
#define TALK_CEO            "human_ceo"

/* What the workspace has by default, and with a project_id that project: made where it is missing, brought up to
 * date where it differs. ceo: empty is TALK_CEO. conversation_ids of the project into *ret_ids (may be NULL). */
void talk_defaults(Edit *edit, Str project_id, Str ceo, StrList *ret_ids);
Str talk_secretary(Arena *arena, Str project_id);
