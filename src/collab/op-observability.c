/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collab/collab.h"
#include "collab/observability.h"
#include "core/ledger/ledger.h"
#include "gen/cccc-ops.h"

/* One reading or change of settings.yaml on a worker. */
typedef struct Job {
        Call *call;
        Collab *collab;
        const Json *patch; /* lives in the call */
        Arena arena;
        Json *settings;
        int r;
} Job;

static void observability_run(void *user) {
        Job *job = user;

        pthread_mutex_lock(&job->collab->settings_lock);
        job->r = observability_load(&job->arena, job->collab->settings_path, job->patch, &job->settings);
        pthread_mutex_unlock(&job->collab->settings_lock);
}

static int observability_answer(Job *job) {
        JsonWriter *w;

        if (job->r && json_count(job->patch))
                return call_fail(job->call, CALL_E_OBSERVABILITY_UPDATE_FAILED,
                                 "cannot store the settings: %s", strerror(-job->r));
        if (job->r)
                return job->r;
        collab_apply_level(job->collab, job->settings);
        w = call_result(job->call);
        jw_begin_object(w);
        jw_field_value(w, "observability", job->settings);
        jw_field_cstr(w, "durability", ledger_policy_name(ledger_policy_of(&job->call->daemon->config)));
        jw_end_object(w);
        return 0;
}

static void observability_done(void *user) {
        Job *job = user;

        call_finish(job->call, observability_answer(job));
        arena_deinit(&job->arena);
        free(job);
}

static int observability_start(Call *call, const Json *patch) {
        Job *job = calloc(1, sizeof(*job));

        if (!job)
                return -ENOMEM;
        *job = (Job){.call = call, .collab = call->daemon->collab, .patch = patch};
        if (loop_work(call->daemon->loop, observability_run, observability_done, job)) {
                free(job);
                return -ENOMEM;
        }
        return CALL_LATER;
}

int op_cccc_observability_get(Call *call, _unused_ const CcccObservabilityGetArgs *args) {
        return observability_start(call, NULL);
}

int op_cccc_observability_update(Call *call, const CcccObservabilityUpdateArgs *args) {
        if (!str_is(args->by, "user"))
                return call_fail(call, CALL_E_PERMISSION_DENIED,
                                 "only user can update global observability settings");
        return observability_start(call, args->patch);
}
