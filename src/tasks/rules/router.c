/* SPDX-License-Identifier: MIT */
#include "tasks/rules/router.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/time.h"

/* ---- events ---------------------------------------------------------------------------------- */

Event *event_new(Str source, Str type, Str payload, int64_t wall_us) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);
        Event *event;
        char *at;

        jw_begin_object(&w);
        jw_field_str(&w, "source", source);
        jw_field_str(&w, "type", type);
        jw_key(&w, "payload");
        jw_raw(&w, payload);
        jw_end_object(&w);
        event = w.failed ? NULL : malloc(sizeof(*event) + text.n + source.n + type.n + 1);
        if (!event)
                return NULL;
        at = (char *)(event + 1);
        *event = (Event){.n_refs = 1,
                         .wall_us = wall_us,
                         .text = {at, text.n},
                         .source = {at + text.n, source.n},
                         .type = {at + text.n + source.n, type.n}};
        memcpy(at, text.data, text.n);
        memcpy(at + text.n, source.data, source.n);
        memcpy(at + text.n + source.n, type.data, type.n);
        return event;
}

Event *event_ref(Event *event) {
        event->n_refs++;
        return event;
}

Event *event_unref(Event *event) {
        if (event && !--event->n_refs)
                free(event);
        return NULL;
}

/* ---- queue and history ----------------------------------------------------------------------- */

static void remember(Router *router, Event *event) {
        Event **slot = &router->history[(router->history_at + router->n_history) % ROUTER_HISTORY];

        if (router->n_history == ROUTER_HISTORY) {
                event_unref(*slot);
                router->history_at = (router->history_at + 1) % ROUTER_HISTORY;
        } else
                router->n_history++;
        *slot = event; /* takes the reference */
}

static void on_deliver(Deferred *deferred) {
        Router *router = container_of(deferred, Router, deliver);

        for (int i = 0; i < ROUTER_TURN && router->n_queue; i++) {
                Event *event = router->queue[router->queue_at];
                router->queue_at = (router->queue_at + 1) % ROUTER_QUEUE;
                router->n_queue--;
                router->handler->offer(router->user, event);
                remember(router, event);
        }
        if (router->n_queue)
                deferred_schedule(&router->deliver);
}

void router_push(Router *router, Str source, Str type, Str payload) {
        Event *event = NULL;

        if (!router->queue)
                router->queue = calloc(ROUTER_QUEUE, sizeof(Event *));
        if (!router->history)
                router->history = calloc(ROUTER_HISTORY, sizeof(Event *));
        if (router->queue && router->history && router->n_queue < ROUTER_QUEUE)
                event = event_new(source, type, payload, loop_wall_us(router->loop));
        router->n_events++;
        if (!event) {
                router->n_dropped++;
                return;
        }
        event->number = router->n_events;
        router->queue[(router->queue_at + router->n_queue++) % ROUTER_QUEUE] = event;
        deferred_schedule(&router->deliver);
}

void router_write_events(const Router *router, JsonWriter *w, size_t n_max) {
        size_t n = MIN(router->n_history, n_max);
        char time[TIME_TEXT_MAX];

        jw_begin_array(w);
        for (size_t i = router->n_history - n; i < router->n_history; i++) {
                const Event *event = router->history[(router->history_at + i) % ROUTER_HISTORY];
                time_format_ms(event->wall_us, time);
                jw_begin_object(w);
                jw_field_uint(w, "number", event->number);
                jw_field_cstr(w, "timestamp", time);
                jw_key(w, "event");
                jw_raw(w, event->text);
                jw_end_object(w);
        }
        jw_end_array(w);
}

/* ---- letters --------------------------------------------------------------------------------- */

static Letter *letter_free(Letter *letter) {
        timer_clear(&letter->timer);
        event_unref(letter->event);
        free(letter);
        return NULL;
}

static void bury(Router *router, Letter *letter) {
        Letter **link = &router->dead;

        if (router->n_dead == ROUTER_LETTERS) {
                Letter *oldest = router->dead;
                router->dead = oldest->next;
                letter_free(oldest);
        } else
                router->n_dead++;
        router->n_died++;
        letter->next = NULL;
        while (*link)
                link = &(*link)->next;
        *link = letter;
}

static void take_waiting(Router *router, const Letter *letter) {
        Letter **link = &router->waiting;

        while (*link != letter)
                link = &(*link)->next;
        *link = letter->next;
        router->n_waiting--;
}

static void on_again(Timer *timer) {
        Letter *letter = container_of(timer, Letter, timer);
        Router *router = letter->router;

        take_waiting(router, letter);
        router->handler->again(router->user, letter);
        letter_free(letter);
}

bool router_failed(Router *router, Event *event, Str rule, unsigned n_attempts, uint64_t tag,
                   const char *error) {
        Letter *letter = malloc(sizeof(*letter) + rule.n + 1);

        if (!letter)
                return false;
        *letter = (Letter){.router = router,
                           .tag = tag,
                           .event = event_ref(event),
                           .n_attempts = n_attempts,
                           .wall_us = loop_wall_us(router->loop),
                           .n_rule = rule.n};
        memcpy(letter->rule, rule.data, rule.n);
        letter->rule[rule.n] = '\0';
        snprintf(letter->error, sizeof(letter->error), "%s", error);
        timer_init(&letter->timer, router->loop, on_again);
        if (n_attempts > ROUTER_RETRIES || router->n_waiting >= ROUTER_LETTERS ||
            timer_set(&letter->timer, INT64_C(1000) << (n_attempts - 1))) {
                bury(router, letter);
                return false;
        }
        letter->next = router->waiting;
        router->waiting = letter;
        router->n_waiting++;
        return true;
}

void router_write_dead(const Router *router, JsonWriter *w, size_t n_max) {
        size_t n_skip = router->n_dead > n_max ? router->n_dead - n_max : 0;
        char time[TIME_TEXT_MAX];

        jw_begin_array(w);
        for (const Letter *letter = router->dead; letter; letter = letter->next) {
                if (n_skip) {
                        n_skip--;
                        continue;
                }
                time_format_ms(letter->wall_us, time);
                jw_begin_object(w);
                jw_field_str(w, "ruleId", (Str){letter->rule, letter->n_rule});
                jw_field_str(w, "eventType", letter->event->type);
                jw_field_cstr(w, "error", letter->error);
                jw_field_uint(w, "attempts", letter->n_attempts);
                jw_field_cstr(w, "timestamp", time);
                jw_key(w, "event");
                jw_raw(w, letter->event->text);
                jw_end_object(w);
        }
        jw_end_array(w);
}

/* ---- life ------------------------------------------------------------------------------------ */

void router_init(Router *router, Loop *loop, const RouterHandler *handler, void *user) {
        *router = (Router){.loop = loop, .handler = handler, .user = user};
        deferred_init(&router->deliver, loop, on_deliver);
}

static void free_letters(Letter *letter) {
        for (Letter *next; letter; letter = next) {
                next = letter->next;
                letter_free(letter);
        }
}

void router_deinit(Router *router) {
        if (!router->loop)
                return;
        deferred_cancel(&router->deliver);
        for (size_t i = 0; i < router->n_queue; i++)
                event_unref(router->queue[(router->queue_at + i) % ROUTER_QUEUE]);
        for (size_t i = 0; i < router->n_history; i++)
                event_unref(router->history[(router->history_at + i) % ROUTER_HISTORY]);
        free_letters(router->waiting);
        free_letters(router->dead);
        free(router->queue);
        free(router->history);
        *router = (Router){0};
}
