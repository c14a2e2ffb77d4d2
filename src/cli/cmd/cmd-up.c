/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/json/json-writer.h"
#include "cli/cli.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "cli/link/start.h"

enum { WAIT_MS = 10000 };

/* Endpoints that a client stopped, or whose socket somebody removed. tried stays NULL when all are open, and
 * lies in the link's buffer. */
static int up_reopen(Start *start, Link *link, const Json **tried) {
        const Json *answer = NULL;
        bool is_whole = true;
        int r;

        json_each (row, json_get(start->info, "endpoints"))
                is_whole &= str_is(json_str(json_get(row, "state")), "listening");
        if (is_whole)
                return CLI_OK;
        r = link_open(link, start->socket, start->link.deadline_ms);
        if (r)
                return link_complain(r, start->socket);
        r = native_call(link, start->socket, "daemon.reopen", &start->arena, &answer);
        *tried = json_get(answer, "tried");
        if (!r && answer)
                r = native_call(&start->link, start->socket, "daemon.info", &start->arena, &answer);
        if (!r && answer)
                start->info = answer;
        return r;
}

static void up_tell_reopened(const Json *tried) {
        json_each (row, tried) {
                if (!str_is(json_str(json_get(row, "state")), "listening"))
                        continue; /* the list of endpoints says why */
                print("opened again: ");
                text_put(stdout, json_str(json_get(row, "name")));
                print(" ");
                text_put(stdout, json_str(json_get(row, "address")));
                print("\n");
        }
}

static void up_print_json(const Start *start, bool is_resumed, const Json *tried) {
        const Json *info = start->info;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_bool(&w, "started", start->pid != 0);
        jw_field_int(&w, "pid", info ? info_pid(info) : start->pid);
        jw_field_bool(&w, "resumed", is_resumed);
        jw_field_cstr(&w, "log", start->log_path);
        if (tried)
                jw_field_value(&w, "reopened", tried);
        if (info)
                jw_field_value(&w, "daemon", info);
        jw_end_object(&w);
        if (!w.failed)
                json_put_text(stdout, buf_str(&text));
}

static void up_print_text(const Start *start, bool is_resumed, const Json *tried) {
        const Json *info = start->info;

        if (start->pid)
                print("musterd started, pid %d, log %s\n", (int)start->pid, start->log_path);
        else
                print("musterd is already running, pid %lld\n", (long long)info_pid(info));
        if (is_resumed)
                print("Actors that were stopped with it are started again.\n");
        up_tell_reopened(tried);
        if (info)
                info_print_endpoints(stdout, info);
        else
                print("It does not listen at %s, so this program cannot reach it.\n", start->socket);
}

/* Agents that `down --stop-agents` ended stay down until somebody says so. */
static int up_resume(const Start *start, bool *ret_resumed) {
        _cleanup_(link_deinit) Link link = LINK_NULL; /* what info says lies in the other one */
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        const Json *answer = NULL;
        bool is_stopped = false;
        int r;

        if (!start->info || !json_bool(json_get(start->info, "agents_stopped"), &is_stopped) || !is_stopped)
                return CLI_OK;
        r = link_open(&link, start->socket, clock_ms() + WAIT_MS);
        if (r)
                return link_complain(r, start->socket);
        r = native_call(&link, start->socket, "daemon.resume", &arena, &answer);
        if (!r)
                (void)json_bool(json_get(answer, "resumed"), ret_resumed);
        return r;
}

int cmd_up(const Options *options) {
        _cleanup_(start_deinit) Start start = START_NULL;
        _cleanup_(link_deinit) Link link = LINK_NULL;
        const Json *tried = NULL;
        bool is_resumed = false;
        int r;

        r = start_daemon(&start, options->operands, options->n_operands,
                         options->wait_ms < 0 ? WAIT_MS : options->wait_ms);
        if (r)
                return r;
        if (options->n_operands && !start.pid)
                complain(0, "already running: the flags for musterd were not used");
        r = up_resume(&start, &is_resumed);
        if (!r && !start.pid && start.info)
                r = up_reopen(&start, &link, &tried);
        if (r)
                return r;
        if (options->json)
                up_print_json(&start, is_resumed, tried);
        else
                up_print_text(&start, is_resumed, tried);
        return CLI_OK;
}
