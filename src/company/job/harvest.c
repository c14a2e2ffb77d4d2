/* SPDX-License-Identifier: MIT */
/* What an attempt has left: which of its files is the answer, and what becomes of the job. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/utf8.h"
#include "company/draft.h"
#include "company/job/job-internal.h"
#include "company/job/prompt.h"
#include "company/place.h"
#include "company/run/sessions.h"
#include "gen/shapes.h"

/* ---- its files ------------------------------------------------------------------------------- */

/* The end of a file, ANSWER_BYTES_MAX of it; empty when it cannot be read. */
static Str harvest_file(Edit *edit, const char *path) {
        _cleanup_(closep) int fd = path ? path_open_beneath(edit->root, path, O_RDONLY | O_NONBLOCK, 0) : -1;
        struct stat st;
        size_t n = 0, room;
        off_t from;
        char *text;

        if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
                return STR_NULL;
        room = MIN((size_t)st.st_size, (size_t)ANSWER_BYTES_MAX);
        from = st.st_size - (off_t)room;
        text = arena_alloc(edit->arena, room + 1);
        while (text && n < room) {
                ssize_t got = pread(fd, text + n, room - n, from + (off_t)n);

                if (got <= 0 && !(got < 0 && errno == EINTR))
                        break;
                n += got > 0 ? (size_t)got : 0;
        }
        return text ? (Str){text, n} : STR_NULL;
}

static Str harvest_named(Edit *edit, const Job *job, Str run_id, Str name) {
        Str path = arena_printf(edit->arena, "outputs/" STR_FMT, STR_ARG(name));

        return path.data ? harvest_file(edit, place_run(edit->arena, job->project_id, run_id, path.data))
                         : STR_NULL;
}

