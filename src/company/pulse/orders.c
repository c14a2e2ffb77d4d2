/* SPDX-License-Identifier: MIT */
#include "company/pulse/orders.h"

#include <errno.h>

#include "base/error.h"
#include "company/job/job.h"

int orders_make(Edit *edit, Json *jobs) {
        json_each (job, jobs) {
                int r = json_set(edit->arena, job, STR("workspace_dir"),
                                 json_new_str(edit->arena, str_from(edit->workspace->path)));

                if (!r)
                        r = job_make(edit, job);
                if (r)
                        return error_trace(r);
        }
        return 0;
}

typedef struct Orders { /* in the call's arena */
        Carry step;
        const Json *next;
        WorkspaceFn fn;
        const Carry *carry;
} Orders;

static int orders_go_on(Call *call, Workspace *workspace, Orders *orders);

static int orders_begun(Call *call, Workspace *workspace, _unused_ Str status, const Carry *carry) {
        return orders_go_on(call, workspace, container_of(carry, Orders, step));
}

static int orders_go_on(Call *call, Workspace *workspace, Orders *orders) {
        const Json *job = orders->next;

        if (!job)
                return orders->fn(call, workspace, orders->carry);
        orders->next = job->next;
        return job_submit(call, workspace, job, call->client, orders_begun, &orders->step);
}

int orders_begin(Call *call, Workspace *workspace, const Json *jobs, WorkspaceFn fn, const Carry *carry) {
        Orders *orders;

        if (!json_count(jobs))
                return fn(call, workspace, carry);
        orders = arena_alloc(&call->arena, sizeof(*orders));
        if (!orders)
                return error_origin(-ENOMEM);
        *orders = (Orders){.next = json_first(jobs), .fn = fn, .carry = carry};
        return orders_go_on(call, workspace, orders);
}
