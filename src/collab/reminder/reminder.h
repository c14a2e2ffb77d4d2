#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Reminder: the notices that the daemon writes by itself while a group works: nudge, actor idle,
 * keepalive, silence, stand-up, help nudge.
 *
 * Each check knows when it is due next (pure functions below), so that nothing wakes up before. A pass looks
 * at the index of the ledger, reads the few lines that it needs, and writes all notices that are due in one
 * change, together with state/automation.json, where the next daemon finds what was said already. A group
 * that is not active, or has nobody running, has no timer. Owned by its group (GROUP_SLOT_REMINDER).
 */
#include "collab/parts.h"

enum {
        REMINDER_EVERY_MS = 1000,        /* passes are at least so far apart */
        REMINDER_FAILED_MS = 5000,       /* after one whose notices could not be kept */
        REMINDER_TAIL_CHARS = 6000,      /* of a terminal, in a notice */
        REMINDER_TAIL_BYTES = 64 << 10,  /* of its output that are looked at for that */
        REMINDER_NEXT_LINES = 32,        /* messages of one actor looked through for "Next:" in a pass */
        REMINDER_ACK_LINES = 32,         /* attention messages looked at per actor and pass */
        REMINDER_STANDUP_MAX = 64 << 10, /* bytes of CCCC_STANDUP.md */
};

typedef struct Reminder Reminder;
typedef struct ReminderActor ReminderActor;

/* What is remembered of an actor. Times in µs since 1970; 0: never. */
struct ReminderActor {
        ReminderActor *next;
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

struct Reminder {
        Group *group;
        Timer timer;
        bool is_loaded, is_busy, awaits_start; /* awaits_start: the foreman has changed */
        bool is_changed;                       /* since the file was written */
        int64_t resume_us, silence_us, standup_us;
        ReminderActor *actors;
};

extern const CollabPart reminder_part;

/* ---- when a check is due: µs since 1970, INT64_MAX: not before something happens ---- */
typedef struct NudgeFacts {
        int64_t event_us; /* of the oldest item; 0: there is none */
        bool is_same;     /* the last nudge was about it */
        int64_t last_us;  /* … and when it was */
} NudgeFacts;
int64_t reminder_nudge_due(const GroupSettings *settings, int64_t resume_us, const NudgeFacts *facts);
int64_t reminder_idle_due(const GroupSettings *settings, int64_t resume_us, int64_t own_us, int64_t last_us);
int64_t reminder_silence_due(const GroupSettings *settings, int64_t resume_us, int64_t newest_us,
                             int64_t last_us);
int64_t reminder_standup_due(const GroupSettings *settings, int64_t last_us, int64_t now_us);
int64_t reminder_keepalive_due(const GroupSettings *settings, int64_t resume_us, const ReminderActor *actor);
int64_t reminder_help_due(const GroupSettings *settings, const ReminderActor *actor);
/* The line that begins with "Next:" (any case); the first one. False: none. */
bool reminder_next_line(Str text, Str *ret);

/* ---- for the parts of reminder*.c ---- */
ReminderActor *reminder_actor(Reminder *self, Str id); /* made when missing; NULL without memory */
void reminder_kick(Reminder *self, int64_t after_ms);
void reminder_pass(Reminder *self);
void reminder_read_state(Reminder *self, const Json *json);
int reminder_write_state(const Reminder *self, int64_t now_us, Buf *out);
bool reminder_is_live(const Reminder *self);
void reminder_set(char **text, Str value); /* replaces; NULL without memory */
