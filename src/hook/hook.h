#pragma once
/* SPDX-License-Identifier: MIT */
/* What the two parts of muster-hook share: main.c (one exchange with the daemon), hold.c (a question that a person answers). */
#include <stdbool.h>
#include <stddef.h>

#define HOOK_ANSWER "\"answer\":{"
#define HOOK_HELD   "\"held\":\""

enum {
        HOOK_REPLY_MAX = 1 << 20, /* of an answer; a longer one is none */
        HOOK_CHUNK = 64 << 10,
        HOOK_AWAY_MS =
                10000, /* that a daemon may be away while a question is open; then its program asks by itself */
        HOOK_AGAIN_MS = 50,    /* between two looks for it */
        HOOK_HOLD_MS = 600000, /* longer than any daemon holds a hook, and the agent program waits for it */
        HOOK_TOLD_MS = 10000,  /* for the daemon to keep that the answer has arrived */
};

typedef struct HookText {
        char *data;
        size_t n, n_room;
} HookText;

typedef enum HookEnd {
        HOOK_DONE,   /* reply is what to go on with */
        HOOK_FAILED, /* nothing is to be printed */
        HOOK_LOST,   /* the daemon went while a question was open */
} HookEnd;

/* main.c */
long hook_now_ms(void);
long hook_until_ms(long patience_ms);
bool hook_put(HookText *text, const char *bytes, size_t n);
int hook_connect(const char *path);
bool hook_send(int fd, const HookText *request, long until_ms);
bool hook_receive(int fd, HookText *reply, long until_ms);
const char *hook_look_for(const HookText *text, const char *word);

/* hold.c */
const char *hook_run_id(void); /* which run of this program it is, for all its connections */
HookEnd hook_hold(int fd,
                  HookText *reply); /* waits for what the reply tells it to; reply is the decision then */
bool hook_may_wait(void); /* MUSTER_APPROVALS=off in the environment of the agent says that it may not */
