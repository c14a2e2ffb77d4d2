/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "collab/runner"

/*
 * What is remembered of actors that ended by themselves, for whoever looks: the last one of each, and of all
 * together the last ENDS_MAX.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/actor/actor.h"
#include "collab/actor/autostart.h"
#include "collab/actor/runner.h"
#include "collab/collab.h"
#include "collab/parts.h"

enum { ENDS_MAX = 1000 };

static bool runner_end_is_of(const RunnerEnd *end, Str group_id, Str actor_id) {
        Str object = str_from(end->object);

        return object.n == group_id.n + 1 + actor_id.n && str_starts(object, group_id) &&
               object.data[group_id.n] == '/' &&
               str_eq((Str){object.data + group_id.n + 1, actor_id.n}, actor_id);
}

const RunnerEnd *runner_find_end(const Collab *collab, Str group_id, Str actor_id) {
        const RunnerEnd *end = collab->ends;

        while (end && !runner_end_is_of(end, group_id, actor_id))
                end = end->next;
        return end;
}

void runner_drop_end(Collab *collab, Str group_id, Str actor_id) {
        for (RunnerEnd **at = &collab->ends; *at; at = &(*at)->next)
                if (runner_end_is_of(*at, group_id, actor_id)) {
                        RunnerEnd *end = *at;

                        *at = end->next;
                        free(end);
                        return;
                }
}

static void runner_cut_ends(Collab *collab) {
        RunnerEnd **at = &collab->ends;

        for (size_t n = 0; *at && n < ENDS_MAX; n++)
                at = &(*at)->next;
        while (*at) {
                RunnerEnd *end = *at;

                *at = end->next;
                free(end);
        }
}

void runner_note_end(const Runner *runner, const Hosted *hosted) {
        size_t n = strlen(runner->group_id) + strlen(runner->actor_id) + 2;
        RunnerEnd *end = malloc(sizeof(*end) + n);

        runner_drop_end(runner->collab, str_from(runner->group_id), str_from(runner->actor_id));
        if (!end)
                return;
        *end = (RunnerEnd){runner->collab->ends, hosted->state_since_us,
                           hosted->state == HOSTED_ENDED ? hosted_exit_code(hosted) : -1};
        snprintf(end->object, n, "%s/%s", runner->group_id, runner->actor_id);
        runner->collab->ends = end;
        runner_cut_ends(runner->collab);
}

static void runner_free_ends(Collab *collab) {
        while (collab->ends) {
                RunnerEnd *end = collab->ends;

                collab->ends = end->next;
                free(end);
        }
}

/*
 * Runners as a part of the domain: at start those of an earlier daemon are taken up again and groups that
 * are wanted to run are started; at a stop they end when the contract is all that is served, else they run
 * on for the next daemon.
 */
/* ---- start ----------------------------------------------------------------------------------- */

/* While no daemon ran. A home that is not there as a whole says nothing about its groups. */
static bool group_was_removed(const Collab *collab, Str group) {
        _cleanup_(freep) char *folder = NULL;

        if (asprintf(&folder, "%s/" STR_FMT, collab->groups_path, STR_ARG(group)) < 0)
                folder = NULL;
        return folder && access(folder, F_OK) && errno == ENOENT && !access(collab->groups_path, F_OK);
}

