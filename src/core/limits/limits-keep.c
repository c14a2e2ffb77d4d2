/* SPDX-License-Identifier: MIT */
/* What is known of limits, in a file: written whole by a worker and synced, one at a time; who waits for a change is told when it is there. */
#define LOG_MODULE "core/limits"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/time.h"
#include "core/limits/limits-internal.h"
#include "core/runtimes.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void limits_keep_agent(JsonWriter *w, const LimitAgent *agent) {
        jw_begin_object(w);
        jw_field_cstr(w, "process", agent->process);
        jw_field_cstr(w, "runtime", agent->runtime);
        if (agent->name)
                jw_field_cstr(w, "name", agent->name);
        if (agent->account)
                jw_field_cstr(w, "account", agent->account);
        jw_field_cstr(w, "step", limit_step_name(agent->step));
        jw_field_time_us(w, "since", agent->since_us);
        if (agent->tried_us)
                jw_field_time_us(w, "tried", agent->tried_us);
        jw_field_bool(w, "typed", agent->is_typed);
        jw_field_uint(w, "hash", agent->hash);
        jw_field_bool(w, "counted", agent->hash && agent->hash_us == agent->since_us);
        jw_end_object(w);
}

static int limits_keep_text(const Limits *self, Buf *out) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_key(&w, "limits");
        jw_begin_array(&w);
        for (const LimitRow *row = self->rows; row; row = row->next) {
                jw_begin_object(&w);
                jw_field_cstr(&w, "account", row->account);
                limit_write(&w, &row->limit);
                jw_end_object(&w);
        }
        jw_end_array(&w);
        jw_key(&w, "agents");
        jw_begin_array(&w);
        for (const LimitAgent *agent = self->agents; agent; agent = agent->next)
                if (agent->step != LIMIT_NONE || agent->hash)
                        limits_keep_agent(&w, agent);
        jw_end_array(&w);
        jw_key(&w, "resumes");
        jw_begin_array(&w);
        for (size_t i = 0; i < self->n_resumes; i++) {
                jw_begin_object(&w);
                jw_field_cstr(&w, "name", self->resumes[i].name);
                jw_field_time_us(&w, "at", self->resumes[i].at_us);
                jw_end_object(&w);
        }
        jw_end_array(&w);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

static void limits_write_run(void *user) {
        Limits *self = user;

        self->r = dir_make(self->folder, 0700);
        self->r = self->r ? self->r : file_replace(self->path, buf_str(&self->text), 0600, FILE_DURABLE);
}

static void limits_write_begin(Limits *self);

static void limits_finish_calls(Limits *self, int r) {
        LimitKept **link = &self->waits;

        while (*link) {
                LimitKept *wait = *link;

                if (!r && wait->number > self->kept) {
                        link = &wait->next;
                        continue;
                }
                *link = wait->next;
                self->n_waits--;
                if (r)
                        call_finish(wait->call, call_fail(wait->call, CALL_E_NOT_KEPT,
                                                          "it could not be written: %s", strerror(-r)));
                else
                        call_finish(wait->call, wait->fn(wait->call, wait->carry));
        }
}

static void limits_write_done(void *user) {
        Limits *self = user;
        int r = self->r;

        self->is_writing = false;
        self->text.n = 0;
        if (r)
                log_err(&self->daemon->log, self->path, "limits not kept: %s", strerror(-r));
        else
                self->kept = self->writing;
        limits_on_kept(self, r);
        limits_finish_calls(self, r);
        if (!r && self->wanted > self->kept)
                limits_write_begin(self);
}

static void limits_write_begin(Limits *self) {
        int r;

        if (self->is_writing)
                return;
        self->writing = self->wanted;
        self->text.n = 0;
        r = limits_keep_text(self, &self->text);
        r = r ? r : loop_work(self->daemon->loop, limits_write_run, limits_write_done, self);
        self->is_writing = !r;
        if (r)
                log_err(&self->daemon->log, self->path, "limits not kept: %s", strerror(-r));
}

uint64_t limits_keep(Limits *self) {
        self->wanted++;
        limits_write_begin(self);
        return self->wanted;
}

