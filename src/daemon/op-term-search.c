/* SPDX-License-Identifier: MIT */
/*
 * term.search: what was printed in terminals, found by words or an expression, the youngest first for each process. A piece
 * of the ring is copied, then a worker looks at its lines, then the next: nobody is held up. Lines are as text (term/ansi.h):
 * what a program painted over the screen is found in the order in which it was sent.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "core/client.h"
#include "core/daemon.h"
#include "core/fleet/fleet.h"
#include "core/search/query.h"
#include "core/term/ansi.h"
#include "gen/native-ops.h"

enum {
        TERM_SEARCH_PIECE = 1 << 20,   /* bytes copied and looked at in one go */
        TERM_SEARCH_BYTES = 256 << 20, /* of one search; what is left then is not looked at */
        TERM_SEARCH_WORD_SHOWN = 100,
};

typedef struct TermSearch { /* in the call's arena */
        Call *call;
        Query query;
        char (*ids)[17];
        size_t n_ids, next;
        uint64_t until;  /* of the present one: what is before this is still to be looked at … */
        bool has_until;  /* … if it was begun */
        uint64_t from;   /* of the piece */
        bool is_first;   /* nothing stands before it */
        Buf piece, text; /* the worker's */
        Buf hits, worker_hits;
        size_t n_hits, n_limit;
        uint64_t n_searched;
        bool is_cut;
        int r;
} TermSearch;

/* ---- on a worker ----------------------------------------------------------------------------- */

static int term_search_put(TermSearch *self, uint64_t at, Str text, size_t found) {
        JsonWriter w = JSON_WRITER(&self->worker_hits);

        w.comma = self->n_hits > 0;
        jw_begin_object(&w);
        jw_field_cstr(&w, "id", self->ids[self->next]);
        jw_field_uint(&w, "at", at);
        jw_field_str(&w, "line", query_part(text, found));
        jw_end_object(&w);
        self->n_hits++;
        return w.failed ? error_origin(-ENOMEM) : 0;
}

static int term_search_line(TermSearch *self, size_t begin, size_t end) {
        _cleanup_(buf_deinit) Buf clean = BUF_NULL;
        AnsiState state = ANSI_NULL;
        size_t found;
        int r;

        self->text.n = 0;
        r = ansi_strip(&self->text, (Str){self->piece.data + begin, end - begin}, &state);
        if (!r && utf8_valid_prefix(self->text.data, self->text.n) < self->text.n) {
                r = utf8_append_replaced(&clean, self->text.data, self->text.n);
                self->text.n = 0;
                r = r ? r : buf_append_str(&self->text, buf_str(&clean));
        }
        if (r || !query_fits(&self->query, buf_str(&self->text), &found))
                return error_trace(r);
        return error_trace(term_search_put(self, self->from + begin, buf_str(&self->text), found));
}

/* Whole lines, the last first; what stands before the first of them belongs to a line that began earlier, and waits for
 * the next piece. */
