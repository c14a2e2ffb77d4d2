/* SPDX-License-Identifier: MIT */
/*
 * Tasks in the fleet: task:PROJECT/TASK, also of those that wait and those that have ended. PROJECT is the name of
 * the project's folder; a second project whose folder is called so has -2 behind it, in the order in which they were
 * added. What is asked of a task is done as the contract does it; what has ended is submitted again.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "core/daemon.h"
#include "core/fleet/fleet.h"
#include "core/fleet/inner.h"
#include "gen/aiwg-ops.h"
#include "tasks/project.h"
#include "tasks/queue/task-find.h"

/* ---- names ----------------------------------------------------------------------------------- */

Project *project_next(const Daemon *daemon, const Project *after) {
        const Endpoint *e = after ? after->endpoint->next : daemon->endpoints;

        while (e && !(!strcmp(e->type->name, "aiwg") && e->context && !e->is_removed))
                e = e->next;
        return e ? e->context : NULL;
}

static Str project_folder_name(const char *dir) {
        const char *slash = strrchr(dir, '/');

        return str_from(slash && slash[1] ? slash + 1 : dir);
}

Str project_name(const Daemon *daemon, Arena *arena, const char *dir) {
        Str base = project_folder_name(dir);
        unsigned n = 1;

        for (const Project *p = project_next(daemon, NULL); p && strcmp(p->dir, dir) != 0;
             p = project_next(daemon, p))
                n += str_eq(project_folder_name(p->dir), base);
        return n > 1 ? arena_printf(arena, STR_FMT "-%u", STR_ARG(base), n) : arena_str(arena, base);
}

static int fleet_task_fill(const Daemon *daemon, Arena *arena, const char *dir, Str id, FleetThing *ret) {
        Str project = project_name(daemon, arena, dir);

        ret->owner = &fleet_task;
        ret->place = ret->folder = arena_str(arena, str_from(dir));
        ret->object = arena_str(arena, id);
        ret->name = arena_printf(arena, "task:" STR_FMT "/" STR_FMT, STR_ARG(project), STR_ARG(id));
        return project.data && ret->place.data && ret->object.data && ret->name.data ? 0
                                                                                     : error_origin(-ENOMEM);
}

/* An agent works in its project's folder. */
static int fleet_task_describe(Daemon *daemon, const Hosted *hosted, Arena *arena, FleetThing *ret) {
        return hosted->workspace
                       ? fleet_task_fill(daemon, arena, hosted->workspace, str_from(hosted->object), ret)
                       : 1;
}

static bool project_has_task(const Project *project, Str id) {
        int64_t row = project->is_open && project->store.is_ready && id.n
                              ? task_rows_find(&project->store.rows, id)
                              : -1;

        return row >= 0 && project->store.rows.rows[row].state != TASK_PURGED;
}

/* A word for a task, in two: its project, by name or by folder, if that is said; then what says which task. */
typedef struct TaskWord {
        Str project, task;
} TaskWord;

static TaskWord task_word(Str word) {
        const char *slash = word.n ? memrchr(word.data, '/', word.n) : NULL;

        if (!slash)
                return (TaskWord){STR_NULL, word};
        return (TaskWord){{word.data, (size_t)(slash - word.data)},
                          {slash + 1, (size_t)(word.data + word.n - slash - 1)}};
}

static bool task_word_is_of(TaskWord word, Str project, Str folder) {
        return !word.project.data || str_eq(word.project, project) || str_eq(word.project, folder);
}

