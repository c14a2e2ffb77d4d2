/* SPDX-License-Identifier: MIT */
#include "company/trail/replay.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/macro.h"
#include "core/trail.h"

enum {
        REPLAY_STEP = 4096, /* events between two places that are remembered */
        REPLAY_ROOM = 1024, /* bytes of a reply around its events, as a guess */
};

typedef struct Replay {
        Spool *out;
        Spool parse; /* issues of lines that do not parse: told behind the events */
        uint64_t tail, n_events, n_issues;
        Buf places; /* of uint64_t: where every REPLAY_STEP-th event begins, the first one too; with a tail only */
        Buf verify; /* of TrailIssue */
        TrailCheck check;
        bool is_verified;
} Replay;

static const char *replay_message(TrailFault fault) {
        static const char *const texts[] = {
                [TRAIL_INVALID_SHAPE] = "Event must be an object.",
                [TRAIL_MISSING_KEY] = "Missing required key: ",
                [TRAIL_INVALID_SCHEMA_VERSION] = "schema_version must be a positive integer.",
                [TRAIL_INVALID_PREV_HASH_TYPE] = "prev_event_hash must be string|null.",
                [TRAIL_INVALID_EVENT_HASH] = "event_hash must be a non-empty string.",
                [TRAIL_EVENT_HASH_MISMATCH] = "event_hash does not match the event.",
                [TRAIL_FIRST_PREV_HASH_NON_NULL] = "prev_event_hash of the first event must be null.",
                [TRAIL_PREV_HASH_CHAIN_MISMATCH] = "prev_event_hash does not match the previous event_hash.",
        };

        return texts[fault];
}

static uint64_t replay_from(const Replay *replay) {
        return replay->tail && replay->n_events > replay->tail ? replay->n_events - replay->tail : 0;
}

/* With a tail those of events before it go, so that there is room for those that will be told. */
static void replay_forget_issues(Replay *replay) {
        const TrailIssue *all = (const TrailIssue *)(const void *)replay->verify.data;
        size_t n = 0;

        while (n < replay->verify.n / sizeof(*all) && all[n].seq <= replay_from(replay))
                n++;
        buf_consume(&replay->verify, n * sizeof(*all));
}

static int replay_on_issue(void *user, const TrailIssue *issue) {
        Replay *replay = user;

        replay->n_issues++;
        if (replay->verify.n / sizeof(*issue) == REPLAY_ISSUES_MAX)
                replay_forget_issues(replay);
        return replay->verify.n / sizeof(*issue) == REPLAY_ISSUES_MAX
                       ? 0
                       : error_trace(buf_append(&replay->verify, issue, sizeof(*issue)));
}

static int replay_on_event(Replay *replay, const TrailLine *line) {
        int r = 0;

        if (!replay->tail)
                jw_raw(&replay->out->w, line->raw);
        else if (replay->n_events % REPLAY_STEP == 0)
                r = buf_append(&replay->places, &line->offset, sizeof(line->offset));
        replay->n_events++;
        if (!r && replay->out->w.failed)
                r = error_origin(replay->out->r ? replay->out->r : -ENOMEM);
        return r || !replay->is_verified ? error_trace(r) : trail_check(&replay->check, line);
}

static int replay_on_line(void *user, const TrailLine *line) {
        Replay *replay = user;
        JsonWriter *w = &replay->parse.w;

        if (line->json)
                return replay_on_event(replay, line);
        jw_begin_object(w);
        jw_field_uint(w, "seq", line->seq);
        jw_field_cstr(w, "error", line->error);
        jw_field_str(w, "raw", line->raw);
        jw_end_object(w);
        return w->failed ? error_origin(replay->parse.r ? replay->parse.r : -ENOMEM) : 0;
}

/* ---- the tail -------------------------------------------------------------------------------- */

typedef struct ReplayTail {
        JsonWriter *w;
        uint64_t n_passed; /* events that are not told */
} ReplayTail;

static int replay_on_tail(void *user, const TrailLine *line) {
        ReplayTail *tail = user;

        if (!line->json)
                return 0;
        if (tail->n_passed)
                tail->n_passed--;
        else
                jw_raw(tail->w, line->raw);
        return 0;
}

/* From the last place that was remembered before it. */
static int replay_write_tail(const Replay *replay, int fd, uint64_t end) {
        const uint64_t *places = (const uint64_t *)(const void *)replay->places.data;
        uint64_t from = replay_from(replay);
        ReplayTail tail = {.w = &replay->out->w, .n_passed = from % REPLAY_STEP};
        TrailScan scan = {.fd = fd, .end = end, .line = replay_on_tail, .user = &tail};

        if (!replay->n_events)
                return 0;
        scan.start = places[from / REPLAY_STEP];
        return error_trace(trail_scan(&scan));
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void replay_write_issues(JsonWriter *w, const Replay *replay) {
        const TrailIssue *all = (const TrailIssue *)(const void *)replay->verify.data;
        uint64_t from = replay_from(replay);

        jw_key(w, "verification_issues");
        jw_begin_array(w);
        for (size_t i = 0; i < replay->verify.n / sizeof(*all); i++) {
                char text[128];

                if (all[i].seq <= from)
                        continue;
                snprintf(text, sizeof(text), "%s%s", replay_message(all[i].fault),
                         all[i].key ? all[i].key : "");
                jw_begin_object(w);
                jw_field_uint(w, "seq", all[i].seq);
                jw_field_cstr(w, "code", trail_fault_name(all[i].fault));
                jw_field_cstr(w, "message", text);
                jw_end_object(w);
        }
        jw_end_array(w);
}

static int replay_scan(Replay *replay, int fd, uint64_t end) {
        TrailScan scan = {.fd = fd, .end = end, .line = replay_on_line, .user = replay};
        JsonWriter *w = &replay->out->w;
        int r;

        jw_key(w, "events");
        jw_begin_array(w);
        r = trail_scan(&scan);
        if (!r && replay->tail)
                r = replay_write_tail(replay, fd, end);
        jw_end_array(w);
        jw_key(w, "parse_issues");
        jw_begin_array(w);
        spool_take(replay->out, &replay->parse);
        jw_end_array(w);
        replay_write_issues(w, replay);
        jw_field_bool(w, "deterministic_ok",
                      replay->is_verified && !replay->n_issues && scan.n_lines == scan.n_events);
        return error_trace(r);
}

int replay_write(Spool *out, int fd, bool is_verified, uint64_t tail) {
        Replay replay = {.out = out, .tail = tail, .is_verified = is_verified};
        struct stat st;
        int r;

        if (fstat(fd, &st) < 0)
                return error_origin(-errno);
        if (!S_ISREG(st.st_mode))
                return error_origin(-EISDIR);
        spool_init(&replay.parse, out->folder);
        replay.check.issue = replay_on_issue;
        replay.check.user = &replay;
        if (!tail)
                spool_expect(out, (uint64_t)st.st_size + REPLAY_ROOM);
        r = replay_scan(&replay, fd, (uint64_t)st.st_size);
        trail_check_deinit(&replay.check);
        spool_deinit(&replay.parse);
        buf_deinit(&replay.places);
        buf_deinit(&replay.verify);
        return error_trace(r);
}
