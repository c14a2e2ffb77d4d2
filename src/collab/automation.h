#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Automation: the notices that the daemon writes by itself while a group works: nudge, actor idle,
 * keepalive, silence, stand-up, help nudge.
 *
 * Each check knows when it is due next (pure functions below), so that nothing wakes up before. A pass looks
 * at the index of the ledger, reads the few lines that it needs, and writes all notices that are due in one
 * change, together with state/automation.json, where the next daemon finds what was said already. A group
 * that is not active, or has nobody running, has no timer. Owned by its group (GROUP_SLOT_AUTOMATION).
 */
#include "collab/parts.h"

enum {
        AUTOMATION_EVERY_MS = 1000,        /* passes are at least so far apart */
        AUTOMATION_FAILED_MS = 5000,       /* after one whose notices could not be kept */
        AUTOMATION_TAIL_CHARS = 6000,      /* of a terminal, in a notice */
        AUTOMATION_TAIL_BYTES = 64 << 10,  /* of its output that are looked at for that */
        AUTOMATION_NEXT_LINES = 32,        /* messages of one actor looked through for "Next:" in a pass */
        AUTOMATION_ACK_LINES = 32,         /* attention messages looked at per actor and pass */
        AUTOMATION_STANDUP_MAX = 64 << 10, /* bytes of CCCC_STANDUP.md */
};

typedef struct Automation Automation;
typedef struct AutoActor AutoActor;

/* What is remembered of an actor. Times in µs since 1970; 0: never. */
struct AutoActor {
        AutoActor *next;
        char *id;
        char *nudge_event_id;
        int64_t nudge_us, idle_us, keepalive_us, help_us;
        int64_t keepalive_count, help_count;
        char *keepalive_next; /* the line that keepalives were about */
        char *help_session;

        char *next_line; /* the latest "Next: …" of the actor's own, and when */
        int64_t next_us;
        uint64_t next_scanned; /* lines of the ledger up to here were looked through for it */
        uint64_t help_edge;    /* … and counted */
        uint64_t ack_from;     /* attention messages before this one are acknowledged */
};

struct Automation {
        Group *group;
        Timer timer;
        bool is_loaded, is_busy, awaits_start; /* awaits_start: the foreman has changed */
        int64_t resume_us, silence_us, standup_us;
        uint64_t n_known;
        AutoActor *actors;
};

extern const CollabPart automation_part;

/* ---- when a check is due: µs since 1970, INT64_MAX: not before something happens ---- */
typedef struct NudgeFacts {
        int64_t event_us; /* of the oldest item; 0: there is none */
        bool is_same;     /* the last nudge was about it */
        int64_t last_us;  /* … and when it was */
} NudgeFacts;
int64_t automation_nudge_due(const GroupSettings *settings, int64_t resume_us, const NudgeFacts *facts);
int64_t automation_idle_due(const GroupSettings *settings, int64_t resume_us, int64_t own_us,
                            int64_t last_us);
int64_t automation_silence_due(const GroupSettings *settings, int64_t resume_us, int64_t newest_us,
                               int64_t last_us);
int64_t automation_standup_due(const GroupSettings *settings, int64_t last_us, int64_t now_us);
int64_t automation_keepalive_due(const GroupSettings *settings, int64_t resume_us, const AutoActor *actor);
int64_t automation_help_due(const GroupSettings *settings, const AutoActor *actor);
/* The line that begins with "Next:" (any case); the first one. False: none. */
bool automation_next_line(Str text, Str *ret);

/* ---- for the parts of automation*.c ---- */
AutoActor *automation_actor(Automation *self, Str id); /* made when missing; NULL without memory */
void automation_kick(Automation *self, int64_t after_ms);
void automation_pass(Automation *self);
void automation_read_state(Automation *self, const Json *json);
int automation_write_state(const Automation *self, int64_t now_us, Buf *out);
bool automation_is_live(const Automation *self);
void automation_set(char **text, Str value); /* replaces; NULL without memory */
