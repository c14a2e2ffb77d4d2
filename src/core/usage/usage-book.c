/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/usage"

#include "core/usage/usage-book.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/place.h"
#include "core/fleet/fleet.h"
#include "core/usage/agent-account.h"
#include "core/usage/budget.h"
#include "core/usage/usage-book-internal.h"

/* ---- files ----------------------------------------------------------------------------------- */

static bool book_is_live(const UsageBook *self, const char *process) {
        Hosted *hosted = self->daemon->host ? host_find(self->daemon->host, str_from(process)) : NULL;

        return hosted && (hosted->state == HOSTED_STARTING || hosted->state == HOSTED_RUNNING);
}

static UsageFollow *book_find(const UsageBook *self, Str path) {
        for (UsageFollow *follow = self->follows; follow; follow = follow->next)
                if (str_is(path, follow->file.path))
                        return follow;
        return NULL;
}

/* One of a process that is gone, and all of which was read. */
static bool book_has_room(UsageBook *self) {
        if (self->n_follows < USAGE_FILES_MAX)
                return true;
        for (UsageFollow **link = &self->follows; *link; link = &(*link)->next) {
                UsageFollow *follow = *link;

                if (follow->is_reading || follow->is_due || book_is_live(self, follow->process))
                        continue;
                *link = follow->next;
                self->n_follows--;
                usage_follow_free(follow);
                return true;
        }
        return false;
}

static void book_on_again(Timer *timer) {
        UsageFollow *follow = container_of(timer, UsageFollow, again);

        follow->is_due = true;
        usage_follow_run(follow->book);
}

/* How it is called; NULL without memory. */
static char *book_name(const UsageBook *self, const Hosted *hosted) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        FleetThing thing = {0};
        char *name = NULL;

        if (fleet_describe(self->daemon, hosted, &arena, &thing))
                return NULL;
        if (thing.name.n)
                return str_dup(thing.name);
        return asprintf(&name, "process:%s", hosted->id) < 0 ? NULL : name;
}

/* form: TRANSCRIPT_NONE for an output. */
static UsageFollow *book_add(UsageBook *self, Str runtime, Str path, TranscriptForm form) {
        UsageFollow *follow = book_has_room(self) ? calloc(1, sizeof(*follow)) : NULL;

        if (!follow)
                return NULL;
        follow->book = self;
        timer_init(&follow->again, self->daemon->loop, book_on_again);
        follow->runtime = str_dup(runtime);
        follow->is_output = form == TRANSCRIPT_NONE;
        transcript_file_init(&follow->file, str_dup(path), form);
        if (!follow->runtime || !follow->file.path) {
                usage_follow_free(follow);
                return NULL;
        }
        follow->next = self->follows;
        self->follows = follow;
        self->n_follows++;
        self->files.n_followed += !follow->is_output;
        return follow;
}

/* False: it is another's. */
static bool book_claim(UsageBook *self, UsageFollow *follow, Hosted *hosted) {
        if (!strcmp(follow->process, hosted->id))
                return true;
        if (follow->is_reading || (follow->name && book_is_live(self, follow->process)))
                return false;
        free(follow->name);
        free(follow->account);
        follow->account = NULL;
        follow->name = book_name(self, hosted);
        follow->pid = hosted_agent_pid(hosted);
        snprintf(follow->process, sizeof(follow->process), "%s", hosted->id);
        return follow->name;
}

void usage_heard(UsageBook *self, Hosted *hosted, Str runtime, Str path) {
        UsageFollow *follow;

        if (!self || !path.n || self->life == USAGE_CLOSING || transcript_form(runtime) == TRANSCRIPT_NONE)
                return;
        follow = transcript_file_is_path(path) ? book_find(self, path) : NULL;
        if (!follow && transcript_file_is_path(path))
                follow = book_add(self, runtime, path, transcript_form(runtime));
        if (!follow || !book_claim(self, follow, hosted)) {
                self->files.n_refused++;
                return;
        }
        follow->is_due = true;
        (void)timer_set(&follow->again, USAGE_AGAIN_MS);
        usage_ledger_open(self);
        usage_follow_run(self);
}

/* Its account is known as it was started; of one that was found again a worker looks it up. */
static UsageFollow *book_add_output(UsageBook *self, Hosted *hosted, Str runtime, Str path) {
        UsageFollow *follow = book_add(self, runtime, path, TRANSCRIPT_NONE);

        if (!follow)
                return NULL;
        if (hosted->account && str_starts(str_from(hosted->account), runtime) &&
            hosted->account[runtime.n] == ':')
                follow->account = strdup(hosted->account);
        follow->pid = hosted_agent_pid(hosted);
        snprintf(follow->process, sizeof(follow->process), "%s", hosted->id);
        return follow;
}

