/* SPDX-License-Identifier: MIT */
/*
 * event.search: what happened, as far as it is kept: the ledgers of all groups, the histories of the tasks of all projects
 * that are served, and of everything else what the feed remembers. Events of AgentCompany's runs are not looked at, nor
 * what was moved to archives.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "collab/collab.h"
#include "core/daemon.h"
#include "core/search/event-files.h"
#include "core/secret.h"
#include "gen/native-ops.h"
#include "tasks/project.h"

typedef struct EventSearch { /* in the call's arena */
        Call *call;
        EventFiles files;
} EventSearch;

/* ---- what is looked at ----------------------------------------------------------------------- */

static bool event_search_wants(const NativeEventSearchArgs *args, const char *domain) {
        return !args->domain.n || str_is(args->domain, domain);
}

static int event_search_add_groups(const Daemon *daemon, EventFiles *files, Str group) {
        _cleanup_(buf_deinit) Buf path = BUF_NULL;

        if (!daemon->collab)
                return 0;
        if (!group.n) {
                files->folder = strdup(daemon->collab->groups_path);
                files->folder_domain = "collab";
                files->folder_file = "ledger.jsonl";
                return files->folder ? 0 : error_origin(-ENOMEM);
        }
        if (memchr(group.data, '/', group.n) || group.data[0] == '.')
                return 0; /* no group is called so */
        if (buf_printf(&path, "%s/" STR_FMT "/ledger.jsonl", daemon->collab->groups_path, STR_ARG(group)))
                return error_origin(-ENOMEM);
        return error_trace(event_files_add(files, "collab", group, buf_str(&path)));
}

static int event_search_add_tasks(const Daemon *daemon, EventFiles *files, Str owner) {
        int r = 0;

        for (const Project *p = project_next(daemon, NULL); p && !r; p = project_next(daemon, p)) {
                Str where = str_from(p->endpoint->where);

                if (p->store.ledger_path && (!owner.n || str_eq(owner, where)))
                        r = event_files_add(files, "tasks", where, str_from(p->store.ledger_path));
        }
        return error_trace(r);
}

static bool event_search_is_kept(const char *domain) {
        return !strcmp(domain, "collab") || !strcmp(domain, "tasks");
}

static int event_search_add_item(EventFiles *files, const FeedItem *item) {
        EventText *text = &files->texts[files->n_texts];

        *text = (EventText){.place = {item->at_us, item->number},
                            .owner = strdup(item->place.owner),
                            .kind = strdup(item->place.kind),
                            .text = item->payload ? chunk_ref(item->payload) : NULL};
        memcpy(text->domain, item->place.domain, sizeof(text->domain));
        files->n_texts++;
        return text->owner && text->kind ? 0 : error_origin(-ENOMEM);
}

static void event_search_on_more(_unused_ FeedReader *reader) {}

static int event_search_add_feed(const Daemon *daemon, EventFiles *files,
                                 const NativeEventSearchArgs *args) {
        uint64_t oldest = feed_oldest(daemon->feed), last = feed_last(daemon->feed);
        FeedReader reader;
        FeedItem item;
        int r = 0;

        if (last < oldest)
                return 0;
        files->texts = calloc((size_t)(last - oldest + 1), sizeof(*files->texts));
        if (!files->texts)
                return error_origin(-ENOMEM);
        feed_reader_init(&reader, daemon->feed, oldest - 1, event_search_on_more);
        while (!r && !feed_reader_next(&reader, &item))
                if (!event_search_is_kept(item.place.domain) &&
                    event_search_wants(args, item.place.domain) &&
                    (!args->owner.n || str_is(args->owner, item.place.owner)))
                        r = event_search_add_item(files, &item);
        feed_reader_deinit(&reader);
        return error_trace(r);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void event_search_write_event(Call *call, const EventHit *hit, JsonWriter *w) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Json *event = NULL;

        jw_key(w, "event");
        if (hit->line && secret_redact_event(&call->daemon->config, &arena, str_from(hit->line), &event) &&
            !event)
                w->failed = true;
        else if (event)
                jw_value(w, event);
        else if (hit->line && *hit->line)
                jw_stored(w, str_from(hit->line));
        else
                jw_null(w);
}

