/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/audit"

#include "core/principal/audit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "base/strvec.h"
#include "base/time.h"
#include "base/utf8.h"
#include "core/ledger/ledger.h"

enum { AUDIT_ID_DIGITS = 24, AUDIT_FEED_MS = 1000 };

typedef enum AuditState { AUDIT_NEW, AUDIT_OPENING, AUDIT_OPEN, AUDIT_FAILED, AUDIT_CLOSING } AuditState;

struct Audit {
        Daemon *daemon;
        AuditState state;
        char *folder, *path, *state_path, *archive;
        Ledger *ledger;
        StrVec waiting; /* lines, while it is opened */
        size_t n_under_way;
        uint64_t n_missed;
        int64_t fed_ms; /* when the feed was told last */
        bool is_halving;
        uint64_t *positions; /* while it is halved */
        int r;               /* of the worker */
};

typedef struct AuditLine {
        Audit *audit;
        LedgerChange change;
} AuditLine;

static void audit_warn(const Audit *self, const char *what, int r) {
        log_warning(&self->daemon->log, self->path ? self->path : "-", "%s: %s", what, strerror(-r));
}

Audit *audit_free(Audit *audit) {
        if (!audit)
                return NULL;
        strvec_deinit(&audit->waiting);
        free(audit->positions);
        free(audit->folder);
        free(audit->path);
        free(audit->state_path);
        free(audit->archive);
        free(audit);
        return NULL;
}

static Audit *audit_new(Daemon *daemon) {
        Audit *self = calloc(1, sizeof(*self));

        if (!self)
                return NULL;
        self->daemon = daemon;
        self->folder = path_join(daemon->home, "audit");
        self->path = self->folder ? path_join(self->folder, "ledger.jsonl") : NULL;
        self->state_path = self->folder ? path_join(self->folder, "state/ledger") : NULL;
        self->archive = self->folder ? path_join(self->folder, "archive.jsonl") : NULL;
        return self->path && self->state_path && self->archive ? self : audit_free(self);
}

/* ---- its bound ------------------------------------------------------------------------------- */

static void audit_on_halved(void *user, int r) {
        Audit *self = user;

        self->is_halving = false;
        free(self->positions);
        self->positions = NULL;
        if (r)
                audit_warn(self, "cannot be shortened", r);
}

static void audit_drop_archive(void *user) {
        const Audit *self = user;

        (void)unlink(self->archive);
}

static void audit_halve(void *user) {
        Audit *self = user;
        size_t n = AUDIT_LINES_MAX / 2;
        int r;

        self->positions = self->state == AUDIT_OPEN ? calloc(n, sizeof(*self->positions)) : NULL;
        for (size_t i = 0; self->positions && i < n; i++)
                self->positions[i] = i;
        r = self->positions
                    ? ledger_rewrite(self->ledger, self->positions, n, self->archive, audit_on_halved, self)
                    : -ECANCELED;
        if (r)
                audit_on_halved(self, r == -ECANCELED ? 0 : r);
}

static void audit_bound(Audit *self) {
        if (self->is_halving || self->state != AUDIT_OPEN ||
            ledger_n_committed(self->ledger) < AUDIT_LINES_MAX)
                return;
        self->is_halving = !loop_work(self->daemon->loop, audit_drop_archive, audit_halve, self);
}

/* ---- lines ----------------------------------------------------------------------------------- */

static bool audit_classify(_unused_ Arena *arena, const Json *line, LedgerFacts *facts) {
        *facts = (LedgerFacts){.id = json_str(json_get(line, "id")),
                               .kind = json_str(json_get(line, "kind"))};
        if (!time_parse(json_str(json_get(line, "ts")), &facts->ts_us))
                facts->ts_us = 0;
        return facts->id.n && facts->kind.n;
}

static void audit_on_kept(LedgerChange *change, int r) {
        AuditLine *line = container_of(change, AuditLine, change);
        Audit *self = line->audit;

        self->n_under_way--;
        if (r)
                audit_warn(self, "a refusal was not kept", r);
        free(line);
        audit_bound(self);
}

static int audit_append(Audit *self, Str text) {
        AuditLine *line = calloc(1, sizeof(*line));
        int r;

        if (!line)
                return error_origin(-ENOMEM);
        line->audit = self;
        ledger_change_init(&line->change, self->ledger, audit_on_kept);
        r = ledger_change_line(&line->change, text);
        if (!r)
                r = ledger_change_commit(&line->change);
        if (!r) {
                self->n_under_way++;
                return 0;
        }
        ledger_change_deinit(&line->change);
        free(line);
        return error_trace(r);
}

