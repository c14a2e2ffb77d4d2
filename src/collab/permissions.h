#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Permissions: who may do what in a group. Roles are derived at every use and never stored: the first
 * enabled actor in list order is the foreman, everybody else is a peer. Pure functions over the document.
 */
#include "collab/group-doc.h"
#include "core/call.h"

const ActorView *group_foreman(const GroupDoc *doc); /* NULL: nobody is */
bool group_is_foreman(const GroupDoc *doc, Str actor);
const char *group_role(const GroupDoc *doc, Str actor); /* "foreman", "peer" */

typedef enum GroupRight {
        RIGHT_FOREMAN,         /* user and foreman */
        RIGHT_FOREMAN_OR_SELF, /* and the actor that it is about */
        RIGHT_SELF,            /* user and that actor */
        RIGHT_USER,            /* the user only */
} GroupRight;

/*
 * 0 when `by` may do it, else call_fail(call, error, …). by: empty and "user" may everything, a name that is
 * no actor of the group nothing. target: the actor that it is about, for the rights of self. action: for the
 * message, as the contract names it ("group.update").
 */
int group_require(Call *call, const GroupDoc *doc, Str by, GroupRight right, Str target, const char *action,
                  int error);
