/* SPDX-License-Identifier: MIT */
#include "daemon/attention-kinds.h"

#include "collab/message/asking.h"
#include "company/inbox/waiting.h"
#include "core/approval/approval.h"
#include "tasks/project.h"

const AttentionKind *const attention_kinds[] = {
        &attention_process,  &attention_task,   &attention_message, &attention_notice,
        &attention_approval, &attention_budget, &attention_company, NULL};
