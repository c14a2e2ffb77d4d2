/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/json/json-writer.h"
#include "base/time.h"
#include "base/utf8.h"
#include "cli/print/human.h"
#include "cli/link/caller-env.h"
#include "cli/link/native.h"
#include "cli/print/nearest.h"
#include "cli/print/report.h"
#include "cli/print/table.h"
#include "cli/link/task-link.h"
#include "cli/cmd/task-watch.h"

enum { TIMEOUT_MS = 30000, PROMPT_SHOWN = 44, PROMPT_SHORT = 24, REASON_SHOWN = 18, STDIN_STEP = 65536 };

typedef struct TaskVerb {
        const char *name;
        int n_min, n_max; /* words behind it; n_max -1: any number */
        bool is_patient;  /* waits for ever unless told otherwise */
        int (*run)(TaskLink *link, const Options *options, char **words, int n);
} TaskVerb;

/* ---- submit ---------------------------------------------------------------------------------- */

static int task_read_stdin(Buf *out) {
        for (;;) {
                ssize_t n;

                if (buf_reserve(out, STDIN_STEP))
                        return error_origin(-ENOMEM);
                n = read(STDIN_FILENO, out->data + out->n, STDIN_STEP);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? error_origin(-errno) : 0;
                out->n += (size_t)n;
        }
}

int task_words(Buf *out, char **words, int n) {
        int r = 0;

        if (n == 1 && !strcmp(words[0], "-"))
                return error_trace(task_read_stdin(out));
        for (int i = 0; i < n && !r; i++)
                r = buf_printf(out, "%s%s", i ? " " : "", words[i]);
        return error_trace(r);
}

bool task_is_number(const char *text) {
        char *end;

        (void)strtod(text, &end);
        return end != text && !*end && strspn(text, "0123456789.-+eE") == strlen(text) && text[0] != '+' &&
               text[0] != '.';
}

static int submit_params(const Options *options, char **words, int n, const Json *env, Buf *params) {
        _cleanup_(buf_deinit) Buf prompt = BUF_NULL;
        JsonWriter w = JSON_WRITER(params);
        int r = task_words(&prompt, words, n);

        if (r)
                return error_trace(r);
        jw_begin_object(&w);
        jw_field_str(&w, "prompt", prompt.n ? buf_str(&prompt) : STR(""));
        if (options->agent)
                jw_field_cstr(&w, "agent", options->agent);
        if (options->priority) {
                jw_key(&w, "priority");
                jw_raw(&w, str_from(options->priority));
        }
        jw_field_value(&w, "env", env);
        jw_field_bool(&w, "needs_agent", true);
        jw_end_object(&w);
        return w.failed ? error_origin(-ENOMEM) : 0;
}

/* Behind its answer the daemon tells whether the agent has started, or that the task is over. */
static void submit_await_start(TaskLink *link, const char *id) {
        const Json *note;

        while (!task_link_next(link, &note)) {
                const Json *params = json_get(note, "params");

                if (task_note_is_end(note, str_from(id)) ||
                    (str_is(json_str(json_get(note, "method")), "event.taskStarted") &&
                     str_is(json_str(json_get(params, "taskId")), id)))
                        return;
        }
}

/* Whether an agent that could not even be started was found out at once: then that is what is told. */
static int submit_refused(TaskLink *link, const char *id) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;
        Reply reply = {0};
        Str error;

        submit_await_start(link, id);
        if (task_params(&params, id) || task_link_call(link, NULL, "task.get", buf_str(&params), &reply))
                return CLI_OK;
        error = json_str(json_get(reply.result, "error"));
        if (!str_is(json_str(json_get(reply.result, "state")), "failed") || error.n < 6 ||
            memcmp(error.data, "spawn ", 6) != 0)
                return CLI_OK;
        complain(CLI_FAILED, "%s: the agent cannot be started: " STR_FMT, id, STR_ARG(error));
        advise("the daemon looks for it on the PATH that agents get; another program: daemon.agent_command "
               "in .aiwg/daemon.json");
        return CLI_FAILED;
}

static char *submit_word(const Reply *reply, const char *key) {
        Str word = json_str(json_get(reply->result, key));

        return str_dup(word);
}

static int submit_told(TaskLink *link, const Options *options, const char *id, const char *state) {
        if (options->follow)
                return task_tail(link, id);
        if (options->await)
                return task_wait(link, id, options->json);
        if (!options->json)
                print("Task submitted: %s (%s)\n", id, state);
        return strcmp(state, "running") != 0 ? CLI_OK : submit_refused(link, id);
}

/* Work goes on with what was in use before, or with the defaults: perhaps with another agent than the
 * file's. */
static void submit_tell_config(TaskLink *link) {
        Reply reply = {0};
        Str wrong;

        if (task_link_call(link, NULL, "automation.status", STR("{}"), &reply))
                return;
        wrong = json_str(json_get(reply.result, "configError"));
        if (!wrong.n)
                return;
        complain(CLI_OK, STR_FMT, STR_ARG(wrong));
        advise("the daemon does not use that file, but what it had before, or the defaults; once it is "
               "mended: muster rules check");
}

