#pragma once
/* SPDX-License-Identifier: MIT */
/* A scope becomes the active one of a group: document, event group.attach, registry. */
#include "collab/group-change.h"
#include "collab/scope.h"

/* The change has its document already (group_change_doc() gave one); scope.yaml is somebody else's. */
void group_change_attach(GroupChange *change, const Scope *scope, Str by);
