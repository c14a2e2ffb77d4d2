/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "cli/link/cccc.h"
#include "cli/cli.h"
#include "cli/term/follow.h"
#include "cli/link/daemon-log.h"
#include "cli/link/native.h"
#include "cli/term/printer.h"
#include "cli/print/report.h"
#include "cli/cmd/run-files.h"
#include "cli/cmd/run-logs.h"
#include "cli/cmd/task-watch.h"

static Str chosen_lines(const Buf *past, int64_t tail) {
        return tail < 0 ? buf_str(past) : last_lines(buf_str(past), tail);
}

static int print_past(Coop *coop, const Options *options, Printer *printer) {
        _cleanup_(buf_deinit) Buf past = BUF_NULL;
        int r;

        coop_set_session(coop);
        coop_set_pty(coop, options->pty);
        r = coop_call(coop, "logs");
        if (!r)
                r = follow_past(coop, &past);
        if (r)
                return r;
        if (!printer_put(printer, chosen_lines(&past, options->tail)) || !printer_end(printer))
                return CLI_FAILED; /* main() says why */
        return CLI_OK;
}

/* ---- what comes ------------------------------------------------------------------------------ */

static void tell_event(const StreamEvent *event) {
        if (event->kind == STREAM_EXITED)
                advise("[process exited (code %lld)]", (long long)event->value);
        else if (event->kind == STREAM_RESTARTING)
                advise("[restarting in %lldms…]", (long long)event->value);
}

/* Whether it goes on. */
static bool print_item(const FollowItem *item, Printer *printer) {
        switch (item->kind) {
        case FOLLOW_OUTPUT: return printer_put(printer, item->bytes);
        case FOLLOW_LOST:
                advise("[%llu bytes of output were printed faster than they could be shown]",
                       (unsigned long long)item->n_lost);
                return true;
        case FOLLOW_EVENT: tell_event(&item->event); return true;
        case FOLLOW_IDLE: return true;
        case FOLLOW_SIGNAL:
        case FOLLOW_FAILED:
        case FOLLOW_END: break;
        }
        return false;
}

/* An interrupted logs -f ends as any program that is interrupted, with the terminal in order. */
static int logs_follow(Coop *coop, const Options *options, Printer *printer) {
        _cleanup_(follow_deinit) Follow follow = FOLLOW_NULL;
        FollowItem item;
        bool is_written;
        int r = follow_open(&follow, coop, options);

        if (r)
                return r;
        printer->is_past = true;
        is_written = printer_put(printer, chosen_lines(&follow.past, options->tail));
        printer->is_past = false;
        do
                r = is_written ? follow_next(&follow, &item) : 0;
        while (is_written && !r && print_item(&item, printer));
        if (!printer_end(printer) || ferror(stdout))
                return CLI_FAILED;
        if (!r && is_written && item.kind == FOLLOW_SIGNAL)
                die_by_signal(item.number);
        if (!r && is_written && item.kind == FOLLOW_FAILED)
                return item.number;
        return r ? link_complain(r, coop->socket) : CLI_OK;
}

/* A task, by its id: its agent is no session. project NULL: the one here. */
static int logs_of_task(const Options *options, const char *project, const char *word) {
        _cleanup_(task_link_deinit) TaskLink link = TASK_LINK_NULL;
        _cleanup_(freep) char *id = NULL;
        int r = task_link_open(&link, project, -1);

        link.is_json = options->json;
        if (!r)
                r = task_id_find(&link, "logs", word, &id);
        if (r)
                return r;
        return options->follow ? task_tail(&link, id) : task_show(&link, id);
}

/* In the folder of a project its tasks need no daemon that is asked what they are. */
static bool logs_is_task_here(const char *word) {
        _cleanup_(freep) char *project =
                str_starts(str_from(word), STR("task-")) ? task_project_find() : NULL;

        return project;
}

/* ---- actors ---------------------------------------------------------------------------------- */

enum { ACTOR_CHARS_MAX = 200000 };

/* What an actor of a group has printed, as far as the group lets one look; a daemon without coop shows it,
 * too. */
