#pragma once
/* SPDX-License-Identifier: MIT */
/* What project-ask.c (rules that ask a person) has of project-question.c (what they ask). Owned by the Project. */
#include "core/approval/approval.h"
#include "tasks/project.h"

enum { RULE_ASK_KEY_MAX = 64 };

/* What the keys of all questions of this project begin with. */
int rule_ask_place(const Project *project, char out[RULE_ASK_KEY_MAX]);
/* Everything is in the call's arena, or lives as long; the key is the caller's. */
int rule_ask_fill(Call *call, const Project *project, const RuleQuestion *question, const char *key,
                  ApprovalAsk *what);