int limits_keep_call(Limits *self, Call *call, CallThenFn fn, const Carry *carry) {
        LimitKept *wait = self->n_waits < LIMIT_CALLS_MAX ? arena_alloc(&call->arena, sizeof(*wait)) : NULL;

        if (!wait)
                return call_fail(call, CALL_E_UNAVAILABLE, "too many changes are being written; try again");
        *wait = (LimitKept){.call = call, .fn = fn, .carry = carry};
        wait->number = limits_keep(self);
        if (!self->is_writing)
                return call_fail(call, CALL_E_NOT_KEPT, "it could not be written");
        wait->next = self->waits;
        self->waits = wait;
        self->n_waits++;
        return CALL_LATER;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* What was begun is not begun again; who was asked is asked again, with the same key. */
static LimitStep limits_load_step(Str name) {
        LimitStep step = LIMIT_NONE;

        while (step < LIMIT_LEFT && !str_is(name, limit_step_name(step)))
                step++;
        if (step == LIMIT_ASKED || step == LIMIT_SELF)
                return LIMIT_WAITS;
        return step == LIMIT_RESUMING ? LIMIT_RESUMED : step;
}

static int limits_load_agent(Limits *self, const Json *json) {
        Str process = json_text_of(json, "process"), name = json_text_of(json, "name"),
            account = json_text_of(json, "account");
        const Runtime *runtime = runtime_find(json_text_of(json, "runtime"));
        LimitAgent *agent;

        if (process.n != 16 || !runtime)
                return 0;
        agent = calloc(1, sizeof(*agent));
        if (!agent)
                return error_origin(-ENOMEM);
        agent->limits = self;
        agent->runtime = runtime->name;
        memcpy(agent->process, process.data, process.n);
        agent->name = name.n ? str_dup(name) : NULL;
        agent->account = account.n ? str_dup(account) : NULL;
        agent->step = limits_load_step(json_text_of(json, "step"));
        agent->why = agent->step == LIMIT_LEFT ? "left to a person before this daemon began" : NULL;
        agent->is_typed = json_truth_of(json, "typed");
        (void)time_parse(json_text_of(json, "since"), &agent->since_us);
        (void)time_parse(json_text_of(json, "tried"), &agent->tried_us);
        (void)json_uint64(json_get(json, "hash"), &agent->hash);
        agent->hash_us = json_truth_of(json, "counted") ? agent->since_us : -1;
        agent->next = self->agents;
        self->agents = agent;
        return 0;
}

static int limits_load_row(Limits *self, const Json *json) {
        LimitRow *row;
        Limit limit;

        if (!json_text_of(json, "account").n || !limit_read(json, &limit) || self->n_rows >= LIMITS_MAX)
                return 0;
        row = calloc(1, sizeof(*row));
        if (!row)
                return error_origin(-ENOMEM);
        row->account = str_dup(json_text_of(json, "account"));
        if (!row->account) {
                free(row);
                return error_origin(-ENOMEM);
        }
        row->limit = limit;
        row->was_held = limit_holds(&limit, limits_now_us(self));
        row->next = self->rows;
        self->rows = row;
        self->n_rows++;
        return 0;
}

static int limits_load_resumes(Limits *self, const Json *list) {
        size_t n = MIN(json_count(list), (size_t)LIMIT_RESUMES_MAX);

        self->resumes = n ? calloc(n, sizeof(*self->resumes)) : NULL;
        if (n && !self->resumes)
                return error_origin(-ENOMEM);
        self->n_resumes_room = n;
        json_each (item, list) {
                LimitResume resume = {0};

                if (!self->resumes || self->n_resumes == n ||
                    !time_parse(json_text_of(item, "at"), &resume.at_us))
                        continue;
                resume.name = str_dup(json_text_of(item, "name"));
                if (!resume.name)
                        return error_origin(-ENOMEM);
                self->resumes[self->n_resumes++] = resume;
        }
        return 0;
}

/* A file that cannot be read is as none: limits are seen again. */
int limits_load(Limits *self) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Json *json = NULL;
        int r = file_read(self->path, LIMITS_FILE_MAX, &text);

        if (r == FILE_E_MISSING)
                return 0;
        if (r || json_parse(&arena, text.data, text.n, NULL, &json, NULL)) {
                log_warning(&self->daemon->log, self->path, "what was known of limits cannot be read");
                return 0;
        }
        json_each (item, json_get(json, "limits"))
                r = r ? r : limits_load_row(self, item);
        json_each (item, json_get(json, "agents"))
                r = r ? r : limits_load_agent(self, item);
        return error_trace(r ? r : limits_load_resumes(self, json_get(json, "resumes")));
}