static void runner_part_adopt(Collab *collab, Hosted *hosted) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Runner *runner = NULL;
        Json *meta = NULL;
        Str group, actor;

        if (hosted->state == HOSTED_FOREIGN || hosted->is_forgotten)
                return; /* of another version, or about to go */
        if (json_parse(&arena, hosted->meta, strlen(hosted->meta), NULL, &meta, NULL) ||
            !str_is(json_str(json_get(meta, "home")), collab->home))
                return;                        /* of another home, which this daemon does not serve now */
        if (hosted->state != HOSTED_RUNNING) { /* it ended while nobody was there */
                host_forget(hosted);
                return;
        }
        group = json_str(json_get(meta, "group_id"));
        actor = json_str(json_get(meta, "actor_id"));
        if (group_id_is_valid(group) && group_was_removed(collab, group)) {
                log_notice(&collab->daemon->log, hosted->id,
                           "ended: the folder of its group is gone group=" STR_FMT, STR_ARG(group));
                host_discard(hosted, RUNNER_GRACE_MS);
                host_forget(hosted);
                return;
        }
        if (!group_id_is_valid(group) || !actor_id_is_valid(actor) || runner_find(collab, group, actor) ||
            runner_new(&runner, collab, RUNNER_PTY, group, actor)) {
                log_warning(&collab->daemon->log, hosted->id, "belongs to no actor that can be made out");
                return;
        }
        if (caller_env_note(collab, group, actor, json_get(meta, "caller_env")))
                log_warning(&collab->daemon->log, hosted->id, "a part of its environment was lost");
        runner_claim(runner, hosted);
}

static int runner_part_started(Collab *collab) {
        collab->is_ending = false;
        for (Hosted *hosted = collab->daemon->host ? host_first(collab->daemon->host) : NULL, *next; hosted;
             hosted = next) {
                next = hosted->next;
                if (!strcmp(hosted->owner, "collab") && !hosted->handler)
                        runner_part_adopt(collab, hosted);
        }
        return error_trace(autostart_begin(collab));
}

/* ---- end ------------------------------------------------------------------------------------- */

static void runner_part_stopping(Collab *collab) {
        if (daemon_is_stand_in(collab->daemon)) /* the original's actors end with it */
                runners_end_all(collab);
}

/* Workers come back to what closed() frees. */
static bool runner_part_is_busy(const Collab *collab) {
        bool is_awaited = false;

        for (const Runner *runner = LIST_FIRST(&collab->runners); runner; runner = LIST_NEXT(runner, link))
                is_awaited |= runner->is_writing || runner->is_wrapping;
        return is_awaited || collab->is_clearing;
}

static void closed(Collab *collab) {
        runner_free_ends(collab);
        runners_let_go(collab);
        for (Runner *runner = LIST_FIRST(&collab->runners), *next; runner; runner = next) {
                next = LIST_NEXT(runner, link);
                runner_free(runner);
        }
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bool actor_is_running(const Group *group, Str actor) {
        return runner_is_running(runner_find(group->collab, str_from(group->id), actor));
}

typedef struct GroupEnd {
        Daemon *daemon; /* its stop waits for it */
        size_t n_left;
        void (*stopped)(void *user);
        void *user;
} GroupEnd;

typedef struct EndWait {
        RunnerWait wait;
        GroupEnd *end;
} EndWait;

static void one_gone(GroupEnd *end) {
        if (--end->n_left)
                return;
        end->stopped(end->user);
        daemon_release_stop(end->daemon);
        free(end);
}

static void runner_part_on_gone(RunnerWait *wait, _unused_ int error) {
        EndWait *self = container_of(wait, EndWait, wait);
        GroupEnd *end = self->end;

        free(self);
        one_gone(end);
}

static void group_stop(Group *group, void (*stopped)(void *user), void *user) {
        GroupEnd *end = calloc(1, sizeof(*end));

        if (!end) {
                stopped(user);
                return;
        }
        *end = (GroupEnd){.daemon = group->collab->daemon, .n_left = 1, .stopped = stopped, .user = user};
        daemon_hold_stop(end->daemon);
        for (Runner *runner = LIST_FIRST(&group->collab->runners), *next; runner; runner = next) {
                EndWait *wait = strcmp(runner->group_id, group->id) != 0 ? NULL : calloc(1, sizeof(*wait));

                next = LIST_NEXT(runner, link);
                if (!wait)
                        continue;
                *wait = (EndWait){.wait.done = runner_part_on_gone, .end = end};
                end->n_left++;
                runner_end(runner, &wait->wait);
        }
        one_gone(end);
}

const CollabPart runner_part = {.name = "runners",
                                .started = runner_part_started,
                                .stopping = runner_part_stopping,
                                .is_busy = runner_part_is_busy,
                                .closed = closed,
                                .actor_is_running = actor_is_running,
                                .group_stop = group_stop};
