#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Router: what happened in a project (a file changed, a time has come, a task ended), in order, offered to
 * the rules; the last ROUTER_HISTORY events; and the letters: actions that failed.
 *
 * A letter is tried again after 1, 2 and 4 seconds, then it is dead and kept for people to see. Bounds:
 *
 *   ROUTER_QUEUE    events that wait to be offered   more are dropped and counted
 *   ROUTER_HISTORY  events that are remembered       the oldest is forgotten
 *   ROUTER_LETTERS  letters that wait                one more is dead at once
 *   ROUTER_LETTERS  dead letters                     the oldest is forgotten
 *
 * It knows no rule and no action. Owned by its Automation.
 */
#include "base/buf.h"
#include "base/json/json-writer.h"
#include "base/loop/loop.h"

enum {
        ROUTER_QUEUE = 4096,
        ROUTER_HISTORY = 1000,
        ROUTER_LETTERS = 100,
        ROUTER_RETRIES = 3,
        ROUTER_TURN = 32, /* events offered per turn of the loop */
        ROUTER_ERROR_MAX = 160,
};

typedef struct Event {
        unsigned n_refs;
        uint64_t number; /* counts up from 1 */
        int64_t wall_us;
        Str source, type, text; /* text: {"source":…,"type":…,"payload":…}; the others point behind it */
} Event;

typedef struct Letter Letter;
struct Letter {
        Letter *next;
        struct Router *router;
        Timer timer;
        Event *event;
        unsigned n_attempts;
        uint64_t tag;    /* for whoever tries it again */
        int64_t wall_us; /* of the last one */
        char error[ROUTER_ERROR_MAX];
        size_t n_rule;
        char rule[];
};

typedef struct RouterHandler {
        void (*offer)(void *user, Event *event);
        void (*again)(void *user, const Letter *letter);
} RouterHandler;

typedef struct Router {
        Loop *loop;
        const RouterHandler *handler;
        void *user;
        Deferred deliver;
        Event **queue;   /* ring of ROUTER_QUEUE, made when the first event comes */
        Event **history; /* ring of ROUTER_HISTORY */
        size_t queue_at, n_queue, history_at, n_history;
        uint64_t n_events, n_dropped;
        Letter *waiting, *dead; /* dead: oldest first */
        size_t n_waiting, n_dead;
        uint64_t n_died;
} Router;

void router_init(Router *router, Loop *loop, const RouterHandler *handler, void *user);
void router_deinit(Router *router);
/* payload is JSON. Without memory or room it is dropped and counted. */
void router_push(Router *router, Str source, Str type, Str payload);
/* An action failed for the n_attempts-th time. False: it is not tried again. */
bool router_failed(Router *router, Event *event, Str rule, unsigned n_attempts, uint64_t tag,
                   const char *error);
/* The newest n_max events and all dead letters, oldest first. */
void router_write_events(const Router *router, JsonWriter *w, size_t n_max);
void router_write_dead(const Router *router, JsonWriter *w, size_t n_max);

Event *event_new(Str source, Str type, Str payload, int64_t wall_us); /* NULL without memory */
Event *event_ref(Event *event);
Event *event_unref(Event *event); /* takes NULL, returns NULL */
