/* SPDX-License-Identifier: MIT */
/* Tasks that have failed wait for a person, who has them done again or dismisses them. */
#include <errno.h>

#include "base/error.h"
#include "core/attention/attention.h"
#include "core/fleet/fleet.h"
#include "tasks/project.h"

static Str attention_task_text(Arena *arena, const Task *task) {
        Str farewell = buf_str(&task->farewell), error;
        Json *json = NULL;

        (void)json_parse(arena, farewell.data, farewell.n, NULL, &json, NULL);
        error = json_text_of(json, "error");
        return arena_printf(arena, STR_FMT ": " STR_FMT, STR_ARG(task_short_prompt(task->prompt)),
                            STR_ARG(error.n ? error : STR("failed")));
}

void attention_task_ended(const Task *task) {
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Project *project = task->project;
        Str project_word = project_name(project->daemon, &arena, project->dir);
        AttentionAsk ask = {.kind = attention_task.kind,
                            .owner = str_from(project->dir),
                            .object = str_from(task->id),
                            .since_us = loop_wall_us(project->daemon->loop),
                            .choices = {"retry"}};

        if (task->final_state != TASK_FAILED)
                return;
        ask.id = arena_printf(&arena, "task:%s/%s", project->dir, task->id);
        ask.source = arena_printf(&arena, "task:" STR_FMT "/%s", STR_ARG(project_word), task->id);
        ask.text = attention_task_text(&arena, task);
        if (project_word.data && ask.id.data && ask.source.data && ask.text.data)
                attention_ask(project->daemon->attention, &ask);
}

/* Another task, as fleet.restart makes it. Twice would be two of them. */
static int attention_task_retry(Call *call, const AttentionItem *item,
                                _unused_ const AttentionReply *reply) {
        FleetThing *thing = arena_alloc(&call->arena, sizeof(*thing));

        if (!thing)
                return error_origin(-ENOMEM);
        *thing = (FleetThing){.owner = &fleet_task,
                              .name = arena_str(&call->arena, str_from(item->source)),
                              .place = arena_str(&call->arena, str_from(item->owner)),
                              .object = arena_str(&call->arena, str_from(item->object))};
        if (!thing->name.data || !thing->place.data || !thing->object.data)
                return error_origin(-ENOMEM);
        return fleet_task.restart(call, thing, STR("user"), NULL);
}

const AttentionKind attention_task = {.kind = "task", .answer = attention_task_retry};
