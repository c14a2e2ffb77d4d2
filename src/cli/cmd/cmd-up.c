/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "base/json-writer.h"
#include "cli/cli.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "cli/link/start.h"

enum { WAIT_MS = 10000 };

static void print_json(const Start *start) {
        const Json *info = start->info;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        JsonWriter w = JSON_WRITER(&text);

        jw_begin_object(&w);
        jw_field_bool(&w, "started", start->pid != 0);
        jw_field_int(&w, "pid", info ? info_pid(info) : start->pid);
        jw_field_cstr(&w, "log", start->log_path);
        if (info)
                jw_field_value(&w, "daemon", info);
        jw_end_object(&w);
        if (!w.failed)
                printf(STR_FMT "\n", STR_ARG(buf_str(&text)));
}

static void print_text(const Start *start) {
        const Json *info = start->info;

        if (start->pid)
                printf("musterd started, pid %d, log %s\n", (int)start->pid, start->log_path);
        else
                printf("musterd is already running, pid %lld\n", (long long)info_pid(info));
        if (info)
                info_print_endpoints(stdout, info);
        else
                printf("It does not listen at %s, so muster cannot reach it.\n", start->socket);
}

int cmd_up(const Options *options) {
        _cleanup_(start_deinit) Start start = START_NULL;
        int r;

        r = start_daemon(&start, options->operands, options->n_operands,
                         options->wait_ms < 0 ? WAIT_MS : options->wait_ms);
        if (r)
                return r;
        if (options->n_operands && !start.pid)
                complain(0, "already running: the flags for musterd were not used");
        if (options->json)
                print_json(&start);
        else
                print_text(&start);
        return CLI_OK;
}
