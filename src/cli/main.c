/* SPDX-License-Identifier: MIT */
/*
 * muster: the command a person uses. This file knows which commands there are and what their help says; each
 * is in its own cmd-*.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/nearest.h"
#include "cli/options.h"
#include "cli/report.h"
#include "core/version.h"

static const Command commands[] = {
        {
                .name = "up",
                .summary = "start the daemon in the background",
                .usage = "[--wait SECONDS] [--json] [-- MUSTERD-FLAGS…]",
                .details = "Starts musterd unless one answers already, waits until it is ready and says "
                           "where it\n"
                           "listens. Its output goes to musterd.log in the state folder. What stands behind "
                           "-- is\n"
                           "passed to musterd.\n"
                           "\n"
                           "  --wait SECONDS   how long to wait for it (default 10)\n"
                           "  --json           the outcome as one JSON object\n",
                .examples = "  muster up\n"
                            "  muster up -- --only cccc,native --log-level info\n"
                            "  MUSTER_HOME=~/scratch muster up --wait 2\n",
                .options = CLI_OPTION_WAIT | CLI_OPTION_JSON | CLI_OPTION_REST,
                .n_max = -1,
                .run = cmd_up,
        },
        {
                .name = "down",
                .summary = "stop the daemon and wait until it has gone",
                .usage = "[--wait SECONDS] [--json]",
                .details = "It is fine if none is running.\n"
                           "\n"
                           "  --wait SECONDS   how long to wait for its end (default 15)\n"
                           "  --json           the outcome as one JSON object\n",
                .examples = "  muster down\n"
                            "  muster down --wait 60 && echo gone\n",
                .options = CLI_OPTION_WAIT | CLI_OPTION_JSON,
                .run = cmd_down,
        },
        {
                .name = "status",
                .summary = "what the daemon is, where it listens, who is connected",
                .usage = "[--json] [--timeout SECONDS]",
                .details = "  --json             the answer of native.daemon.info as it is\n"
                           "  --timeout SECONDS  how long to wait for it (default 10)\n",
                .examples = "  muster status\n"
                            "  muster status --json | jq -r '.endpoints[] | select(.state == \"listening\") "
                            "| .address'\n"
                            "  muster status >/dev/null 2>&1 || muster up\n",
                .options = CLI_OPTION_JSON | CLI_OPTION_TIMEOUT,
                .run = cmd_status,
        },
        {
                .name = "call",
                .summary = "send one operation and print its result",
                .usage = "DIALECT.OP [KEY=VALUE…] [--json] [--timeout SECONDS] [--project DIR]",
                .details = "Values are typed as `muster schema DIALECT.OP` tells:\n"
                           "\n"
                           "  KEY=TEXT         string: the text itself; int, number, bool: checked here\n"
                           "  KEY=A KEY=B      strings: one item per word\n"
                           "  KEY=JSON         object, array, any (what is no JSON is a text for any)\n"
                           "  KEY=@FILE        the value is what the file holds; @- is stdin, @@x is the "
                           "text @x\n"
                           "  KEY:=JSON        sent as it is, whatever type was declared\n"
                           "\n"
                           "The result is indented on a terminal and one line otherwise. Operations that "
                           "stream go\n"
                           "on printing, one line each, until the daemon ends the stream or you do.\n"
                           "\n"
                           "  --json             one line also on a terminal; errors as a JSON object on "
                           "stderr\n"
                           "  --timeout SECONDS  how long to wait for the answer (default 30)\n"
                           "  --project DIR      aiwg: which project, when the daemon serves several\n",
                .examples = "  muster call cccc.ping\n"
                            "  muster call cccc.observability_update by=user patch='{\"developer_mode\": "
                            "true}'\n"
                            "  muster call cccc.observability_update patch=@settings.json\n"
                            "  muster call aiwg.daemon.status --project ~/src/app\n",
                .options = CLI_OPTION_JSON | CLI_OPTION_TIMEOUT | CLI_OPTION_PROJECT,
                .n_min = 1,
                .n_max = -1,
                .run = cmd_call,
        },
        {
                .name = "schema",
                .summary = "which operations there are, and what each takes and gives",
                .usage = "[DIALECT[.OP]] [--json]",
                .details = "Needs no daemon.\n"
                           "\n"
                           "  --json           the OpenRPC document, or the entries asked for\n",
                .examples = "  muster schema\n"
                            "  muster schema coop\n"
                            "  muster schema cccc.observability_update\n"
                            "  muster schema --json > openrpc.json\n",
                .options = CLI_OPTION_JSON,
                .n_max = 1,
                .run = cmd_schema,
        },
        {
                .name = "stdio",
                .summary = "AgentCompany on stdin and stdout",
                .usage = "[--wait SECONDS]",
                .details = "Connects stdin and stdout to the daemon's AgentCompany dialect, byte by byte; "
                           "starts\n"
                           "the daemon first if none runs. Ends when the daemon closes the connection, "
                           "which it\n"
                           "does after the answers to all that came before the end of stdin. The same "
                           "happens when\n"
                           "the program is called `ac` and its first word is server:start.\n"
                           "\n"
                           "  --wait SECONDS   how long to wait for a daemon that is started (default 10)\n",
                .examples = "  muster stdio < requests.jsonl > answers.jsonl\n"
                            "  ln -s \"$(command -v muster)\" ~/bin/ac && ac server:start\n",
                .options = CLI_OPTION_WAIT,
                .run = cmd_stdio,
        },
};

/* ---- help ------------------------------------------------------------------------------------ */

