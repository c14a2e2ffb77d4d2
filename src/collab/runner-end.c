/* SPDX-License-Identifier: MIT */
/*
 * What is remembered of actors that ended by themselves, for whoever looks: the last one of each, and of all
 * together the last ENDS_MAX.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collab/collab.h"
#include "collab/runner.h"

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

void runner_free_ends(Collab *collab) {
        while (collab->ends) {
                RunnerEnd *end = collab->ends;

                collab->ends = end->next;
                free(end);
        }
}