void usage_told(UsageBook *self, Hosted *hosted, Str runtime, const TranscriptItem *item) {
        UsageFollow *follow;
        char path[64]; /* no path of a file: it is not absolute */

        if (!self || self->life == USAGE_CLOSING || !account_is_known(runtime))
                return;
        snprintf(path, sizeof(path), "output:%s:" STR_FMT, hosted->id, STR_ARG(runtime));
        follow = book_find(self, str_from(path));
        if (!follow)
                follow = book_add_output(self, hosted, runtime, str_from(path));
        if (follow && !follow->name)
                follow->name = book_name(self, hosted);
        if (!follow || !follow->name)
                return; /* no memory, or too many */
        usage_follow_told(follow, item);
        usage_ledger_open(self);
        usage_follow_run(self);
}

void usage_look(UsageBook *self, const Hosted *hosted) {
        bool is_any = false;

        for (UsageFollow *follow = self ? self->follows : NULL; follow; follow = follow->next)
                if (!strcmp(follow->process, hosted->id) && !follow->is_refused && !follow->is_output)
                        follow->is_due = is_any = true;
        if (is_any)
                usage_follow_run(self);
}

/* ---- turns ----------------------------------------------------------------------------------- */

static void book_free_turn(UsageTurn *turn) {
        free(turn->name);
        free(turn->runtime);
        free(turn);
}

/* Told by hooks, or by what it prints, not by a file: kept as a line of its own, without tokens. */
static void book_take_turn(UsageBook *self, const UsageTurn *turn) {
        UsageRecord record = {.ts_us = turn->end_us,
                              .name = str_from(turn->name),
                              .runtime = str_from(turn->runtime),
                              .account = usage_book_account(self, turn->process),
                              .process = str_from(turn->process),
                              .n_turns = 1,
                              .n_ms = MAX((turn->end_us - turn->begin_us) / 1000, 0)};
        UsageTaken taken = USAGE_KNOWN;
        UsageTokens more;
        LedgerChange *change;
        char key[64];

        snprintf(key, sizeof(key), "turn:%s:%lld", turn->process, (long long)turn->begin_us);
        record.key = str_from(key);
        if (usage_table_take(self->table, &record, &taken, &more) || taken != USAGE_NEW)
                return;
        change = usage_ledger_begin(self);
        if (change && !usage_ledger_line(self, change, &record))
                usage_ledger_commit(self, change);
        if (self->changed)
                self->changed(self->daemon);
}

static void book_take_turns(UsageBook *self) {
        UsageTurn *turns = steal(&self->turns);

        self->n_turns = 0;
        while (turns) {
                UsageTurn *turn = turns;

                turns = turn->next;
                if (self->life == USAGE_OPEN || self->life == USAGE_FAILED)
                        book_take_turn(self, turn);
                book_free_turn(turn);
        }
}

void usage_turn(UsageBook *self, Hosted *hosted, Str runtime, int64_t begin_us, int64_t end_us) {
        UsageTurn *turn = self && self->n_turns < USAGE_TURNS_MAX ? calloc(1, sizeof(*turn)) : NULL;

        if (!turn)
                return;
        turn->begin_us = begin_us;
        turn->end_us = end_us;
        turn->name = book_name(self, hosted);
        turn->runtime = str_dup(runtime);
        snprintf(turn->process, sizeof(turn->process), "%s", hosted->id);
        if (!turn->name || !turn->runtime) {
                book_free_turn(turn);
                return;
        }
        turn->next = self->turns;
        self->turns = turn;
        self->n_turns++;
        usage_ledger_open(self);
        if (self->life != USAGE_OPENING)
                book_take_turns(self);
}

void usage_ended(UsageBook *self, const Hosted *hosted) {
        for (UsageFollow *follow = self ? self->follows : NULL; follow; follow = follow->next)
                if (!strcmp(follow->process, hosted->id) && !follow->is_output)
                        follow->is_due = true;
        if (self)
                usage_follow_run(self);
}

/* ---- what is asked --------------------------------------------------------------------------- */

const UsageTable *usage_book_table(const UsageBook *self) {
        return self && self->life != USAGE_OPENING ? self->table : NULL;
}

