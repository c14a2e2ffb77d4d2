/* SPDX-License-Identifier: MIT */
/* One attempt of a job, up to its program. */
#include <errno.h>
#include <unistd.h>

#include "base/error.h"
#include "company/job/job-internal.h"
#include "company/job/prompt.h"
#include "company/people/people.h"
#include "company/place.h"
#include "company/trail/runs.h"
#include "core/document.h"
#include "gen/shapes.h"

/* ---- who does it ----------------------------------------------------------------------------- */

/* The second attempt is the first one's worker's, the third one's whoever is best at forms. */
static bool attempt_find_worker(Job *job, const Json *agents, const Json *record) {
        Str before = json_text_of(job_record_attempt(record, 1), "worker_agent_id");

        if (job->attempt == JOB_ATTEMPTS_MAX && worker_choose_other(agents, job->machine, &job->worker))
                return true;
        if (job->attempt > 1 && worker_get(agents, job->machine, before, &job->worker))
                return true;
        return worker_choose(agents, job->machine, job->spec, &job->worker);
}

static int attempt_read_people(Edit *edit, Job *job, Json **agents) {
        int r = document_load(&job->arena, edit->root, PLACE_MACHINE, DOCUMENT_YAML, &job->machine, NULL,
                              NULL);

        if (r || !shape_fits(&shape_machine, job->machine))
                job->machine = NULL; /* then what holds without settings holds */
        return r < 0 && r != -ENOENT ? error_trace(r)
                                     : error_trace(people_agents(edit->root, &job->arena, agents));
}

static void attempt_make_run(Edit *edit, Job *job, Json *record) {
        RunMade made = {0};

        if (!run_make(edit, job->project_id, job->worker.agent_id, job->worker.provider, &made)) {
                edit_try(edit, -EINVAL);
                return;
        }
        job->run_id = arena_str(&job->arena, made.run_id);
        job->pack_id = arena_str(&job->arena, made.context_pack_id);
        job->session_ref = arena_printf(&job->arena, "job_" STR_FMT "_attempt_%u_" STR_FMT,
                                        STR_ARG(job->job_id), job->attempt, STR_ARG(made.run_id));
        edit_try(edit, job->run_id.data && job->pack_id.data && job->session_ref.data ? 0 : -ENOMEM);
        job_record_add_attempt(edit, job, record);
        job_record_write(edit, job, record, "running");
        job->after = JOB_CHECKING;
}

int attempt_choose(Edit *edit, const Carry *carry) {
        Job *job = job_of(carry);
        Json *record = job_record_read(edit, job), *agents = NULL;
        int r;

        if (!record)
                return edit->r ? edit->r : CALL_E_COMPANY;
        job->after = JOB_OVER;
        if (job_record_is_over(record))
                return 0;
        job->run_id = STR_NULL;
        r = attempt_read_people(edit, job, &agents);
        r = !r && job->attempt > 1 && !job->code.n ? harvest_recall(edit, job, record) : r;
        if (r)
                return error_trace(r);
        if (job_record_is_canceled(record))
                conclude_canceled(edit, job, record);
        else if (!attempt_find_worker(job, agents, record))
                conclude_unavailable(edit, job, record);
        else if (!job->worker.driver)
                conclude_broken(edit, job, record,
                                arena_printf(edit->arena, "Unsupported provider: " STR_FMT,
                                             STR_ARG(job->worker.provider)));
        else
                attempt_make_run(edit, job, record);
        return 0;
}

/* ---- whether it may, and how ----------------------------------------------------------------- */

static Str attempt_keep(Job *job, int r, const Buf *text) {
        Str copy = r ? STR_NULL : arena_str(&job->arena, buf_str(text));

        job->check_r = r ? r : copy.data ? job->check_r : error_origin(-ENOMEM);
        return copy;
}

static void attempt_write_texts(Job *job) {
        _cleanup_(buf_deinit) Buf prompt = BUF_NULL, schema = BUF_NULL;
        PromptRepair repair = {.attempt = (int)job->attempt,
                               .errors = arena_printf(&job->arena, STR_FMT ": " STR_FMT, STR_ARG(job->code),
                                                      STR_ARG(job->message)),
                               .output = job->output};

        job->prompt = attempt_keep(job, prompt_write(&prompt, job->spec, job->attempt > 1 ? &repair : NULL),
                                   &prompt);
        job->schema = attempt_keep(job, prompt_schema(&schema, job->spec, job->run_id), &schema);
}

static StrList attempt_tools(Job *job) {
        const Json *list = json_get(job->worker.launcher, "allowed_tools");
        StrList tools = {.items = arena_alloc(&job->arena, (json_count(list) + 1) * sizeof(Str))};

        json_each (tool, list)
                if (tools.items && json_str(tool).n)
                        tools.items[tools.n++] = json_str(tool);
        return tools;
}

const char *attempt_schema_name(Arena *arena, const Job *job) {
        return arena_printf(arena, "outputs/result_spec_schema_" STR_FMT ".json", STR_ARG(job->run_id)).data;
}

static void attempt_write_command(Job *job) {
        const char *name = attempt_schema_name(&job->arena, job);
        const char *path = name ? place_run(&job->arena, job->project_id, job->run_id, name) : NULL;
        Str model = json_text_of(job->spec, "model");
        const Json *words = json_get(job->worker.launcher, "command_argv_template");
        DriverQuestion question = {
                .program = job->worker.program,
                .model = model.n ? model : job->worker.model_hint,
                .permission = json_text_of(job->spec, "permission_level"),
                .prompt = job->prompt,
                .schema = job->schema,
                .schema_path = path ? arena_printf(&job->arena, "%s/%s", job->place.folder, path) : STR_NULL,
                .tools = attempt_tools(job)};
        bool has_words = words && job->worker.driver->family == DRIVER_GEMINI;
        int r = has_words ? driver_argv_of(&job->arena, job->worker.driver, words, &question, &job->argv)
                          : driver_argv(&job->arena, job->worker.driver, &job->facts, &question, &job->argv);

        job->model = question.model;
        job->is_piped = !has_words && driver_pipes(job->worker.driver, job->prompt);
        job->wrong = r == DRIVER_E_TEMPLATE ? "launcher.command_argv_template is no command: words without "
                                              "line breaks, the first of which is no shell"
                     : r == DRIVER_E_LONG
                             ? "launcher.command_argv_template gives the prompt as an argument, "
                               "and it has more than the 128 KiB that one may have"
                             : NULL;
        job->check_r = r < 0 ? r : job->check_r;
}

/* Everything that has to be known before the program can be started; the program itself may be asked. */
void attempt_check(void *user) {
        Job *job = user;
        DriverPlace place = {.env = job->place.env ? job->place.env : environ,
                             .folder = job->place.folder,
                             .is_off = &job->workspace->company->is_stopping};
        const Driver *driver = job->worker.driver;
        const char *file;

        job->facts = (DriverFacts){0};
        job->check_r =
                preflight_policy(&job->arena, job->machine, driver, job->worker.provider, &job->policy);
        if (!job->check_r)
                job->check_r = preflight_check(&job->arena, &job->policy, driver, &place,
                                               job->worker.program, &job->preflight);
        if (job->check_r || !job->preflight.passed)
                return;
        file = driver_find(&place, &job->arena, job->worker.program);
        job->facts.asks_approval = true;
        if (file)
                driver_ask(job->workspace->company->drivers, driver, &place, file, &job->facts);
        attempt_write_texts(job);
        if (!job->check_r)
                attempt_write_command(job);
}