/* Digits alone are a task's number where a task is asked for: elsewhere they may be anything. */
static FleetFit fleet_task_fit(const FleetThing *thing, Str text, bool is_of_kind) {
        const TaskWord word = task_word(text), own = task_word(thing->name); /* task:PROJECT, TASK */
        const size_t n_kind = strlen(fleet_task.kind) + 1;
        uint64_t number, own_number;
        bool is_bare;

        if (!own.project.data ||
            !task_word_is_of(word, (Str){own.project.data + n_kind, own.project.n - n_kind}, thing->place))
                return FLEET_NOT;
        if (str_eq(word.task, thing->object))
                return FLEET_SHORT;
        if (task_find_number(word.task, &is_bare, &number) &&
            (!is_bare || is_of_kind || word.project.data) &&
            task_find_number_of(thing->object, &own_number) && number == own_number)
                return FLEET_NUMBERED;
        return word.task.n >= TASK_FIND_MIN && str_starts(thing->object, word.task) ? FLEET_BEGINS
                                                                                    : FLEET_NOT;
}

static int fleet_task_offer_one(const Daemon *daemon, FleetSearch *search, const Project *project, Str id) {
        FleetThing thing = {0};
        int r;

        if (!project_has_task(project, id))
                return 0;
        r = fleet_task_fill(daemon, search->arena, project->dir, id, &thing);
        return error_trace(r ? r : fleet_offer(search, &thing));
}

/* The one that is called so, those of this number, and some of those that begin so: one more than are listed. */
static int fleet_task_offer_of(const Daemon *daemon, FleetSearch *search, const Project *project, Str word) {
        uint64_t rows[FLEET_LISTED_MAX + 1], number;
        char id[TASK_FIND_ID_MAX];
        bool is_bare;
        int r = fleet_task_offer_one(daemon, search, project, word);

        if (!r && task_find_number(word, &is_bare, &number)) {
                snprintf(id, sizeof(id), "task-%04" PRIu64, number);
                r = fleet_task_offer_one(daemon, search, project, str_from(id));
                snprintf(id, sizeof(id), "task-%" PRIu64, number);
                r = r ? r : fleet_task_offer_one(daemon, search, project, str_from(id));
        }
        if (r || search->fit < FLEET_BEGINS || !project->is_open || !project->store.is_ready)
                return error_trace(r);
        for (size_t i = 0, n = task_find_beginning(&project->store.rows, word, rows, ARRAY_SIZE(rows));
             i < n && !r; i++)
                if (task_find_id(&project->store.rows, rows[i], id))
                        r = fleet_task_offer_one(daemon, search, project, str_from(id));
        return error_trace(r);
}

static int fleet_task_offer(Daemon *daemon, FleetSearch *search) {
        const TaskWord word = task_word(search->rest);
        int r = 0;

        for (const Project *p = project_next(daemon, NULL); p && !r; p = project_next(daemon, p)) {
                Str name = project_name(daemon, search->arena, p->dir);

                if (!name.data)
                        return error_origin(-ENOMEM);
                if (task_word_is_of(word, name, str_from(p->dir)))
                        r = fleet_task_offer_of(daemon, search, p, word.task);
        }
        return error_trace(r);
}

/* ---- verbs ----------------------------------------------------------------------------------- */

static int fleet_task_project(Call *call, const FleetThing *thing, Project **ret) {
        *ret = project_next(call->daemon, NULL);
        while (*ret && !str_is(thing->place, (*ret)->dir))
                *ret = project_next(call->daemon, *ret);
        if (!*ret || !(*ret)->is_open)
                return call_fail(call, CALL_E_UNAVAILABLE, "nobody serves the project " STR_FMT,
                                 STR_ARG(thing->place));
        return 0;
}

static int fleet_task_kill(Call *call, const FleetThing *thing, _unused_ Str by, _unused_ bool is_forced) {
        AiwgTaskCancelArgs *args = arena_alloc(&call->arena, sizeof(*args));
        Project *project = NULL;
        int r = fleet_task_project(call, thing, &project);

        if (r)
                return r;
        if (!args)
                return error_origin(-ENOMEM);
        *args = (AiwgTaskCancelArgs){.taskId = thing->object};
        return op_aiwg_task_cancel(call, project, args);
}

static int fleet_task_get(Call *call, const FleetThing *thing) {
        AiwgTaskGetArgs *args = arena_alloc(&call->arena, sizeof(*args));
        Project *project = NULL;
        int r = fleet_task_project(call, thing, &project);

        if (r)
                return r;
        if (!args)
                return error_origin(-ENOMEM);
        *args = (AiwgTaskGetArgs){.taskId = thing->object};
        return op_aiwg_task_get(call, project, args);
}

