/* SPDX-License-Identifier: MIT */
#include "company/learn/evaluation.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/error.h"
#include "company/place.h"
#include "company/visit.h"
#include "core/daemon.h"
#include "core/document.h"
#include "core/driver.h"
#include "core/environment.h"

/* ---- what it is run with --------------------------------------------------------------------- */

/* Where it runs; NULL: why says it. Worker. */
static const char *evaluation_folder(Evaluation *evaluation, Arena *arena) {
        const Workspace *workspace = evaluation->workspace;
        Json *machine = NULL;
        struct stat st;
        Str root, folder;

        if (!evaluation->repo_id.n)
                return workspace->path;
        (void)document_load(arena, workspace->root, PLACE_MACHINE, DOCUMENT_YAML, &machine, NULL, NULL);
        root = json_str(json_get_str(json_get(machine, "repo_roots"), evaluation->repo_id));
        if (!root.n || root.data[0] != '/') {
                evaluation->why = arena_printf(arena, "this machine has no repository " STR_FMT,
                                               STR_ARG(evaluation->repo_id));
                return NULL;
        }
        folder = evaluation->workdir_rel.n ? arena_printf(arena, STR_FMT "/" STR_FMT, STR_ARG(root),
                                                          STR_ARG(evaluation->workdir_rel))
                                           : arena_str(arena, root);
        if (folder.data && !stat(folder.data, &st) && S_ISDIR(st.st_mode))
                return folder.data;
        evaluation->why = arena_printf(arena, STR_FMT " is no folder", STR_ARG(folder));
        return NULL;
}

/* The connection's environment, with what was given over it. Everything is copied: the connection may end. */
static int evaluation_capture(Evaluation *evaluation) {
        Arena *arena = &evaluation->call->arena;
        _cleanup_(strvec_deinit) StrVec env = {0};
        char **own = NULL;
        size_t n = 0;
        int r = visit_environment(arena, evaluation->call->client, &own);

        for (; !r && own[n]; n++)
                r = strvec_push(&env, own[n]);
        if (!r)
                r = environment_put_json(&env, evaluation->env);
        if (r > 0)
                return call_fail(evaluation->call, CALL_E_INVALID_PARAMS, "evaluation_env: does not fit");
        evaluation->environment = r ? NULL : arena_alloc(arena, (env.n + 1) * sizeof(char *));
        if (r || !evaluation->environment)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < env.n; i++)
                if (!(evaluation->environment[i] = (char *)arena_str(arena, str_from(env.items[i])).data))
                        return error_origin(-ENOMEM);
        evaluation->environment[env.n] = NULL;
        return 0;
}

static int evaluation_list(Evaluation *evaluation, Arena *arena, const char *program) {
        const StrList *argv = evaluation->argv;

        evaluation->list = arena_alloc(arena, (argv->n + 1) * sizeof(char *));
        if (!evaluation->list)
                return error_origin(-ENOMEM);
        evaluation->list[0] = (char *)program;
        for (size_t i = 1; i < argv->n; i++)
                if (!(evaluation->list[i] = (char *)arena_str(arena, argv->items[i]).data))
                        return error_origin(-ENOMEM);
        evaluation->list[argv->n] = NULL;
        return 0;
}

/* ---- running --------------------------------------------------------------------------------- */

static void evaluation_work(void *user) {
        Evaluation *evaluation = user;
        Arena *arena = &evaluation->call->arena;
        const char *folder = evaluation_folder(evaluation, arena), *program;
        DriverPlace place = {.env = evaluation->environment, .folder = folder};
        Str name = evaluation->argv->items[0];

        evaluation->r = -ENOENT;
        if (!folder)
                return;
        program = driver_find(&place, arena, name);
        if (!program) {
                evaluation->why = arena_printf(arena, "there is no program " STR_FMT, STR_ARG(name));
                return;
        }
        evaluation->r = evaluation_list(evaluation, arena, program);
        if (!evaluation->r)
                evaluation->r = exec_run(&(ExecSpec){.argv = evaluation->list,
                                                     .env = evaluation->environment,
                                                     .folder = folder,
                                                     .limit_ms = EVALUATION_LIMIT_MS,
                                                     .n_max = EVALUATION_OUTPUT_MAX,
                                                     .is_off = &evaluation->workspace->company->is_stopping},
                                         &evaluation->result);
        if (evaluation->r)
                evaluation->why = str_from(strerror(-evaluation->r));
}

static void evaluation_released(void *object) {
        exec_result_deinit(&((Evaluation *)object)->result);
}

static void evaluation_done(void *user) {
        Evaluation *evaluation = user;
        Call *call = evaluation->call;
        int r;

        lane_over(&evaluation->workspace->company->evaluations);
        r = evaluation->r == -ECANCELED ? call_fail(call, CALL_E_UNAVAILABLE, "the daemon stops")
                                        : evaluation->then(evaluation);
        if (r != CALL_LATER)
                call_finish(call, r);
}

static void evaluation_begin(Lane *lane) {
        Evaluation *evaluation = container_of(lane_take(lane), Evaluation, item);
        Loop *loop = evaluation->call->daemon->loop;

        evaluation->started_us = loop_wall_us(loop);
        evaluation->started_ms = loop_now_ms(loop) - evaluation->call->daemon->started_ms;
        if (!loop_work_slow(loop, evaluation_work, evaluation_done, evaluation))
                return;
        lane_over(lane);
        call_finish(evaluation->call, -ENOMEM);
}

static const LaneType evaluation_lane = {.begin = evaluation_begin, .n_max = EVALUATIONS_MAX};

void evaluations_init(Company *company) {
        lane_init(&company->evaluations, company->daemon->loop, &evaluation_lane);
}

int evaluation_run(Evaluation *evaluation) {
        int r = evaluation_capture(evaluation);

        if (!r)
                r = call_hold(evaluation->call, evaluation, evaluation_released);
        if (!r)
                r = lane_add(&evaluation->workspace->company->evaluations, &evaluation->item);
        if (r == -ENOBUFS)
                return call_fail(evaluation->call, CALL_E_COMPANY, "Too many evaluations wait already");
        return r ? r : CALL_LATER;
}

/* ---- what came of it ------------------------------------------------------------------------- */

bool evaluation_has_passed(const Evaluation *evaluation) {
        return !evaluation->r && !evaluation->result.status;
}

int evaluation_exit_code(const Evaluation *evaluation) {
        return !evaluation->r && WIFEXITED(evaluation->result.status)
                       ? WEXITSTATUS(evaluation->result.status)
                       : -1;
}

const char *evaluation_signal(const Evaluation *evaluation) {
        const char *name;

        if (evaluation->r == -ETIMEDOUT)
                return "SIGKILL";
        if (evaluation->r || !WIFSIGNALED(evaluation->result.status))
                return NULL;
        name = sigabbrev_np(WTERMSIG(evaluation->result.status));
        return name ? arena_printf(&evaluation->call->arena, "SIG%s", name).data : "SIG";
}
