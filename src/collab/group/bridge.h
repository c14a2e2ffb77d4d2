#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The IM bridge of a group: a program of the original's (`cccc im start`), not of ours. It runs by itself,
 * reads the ledger and sends through the socket; state/im_bridge.pid names it. musterd starts none. It is
 * ended with its group, whose folder it would bring back otherwise.
 */

/* On a worker. Whatever the pid file names is left alone unless it is the bridge of this very group. */
void bridge_end(const char *group_dir, const char *group_id);
