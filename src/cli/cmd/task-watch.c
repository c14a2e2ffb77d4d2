/* SPDX-License-Identifier: MIT */
#include "cli/cmd/task-watch.h"

#include <stdio.h>

#include "cli/link/native.h"
#include "cli/print/report.h"

static int get(TaskLink *link, const char *id, Reply *ret) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;

        if (task_params(&params, id))
                return complain(CLI_FAILED, "out of memory");
        return task_link_call(link, "task", "task.get", buf_str(&params), ret);
}

static bool has_ended(const Json *record) {
        Str state = json_str(json_get(record, "state"));

        return !str_is(state, "queued") && !str_is(state, "running");
}

int task_complain(const TaskLink *link, int r, const char *id) {
        if (r == LINK_E_TIMEOUT)
                return complain(CLI_TIMEOUT, "%s has not ended in time", id);
        if (r != LINK_E_CLOSED)
                return exchange_complain(r, link->socket);
        complain(CLI_NO_DAEMON, "the daemon has gone before %s ended", id);
        advise("what became of it: muster task tail %s", id);
        return CLI_NO_DAEMON;
}

/* Messages until the end of one task; its output is shown when asked for. */
static int until_end(TaskLink *link, Str id, bool is_shown) {
        const Json *message = NULL;
        bool is_stderr;
        Str chunk;
        int r;

        while (!(r = task_link_next(link, &message)) && !task_note_is_end(message, id))
                if (is_shown && task_note_is_output(message, id, &chunk, &is_stderr)) {
                        output_put(is_stderr ? stderr : stdout, chunk);
                        if (fflush(stdout))
                                return CLI_FAILED; /* main() says why */
                }
        return r ? task_complain(link, r, id.data) : CLI_OK;
}

/* Why it was not completed, for people. */
static int verdict(const char *id, const Json *record) {
        Str state = json_str(json_get(record, "state")),
            error = str_trim(json_str(json_get(record, "error")));

        if (str_is(state, "completed"))
                return CLI_OK;
        return complain(CLI_FAILED, "%s: " STR_FMT "%s" STR_FMT, id, STR_ARG(state), error.n ? ": " : "",
                        STR_ARG(error));
}

int task_wait(TaskLink *link, const char *id, bool is_json) {
        Reply reply = {0};
        int r = get(link, id, &reply);

        if (!r && !has_ended(reply.result)) {
                r = until_end(link, str_from(id), false);
                if (!r)
                        r = get(link, id, &reply);
        }
        if (r)
                return r;
        if (is_json)
                (void)json_print(stdout, reply.result, false);
        else
                output_put(stdout, json_str(json_get(reply.result, "result")));
        return verdict(id, reply.result);
}

static void put_output(const Json *json) {
        output_put(stdout, json_str(json_get(json, "output")));
        (void)fflush(stdout);
}

int task_show(TaskLink *link, const char *id) {
        Reply reply = {0};
        int r = get(link, id, &reply);

        if (!r)
                put_output(reply.result);
        return r;
}

int task_tail(TaskLink *link, const char *id) {
        _cleanup_(buf_deinit) Buf params = BUF_NULL;
        bool is_following = false;
        Reply reply = {0};
        int r;

        if (task_params(&params, id))
                return complain(CLI_FAILED, "out of memory");
        r = task_link_call(link, "task", "task.follow", buf_str(&params), &reply);
        if (r)
                return r;
        if (json_bool(json_get(reply.result, "following"), &is_following) && is_following) {
                put_output(reply.result);
                r = until_end(link, str_from(id), true);
                if (!r)
                        r = get(link, id, &reply);
        } else {
                r = get(link, id, &reply);
                if (!r)
                        put_output(reply.result);
        }
        return r ? r : verdict(id, reply.result);
}
