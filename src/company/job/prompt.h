#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Prompts: what a worker is told at each attempt of a job, and the JSON schema of the answer that is wanted, for programs that
 * take one. Workers key on the names of the fields and on the form of the answer; the words are free.
 *
 * Pure; whatever comes out has no NUL in it, since a prompt can be an argument of a program.
 */
#include "base/json/json.h"

enum { PROMPT_OUTPUT_MAX = 8000 }; /* characters of the previous output that a worker is shown again */

/* What went wrong before, for every attempt but the first. */
typedef struct PromptRepair {
        int attempt; /* 2: the worker repairs its own; 3: whoever it is writes it anew */
        Str errors;  /* a line each */
        Str output;  /* of the attempt before */
} PromptRepair;

/* job: as it was submitted; repair: NULL for the first attempt. 0 or -ENOMEM. */
int prompt_write(Buf *out, const Json *job, const PromptRepair *repair);
/* run_id: of the attempt, which the answer has to name. 0 or -ENOMEM. */
int prompt_schema(Buf *out, const Json *job, Str run_id);
bool prompt_is_heartbeat(const Json *job);