static void print_help(void) {
        printf("muster %s: talks to musterd, the daemon behind CCCC, coop, AIWG and AgentCompany "
               "clients.\n\n",
               MUSTER_VERSION);
        printf("Usage: muster COMMAND [OPTIONS…]\n       muster --help | --version\n\nCommands:\n");
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                printf("  %-8s %s\n", commands[i].name, commands[i].summary);
        printf("\nExamples:\n"
               "  muster up                      start the daemon\n"
               "  muster status                  see where it listens\n"
               "  muster call cccc.ping          call an operation\n"
               "  muster schema                  list all operations\n"
               "  muster call --help             more about one command\n"
               "\nExit status:\n"
               "  0  fine\n"
               "  1  the daemon answered with an error, or the command failed\n"
               "  2  wrong command line\n"
               "  3  no daemon is running, or it could not be started\n"
               "  4  it took too long\n"
               "\nEnvironment:\n"
               "  MUSTER_HOME    state folder (default $XDG_STATE_HOME/muster, else ~/.local/state/muster)\n"
               "  MUSTER_SOCKET  the daemon's socket (default $XDG_RUNTIME_DIR/muster/muster.sock,\n"
               "                 else run/muster.sock in the state folder)\n");
}

static void print_command_help(const Command *command) {
        printf("muster %s: %s\n\nUsage: muster %s %s\n\n%s\nExamples:\n%s", command->name, command->summary,
               command->name, command->usage, command->details, command->examples);
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static const Command *find_command(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                if (!strcmp(name, commands[i].name))
                        return &commands[i];
        return NULL;
}

static int refuse_command(const char *name) {
        Nearest nearest = NEAREST(name);

        for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
                nearest_offer(&nearest, commands[i].name);
        complain(CLI_USAGE, "there is no command %s", name);
        if (nearest.best)
                advise("did you mean: muster %s?", nearest.best);
        advise("try: muster --help");
        return CLI_USAGE;
}

static int run_command(const Command *command, int argc, char **argv) {
        Options options;
        int r = options_parse(command, argc, argv, &options);

        if (r)
                return r;
        if (!options.help)
                return command->run(&options);
        print_command_help(command);
        return CLI_OK;
}

/* muster help [COMMAND] */
static int run_help(const char *name) {
        const Command *command = name ? find_command(name) : NULL;

        if (name && !command)
                return refuse_command(name);
        if (command)
                print_command_help(command);
        else
                print_help();
        return CLI_OK;
}

static int dispatch(int argc, char **argv) {
        const char *slash = strrchr(argv[0], '/'), *program = slash ? slash + 1 : argv[0], *word = argv[1];

        if (!strcmp(program, "ac") && word && !strcmp(word, "server:start"))
                return run_command(find_command("stdio"), argc - 1, argv + 1);
        if (!word) {
                complain(CLI_USAGE, "no command given");
                advise("try: muster --help");
                return CLI_USAGE;
        }
        if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
                printf("muster %s\n", MUSTER_VERSION);
                return CLI_OK;
        }
        if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
                return run_help(argv[2]);
        return find_command(word) ? run_command(find_command(word), argc - 1, argv + 1)
                                  : refuse_command(word);
}

/* Descriptors 0 to 2 exist, so that nothing we open can be taken for one of them. */
static void fill_standard_fds(void) {
        int fd;

        do
                fd = open("/dev/null", O_RDWR);
        while (fd >= 0 && fd <= STDERR_FILENO);
        (void)close_fd(fd);
}

int main(int argc, char **argv) {
        int status;

        fill_standard_fds();
        if (argc < 1)
                return CLI_USAGE;
        status = dispatch(argc, argv);
        if ((fflush(stdout) || ferror(stdout)) && status != CLI_USAGE)
                return complain(CLI_FAILED, "cannot write to stdout: %s", strerror(errno));
        return status;
}
