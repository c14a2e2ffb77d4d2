/* SPDX-License-Identifier: MIT */
/*
 * muster: the command a person uses. This file finds the command and prints help; which ones there are is in
 * commands-*.c, and each is in its own cmd-*.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/ac/ac.h"
#include "cli/cli.h"
#include "cli/commands.h"
#include "cli/complete/complete.h"
#include "cli/print/nearest.h"
#include "cli/options.h"
#include "cli/print/report.h"
#include "cli/print/wrap.h"
#include "core/version.h"

/* ---- help ------------------------------------------------------------------------------------ */

static void cli_print_list(const char *title, const Command *commands, size_t n) {
        print("\n%s:\n", title);
        for (size_t i = 0; i < n; i++)
                print("  %-14s  %s\n", commands[i].name, commands[i].summary);
}

static void cli_print_help(void) {
        print("muster %s: talks to musterd, which hosts AI coding agents and serves CCCC,\n"
              "coop, AIWG and AgentCompany clients.\n\n",
              MUSTER_VERSION);
        fputs("Usage: muster COMMAND [OPTIONS…]\n       muster --help | --version\n", stdout);
        cli_print_list("Sessions: programs that run on when you leave", session_commands,
                       n_session_commands);
        cli_print_list("Groups: agents that work together", group_commands, n_group_commands);
        cli_print_list("Tasks: prompts for the agent of a project", task_commands, n_task_commands);
        cli_print_list("The daemon", daemon_commands, n_daemon_commands);
        fputs("\nExamples:\n"
              "  muster new -- bash             a shell that outlives this terminal; Ctrl+]\n"
              "                                 leaves it\n"
              "  muster attach                  come back to it\n"
              "  muster ps                      see what runs\n"
              "  muster send --to dev hello     write to an agent of this folder's group\n"
              "  muster status                  see what runs, waits and failed\n"
              "  muster call cccc.ping          call an operation\n"
              "  muster schema                  list all operations\n"
              "  muster call --help             more about one command\n"
              "\nExit status:\n"
              "  0  fine\n"
              "  1  the daemon answered with an error, or the command failed\n"
              "  2  wrong command line\n"
              "  3  no daemon is running, or it could not be started\n"
              "  4  it took too long\n"
              "  attach, new and shell end with the status of the process when it ends\n"
              "\nEnvironment:\n"
              "  MUSTER_HOME    state folder (default $XDG_STATE_HOME/muster, else\n"
              "                 ~/.local/state/muster)\n"
              "  MUSTER_SOCKET  the daemon's socket (default\n"
              "                 $XDG_RUNTIME_DIR/muster/muster.sock, else run/muster.sock in\n"
              "                 the state folder; if nobody is there, what musterd.address\n"
              "                 in the state folder says)\n"
              "  NO_COLOR       with a value: no colours; MUSTER_COLOR=always or never decides\n",
              stdout);
}

static void print_command_help(const Command *command) {
        print("muster %s: %s\n\n", command->name, command->summary);
        usage_put(stdout, command->name, command->usage);
        print("\n");
        help_put(stdout, command->details);
        print("\nExamples:\n%s", command->examples);
}

/* ---- dispatch -------------------------------------------------------------------------------- */

static int refuse_command(const char *name) {
        Nearest nearest = NEAREST(name);

        for (size_t i = 0; i < n_commands(); i++)
                nearest_offer(&nearest, command_at(i)->name);
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
        const Command *command = name ? command_find(name) : NULL;

        if (name && !command)
                return refuse_command(name);
        if (command)
                print_command_help(command);
        else
                cli_print_help();
        return CLI_OK;
}

/* One look at everything; and for who has just begun, where to go on. */
static int cli_run_alone(char **argv) {
        char *words[] = {argv[0], NULL};
        int status = run_command(command_find("status"), 1, words);

        if (status == CLI_OK && isatty(STDOUT_FILENO))
                print("\nmuster --help lists the commands.\n");
        else if (status == CLI_NO_DAEMON)
                advise("muster --help lists the commands");
        return status;
}

static int cli_dispatch(int argc, char **argv) {
        const char *slash = strrchr(argv[0], '/'), *program = slash ? slash + 1 : argv[0], *word = argv[1];

        if (!strcmp(program, "ac"))
                return ac_main(argc, argv);
        if (!word)
                return cli_run_alone(argv);
        if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
                print("muster %s\n", MUSTER_VERSION);
                return CLI_OK;
        }
        if (!strcmp(word, "__complete")) /* of the completion scripts; in no list */
                return complete(argc - 2, argv + 2);
        if (!strcmp(word, "--help") || !strcmp(word, "-h") || !strcmp(word, "help"))
                return run_help(argv[2]);
        return command_find(word) ? run_command(command_find(word), argc - 1, argv + 1)
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
        (void)setlocale(LC_CTYPE, "C.UTF-8"); /* how wide a character is, and nothing else */
        if (argc < 1)
                return CLI_USAGE;
        status = cli_dispatch(argc, argv);
        if ((fflush(stdout) || ferror(stdout)) && status != CLI_USAGE)
                return complain(CLI_FAILED, "cannot write to stdout: %s", strerror(errno));
        return status;
}
