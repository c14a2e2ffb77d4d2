/* SPDX-License-Identifier: MIT */
/*
 * The lane of a workspace's launches: so many at a time, of the workspace, of a provider, of a team; the highest priority
 * first, then who came first. A slot is held while a session is being launched, not while its program runs. A launch
 * whose provider cools down, or has no slot, lets others pass.
 */
#include <errno.h>

#include "base/error.h"
#include "company/run/run.h"

static bool lane_has_room(const Run *run) {
        const struct Runs *runs = run->workspace->runs;
        unsigned n = 0, n_provider = 0, n_team = 0;

        for (const Run *other = runs->first; other; other = other->next) {
                if (!other->has_slot)
                        continue;
                n++;
                n_provider += str_eq(other->provider, run->provider);
                n_team += run->team_id.n && str_eq(other->team_id, run->team_id);
        }
        return n < MAX(run->spec.workspace_limit, 1U) && n_provider < MAX(run->spec.provider_limit, 1U) &&
               n_team < MAX(run->spec.team_limit, 1U);
}

static int64_t lane_cool_until(const struct Runs *runs, Str provider) {
        for (size_t i = 0; i < runs->n_cools; i++)
                if (str_eq(runs->cools[i].provider, provider))
                        return runs->cools[i].until_ms;
        return 0;
}

static bool lane_is_before(const Run *run, const Run *other) {
        if (!other || run->spec.priority != other->spec.priority)
                return !other || run->spec.priority < other->spec.priority;
        return run->number < other->number;
}

/* Also says when the next one that cools down can go on; 0: none. */
static Run *lane_first(struct Runs *runs, int64_t now_ms, int64_t *ret_cool_ms) {
        Run *first = NULL;

        *ret_cool_ms = 0;
        for (Run *run = runs->first; run; run = run->next) {
                int64_t until_ms = run->is_waiting ? lane_cool_until(runs, run->provider) : 0;

                if (until_ms > now_ms) {
                        *ret_cool_ms = *ret_cool_ms ? MIN(*ret_cool_ms, until_ms) : until_ms;
                        continue;
                }
                if (run->is_waiting && lane_is_before(run, first) && lane_has_room(run))
                        first = run;
        }
        return first;
}

void lanes_look(struct Runs *runs) {
        int64_t now_ms = loop_now_ms(runs->workspace->company->daemon->loop), cool_ms = 0;
        Run *run;

        while (runs->n_waiting && (run = lane_first(runs, now_ms, &cool_ms))) {
                run->is_waiting = false;
                runs->n_waiting--;
                run->has_slot = true;
                launch_granted(run);
        }
        if (runs->n_waiting && cool_ms)
                (void)timer_set(&runs->cooled, cool_ms - now_ms);
}

int lane_enter(Run *run) {
        struct Runs *runs = run->workspace->runs;

        if (runs->n_waiting >= RUN_WAITING_MAX)
                return error_origin(-ENOBUFS);
        run->is_waiting = true;
        runs->n_waiting++;
        lanes_look(runs);
        return 0;
}

/* Who comes next begins in a turn of its own: whoever leaves is in the middle of something. */
void lane_leave(Run *run) {
        struct Runs *runs = run->workspace->runs;
        bool had_slot = run->has_slot;

        runs->n_waiting -= run->is_waiting;
        run->is_waiting = run->has_slot = false;
        if (had_slot && runs->n_waiting)
                (void)timer_set(&runs->cooled, 0);
}

void run_cool_down(Workspace *workspace, Str provider, int64_t ms) {
        struct Runs *runs = workspace->runs;
        int64_t until_ms = loop_now_ms(workspace->company->daemon->loop) + ms;
        size_t i = 0;

        while (i < runs->n_cools && !str_eq(runs->cools[i].provider, provider))
                i++;
        if (i == RUN_COOL_MAX)
                return; /* more providers than there are: nothing waits for this one */
        if (i == runs->n_cools) {
                Str copy = arena_str(&runs->arena, provider);

                if (!copy.data)
                        return;
                runs->cools[runs->n_cools++].provider = copy;
        }
        runs->cools[i].until_ms = until_ms;
}