static int task_run_submit(TaskLink *link, const Options *options, char **words, int n) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;
        _cleanup_(freep) char *id = NULL, *state = NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Reply reply = {0};
        Json *env;
        int r;

        if (options->priority && !task_is_number(options->priority))
                return complain(CLI_USAGE, "task: --priority: %s is not a number", options->priority);
        env = caller_env(&arena);
        r = env ? caller_env_named(&arena, "task", &options->env, env)
                : complain(CLI_FAILED, "out of memory");
        if (r)
                return r;
        r = submit_params(options, words, n, env, &params);
        if (r)
                return complain(CLI_FAILED, "the prompt cannot be read: %s", strerror(-r));
        submit_tell_config(link);
        r = task_link_call(link, "task submit", "task.submit", buf_str(&params), &reply);
        if (r)
                return r;
        if (options->json && !options->await && !options->follow)
                (void)json_print(stdout, reply.result, false);
        id = submit_word(&reply, "taskId"); /* the next answer takes its place */
        state = submit_word(&reply, "state");
        return id && state ? submit_told(link, options, id, state) : complain(CLI_FAILED, "out of memory");
}

/* ---- ls, get, stats, cancel ------------------------------------------------------------------ */

static int64_t table_seconds(const Json *record, const char *key) {
        int64_t us = 0;

        return time_parse(json_str(json_get(record, key)), &us) ? us / 1000000 : -1;
}

static void table_add_span(Table *table, int64_t from, int64_t to) {
        char span[HUMAN_MAX];

        if (from < 0)
                table_add(table, STR("-"));
        else
                table_addf(table, "%s", human_age(MAX(to - from, (int64_t)0), span));
}

/* The first line of it, as far as there is room. */
static void table_add_text(Table *table, Str text, size_t n_max) {
        size_t n = utf8_fit(text, MIN(n_max, text.n ? strcspn(text.data, "\n") : 0)).n;

        table_addf(table, STR_FMT "%s", (int)n, text.data ? text.data : "", n < text.n ? "…" : "");
}

static void table_add_task(Table *table, const Json *record, bool has_reasons) {
        int64_t now = (int64_t)time(NULL), ended = table_seconds(record, "completedAt");

        table_add(table, task_id_short(json_str(json_get(record, "id"))));
        table_add(table, json_str(json_get(record, "state")));
        table_add_span(table, table_seconds(record, "createdAt"), now);
        table_add_span(table, table_seconds(record, "startedAt"), ended < 0 ? now : ended);
        table_add_text(table, json_str(json_get(record, "prompt")),
                       has_reasons ? PROMPT_SHORT : PROMPT_SHOWN);
        if (has_reasons)
                table_add_text(table, json_str(json_get(record, "error")), REASON_SHOWN);
}

void task_table_print(const Json *records) {
        static const TableColumn with_reason[] = {
                {.title = "ID", .is_right = true},   {.title = "STATE"},  {.title = "AGE", .is_right = true},
                {.title = "TOOK", .is_right = true}, {.title = "PROMPT"}, {.title = "REASON"}};
        static const TableColumn plain[] = {{.title = "ID", .is_right = true},
                                            {.title = "STATE"},
                                            {.title = "AGE", .is_right = true},
                                            {.title = "TOOK", .is_right = true},
                                            {.title = "PROMPT"}};
        _cleanup_(table_deinit) Table bare = TABLE(plain), full = TABLE(with_reason);
        bool has_reasons = false;

        if (!json_count(records)) {
                print("No tasks found\n");
                return;
        }
        json_each (record, records)
                has_reasons |= json_str(json_get(record, "error")).n > 0;
        json_each (record, records)
                table_add_task(has_reasons ? &full : &bare, record, has_reasons);
        table_print(has_reasons ? &full : &bare, stdout, 0, 0, "\n");
}

static bool is_state(const char *name) {
        static const char *const names[] = {"queued", "running", "completed", "failed", "cancelled"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                if (!strcmp(name, names[i]))
                        return true;
        return false;
}

static int task_run_ls(TaskLink *link, const Options *options, _unused_ char **words, _unused_ int n) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;
        JsonWriter w = JSON_WRITER(&params);
        Reply reply = {0};
        int r;

        if (options->state && !is_state(options->state))
                return complain(CLI_USAGE,
                                "task: --state: queued, running, completed, failed or cancelled, not %s",
                                options->state);
        jw_begin_object(&w);
        if (options->state)
                jw_field_cstr(&w, "state", options->state);
        if (options->limit >= 0)
                jw_field_int(&w, "limit", options->limit);
        jw_end_object(&w);
        r = task_link_call(link, "task ls", "task.list", buf_str(&params), &reply);
        if (r)
                return r;
        if (options->json)
                return json_print(stdout, reply.result, false) ? CLI_FAILED : CLI_OK;
        task_table_print(reply.result);
        return CLI_OK;
}

