#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Doctor: whether a workspace and this machine fit together, check by check. It looks at documents, settings, programs of
 * agents, repositories, worktrees, and at the index, which it makes anew or brings up to date when asked.
 *
 * Worker, in the index's turn of a call (index/turn.h).
 */
#include "base/json/json-writer.h"
#include "company/workspace.h"

typedef enum DoctorStatus { DOCTOR_PASS, DOCTOR_WARN, DOCTOR_FAIL, DOCTOR_N_STATUS } DoctorStatus;

typedef struct Doctor {
        Reading *reading;
        Str workspace_dir; /* as the caller wrote it */
        Str adapters;      /* as adapters_look() has it */
        bool rebuilds_index, syncs_index;
        size_t n[DOCTOR_N_STATUS]; /* checks by how they ended */

        JsonWriter *w; /* private from here on */
        const Json *machine;
        DoctorStatus status; /* of the check under way */
        Json *details;
} Doctor;

/* The object of workspace.doctor; as the reading function returns. */
int doctor_write(Doctor *doctor, JsonWriter *w);
