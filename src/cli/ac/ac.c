/* SPDX-License-Identifier: MIT */
#include "cli/ac/ac.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json/json-writer.h"
#include "base/macro.h"
#include "cli/cli.h"
#include "cli/complete/complete.h"
#include "cli/link/exchange.h"
#include "cli/link/find.h"
#include "cli/link/greeting.h"
#include "cli/link/native.h"
#include "cli/link/start.h"
#include "cli/print/report.h"
#include "core/version.h"

enum { START_MS = 10000 };

int ac_fail(const char *format, ...) {
        _cleanup_(freep) char *text = NULL;
        va_list args;
        int n;

        va_start(args, format);
        n = vasprintf(&text, format, args);
        va_end(args);
        if (n < 0)
                text = NULL; /* undefined after a failure */
        fprint(stderr, "ERROR: %s\n", text ? text : "out of memory");
        return CLI_FAILED;
}

/* ---- one call -------------------------------------------------------------------------------- */

/* The daemon that runs is asked at once; only when there is none, one is started. */
static int ac_connect(Link *link) {
        _cleanup_(freep) char *socket = find_socket();
        _cleanup_(start_deinit) Start start = START_NULL;
        int r = socket ? link_open(link, socket, DEADLINE_NEVER) : LINK_E_ABSENT;

        if (!r)
                return CLI_OK;
        if (r != LINK_E_ABSENT)
                return link_complain(r, socket);
        r = start_daemon(&start, NULL, 0, START_MS);
        if (r)
                return r;
        if (!start.info)
                return ac_fail("musterd runs, but does not listen at %s", start.socket);
        r = link_open(link, start.socket, DEADLINE_NEVER);
        return r ? link_complain(r, start.socket) : CLI_OK;
}

static int ac_write_request(Buf *out, const char *method, const Json *params) {
        JsonWriter w = JSON_WRITER(out);

        jw_begin_object(&w);
        jw_field_cstr(&w, "jsonrpc", "2.0");
        jw_field_int(&w, "id", 1);
        jw_field_cstr(&w, "method", method);
        jw_key(&w, "params");
        jw_begin_object(&w);
        json_each (param, params) {
                if (!str_starts(json_key(param), STR("."))) {
                        jw_key_str(&w, json_key(param));
                        jw_value(&w, param);
                }
        }
        jw_end_object(&w);
        jw_end_object(&w);
        return w.failed || buf_append_str(out, STR("\n")) ? ac_fail("out of memory") : CLI_OK;
}

/* Events that the daemon tells meanwhile are passed over. */
static int ac_receive(Link *link, Arena *arena, Reply *reply) {
        for (;;) {
                Str line;
                int r = link_receive(link, FRAMING_LINE, &line);

                if (r)
                        return link_complain(r, link->path);
                r = reply_read(arena, "agentcompany", line, reply);
                if (!r)
                        return CLI_OK;
                if (!str_starts(line, STR("{\"jsonrpc\":\"2.0\",\"method\":")))
                        return exchange_complain(r, link->path);
        }
}

/* The request that is written there, then its reply; an error of the server is said. */
static int ac_exchange(Link *link, const Buf *request, Arena *arena, Reply *reply) {
        int r = link_send(link, buf_str(request));

        if (r && r != LINK_E_CLOSED) /* closed: perhaps after saying why */
                return link_complain(r, link->path);
        r = ac_receive(link, arena, reply);
        if (!r && reply->is_error)
                return ac_fail(STR_FMT, STR_ARG(reply->message));
        return r;
}

static int ac_call(const AcCommand *command, const char *method, const Json *params, Arena *arena) {
        _cleanup_(link_deinit) Link link = LINK_NULL;
        _cleanup_(buf_deinit) Buf request = BUF_NULL;
        const char *next = ac_find_next(command);
        Reply reply = {0};
        int r = ac_is_native(method) ? buf_append_str(&request, STR("@native\n"))
                                     : greeting_write(&request, false);

        if (r)
                return ac_fail("out of memory");
        r = ac_write_request(&request, method, params);
        if (!r)
                r = ac_connect(&link);
        if (!r)
                r = ac_exchange(&link, &request, arena, &reply);
        if (!r && next) {
                request.n = 0;
                r = ac_write_request(&request, next, reply.result);
                if (!r)
                        r = ac_exchange(&link, &request, arena, &reply);
        }
        return r ? r : command->show(command, params, reply.result);
}

/* ---- which command --------------------------------------------------------------------------- */

static int ac_help(void) {
        print("Usage: ac COMMAND [WORDS…] [OPTIONS…]\n\n"
              "The command line of AgentCompany, served by musterd. Commands:\n\n  server:start\n");
        for (size_t i = 0; i < n_ac_commands; i++) {
                const AcCommand *command = &ac_commands[i];

                print("  %s", command->name);
                for (size_t k = 0; ac_operand_name(command, k); k++)
                        print(" <%s>", ac_operand_name(command, k));
                for (size_t k = 0; k < AC_OPTIONS_MAX && command->options[k].flag; k++) {
                        const AcOption *option = &command->options[k];

                        print(ac_must_be_given(option) ? " %s" : " [%s]", option->flag);
                }
                print("\n");
        }
        return CLI_OK;
}

static int ac_refuse(const char *name) {
        const char *why = ac_why_not(name);

        (void)(why ? ac_fail("%s %s", name, why) : ac_fail("unknown command '%s'", name));
        return why ? CLI_USAGE : CLI_FAILED;
}

static int ac_run(const AcCommand *command, int argc, char **argv) {
        _cleanup_(arena_deinit) Arena arena = {0};
        Json *params = NULL;
        const char *method = NULL;
        int r = ac_read_args(&arena, command, argc, argv, &params, &method);

        return r ? r : ac_call(command, method, params, &arena);
}

/* Desktop apps run NODE CLI rpc:call …; with both set to this program, the first word is its own path. */
static bool ac_is_own_path(const char *word) {
        char self[PATH_MAX], there[PATH_MAX];
        ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

        if (n <= 0 || !strchr(word, '/') || !realpath(word, there))
                return false;
        self[n] = 0;
        return !strcmp(self, there);
}

int ac_main(int argc, char **argv) {
        const AcCommand *command;
        const char *word;

        argc--, argv++;
        if (argc && ac_is_own_path(*argv))
                argc--, argv++;
        word = argc ? *argv : "--help";
        if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
                return ac_help();
        if (!strcmp(word, "--version") || !strcmp(word, "-V"))
                return print("%s\n", MUSTER_VERSION), CLI_OK;
        if (!strcmp(word, "server:start"))
                return cmd_stdio(&(Options){.wait_ms = -1});
        if (!strcmp(word, "__complete")) /* of the completion scripts; in no list */
                return complete_ac(argc - 1, argv + 1);
        command = ac_find_command(word);
        return command ? ac_run(command, argc - 1, argv + 1) : ac_refuse(word);
}