static int task_call_with_id(TaskLink *link, const char *what, const char *method, const char *id,
                             Reply *ret) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;

        if (task_params(&params, id))
                return complain(CLI_FAILED, "out of memory");
        return task_link_call(link, what, method, buf_str(&params), ret);
}

static int task_run_get(TaskLink *link, const Options *options, char **words, _unused_ int n) {
        Reply reply = {0};
        int r = task_call_with_id(link, "task get", "task.get", words[0], &reply);

        if (r)
                return r;
        return json_print(stdout, reply.result, !options->json) ? CLI_FAILED : CLI_OK;
}

static int task_run_stats(TaskLink *link, const Options *options, _unused_ char **words, _unused_ int n) {
        Reply reply = {0};
        int r = task_link_call(link, "task stats", "task.stats", STR_NULL, &reply);

        if (r)
                return r;
        return json_print(stdout, reply.result, !options->json) ? CLI_FAILED : CLI_OK;
}

static int run_cancel(TaskLink *link, const Options *options, char **words, int n) {
        int status = CLI_OK;

        for (int i = 0; i < n; i++) {
                Reply reply = {0};
                int r = task_call_with_id(link, "task cancel", "task.cancel", words[i], &reply);
                if (!r && options->json)
                        (void)json_print(stdout, reply.result, false);
                else if (!r)
                        print("Task %s cancelled\n", words[i]);
                status = r ? r : status;
        }
        return status;
}

/* ---- wait, tail ------------------------------------------------------------------------------ */

static int run_wait(TaskLink *link, const Options *options, char **words, int n) {
        int status = CLI_OK;

        for (int i = 0; i < n; i++) {
                int r = task_wait(link, words[i], options->json);
                status = r ? r : status;
        }
        return status;
}

static int run_tail(TaskLink *link, _unused_ const Options *options, char **words, _unused_ int n) {
        return task_tail(link, words[0]);
}

/* ---- which ----------------------------------------------------------------------------------- */

static const TaskVerb verbs[] = {
        {"submit", 1, -1, false, task_run_submit},
        {"ls", 0, 0, false, task_run_ls},
        {"list", 0, 0, false, task_run_ls},
        {"get", 1, 1, false, task_run_get},
        {"cancel", 1, -1, false, run_cancel},
        {"wait", 1, -1, true, run_wait},
        {"tail", 1, 1, true, run_tail},
        {"stats", 0, 0, false, task_run_stats},
};

static int task_refuse(const char *name) {
        Nearest nearest = NEAREST(name);

        for (size_t i = 0; i < ARRAY_SIZE(verbs); i++)
                nearest_offer(&nearest, verbs[i].name);
        complain(CLI_USAGE, "task: there is no %s", name);
        if (nearest.best)
                advise("did you mean: muster task %s?", nearest.best);
        advise("try: muster task --help");
        return CLI_USAGE;
}

/* The words of all but submit are ids. */
static int run_verb(TaskLink *link, const TaskVerb *verb, const Options *options, int n) {
        char **words = options->operands + 1, what[32];
        _cleanup_(freep) char **ids = calloc((size_t)n + 1, sizeof(*ids));
        int r = CLI_OK;

        if (!ids)
                return complain(CLI_FAILED, "out of memory");
        if (verb->run == task_run_submit)
                return task_run_submit(link, options, words, n);
        snprintf(what, sizeof(what), "task %s", verb->name);
        for (int i = 0; i < n && !r; i++)
                r = task_id_find(link, what, words[i], &ids[i]);
        if (!r)
                r = verb->run(link, options, ids, n);
        for (int i = 0; i < n; i++)
                free(ids[i]);
        return r;
}

int cmd_task(const Options *options) {
        _cleanup_(task_link_deinit) TaskLink link = TASK_LINK_NULL;
        const TaskVerb *verb = verbs;
        bool is_patient = options->await || options->follow;
        int n = options->n_operands - 1, r;

        while (verb < verbs + ARRAY_SIZE(verbs) && strcmp(verb->name, options->operands[0]) != 0)
                verb++;
        if (verb == verbs + ARRAY_SIZE(verbs))
                return task_refuse(options->operands[0]);
        if (n < verb->n_min || (verb->n_max >= 0 && n > verb->n_max)) {
                complain(CLI_USAGE, "task %s: %s", verb->name,
                         n < verb->n_min ? "something is missing" : "too many words");
                advise("try: muster task --help");
                return CLI_USAGE;
        }
        link.is_json = options->json;
        r = (verb->run == task_run_submit ? task_link_open_serving : task_link_open)(
                &link, options->project,
                options->timeout_ms < 0 && !verb->is_patient && !is_patient ? TIMEOUT_MS
                                                                            : options->timeout_ms);
        return r ? r : run_verb(&link, verb, options, n);
}