/* ---- once more, or what follows it ------------------------------------------------------------ */

typedef struct TaskAgain { /* in the call's arena */
        Carry carry;
        FleetThing thing;
        Str text; /* of what follows it; data NULL: the same again */
        const Json *env;
} TaskAgain;

static int task_again_get(Call *inner, const Carry *carry) {
        return fleet_task_get(inner, &container_of(carry, TaskAgain, carry)->thing);
}

static Str task_again_metadata(Arena *arena, const TaskAgain *again, const Json *record) {
        const Json *metadata = json_get(record, "metadata");
        Str raw = json_raw(metadata);

        if (again->text.data)
                return arena_printf(arena, "{\"source\":\"follow-up\",\"followUpOf\":\"" STR_FMT "\"}",
                                    STR_ARG(again->thing.object));
        return raw.n ? arena_str(arena, raw) : STR("{}");
}

/* The one before is cancelled first, if it has not ended; that it had is no fault. */
static int task_again_submit(Call *call, const TaskAgain *again, const Json *record) {
        Project *project = NULL;
        int r = fleet_task_project(call, &again->thing, &project);
        const Json *priority = json_get(record, "priority");
        TaskSpec spec = {.prompt = again->text.data ? again->text : json_text_of(record, "prompt"),
                         .agent = json_text_of(record, "agent"),
                         .priority = json_is(priority, JSON_NUMBER) ? (Str){priority->text, priority->n}
                                                                    : STR_NULL,
                         .metadata = task_again_metadata(&call->arena, again, record),
                         .env = again->env};
        bool is_later;

        if (r)
                return r;
        if (!again->text.data) {
                r = supervisor_cancel(project, again->thing.object, NULL, &is_later);
                if (r < 0 || r == SUPERVISOR_E_UNAVAILABLE)
                        return r < 0 ? r
                                     : call_fail(call, CALL_E_UNAVAILABLE, "its tasks cannot be read now");
        }
        return task_submit_spec(call, project, &spec);
}

static int task_again_got(Call *call, const Call *inner, const Carry *carry) {
        const TaskAgain *again = container_of(carry, TaskAgain, carry);
        Str text = arena_str(&call->arena, inner_result(inner));
        Json *record = NULL;

        if (inner->error)
                return call_fail(call, inner->error, STR_FMT, STR_ARG(inner->message));
        if (!text.data)
                return error_origin(-ENOMEM);
        if (json_parse(&call->arena, text.data, text.n, NULL, &record, NULL))
                return call_fail(call, CALL_E_UNAVAILABLE, "the record of this task is damaged");
        return task_again_submit(call, again, record);
}

static int task_again(Call *call, const FleetThing *thing, Str text, const Json *env) {
        TaskAgain *again = arena_alloc(&call->arena, sizeof(*again));

        if (!again)
                return error_origin(-ENOMEM);
        *again = (TaskAgain){.thing = *thing, .text = text, .env = env};
        return call_inner(call, task_again_get, task_again_got, &again->carry);
}

static int fleet_task_restart(Call *call, const FleetThing *thing, _unused_ Str by, const Json *env) {
        return task_again(call, thing, STR_NULL, env);
}

static int fleet_task_send(Call *call, const FleetThing *thing, const FleetMessage *message) {
        return task_again(call, thing, message->text.data ? message->text : STR(""), message->env);
}

const FleetOwner fleet_task = {
        .owner = "tasks",
        .kind = "task",
        .describe = fleet_task_describe,
        .fit = fleet_task_fit,
        .offer = fleet_task_offer,
        .kill = fleet_task_kill,
        .restart = fleet_task_restart,
        .start = fleet_task_restart,
        .send = fleet_task_send,
        .send_right = RIGHT_TASK,
        .logs = fleet_task_get,
};
