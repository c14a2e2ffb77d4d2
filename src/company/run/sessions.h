#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Session records: what is kept of sessions in .local/sessions, and what it means by now. A record says "running" until
 * somebody who knows better writes it: who finds its process gone does so here. Worker side.
 */
#include "company/edit.h"

typedef struct SessionRecord {
        const Json *json; /* fits its shape */
        const char *path;
        Str status;      /* as it is now, which may not stand there yet */
        Str error;       /* empty: none */
        bool is_dead;    /* it says "running", and its process is gone: session_bury() */
        bool is_stopped; /* somebody has asked for its end */
        bool is_live;    /* a Run of this daemon has it */
        uint64_t visit;  /* of that: the connection that launched it; 0: none */
        pid_t pid;       /* of a program that is alive and not ours; 0: none */
        int64_t claimed_ms;
        int64_t started_ms;
} SessionRecord;
enum { SESSION_CLAIM_MS = 30 * 60 * 1000 }; /* a pid that was claimed longer ago is not signalled */

typedef struct SessionFilter {
        Str project_id, run_id, status; /* empty: any */
} SessionFilter;
typedef struct SessionList {
        SessionRecord *records; /* newest first, in the arena */
        size_t n;
} SessionList;
/* All that fit the filter; files that are no records are passed over. */
int sessions_read(Workspace *workspace, Arena *arena, const SessionFilter *filter, SessionList *ret);
/* One by its reference. False: there is none, or it is no record. */
bool session_read(Workspace *workspace, Arena *arena, Str session_ref, SessionRecord *ret);
/* One whose record is known: name, of its file without the ending, and JSON. False: it is no record. */
bool session_of_text(Workspace *workspace, Arena *arena, Str name, Str text, SessionRecord *ret);
bool session_fits(const SessionRecord *record, const SessionFilter *filter);
void sessions_sort(SessionList *list); /* newest first */
/* One that lives in this daemon and was launched by another connection says so in its error. */
void session_judge(SessionRecord *record, uint64_t visit);
/* Writes record, run and event of one that is_dead, as a part of the edit. */
void session_bury(Edit *edit, const SessionRecord *record);
/* The same list, and those of it whose process is gone are buried, all in one change. In the edit's arena. */
int sessions_settle(Edit *edit, const SessionFilter *filter, SessionList **ret);
/* The members of a poll, or of a list. Not the braces. */
void session_write(JsonWriter *w, const SessionRecord *record, bool is_list);
void sessions_write(JsonWriter *w, const SessionList *list); /* the array of session.list */
