/* SPDX-License-Identifier: MIT */
#include "collab/group-work.h"

#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "collab/collab.h"

typedef struct WorkJob {
        Call *call;
        Group *group;
        GroupWorkFn run;
        GroupFn then;
        void *args;
        bool is_edit;
        int r;
} WorkJob;

static void group_work_run(void *user) {
        WorkJob *job = user;

        job->r = job->run(job->group, job->args);
}

static void group_work_done(void *user) {
        WorkJob *job = user;
        Group *group = job->group;
        int r = job->r ? job->r : group_run(job->call, group, job->then, job->args);

        if (r != CALL_LATER) {
                if (job->is_edit)
                        group_edit_end(group); /* before the call ends, which its place belongs to */
                if (job->call)
                        call_finish(job->call, r);
        }
        group_unref(group);
        free(job);
}

int group_work(Call *call, Group *group, GroupWorkFn fn, GroupFn then, void *args) {
        WorkJob *job = calloc(1, sizeof(*job));

        if (job) {
                *job = (WorkJob){.call = call,
                                 .group = group_ref(group),
                                 .run = fn,
                                 .then = then,
                                 .args = args,
                                 .is_edit = group_is_editing(group, call)};
                if (!loop_work(group->collab->daemon->loop, group_work_run, group_work_done, job))
                        return CALL_LATER;
                group_unref(group);
        }
        free(job);
        return error_origin(-ENOMEM);
}
