/* SPDX-License-Identifier: MIT */
#include "core/schedule/debounce.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/id.h"

struct DebounceItem {
        DebounceItem *next, *prev; /* by time */
        DebounceItem *next_in_bucket;
        int64_t due_ms;
        size_t n;
        char key[];
};

static DebounceItem **bucket_of(const Debounce *debounce, Str key) {
        return &debounce->buckets[siphash(debounce->key, key) % DEBOUNCE_BUCKETS];
}

static void list_remove(Debounce *debounce, DebounceItem *item) {
        *(item->prev ? &item->prev->next : &debounce->first) = item->next;
        *(item->next ? &item->next->prev : &debounce->last) = item->prev;
}

/* Everything waits equally long, so that the newest is the last. */
static void list_append(Debounce *debounce, DebounceItem *item) {
        item->due_ms = loop_now_ms(debounce->loop) + debounce->quiet_ms;
        item->next = NULL;
        item->prev = debounce->last;
        *(debounce->last ? &debounce->last->next : &debounce->first) = item;
        debounce->last = item;
}

static void item_remove(Debounce *debounce, DebounceItem *item) {
        DebounceItem **link;

        assert(debounce->buckets);
        link = bucket_of(debounce, (Str){item->key, item->n});
        while (*link != item) {
                assert(*link);
                link = &(*link)->next_in_bucket;
        }
        *link = item->next_in_bucket;
        list_remove(debounce, item);
        debounce->n--;
}

static void debounce_fire(Debounce *debounce, DebounceItem *item) {
        item_remove(debounce, item);
        debounce->fired(debounce->user, (Str){item->key, item->n});
        free(item);
}

static void debounce_on_timer(Timer *timer) {
        Debounce *debounce = container_of(timer, Debounce, timer);
        int64_t now_ms = loop_now_ms(debounce->loop);

        while (debounce->first && debounce->first->due_ms <= now_ms)
                debounce_fire(debounce, debounce->first);
        if (debounce->first && timer_set(timer, debounce->first->due_ms - now_ms))
                while (debounce->first) /* no memory for a timer: early rather than never */
                        debounce_fire(debounce, debounce->first);
}

void debounce_init(Debounce *debounce, Loop *loop, int64_t quiet_ms, void (*fired)(void *user, Str key),
                   void *user) {
        *debounce = (Debounce){.loop = loop, .quiet_ms = quiet_ms, .fired = fired, .user = user};
        timer_init(&debounce->timer, loop, debounce_on_timer);
}

void debounce_deinit(Debounce *debounce) {
        if (debounce->loop)
                timer_clear(&debounce->timer);
        while (debounce->first) {
                DebounceItem *item = debounce->first;
                item_remove(debounce, item);
                free(item);
        }
        free(debounce->buckets);
        debounce->buckets = NULL;
}

static DebounceItem *debounce_find(const Debounce *debounce, Str key) {
        DebounceItem *item = *bucket_of(debounce, key);

        while (item && !str_eq((Str){item->key, item->n}, key))
                item = item->next_in_bucket;
        return item;
}

static int debounce_add(Debounce *debounce, Str key) {
        DebounceItem *item = malloc(sizeof(*item) + key.n + 1), **bucket;

        if (!item)
                return error_origin(-ENOMEM);
        if (debounce->n >= DEBOUNCE_MAX)
                debounce_fire(debounce, debounce->first);
        bucket = bucket_of(debounce, key);
        *item = (DebounceItem){.next_in_bucket = *bucket, .n = key.n};
        memcpy(item->key, key.data, key.n);
        *bucket = item;
        list_append(debounce, item);
        debounce->n++;
        return 0;
}

int debounce_push(Debounce *debounce, Str key) {
        DebounceItem *item;
        int r = 0;

        if (!debounce->buckets)
                r = random_bytes(&debounce->key, sizeof(debounce->key));
        if (r)
                return error_trace(r);
        if (!debounce->buckets)
                debounce->buckets = calloc(DEBOUNCE_BUCKETS, sizeof(*debounce->buckets));
        if (!debounce->buckets)
                return error_origin(-ENOMEM);
        item = debounce_find(debounce, key);
        if (item) {
                list_remove(debounce, item);
                list_append(debounce, item);
        } else
                r = debounce_add(debounce, key);
        if (!r && !timer_is_set(&debounce->timer))
                r = timer_set(&debounce->timer, debounce->quiet_ms);
        return error_trace(r);
}

/* ---- cooldown, throttle ---------------------------------------------------------------------- */

bool cooldown_is_over(const Cooldown *cooldown, int64_t now_ms, int64_t distance_ms) {
        return !cooldown->has_last || now_ms - cooldown->last_ms >= distance_ms;
}

void cooldown_start(Cooldown *cooldown, int64_t now_ms) {
        *cooldown = (Cooldown){.last_ms = now_ms, .has_last = true};
}

bool throttle_take(Throttle *throttle, int64_t now_ms, int64_t window_ms, unsigned n_max) {
        if (!throttle->is_open || now_ms - throttle->since_ms >= window_ms)
                *throttle = (Throttle){.since_ms = now_ms, .is_open = true};
        if (throttle->n < n_max + 1)
                throttle->n++;
        return throttle->n <= n_max;
}
