/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "cli/call/args.h"
#include "cli/cli.h"
#include "cli/link/find.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "core/op.h"

enum { TIMEOUT_MS = 30000 };

typedef struct CallJob {
        const OpDoc *doc;
        const char *name; /* DIALECT.OP */
        char *socket, *project;
        Arena arena;
        Link link;
} CallJob;

static void call_job_deinit(CallJob *job) {
        free(job->socket);
        free(job->project);
        link_deinit(&job->link);
        arena_deinit(&job->arena);
}

/* ---- before the call ------------------------------------------------------------------------- */

/* As the daemon names it: absolute and without symbolic links. */
static int call_resolve_project(CallJob *job, const char *project) {
        _cleanup_(freep) char *path = NULL;

        if (!project)
                return CLI_OK;
        if (strcmp(job->doc->dialect, "aiwg") != 0)
                return complain(CLI_USAGE, "call: --project is for operations of aiwg only");
        path = path_expand(project);
        job->project = path ? realpath(path, NULL) : NULL;
        if (!job->project)
                return complain(CLI_USAGE, "call: %s: %s", project, strerror(errno));
        if (strchr(job->project, '\n'))
                return complain(CLI_USAGE, "call: a project's path may not have a line break in it");
        return CLI_OK;
}

static int make_args(CallJob *job, const Options *options, const Json **ret) {
        Args args;
        int r = args_init(&args, &job->arena, job->doc,
                          openrpc_method(openrpc_document(&job->arena), job->doc));

        for (int i = 1; !r && i < options->n_operands; i++)
                r = args_add(&args, options->operands[i]);
        if (!r)
                r = args_check(&args);
        if (r == VALUE_E_WRONG) {
                complain(CLI_USAGE, "%s: %s", job->name, args.why);
                advise("its parameters: muster schema %s", job->name);
                return CLI_USAGE;
        }
        if (r)
                return complain(CLI_FAILED, "%s", strerror(-r));
        *ret = args.object;
        return CLI_OK;
}

/* ---- the call -------------------------------------------------------------------------------- */

/* Frames of coop hold what a terminal was sent; those of the others are JSON. */
static void call_put_frame(const CallJob *job, Str frame) {
        if (strcmp(job->doc->dialect, "coop") != 0) {
                json_put_text(stdout, frame);
                return;
        }
        output_put(stdout, frame);
        putchar('\n');
}

/* What follows the reply of a streaming operation, frame by frame, until the daemon ends it. */
static int call_follow(CallJob *job) {
        Str frame;
        int r;

        job->link.deadline_ms = DEADLINE_NEVER;
        while ((r = link_receive(&job->link, exchange_framing(job->doc->dialect), &frame)) == 0) {
                call_put_frame(job, frame);
                if (fflush(stdout))
                        return CLI_FAILED; /* main() says why */
        }
        return r == LINK_E_CLOSED ? CLI_OK : link_complain(r, job->socket);
}

static int print_reply(CallJob *job, const Reply *reply, bool json) {
        bool is_stream = job->doc->flags & OP_STREAMS;

        if (reply->is_error) {
                reply_complain(job->name, reply, json);
                return CLI_FAILED;
        }
        if (json_print(stdout, reply->result, is_for_people(json) && !is_stream))
                return complain(CLI_FAILED, "out of memory");
        if (!is_stream)
                return CLI_OK;
        return fflush(stdout) ? CLI_FAILED : call_follow(job);
}

static int call(CallJob *job, const Options *options, const Json *args) {
        const Request request = {
                .dialect = job->doc->dialect, .op = job->doc->name, .args = args, .project = job->project};
        int64_t timeout_ms = options->timeout_ms < 0 ? TIMEOUT_MS : options->timeout_ms;
        Reply reply;
        int r;

        r = link_open(&job->link, job->socket, clock_ms() + timeout_ms);
        if (r)
                return link_complain(r, job->socket);
        r = exchange(&job->link, &request, &job->arena, &reply);
        if (r)
                return exchange_complain(r, job->socket);
        return print_reply(job, &reply, options->json);
}

int cmd_call(const Options *options) {
        _cleanup_(call_job_deinit) CallJob job = {.name = options->operands[0], .link = LINK_NULL};
        const Json *args = NULL;
        int r;

        job.doc = opdoc_find(job.name);
        if (!job.doc) {
                opdoc_complain(job.name);
                return CLI_USAGE;
        }
        r = call_resolve_project(&job, options->project);
        if (!r)
                r = make_args(&job, options, &args);
        if (r)
                return r;
        job.socket = find_socket();
        if (!job.socket)
                return complain(CLI_FAILED, "cannot tell where the daemon's socket is: is HOME set?");
        return call(&job, options, args);
}
