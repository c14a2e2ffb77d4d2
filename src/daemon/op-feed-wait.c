/* SPDX-License-Identifier: MIT */
/*
 * feed.wait: one answer when something has happened, for who cannot follow a stream. What it answered with as `after` is where
 * the next call goes on, so nothing between two calls is missed as long as the feed remembers it.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/message/recipients.h"
#include "core/client.h"
#include "core/daemon.h"
#include "gen/native-ops.h"

enum {
        WAIT_ITEMS_MAX = 100,       /* of one answer … */
        WAIT_BYTES_MAX = 256 << 10, /* … and their bytes: what is left comes with the next */
};

typedef struct FeedWait {
        Call *call;
        const NativeFeedWaitArgs *args;
        FeedReader reader;
        Timer timer;
        Buf items; /* JSON, a comma before each but the first */
        size_t n_items;
        bool has_gap;
        bool is_waiting; /* the call was left for later */
} FeedWait;

static const char *wait_kind(const FeedPlace *place) {
        if (!strcmp(place->kind, "chat.message"))
                return "message";
        if (!strcmp(place->kind, "system.notify"))
                return "notice";
        if (!strcmp(place->domain, "tasks"))
                return "task";
        return !strcmp(place->domain, "host") ? "state" : "other";
}

static bool wait_list_has(const StrList *list, const char *word) {
        for (size_t i = 0; i < list->n; i++)
                if (str_is(list->items[i], word))
                        return true;
        return false;
}

static bool wait_is_place(const FeedWait *self, const FeedPlace *place) {
        const StrList *on = &self->args->on;
        Str owner = str_from(place->owner);

        if (!on->n)
                return !self->args->group.n || str_eq(owner, self->args->group);
        for (size_t i = 0; i < on->n; i++) {
                Str name = on->items[i];

                if (str_starts(name, STR("group:")))
                        name = (Str){name.data + 6, name.n - 6};
                if (str_eq(name, owner))
                        return true;
        }
        return false;
}

static bool wait_is_meant(const FeedWait *self, const FeedItem *item, const char *kind) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const NativeFeedWaitArgs *args = self->args;
        Json *event = NULL;

        if (!wait_is_place(self, &item->place) || (args->kinds.n && !wait_list_has(&args->kinds, kind)))
                return false;
        if (!args->kinds.n && !args->on.n && !strcmp(kind, "other"))
                return false;
        if (!args->actor.n || strcmp(item->place.domain, "collab") != 0 || !item->payload)
                return true;
        return json_parse(&arena, item->payload->data, item->payload->n, NULL, &event, NULL) ||
               recipients_may_include(event, args->actor);
}

static void wait_put(FeedWait *self, const FeedItem *item, const char *kind) {
        JsonWriter w = JSON_WRITER(&self->items);

        w.comma = self->n_items > 0;
        jw_begin_object(&w);
        jw_field_uint(&w, "number", item->number);
        jw_field_cstr(&w, "kind", kind);
        jw_field_cstr(&w, "name", item->place.owner);
        jw_key(&w, "event");
        jw_raw(&w, item->payload ? (Str){item->payload->data, item->payload->n} : STR("null"));
        jw_end_object(&w);
        self->n_items++;
}

/* All that is there, as far as one answer takes it. */
static void wait_collect(FeedWait *self) {
        while (self->n_items < WAIT_ITEMS_MAX && self->items.n < WAIT_BYTES_MAX) {
                FeedItem item;
                int r = feed_reader_next(&self->reader, &item);

                if (r == FEED_E_EMPTY)
                        return;
                if (r)
                        self->has_gap = true;
                else if (wait_is_meant(self, &item, wait_kind(&item.place)))
                        wait_put(self, &item, wait_kind(&item.place));
        }
}

static void wait_answer(FeedWait *self) {
        char after[64];
        JsonWriter *w = call_result(self->call);

        snprintf(after, sizeof(after), "%s:%" PRIu64, feed_epoch(self->call->daemon->feed),
                 self->reader.next - 1);
        jw_begin_object(w);
        jw_key(w, "items");
        jw_begin_array(w);
        if (self->n_items)
                jw_raw(w, buf_str(&self->items));
        jw_end_array(w);
        jw_field_cstr(w, "after", after);
        jw_field_bool(w, "timed_out", !self->n_items);
        if (self->has_gap)
                jw_field_bool(w, "gap", true);
        jw_end_object(w);
}

static void wait_release(void *object) {
        FeedWait *self = object;

        timer_clear(&self->timer);
        feed_reader_deinit(&self->reader);
        buf_deinit(&self->items);
}

static void wait_end(FeedWait *self) {
        Call *call = self->call;

        wait_answer(self);
        call_finish(call, 0); /* which releases it */
}

static void wait_on_more(FeedReader *reader) {
        FeedWait *self = container_of(reader, FeedWait, reader);

        if (!self->is_waiting)
                return;
        wait_collect(self);
        if (self->n_items)
                wait_end(self);
}

static void wait_on_timer(Timer *timer) {
        wait_end(container_of(timer, FeedWait, timer));
}

static void wait_on_gone(Call *call) {
        call_finish(call, 0);
}

/* Where it begins: EPOCH:NUMBER of this run; of another run all that is remembered is new. */
static uint64_t wait_from(FeedWait *self, const Feed *feed, Str after) {
        const char *colon = after.n ? memchr(after.data, ':', after.n) : NULL;
        char *end = NULL;
        unsigned long long number;

        if (!after.n)
                return UINT64_MAX;
        number = colon ? strtoull(colon + 1, &end, 10) : 0;
        if (colon && end && !*end &&
            str_is((Str){after.data, (size_t)(colon - after.data)}, feed_epoch(feed)))
                return number;
        self->has_gap = true;
        return feed_oldest(feed) - 1;
}

int op_native_feed_wait(Call *call, const NativeFeedWaitArgs *args) {
        FeedWait *self = arena_alloc(&call->arena, sizeof(*self));
        Feed *feed = call->daemon->feed;

        if (!self)
                return error_origin(-ENOMEM);
        *self = (FeedWait){.call = call, .args = args};
        timer_init(&self->timer, call->daemon->loop, wait_on_timer);
        feed_reader_init(&self->reader, feed, wait_from(self, feed, args->after), wait_on_more);
        if (call_hold(call, self, wait_release))
                return error_origin(-ENOMEM);
        wait_collect(self);
        if (self->n_items || !args->timeout_s || self->has_gap) {
                wait_answer(self);
                return 0;
        }
        if (timer_set(&self->timer, args->timeout_s * 1000))
                return error_origin(-ENOMEM);
        conn_end_with_peer(call->client->conn); /* who hangs up, or ends its side, waits no longer */
        self->is_waiting = true;
        call->gone = wait_on_gone;
        return CALL_LATER;
}
