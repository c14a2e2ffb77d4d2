#pragma once
/* SPDX-License-Identifier: MIT */
/* What limits.c (rows, facts), limits-source.c (screens), limits-event.c (output), limits-resume.c (who goes on) and limits-keep.c (the file) share. */
#include "core/limits/limits.h"

#define LIMIT_TEXT_EVENT "limit text" /* of the fact that a sentence on a screen becomes */

typedef struct LimitResume {
        char *name;
        int64_t at_us;
} LimitResume;

typedef struct LimitKept { /* in the call's arena */
        struct LimitKept *next;
        Call *call;
        uint64_t number;
        CallThenFn fn;
        const Carry *carry;
} LimitKept;

struct Limits {
        Daemon *daemon;
        bool is_on;
        char *folder, *path;
        LimitTexts texts;
        Zone zone; /* of this machine */
        LimitRow *rows;
        size_t n_rows;
        LimitAgent *agents;
        LimitResume *resumes; /* of a day, the oldest first */
        size_t n_resumes, n_resumes_room;
        Timer look;
        bool is_pumping;
        LimitTotals totals;
        void (*released)(Daemon *daemon);

        uint64_t wanted, writing, kept; /* numbers of changes */
        bool is_writing;
        int r; /* of the worker */
        Buf text;
        LimitKept *waits;
        size_t n_waits;
};

typedef struct LimitSeen {
        Str account;
        Limit limit;
} LimitSeen;

/* limits.c */
int64_t limits_now_us(const Limits *self);
void limits_see(Limits *self, const LimitSeen *seen);
LimitAgent *limits_find(const Limits *self, const char *process);
Hosted *limit_agent_hosted(const LimitAgent *agent); /* NULL: it does not run */
void limit_agent_stop(LimitAgent *agent);  /* a limit has stopped it; its account is known, or sought */
void limit_agent_known(LimitAgent *agent); /* its account is known now */
void limits_tell(Limits *self, Str owner, const char *kind, const LimitAgent *agent, const LimitRow *row);
void limits_drop(Limits *self, LimitAgent *agent);

/* limits-source.c */
void limit_agent_seek(LimitAgent *agent);  /* its account */
void limit_agent_look(LimitAgent *agent);  /* at its screen */
void limit_agent_ended(LimitAgent *agent); /* without a terminal: what it printed last */

/* limits-event.c */
void limit_agent_listen(LimitAgent *agent); /* to what it prints */

/* limits-resume.c */
bool limits_read_hours(const char *text, unsigned *ret_from,
                       unsigned *ret_to); /* "22:00-07:00", in minutes; false: it is something else */
void limits_pump(Limits *self);
void limits_on_look(Timer *timer);
void limits_on_kept(Limits *self, int r); /* changes up to self->kept, or none */
void limit_agent_leave(LimitAgent *agent, const char *why);
void limit_agent_went_on(LimitAgent *agent, const char *why);
void limit_agent_resume(LimitAgent *agent);

/* limits-keep.c */
int limits_load(Limits *self);
uint64_t limits_keep(Limits *self); /* the number of the change */
int limits_keep_call(Limits *self, Call *call, CallThenFn fn, const Carry *carry);
