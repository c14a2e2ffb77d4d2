/* SPDX-License-Identifier: MIT */
#include "cli/link/asking.h"

#include <unistd.h>

#include "base/macro.h"
#include "cli/cli.h"
#include "cli/link/find.h"
#include "cli/link/native.h"
#include "cli/print/report.h"
#include "cli/link/start.h"

enum { START_MS = 10000, ANSWER_MS = 30000 };

void arguments_set(Arguments *arguments, Arena *arena, const char *key, Json *value) {
        if (!arguments->object)
                arguments->object = json_new(arena, JSON_OBJECT);
        if (!arguments->object || json_set(arena, arguments->object, str_from(key), value))
                arguments->is_out_of_memory = true;
}

void arguments_set_str(Arguments *arguments, Arena *arena, const char *key, Str value) {
        arguments_set(arguments, arena, key, json_new_str(arena, value));
}

void arguments_set_int(Arguments *arguments, Arena *arena, const char *key, int64_t value) {
        arguments_set(arguments, arena, key, json_new_int(arena, value));
}

int asking_start(char **ret_socket) {
        _cleanup_(start_deinit) Start start = START_NULL;
        int r = start_daemon(&start, NULL, 0, START_MS);

        if (r)
                return r;
        if (!start.info)
                return complain(CLI_NO_DAEMON, "musterd runs, but does not listen at %s", start.socket);
        if (start.pid && isatty(STDERR_FILENO))
                advise("musterd started, pid %d", (int)start.pid);
        *ret_socket = steal(&start.socket);
        return CLI_OK;
}

/* What is wrong with the answer, if anything is, shows in the question that follows. */
static void asking_tell_version(Link *link) {
        const Request request = {.dialect = "native", .op = "daemon.info"};
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Reply reply;

        if (!exchange(link, &request, &arena, &reply) && !reply.is_error)
                info_tell_version(reply.result);
}

int asking_find(char **ret_socket) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        _cleanup_(freep) char *socket = find_socket();
        int r;

        if (!socket)
                return complain(CLI_FAILED, "cannot tell where the daemon's socket is: is HOME set?");
        r = link_open(&link, socket, clock_ms() + START_MS);
        if (r)
                return link_complain(r, socket);
        asking_tell_version(&link);
        *ret_socket = steal(&socket);
        return CLI_OK;
}

int asking(const Asking *asking, Arguments *arguments, Reply *ret) {
        const Request request = {.dialect = asking->dialect, .op = asking->op, .args = arguments->object};
        int r;

        if (arguments->is_out_of_memory)
                return complain(CLI_FAILED, "out of memory");
        arguments->object = NULL;
        link_deinit(asking->link);
        r = link_open(asking->link, asking->socket, clock_ms() + ANSWER_MS);
        if (!r)
                r = exchange(asking->link, &request, asking->arena, ret);
        return r ? exchange_complain(r, asking->socket) : CLI_OK;
}

int asking_show(const AskingShow *show, Arena *arena, Arguments *arguments) {
        _cleanup_(freep) char *socket = NULL;
        _cleanup_(link_deinit) Link link = LINK_NULL;
        Asking what = {.dialect = "native", .op = show->op, .link = &link, .arena = arena};
        Reply reply = {0};
        int r = asking_find(&socket);

        if (r)
                return r;
        what.socket = socket;
        r = asking(&what, arguments, &reply);
        if (r)
                return r;
        if (reply.is_error) {
                reply_complain(show->command, &reply, show->is_json);
                return CLI_FAILED;
        }
        if (show->is_json)
                return json_print(stdout, reply.result, false) ? complain(CLI_FAILED, "out of memory")
                                                               : CLI_OK;
        return show->print(reply.result);
}
