#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The domains that name what they have hosted, for Daemon.fleet; and what the operations of the fleet share.
 */
#include "core/fleet/fleet.h"

extern const FleetOwner *const fleet_owners[]; /* ends with NULL */

/* Fails the call: this verb is not for what is named. */
int fleet_refuse_verb(Call *call, const char *verb, const FleetThing *thing);
/* Its process, if it runs; else the call has failed. */
int fleet_require_hosted(Call *call, const FleetThing *thing, Hosted **ret);
/* The members name, kind and id. */
void fleet_write_members(JsonWriter *w, const FleetThing *thing);
/* op-process.c: ends one that no domain looks after. */
void process_end(Hosted *hosted, bool is_forced);
