#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Applying a template to a group: its document and the events that tell of it. Prompt files are somebody
 * else's (template-job.h), and so are sessions that run.
 */
#include "collab/group-change.h"
#include "collab/template.h"

typedef struct TemplateResult {
        const Template *template;
        Str by;
        Json *removed, *added, *updated; /* ids */
} TemplateResult;

/* Edits the change's document; adds events actor.remove, actor.add, actor.update and group.settings_update.
 * What goes wrong is remembered by the change. NULL: nothing can come of it, abort. */
TemplateResult *template_apply(GroupChange *change, const Template *template, Str by);
