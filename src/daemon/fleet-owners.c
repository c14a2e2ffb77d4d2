/* SPDX-License-Identifier: MIT */
#include "daemon/fleet-owners.h"

#include "collab/collab.h"
#include "company/run/runs.h"
#include "sessions/sessions.h"
#include "tasks/project.h"

const FleetOwner *const fleet_owners[] = {&fleet_session, &fleet_actor, &fleet_task, &fleet_run, NULL};
