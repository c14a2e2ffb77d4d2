#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * GroupDoc: group.yaml, as a tree that keeps what it does not know, plus a typed view of what the daemon
 * uses.
 *
 * Like every Document it is not changed once others can see it: group_change_doc() gives an editable clone.
 * The view (title … actors) is made from the tree by group_doc_view(); after an edit of the tree the view is
 * old until that is called again, which the commit does. All Str of the view lie in the document and are
 * NUL-terminated. Owned by its Group, or by the change that edits it; take a reference to keep it over
 * turns.
 */
#include "base/json/json-writer.h"
#include "core/document.h"
#include "core/call.h"
#include "core/config.h"

typedef enum GroupState { GROUP_ACTIVE, GROUP_IDLE, GROUP_PAUSED } GroupState;

typedef struct ScopeView {
        Str key, url, label, git_remote;
        Json *json;
} ScopeView;

typedef struct ActorView {
        Str id, title, default_scope_key;
        Str submit;  /* "enter", "newline", "none" */
        Str runner;  /* "pty", "headless" */
        Str runtime; /* "codex", … */
        Str created_at;
        int64_t created_us;           /* 0: no time */
        Str sandbox, sandbox_network; /* ours, not the contract's: as they stand there; empty: not said */
        bool is_enabled;
        const Json *command; /* list of strings, or NULL */
        const Json *env;     /* object, or NULL */
        Json *json;          /* the whole entry */
} ActorView;

typedef enum TranscriptVisibility {
        TRANSCRIPT_OFF,
        TRANSCRIPT_FOREMAN,
        TRANSCRIPT_ALL
} TranscriptVisibility;

/* In force: what is stored, else the default (collab/group/settings.h). Each is an int64_t: a number, a truth, or the
 * number of a word. */
typedef struct GroupSettings {
        int64_t is_broadcast; /* messaging.default_send_to */
        int64_t min_interval_s;
        int64_t nudge_after_s, actor_idle_timeout_s, keepalive_delay_s, keepalive_max_per_actor;
        int64_t silence_timeout_s, standup_interval_s, help_nudge_interval_s, help_nudge_min_messages;
        int64_t transcript_visibility; /* TRANSCRIPT_OFF … */
        int64_t transcript_notify_tail, transcript_notify_lines;
        int64_t ledger_max_active_bytes, ledger_keep_tail_lines, ledger_min_interval_s;
} GroupSettings;

typedef struct GroupDoc {
        unsigned n_refs;
        Document *document;
        Json *json; /* document->json */
        Str title, topic, created_at, updated_at;
        bool is_running; /* what is wanted; whether a session is alive is asked with group_is_running() */
        GroupState state;
        Str active_scope_key;
        Str sandbox, sandbox_network; /* of actors that do not say their own; as theirs */
        ScopeView *scopes;
        size_t n_scopes;
        ActorView *actors; /* in the order of the file: the first enabled one is the foreman */
        size_t n_actors;
        GroupSettings settings;
} GroupDoc;

/* Takes the document. NULL without memory (the document is dropped then). */
GroupDoc *group_doc_new(Document *document);
GroupDoc *group_doc_clone(const GroupDoc *source);
GroupDoc *group_doc_ref(GroupDoc *doc);
GroupDoc *group_doc_unref(GroupDoc *doc); /* NULL is fine; returns NULL */
int group_doc_view(GroupDoc *doc);        /* the view anew from the tree. 0 or -ENOMEM */
/* The tree of a group that does not exist yet. */
GroupDoc *group_doc_make(Str id, Str title, Str topic, Str now);

const ScopeView *group_doc_scope(const GroupDoc *doc, Str key); /* NULL: not attached */
const ActorView *group_doc_actor(const GroupDoc *doc, Str id);  /* NULL: none */

const char *group_state_name(GroupState state);
bool group_state_from(Str word, GroupState *ret); /* any case; false: no such state */

/* Edits of the tree, for an editable clone. 0 or -ENOMEM. */
int group_doc_set_str(GroupDoc *doc, const char *key, Str value);
int group_doc_set_bool(GroupDoc *doc, const char *key, bool value);
Json *group_doc_section(GroupDoc *doc, const char *key); /* messaging, delivery, …; made when missing */
Json *group_doc_list(GroupDoc *doc, const char *key);    /* scopes, actors; made when missing */
/* Removes the entry of a list whose member `member` is value; false: there was none. */
bool group_doc_list_remove(GroupDoc *doc, const char *key, const char *member, Str value);

/* Whether its IM bridge, a program of the original's, is enabled. */
bool group_doc_has_bridge(const GroupDoc *doc);
/* The document as clients may see it: without the secrets of section im and of the actors' environments. */
void group_doc_write_redacted(const GroupDoc *doc, const Config *config, JsonWriter *w);
/* A member of an actor's entry in the same way. */
void group_doc_write_member(const Config *config, const Json *member, JsonWriter *w);
/* The text of group.yaml, keys in the contract's order, updated_at = now. */
int group_doc_text(GroupDoc *doc, Str now, Buf *out);

/*
 * Permissions: who may do what in a group. Roles are derived at every use and never stored: the first
 * enabled actor in list order is the foreman, everybody else is a peer. Pure functions over the document.
 */

const ActorView *group_foreman(const GroupDoc *doc); /* NULL: nobody is */
bool group_is_foreman(const GroupDoc *doc, Str actor);
const char *group_role(const GroupDoc *doc, Str actor); /* "foreman", "peer" */

typedef enum GroupRole {
        ROLE_FOREMAN,         /* user and foreman */
        ROLE_FOREMAN_OR_SELF, /* and the actor that it is about */
        ROLE_SELF,            /* user and that actor */
        ROLE_USER,            /* the user only */
} GroupRole;

/*
 * 0 when `by` may do it, else call_fail(call, error, …). by: empty and "user" may everything, a name that is
 * no actor of the group nothing. target: the actor that it is about, for the rights of self. action: for the
 * message, as the contract names it ("group.update").
 */
int group_require(Call *call, const GroupDoc *doc, Str by, GroupRole right, Str target, const char *action,
                  int error);
