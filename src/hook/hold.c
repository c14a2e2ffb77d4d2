/* SPDX-License-Identifier: MIT */
/*
 * A permission that a person decides on: waits until it is decided, then says that it has the decision, and prints it only when the
 * daemon has kept that. What the daemon had kept already counts: it knows this run by its id.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "hook/hook.h"

enum { HOLD_ID_MAX = 64 };

bool hook_may_wait(void) {
        const char *word = getenv("MUSTER_APPROVALS");

        return !word || strcmp(word, "off") != 0;
}

const char *hook_run_id(void) {
        static char id[HOLD_ID_MAX];
        struct timespec now;

        if (!*id) {
                clock_gettime(CLOCK_REALTIME, &now);
                snprintf(id, sizeof(id), "%d-%lld-%ld", (int)getpid(), (long long)now.tv_sec, now.tv_nsec);
        }
        return id;
}

static bool hold_read_id(const HookText *reply, char id[HOLD_ID_MAX]) {
        const char *at = hook_look_for(reply, HOOK_HELD), *end;

        if (!at)
                return false;
        at += sizeof(HOOK_HELD) - 1;
        end = memchr(at, '"', (size_t)(reply->data + reply->n - at));
        if (!end || end == at || end - at >= HOLD_ID_MAX)
                return false;
        memcpy(id, at, (size_t)(end - at));
        id[end - at] = '\0';
        return true;
}

static bool hold_call(int fd, const char *words, HookText *reply, long patience_ms) {
        HookText request = {.data = (char *)words, .n = strlen(words)};
        long until_ms = hook_until_ms(patience_ms);

        reply->n = 0;
        return hook_send(fd, &request, until_ms) && hook_receive(fd, reply, until_ms);
}

HookEnd hook_hold(int fd, HookText *reply) {
        char id[HOLD_ID_MAX], words[HOLD_ID_MAX * 4];
        HookText told = {0};
        HookEnd end = HOOK_DONE;

        if (!hold_read_id(reply, id))
                return HOOK_FAILED;
        snprintf(words, sizeof(words),
                 "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"agent.hold\",\"params\":{\"approval\":\"%s\"}}"
                 "\n",
                 id);
        if (!hold_call(fd, words, reply, HOOK_HOLD_MS))
                return HOOK_LOST;
        if (!hook_look_for(reply, HOOK_ANSWER))
                return HOOK_FAILED; /* released: its program asks by itself */
        snprintf(words, sizeof(words),
                 "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"agent.took\",\"params\":{\"approval\":\"%s\","
                 "\"hook\":\"%s\"}}\n",
                 id, hook_run_id());
        if (!hold_call(fd, words, &told, HOOK_TOLD_MS))
                end = HOOK_LOST;
        else if (!hook_look_for(&told, "\"took\":true"))
                end = HOOK_FAILED;
        free(told.data);
        return end;
}