void usage_book_opened(UsageBook *self) {
        UsageWait *waits = steal(&self->waits);

        book_take_turns(self);
        self->n_waits = 0;
        while (waits) {
                UsageWait *wait = waits;

                waits = wait->next;
                call_finish(wait->call, wait->fn(wait->call, wait->carry));
        }
}

int usage_book_call(Call *call, CallThenFn fn, const Carry *carry) {
        UsageBook *self = call->daemon->usage;
        UsageWait *wait;

        if (!self || self->life == USAGE_CLOSING || self->n_waits >= USAGE_CALLS_MAX)
                return call_fail(call, CALL_E_UNAVAILABLE, "what was used cannot be told now");
        if (self->life != USAGE_OPENING)
                return fn(call, carry);
        wait = arena_alloc(&call->arena, sizeof(*wait));
        if (!wait)
                return error_origin(-ENOMEM);
        *wait = (UsageWait){self->waits, call, fn, carry};
        self->waits = wait;
        self->n_waits++;
        return CALL_LATER;
}

bool usage_book_is_idle(const UsageBook *self) {
        if (self->n_reading || self->n_under_way || self->life == USAGE_OPENING)
                return false;
        for (const UsageFollow *follow = self->follows; follow; follow = follow->next)
                if (follow->is_due)
                        return false;
        return true;
}

struct Budgets *usage_book_budgets(const UsageBook *self) {
        return self ? self->budgets : NULL;
}

Str usage_book_account(const UsageBook *self, const char *process) {
        for (const UsageFollow *follow = self ? self->follows : NULL; follow; follow = follow->next)
                if (follow->account && !strcmp(follow->process, process))
                        return str_from(follow->account);
        return STR_NULL;
}

Str usage_book_version(const UsageBook *self, const char *process) {
        for (const UsageFollow *follow = self ? self->follows : NULL; follow; follow = follow->next)
                if (*follow->version && !strcmp(follow->process, process))
                        return str_from(follow->version);
        return STR_NULL;
}

UsageFiles usage_book_files(const UsageBook *self) {
        return self->files;
}

const UsageModel *usage_book_models(const UsageBook *self, size_t *ret_n) {
        *ret_n = self->n_models;
        return self->models;
}

void usage_book_on_tail(UsageBook *self, void (*tail)(Daemon *daemon, Str process, Str runtime, Str text)) {
        self->tail = tail;
}

void usage_book_on_change(UsageBook *self, void (*changed)(Daemon *daemon)) {
        self->changed = changed;
}

void usage_book_on_limits(UsageBook *self, UsageLimitsFn limits) {
        self->limits = limits;
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Beside muster.toml. */
static char *book_users_prices(void) {
        _cleanup_(freep) char *config = place_config();
        char *slash = config ? strrchr(config, '/') : NULL;
        char *path = NULL;

        if (!slash)
                return NULL;
        return asprintf(&path, "%.*s/prices.toml", (int)(slash - config), config) < 0 ? NULL : path;
}

UsageBook *usage_book_free(UsageBook *self) {
        if (!self)
                return NULL;
        while (self->follows) {
                UsageFollow *follow = self->follows;

                self->follows = follow->next;
                usage_follow_free(follow);
        }
        book_take_turns(self);
        budgets_free(self->budgets);
        usage_table_free(self->table);
        prices_deinit(&self->prices);
        arena_deinit(&self->words);
        free(self->positions);
        free(self->folder);
        free(self->path);
        free(self->state_path);
        free(self->archive);
        free(self->users_prices);
        free(self->prices_why);
        free(self);
        return NULL;
}

int usage_book_new(UsageBook **ret, Daemon *daemon) {
        UsageBook *self = calloc(1, sizeof(*self));
        int r = self ? usage_table_new(&self->table) : -ENOMEM;

        if (r) {
                free(self);
                return error_trace(r);
        }
        self->daemon = daemon;
        self->folder = path_join(daemon->home, "usage");
        self->path = self->folder ? path_join(self->folder, "ledger.jsonl") : NULL;
        self->state_path = self->folder ? path_join(self->folder, "state/ledger") : NULL;
        self->archive = self->folder ? path_join(self->folder, "archive.jsonl") : NULL;
        self->users_prices = book_users_prices();
        if (!self->path || !self->state_path || !self->archive) {
                usage_book_free(self);
                return error_origin(-ENOMEM);
        }
        r = budgets_new(&self->budgets, daemon, self);
        if (r) {
                usage_book_free(self);
                return error_trace(r);
        }
        if (!access(self->path, F_OK))
                usage_ledger_open(self);
        *ret = self;
        return 0;
}
