#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Trust: which content of a file was accepted, for files that decide what runs outside of sandboxes and that
 * an agent in one may have written, such as .aiwg/daemon.json in its workspace.
 *
 * Two things are kept in <home>/trust, where no sandbox can write: the folders that sandboxed processes
 * could write to (a number says since when: it grows with each such start), and for each file the content in
 * use, with the number up to which it is known that no agent has changed it. A file is exposed when a folder
 * that it lies in has a greater number than the file. What an exposed file says now counts only if it is the
 * accepted content; all else is held until a person accepts it. Once no sandbox is there and the content is
 * still the accepted one, the file is not exposed any more. Others keep what must be out of the reach of
 * sandboxes in the same folder (trust_place()).
 *
 * Numbers, not times: a clock can be set back. Owned by the Daemon; its functions are for the loop, but for
 * trust_note_write().
 */
#include <stdint.h>

#include "base/buf.h"

typedef struct Daemon Daemon;
typedef struct Trust Trust;

enum { _TRUST_E_SUCCESS, TRUST_E_HELD, TRUST_E_NONE };

enum { TRUST_FOLDERS_MAX = 4096 }; /* the one that was used longest ago is forgotten */

/* Something to be written down: made on the loop, written by a worker. */
typedef struct TrustNote {
        char *path; /* NULL: nothing is to be written */
        Buf text;
} TrustNote;

#define TRUST_NOTE_NULL ((TrustNote){0})

int trust_note_write(const TrustNote *note); /* durable */
void trust_note_deinit(TrustNote *note);

/* Before a file is read; what is found out then holds up to here. */
typedef struct TrustMoment {
        uint64_t number;
        bool is_quiet; /* nothing sandboxed runs */
} TrustMoment;

int trust_open(Trust **ret, Daemon *daemon); /* reads what earlier daemons have left */
Trust *trust_free(Trust *trust);
/* A sandboxed process is about to be able to write in this folder: the note has to be written before it can.
 */
int trust_expose(Trust *trust, const char *folder, TrustNote *ret);
TrustMoment trust_moment(const Trust *trust);
/* Whether the file, by either of its names (real: without links; may be NULL), may say this. content.data is
 * NULL: it is not there. Condition: TRUST_E_HELD. */
int trust_judge(const Trust *trust, const char *path, const char *real, Str content);
/* This is the content in use: because nobody else could have written it, because it was accepted before, or
 * because a person says so. The note may be empty. */
int trust_accept(Trust *trust, const char *path, const char *real, TrustMoment moment, Str content,
                 TrustNote *ret);
/* Whether a look at the file could end its exposure: it is exposed, and nothing sandboxed runs. */
bool trust_wants_look(const Trust *trust, const char *path);
/* Whether a sandboxed process could ever write there. */
bool trust_was_open(const Trust *trust, const char *path, const char *real);
/* Where something else about a path is kept, out of the reach of sandboxes. Malloc'd; on any thread. */
char *trust_place(const Trust *trust, const char *prefix, const char *path);
/* The accepted content, from the disk. Condition: TRUST_E_NONE. */
int trust_read(const Trust *trust, const char *path, Buf *out);