static int audit_write(Audit *self, const Refused *refused, Buf *out) {
        JsonWriter w = JSON_WRITER(out);
        char id[AUDIT_ID_DIGITS + 1], ts[TIME_TEXT_MAX];
        int r = id_hex(id, AUDIT_ID_DIGITS);

        if (r)
                return error_trace(r);
        time_format_us(loop_wall_us(self->daemon->loop), ts);
        jw_begin_object(&w);
        jw_field_int(&w, "v", 1);
        jw_field_cstr(&w, "id", id);
        jw_field_cstr(&w, "ts", ts);
        jw_field_cstr(&w, "kind", "refused");
        jw_field_cstr(&w, "code", refused->code);
        jw_field_cstr(&w, "principal", refused->principal);
        jw_field_cstr(&w, "proof", refused->proof);
        jw_field_int(&w, "pid", refused->pid);
        jw_field_cstr(&w, "dialect", refused->dialect);
        jw_field_cstr(&w, "op", refused->op);
        jw_field_cstr(&w, "right", refused->right);
        if (refused->tool)
                jw_field_cstr(&w, "tool", refused->tool);
        if (refused->claimed.n)
                jw_field_str(&w, "claimed", utf8_first(refused->claimed, AUDIT_CLAIM_MAX));
        if (self->n_missed)
                jw_field_uint(&w, "missed", self->n_missed);
        jw_end_object(&w);
        return w.failed || !buf_cstr(out) ? error_origin(-ENOMEM) : 0;
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void audit_on_closed(void *user) {
        Audit *self = user;

        daemon_release_stop(self->daemon);
}

static void audit_close(Audit *self) {
        ledger_close(steal(&self->ledger), audit_on_closed, self);
}

static void audit_on_opened(void *user, int r) {
        Audit *self = user;

        if (self->state == AUDIT_CLOSING) {
                audit_close(self);
                return;
        }
        self->state = r ? AUDIT_FAILED : AUDIT_OPEN;
        if (r)
                audit_warn(self, "cannot be opened", r);
        for (size_t i = 0; i < self->waiting.n; i++)
                if (r || audit_append(self, str_from(self->waiting.items[i])))
                        self->n_missed++;
        strvec_deinit(&self->waiting);
}

static void audit_on_committed(_unused_ void *user, _unused_ uint64_t first, _unused_ uint64_t n) {}

static void audit_make_folder(void *user) {
        Audit *self = user;
        _cleanup_(freep) char *state = path_join(self->folder, "state");

        self->r = state ? dir_make(self->folder, 0700) : -ENOMEM;
        if (!self->r)
                self->r = dir_make(state, 0700);
}

static void audit_open_ledger(void *user) {
        Audit *self = user;
        LedgerOptions options = {.loop = self->daemon->loop,
                                 .totals = &self->daemon->ledgers,
                                 .path = self->path,
                                 .state_path = self->state_path,
                                 .policy = LEDGER_INTERVAL,
                                 .has_chain = true,
                                 .is_lines_only = true,
                                 .classify = audit_classify,
                                 .committed = audit_on_committed,
                                 .user = self};
        int r = self->state == AUDIT_CLOSING ? -ECANCELED : self->r;

        if (!r)
                r = ledger_open(&self->ledger, &options, audit_on_opened);
        if (r && r != -ECANCELED)
                audit_on_opened(self, r);
}

static void audit_open(Audit *self) {
        self->state = AUDIT_OPENING;
        if (loop_work(self->daemon->loop, audit_make_folder, audit_open_ledger, self))
                audit_on_opened(self, -ENOMEM);
}

/* One that is being opened is closed when it is open. */
void audit_stop(Audit *audit) {
        bool is_opening = audit && audit->state == AUDIT_OPENING;

        if (!audit || audit->state == AUDIT_CLOSING)
                return;
        audit->state = AUDIT_CLOSING;
        if (!audit->ledger)
                return;
        daemon_hold_stop(audit->daemon);
        if (!is_opening)
                audit_close(audit);
}

/* A flood of refusals must not push everything else out of the feed. */
static void audit_feed(Audit *self, const Refused *refused, Str text) {
        int64_t now_ms = loop_now_ms(self->daemon->loop);
        FeedPlace place;

        if (!self->daemon->feed || (self->fed_ms && now_ms - self->fed_ms < AUDIT_FEED_MS))
                return;
        self->fed_ms = MAX(now_ms, 1);
        feed_place(&place, "audit", str_from(refused->principal), STR("refused"), FEED_NOWHERE);
        (void)feed_push(self->daemon->feed, &place, chunk_new(text));
}

static bool audit_has_room(const Audit *self) {
        return self->waiting.n + self->n_under_way < AUDIT_WAITING_MAX;
}

void audit_refused(Daemon *daemon, const Refused *refused) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Audit *self =
                daemon->audit ? daemon->audit : (daemon->audit = daemon->home ? audit_new(daemon) : NULL);
        int r;

        log_info(&daemon->log, refused->op, "refused code=%s principal=%s right=%s pid=%d", refused->code,
                 refused->principal, refused->right, (int)refused->pid);
        if (!self || daemon->is_stopping || self->state == AUDIT_CLOSING)
                return;
        if (self->state == AUDIT_NEW)
                audit_open(self);
        r = audit_has_room(self) && self->state != AUDIT_FAILED ? audit_write(self, refused, &text)
                                                                : -ENOBUFS;
        if (!r)
                r = self->state == AUDIT_OPEN ? audit_append(self, buf_str(&text))
                                              : strvec_push(&self->waiting, text.data);
        if (!r)
                audit_feed(self, refused, buf_str(&text));
        self->n_missed = r ? self->n_missed + 1 : 0;
}
