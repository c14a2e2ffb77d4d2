#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Approving what a heartbeat proposed: the stored action is done past all gates, once, together with the review and the
 * state. Worker, part of an Edit.
 */
#include "company/govern/govern.h"

/* For Decision.act. As decide() returns. */
int approve_act(Edit *edit, Decision *decision, const Artifact *artifact);