static int logs_of_actor(const Options *options, const char *name, Printer *printer) {
        _cleanup_(cccc_deinit) Cccc cccc = CCCC_NULL;
        const char *slash = strchr(name, '/');
        Str text, group;
        int r;

        group = arena_str(&cccc.arena, (Str){name, (size_t)(slash - name)});
        r = group.data ? cccc_open(&cccc, "logs", options) : complain(CLI_FAILED, "out of memory");
        if (!r)
                r = cccc_find_group(&cccc, group.data);
        if (r)
                return r;
        cccc.group = json_str(json_get(cccc.reply.result, "group_id"));
        cccc_set_target(&cccc);
        cccc_set_str(&cccc, "actor_id", str_from(slash + 1));
        cccc_set_int(&cccc, "max_chars", ACTOR_CHARS_MAX);
        cccc_set(&cccc, "strip_ansi", json_new_bool(&cccc.arena, options->strip));
        cccc_set(&cccc, "compact", json_new_bool(&cccc.arena, false));
        r = cccc_call(&cccc, "terminal_tail");
        if (r)
                return r;
        text = json_str(json_get(cccc.reply.result, "text"));
        if (options->tail >= 0)
                text = last_lines(text, options->tail);
        if (!printer_put(printer, text) || (options->strip && text.n && !printer_put(printer, STR("\n"))) ||
            !printer_end(printer))
                return CLI_FAILED; /* main() says why */
        return CLI_OK;
}

/* Tasks and runs keep more than their process has in memory, also when they have ended. */
static bool logs_has_own_way(const Coop *coop, const Options *options) {
        return str_is(coop->thing.kind, "task") || str_is(coop->thing.kind, "run") ||
               (str_is(coop->thing.kind, "actor") && !options->follow);
}

static int logs_of_other(const Coop *coop, const Options *options, Printer *printer) {
        bool is_run;

        if (str_is(coop->thing.kind, "task"))
                return logs_of_task(options, coop->thing.place.data, coop->thing.object.data);
        return str_is(coop->thing.kind, "run") ? logs_of_run(options, coop->session, &is_run)
                                               : logs_of_actor(options, coop->session, printer);
}

/* Times are kept for the daemon's own lines only; of what is hosted they are known while it comes. */
static int logs_check_times(const Options *options) {
        if (options->since)
                return complain(CLI_USAGE,
                                "logs: when a session printed something is not kept, so --since is for "
                                "--daemon; try --tail N");
        if (options->timestamps && !options->follow)
                return complain(CLI_USAGE,
                                "logs: when a session printed something is not kept, so --timestamps is for "
                                "--daemon and, with -f, for what comes");
        return CLI_OK;
}

int cmd_logs(const Options *options) {
        _cleanup_(coop_deinit) Coop coop = COOP_NULL;
        _cleanup_(printer_deinit) Printer printer;
        int r;

        printer_init(&printer, stdout, options->strip || options->timestamps);
        printer.is_raw = options->raw;
        printer.has_stamps = options->timestamps;
        if (options->daemon && options->n_operands)
                return complain(CLI_USAGE, "logs: --daemon is about the daemon, not about %s",
                                options->operands[0]);
        if (options->daemon)
                return daemon_log_show(options);
        r = logs_check_times(options);
        if (r)
                return r;
        if (options->n_operands && logs_is_task_here(options->operands[0]))
                return logs_of_task(options, NULL, options->operands[0]);
        if (options->n_operands && names_actor(options->operands[0]) && !options->follow)
                return logs_of_actor(options, options->operands[0], &printer);
        if (options->n_operands && run_files_is_name(options->operands[0]) &&
            !names_actor(options->operands[0]) && !strchr(options->operands[0], ':')) {
                bool is_run;

                r = logs_of_run(options, options->operands[0], &is_run);
                if (r || is_run)
                        return r;
        }
        r = coop_open(&coop, "logs");
        if (!r)
                r = coop_choose(&coop, options->n_operands ? options->operands[0] : NULL);
        if (!r && coop.is_other && logs_has_own_way(&coop, options))
                return logs_of_other(&coop, options, &printer);
        if (!r && options->follow)
                r = coop_refuse_itself(&coop, options->pty);
        if (r)
                return r;
        return options->follow ? logs_follow(&coop, options, &printer)
                               : print_past(&coop, options, &printer);
}
