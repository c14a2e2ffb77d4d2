#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Pass: one look at a group, for automation-*.c alone. Which lines are needed (index only), the lines and
 * the text of the stand-up, then what is due and how it is said. Lives from automation_pass() until its
 * notices are kept.
 */
#include "collab/automation.h"
#include "collab/collab.h"

typedef struct Pass Pass;

typedef enum WantKind { WANT_UNREAD, WANT_ACK, WANT_NEXT } WantKind;

typedef struct Want { /* a line, and for whom it is needed */
        WantKind kind;
        AutoActor *actor;
        uint64_t position;
} Want;

typedef struct Notice {
        Str target, title, message;
        const char *kind;
} Notice;

typedef struct Oldest { /* of one actor, found in the lines */
        AutoActor *actor;
        Str unread_id, ack_id;
        int64_t unread_us, ack_us;
} Oldest;

struct Pass {
        Automation *self;
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

bool automation_is_working(const Group *group, const ActorView *actor);
LedgerTag automation_tag(const Group *group, const char *prefix, Str value);

/* automation-lines.c */
void automation_collect(Pass *pass);  /* which lines are needed */
int automation_see_lines(Pass *pass); /* what they say */
Oldest *automation_oldest(Pass *pass, AutoActor *actor);

/* automation-checks.c */
int64_t automation_standup_at(const Pass *pass, const ActorView *foreman);
void automation_check(Pass *pass); /* makes the notices that are due, and says when the next one is */