/* What the program was given, or what is said about it, is no answer of it. */
static bool harvest_is_ours(Str name) {
        static const char *const names[] = {"stdin.txt", "prompt.txt", "token_usage.json",
                                            "stop_requested.flag"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (str_is(name, names[i]))
                        return true;
        return str_starts(name, STR("result_spec_schema_"));
}

/* The first file that is not blank counts. */
static Str harvest_find(Edit *edit, const Job *job, Str run_id, Str *ret_name) {
        static const char *const first[] = {"result_spec.json", "result_spec.jsonl", "last_message.md",
                                            "stdout.txt", "stderr.txt"};
        const char *folder = place_run(edit->arena, job->project_id, run_id, "outputs");
        StrList names = {0};
        Str text;

        for (size_t i = 0; i < ARRAY_SIZE(first); i++) {
                *ret_name = str_from(first[i]);
                text = harvest_named(edit, job, run_id, *ret_name);
                if (str_trim(text).n)
                        return text;
        }
        if (folder && place_names(edit->arena, edit->root, folder, "", &names))
                names.n = 0;
        for (size_t i = 0; i < names.n; i++) {
                *ret_name = names.items[i];
                text = harvest_is_ours(*ret_name) ? STR_NULL : harvest_named(edit, job, run_id, *ret_name);
                if (str_trim(text).n)
                        return text;
        }
        return STR("");
}

/* ---- what it says ---------------------------------------------------------------------------- */

/* For the next prompt, which may be an argument and stands in documents. */
static int harvest_remember(Job *job, Str code, Str message, Str text) {
        _cleanup_(buf_deinit) Buf clean = BUF_NULL;
        int r = utf8_append_replaced(&clean, text.data, text.n);

        job->code = arena_str(&job->arena, code);
        job->message = arena_str(&job->arena, message);
        job->output = r ? STR_NULL : arena_str(&job->arena, utf8_first(buf_str(&clean), PROMPT_OUTPUT_MAX));
        return job->code.data && job->message.data && job->output.data ? 0 : error_origin(-ENOMEM);
}

/* *ret: the answer; NULL: there is none, and the job remembers why. */
static int harvest_judge(Edit *edit, Job *job, Str run_id, const Json **ret) {
        AnswerOf of = {
                .job_id = job->job_id, .run_id = run_id, .is_heartbeat = prompt_is_heartbeat(job->spec)};
        DriverFamily family = job->worker.driver ? job->worker.driver->family : DRIVER_CODEX;
        Str name, raw = harvest_find(edit, job, run_id, &name),
                  text = answer_text(edit->arena, family, name, raw);
        Answer answer;
        int r = text.data ? answer_find(edit->arena, &of, text, raw, &answer) : -ENOMEM;

        if (r)
                return error_trace(r);
        *ret = answer.value;
        return answer.value
                       ? 0
                       : error_trace(harvest_remember(job, str_from(answer.code), answer.message, text));
}

static Str harvest_tail(Str text) {
        enum { HARVEST_TAIL_MAX = 32 * 1024 };

        return text.n > HARVEST_TAIL_MAX ? (Str){text.data + text.n - HARVEST_TAIL_MAX, HARVEST_TAIL_MAX}
                                         : text;
}

/* The program has failed: the end of what it printed may say why. */
static int harvest_blame(Edit *edit, Job *job, Str run_id, Str why) {
        Str out = harvest_named(edit, job, run_id, STR("stdout.txt"));
        Str err = harvest_named(edit, job, run_id, STR("stderr.txt"));

        job->text = arena_printf(&job->arena, STR_FMT "\n" STR_FMT "\n" STR_FMT, STR_ARG(why),
                                 STR_ARG(harvest_tail(err)), STR_ARG(harvest_tail(out)));
        if (!job->text.data)
                return error_origin(-ENOMEM);
        return error_trace(harvest_remember(job, STR("worker_attempt_failed"), why, out.n ? out : err));
}

int harvest_recall(Edit *edit, Job *job, const Json *record) {
        const Json *before = job_record_attempt(record, job->attempt - 1), *answer;
        Str run_id = json_text_of(before, "run_id"), why = json_text_of(before, "error");

        job->worker.driver = driver_of_provider(json_text_of(before, "provider"));
        return str_is(json_text_of(before, "status"), "ended") ? harvest_judge(edit, job, run_id, &answer)
                                                               : harvest_blame(edit, job, run_id, why);
}

/* ---- what becomes of the job ----------------------------------------------------------------- */

/* Nobody has seen its end, or it has none. False: another program runs it. */
static bool harvest_settle(Edit *edit, Job *job) {
        const char *path = place_run(edit->arena, job->project_id, job->run_id, "run.yaml");
        Json *run = draft_read(edit, path, &shape_run);
        EventOf of = {.project_id = job->project_id, .run_id = job->run_id, .session_ref = job->session_ref};
        SessionRecord session;

        job->end = str_is(json_text_of(run, "status"), "ended") ? JOB_END_WELL : JOB_END_BADLY;
        job->end_status = job->end == JOB_END_WELL ? STR("ended") : STR("failed");
        job->end_error =
                job->end == JOB_END_WELL ? STR("") : STR("The attempt was lost when the daemon ended");
        if (!str_is(json_text_of(run, "status"), "running"))
                return true;
        if (session_read(edit->workspace, edit->arena, job->session_ref, &session)) {
                if (session.is_dead)
                        session_bury(edit, &session);
                return session.is_dead || !str_is(session.status, "running");
        }
        event_run_orphaned(edit, &of, false);
        job_record_put(edit, run, "status", STR("failed"));
        job_record_put(edit, run, "ended_at", edit_now(edit));
        draft_replace(edit, path, shape_ordered(edit->arena, &shape_run, run));
        return true;
}

static int harvest_decide(Edit *edit, Job *job, Json *record) {
        const Json *answer = NULL;
        int r = job->end == JOB_END_WELL ? harvest_judge(edit, job, job->run_id, &answer)
                                         : harvest_blame(edit, job, job->run_id, job->end_error);

        if (r)
                return error_trace(r);
        if (answer)
                conclude_answered(edit, job, record, answer);
        else if (job->attempt >= JOB_ATTEMPTS_MAX)
                conclude_unread(edit, job, record);
        else {
                job_record_write(edit, job, record, "running");
                job->after = JOB_CHOOSING;
        }
        return 0;
}

int harvest_read(Edit *edit, const Carry *carry) {
        Job *job = job_of(carry);
        Json *record = job_record_read(edit, job),
             *attempt = record ? job_record_attempt(record, job->attempt) : NULL;

        if (!record || !attempt)
                return edit->r ? edit->r : CALL_E_COMPANY;
        job->text = STR_NULL;
        job->is_unseen |= job->end == JOB_END_UNKNOWN;
        if (job->is_unseen && !harvest_settle(edit, job)) {
                job->is_dropped = true;
                return edit_fail(edit, CALL_E_COMPANY, "another program runs it");
        }
        if (job_record_is_canceled(record)) {
                conclude_canceled(edit, job, record);
                return 0;
        }
        job_record_put(edit, attempt, "ended_at", edit_now(edit));
        job_record_put(edit, attempt, "status", job->end_status);
        job_record_put(edit, attempt, "error", job->end_error);
        if (job->end == JOB_END_REFUSED) {
                conclude_broken(edit, job, record, job->end_error);
                return 0;
        }
        return error_trace(harvest_decide(edit, job, record));
}
