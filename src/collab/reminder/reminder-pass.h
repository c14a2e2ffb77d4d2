#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Pass: one look at a group, for reminder-*.c alone. Which lines are needed (index only), the lines and
 * the text of the stand-up, then what is due and how it is said. Lives from reminder_pass() until its
 * notices are kept.
 */
#include "collab/reminder/reminder.h"
#include "collab/collab.h"

typedef struct Pass Pass;

typedef enum WantKind { WANT_UNREAD, WANT_ACK, WANT_NEXT } WantKind;

typedef struct Want { /* a line, and for whom it is needed */
        WantKind kind;
        ReminderActor *actor;
        uint64_t position;
} Want;

typedef struct Notice {
        Str target, title, message;
        const char *kind;
} Notice;

typedef struct Oldest { /* of one actor, found in the lines */
        ReminderActor *actor;
        Str unread_id, ack_id;
        int64_t unread_us, ack_us;
} Oldest;

struct Pass {
        Carry carry;
        Reminder *self;
        Group *group;
        int64_t now_us, next_us;
        Want *wants;
        uint64_t *positions;
        size_t n, cap;
        LedgerRead read;
        char *standup_path; /* NULL: no stand-up is due */
        Buf standup;
        Arena arena;
        Oldest *oldest;
        size_t n_oldest;
        Notice *notices;
        size_t n_notices, notices_max;
};

bool reminder_is_working(const Group *group, const ActorView *actor);
LedgerTag reminder_tag(const Group *group, const char *prefix, Str value);

/* reminder-lines.c */
void reminder_collect(Pass *pass);  /* which lines are needed */
int reminder_see_lines(Pass *pass); /* what they say */
Oldest *reminder_oldest(Pass *pass, ReminderActor *actor);

/* reminder-checks.c */
int64_t reminder_standup_at(const Pass *pass, const ActorView *foreman);
void reminder_check(Pass *pass); /* makes the notices that are due, and says when the next one is */