static void event_search_write(Call *call, const EventHit *hit, JsonWriter *w) {
        jw_begin_object(w);
        if (hit->place.number)
                jw_field_uint(w, "number", hit->place.number);
        jw_field_time_ms(w, "at", hit->place.ts_us);
        jw_field_cstr(w, "domain", hit->domain);
        jw_field_cstr(w, "owner", hit->owner);
        jw_field_cstr(w, "kind", hit->kind);
        jw_field_null(w, "position");
        event_search_write_event(call, hit, w);
        jw_field_cstr(w, "part", hit->part);
        jw_end_object(w);
}

static int event_search_tell(EventSearch *self) {
        const EventFiles *files = &self->files;
        JsonWriter *w = call_result(self->call);
        char next[64];

        jw_begin_object(w);
        jw_key(w, "items");
        jw_begin_array(w);
        for (size_t i = 0; i < files->n_hits; i++)
                event_search_write(self->call, &files->hits[i], w);
        jw_end_array(w);
        if (files->n_hits == files->n_limit) {
                const EventPlace *last = &files->hits[files->n_hits - 1].place;

                snprintf(next, sizeof(next), "%" PRId64 "-%" PRIu64, last->ts_us, last->number);
                jw_field_cstr(w, "next", next);
        }
        jw_field_uint(w, "searched", files->n_searched);
        jw_field_bool(w, "complete", !files->is_cut);
        jw_end_object(w);
        return 0;
}

static void event_search_run(void *user) {
        event_files_run(&((EventSearch *)user)->files);
}

static void event_search_done(void *user) {
        EventSearch *self = user;

        call_finish(self->call, self->files.r ? self->files.r : event_search_tell(self));
}

static void event_search_release(void *object) {
        event_files_deinit(&((EventSearch *)object)->files);
}

/* ---- the call -------------------------------------------------------------------------------- */

/* TIME-NUMBER, as `next` has it. */
static bool event_search_take_before(Str text, EventPlace *ret) {
        char rest;

        *ret = (EventPlace){INT64_MAX, UINT64_MAX};
        return !text.n || (text.n < 48 && sscanf(text.data, "%" SCNd64 "-%" SCNu64 "%c", &ret->ts_us,
                                                 &ret->number, &rest) == 2);
}

static int event_search_fill(Call *call, EventSearch *self, const NativeEventSearchArgs *args) {
        const Daemon *daemon = call->daemon;
        int r = 0;

        if (event_search_wants(args, "collab"))
                r = event_search_add_groups(daemon, &self->files, args->owner);
        if (!r && event_search_wants(args, "tasks"))
                r = event_search_add_tasks(daemon, &self->files, args->owner);
        return r ? r : event_search_add_feed(daemon, &self->files, args);
}

int op_native_event_search(Call *call, const NativeEventSearchArgs *args) {
        EventSearch *self = arena_alloc(&call->arena, sizeof(*self));
        char why[REGEX_WHY_MAX] = "";
        int r;

        if (!self)
                return error_origin(-ENOMEM);
        *self = (EventSearch){.call = call, .files = {.kind = args->kind, .n_limit = (size_t)args->limit}};
        if (!event_search_take_before(args->before, &self->files.before))
                return call_fail(call, CALL_E_INVALID_PARAMS, "before: not what `next` of an answer was");
        if (args->query.n > QUERY_WORDS_MAX)
                return call_fail(call, CALL_E_INVALID_PARAMS, "query has at most %d bytes", QUERY_WORDS_MAX);
        r = query_init(&self->files.query, args->query.n ? args->query : STR(""), args->regex, why);
        if (r == REGEX_E_WRONG)
                return call_fail(call, CALL_E_INVALID_PARAMS, "query: %s", why);
        if (r || call_hold(call, self, event_search_release))
                return error_origin(-ENOMEM);
        r = event_search_fill(call, self, args);
        if (!r)
                r = loop_work_heavy(call->daemon->loop, event_search_run, event_search_done, self);
        return r ? error_trace(r) : CALL_LATER;
}