static void term_search_run(void *user) {
        TermSearch *self = user;
        size_t end = self->piece.n;
        bool has_line = false;

        if (end && self->piece.data[end - 1] == '\n')
                end--;
        query_begin(&self->query);
        while (!self->r && end && self->n_hits < self->n_limit && !query_is_spent(&self->query)) {
                const char *newline = memrchr(self->piece.data, '\n', end);
                size_t begin = newline ? (size_t)(newline - self->piece.data) + 1 : 0;

                if (!newline && !self->is_first && has_line)
                        break;
                self->r = term_search_line(self, begin, end);
                has_line = true;
                end = newline ? begin - 1 : 0;
        }
        query_end(&self->query);
        self->until = self->from + end;
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static void term_search_go_on(TermSearch *self);

static void term_search_release(void *object) {
        TermSearch *self = object;

        query_deinit(&self->query);
        buf_deinit(&self->piece);
        buf_deinit(&self->text);
        buf_deinit(&self->hits);
        buf_deinit(&self->worker_hits);
}

static int term_search_tell(TermSearch *self) {
        JsonWriter *w = call_result(self->call);

        jw_begin_object(w);
        jw_key(w, "hits");
        jw_begin_array(w);
        if (self->hits.n)
                jw_raw(w, buf_str(&self->hits));
        jw_end_array(w);
        jw_field_uint(w, "searched", self->n_searched);
        jw_field_bool(w, "complete", !self->is_cut && !self->query.is_limited);
        jw_end_object(w);
        return 0;
}

static void term_search_done(void *user) {
        TermSearch *self = user;
        int r = self->r ? self->r : buf_append_str(&self->hits, buf_str(&self->worker_hits));

        self->worker_hits.n = 0;
        if (r)
                call_finish(self->call, r);
        else
                term_search_go_on(self);
}

/* False: there is no more of this one. */
static bool term_search_take(TermSearch *self, const Hosted *hosted) {
        uint64_t begin = MAX(ring_begin(&hosted->out), MIN(hosted->n_cleared, hosted->shown_out));
        Str bytes;

        if (!self->has_until)
                self->until = hosted->shown_out;
        self->has_until = true;
        if (self->until <= begin)
                return false;
        self->from = self->until - begin > TERM_SEARCH_PIECE ? self->until - TERM_SEARCH_PIECE : begin;
        self->is_first = self->from == begin;
        bytes = ring_span(&hosted->out, self->from);
        bytes.n = MIN(bytes.n, (size_t)(self->until - self->from));
        self->piece.n = 0;
        self->r = buf_append_str(&self->piece, bytes);
        self->n_searched += bytes.n;
        return true;
}

static bool term_search_is_over(TermSearch *self) {
        bool is_full = self->n_hits >= self->n_limit || self->n_searched >= TERM_SEARCH_BYTES ||
                       query_is_spent(&self->query);

        self->is_cut |= is_full && self->next < self->n_ids;
        return is_full || self->next == self->n_ids || !self->call->client;
}

static void term_search_go_on(TermSearch *self) {
        const Host *host = self->call->daemon->host;

        while (!term_search_is_over(self)) {
                const Hosted *hosted = host_find((Host *)host, str_from(self->ids[self->next]));

                if (!hosted || !hosted->out.header || !term_search_take(self, hosted)) {
                        self->next++;
                        self->has_until = false;
                        continue;
                }
                if (!self->r &&
                    !loop_work_heavy(self->call->daemon->loop, term_search_run, term_search_done, self))
                        return;
                call_finish(self->call, error_origin(-ENOMEM));
                return;
        }
        call_finish(self->call, term_search_tell(self));
}

static int term_search_add(Call *call, TermSearch *self, Str word) {
        FleetSearch search;

        if (host_find(call->daemon->host, word))
                memcpy(self->ids[self->n_ids++], word.data, word.n);
        else if (fleet_search(call->daemon, &call->arena, word, &search))
                return error_origin(-ENOMEM);
        else if (search.n_found != 1 || !*search.found->id)
                return call_fail(call, CALL_E_NAME_NOT_FOUND,
                                 "ids: nothing that is hosted is called " STR_FMT,
                                 STR_ARG(utf8_first(word, TERM_SEARCH_WORD_SHOWN)));
        else
                memcpy(self->ids[self->n_ids++], search.found->id, sizeof(search.found->id));
        return 0;
}

static int term_search_choose(Call *call, TermSearch *self, const StrList *ids) {
        const Hosted *first = call->daemon->host ? host_first(call->daemon->host) : NULL;
        size_t n = ids->n;
        int r = 0;

        for (const Hosted *h = first; h && !ids->n; h = h->next)
                n++;
        self->ids = arena_alloc(&call->arena, (n + 1) * sizeof(*self->ids));
        if (!self->ids)
                return error_origin(-ENOMEM);
        memset(self->ids, 0, (n + 1) * sizeof(*self->ids));
        for (const Hosted *h = first; h && !ids->n; h = h->next)
                memcpy(self->ids[self->n_ids++], h->id, sizeof(h->id));
        for (size_t i = 0; i < ids->n && !r; i++)
                r = term_search_add(call, self, ids->items[i]);
        return r;
}

typedef struct TermSearchStart { /* in the call's arena */
        TermSearch search;
        Deferred soon;
} TermSearchStart;

static void term_search_begin(Deferred *deferred) {
        term_search_go_on(&container_of(deferred, TermSearchStart, soon)->search);
}

int op_native_term_search(Call *call, const NativeTermSearchArgs *args) {
        TermSearchStart *start = arena_alloc(&call->arena, sizeof(*start));
        TermSearch *self = start ? &start->search : NULL;
        char why[REGEX_WHY_MAX] = "";
        int r;

        if (!start)
                return error_origin(-ENOMEM);
        *start = (TermSearchStart){.search = {.call = call, .n_limit = (size_t)args->limit}};
        if (args->query.n > QUERY_WORDS_MAX)
                return call_fail(call, CALL_E_INVALID_PARAMS, "query has at most %d bytes", QUERY_WORDS_MAX);
        r = query_init(&self->query, args->query, args->regex, why);
        if (r == REGEX_E_WRONG)
                return call_fail(call, CALL_E_INVALID_PARAMS, "query: %s", why);
        if (r || call_hold(call, self, term_search_release))
                return error_origin(-ENOMEM);
        r = term_search_choose(call, self, &args->ids);
        if (r)
                return r;
        deferred_init(&start->soon, call->daemon->loop, term_search_begin);
        deferred_schedule(&start->soon);
        return CALL_LATER;
}
