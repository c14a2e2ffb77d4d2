#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Post: one message on its way into a group, from send, reply or send_cross_group.
 *
 * The steps, in the order of the contract's checks; each can be run again, since a step that needs a worker
 * or an edit comes back through post_run() with a group that is fresh then:
 *
 *   known     a message with the same key is there, or on its way: that one is the answer
 *   readers   somebody has to be left who reads it
 *   prepare   on a worker: the scope of a path, the sizes of attachments, the folder for long texts
 *   wake      an idle group becomes active when somebody from outside writes
 *   keep      event, long text and wake-up in one change
 *
 * Lives in the arena of its call.
 */
#include "collab/group/group-change.h"
#include "core/op.h"

typedef struct PostFile { /* an attachment that was checked */
        Str kind, path, title, mime_type, sha256;
        int64_t n_bytes;
} PostFile;

typedef struct PostPrepared { /* what the worker found */
        bool is_done;
        Str scope_key;
        PostFile *files;
        size_t n_files;
        const char *file_fault; /* what is wrong with the attachments; NULL: nothing */
        Str text_sha256;
} PostPrepared;

typedef struct Post Post;
struct Post {
        Carry carry;
        Str group_id, by, text;
        bool is_attention;
        StrList to;              /* resolved */
        Str path;                /* empty: the active scope */
        const Json *attachments; /* as given, or NULL */
        Str reply_to, quote;     /* quote.data NULL: none */
        Str src_group_id, src_event_id;
        Str dst_group_id;
        const StrList *dst_to; /* NULL: none */
        Str client_id;         /* empty: none */
        GroupReplyFn reply;    /* NULL: {"event": …}; change->carry is that of the Post */
        /* Instead of a reply, when it is kept: goes on with the call by itself. */
        void (*kept)(Call *call, GroupChange *change);
        /* What else is kept with it; the last event of the change is the message. NULL: nothing. */
        void (*more)(GroupChange *change, const Post *post);
        Call *call; /* for kept() and the worker */
        PostPrepared prepared;
};

/* priority is one of the contract's words: 0, else the call has failed with invalid_priority. */
int post_check_priority(Call *call, Str priority);
/* Tokens into post->to: 0, invalid_recipient, or negative. */
int post_resolve(Call *call, const Group *group, const StrList *tokens, StrList *ret);
/* post->to is set (except that a known key makes it unimportant). Returns what a handler returns. */
int post_run(Call *call, Group *group, Post *post);
/* 0, no_enabled_recipients, or negative. */
int post_require_reader(Call *call, const Group *group, const Post *post);

/* Worker's part and what starts it: then goes on with again. */
bool post_has_attachments(const Json *attachments); /* something was given, be it wrong */
bool post_is_blob_path(Str path);                   /* below state/blobs/, and no way out of it */
bool post_has_files(const Json *attachments); /* something to look at: also what is no list, and refused */
int post_prepare(Call *call, Group *group, Post *post, GroupFn again);
