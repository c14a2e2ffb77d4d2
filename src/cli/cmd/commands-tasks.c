/* SPDX-License-Identifier: MIT */
/*
 * The commands that are about the tasks of AIWG projects, and what their help says.
 */
#include "cli/cli.h"

const Command task_commands[] = {
        {
                .name = "task",
                .summary = "submit, list, watch and cancel the tasks of a project",
                .usage = "submit|ls|get|cancel|wait|tail|stats [WORDS…] [--project DIR] [--agent NAME] "
                         "[--priority N] [--wait | -f] [--state STATE] [--limit N] [--json] "
                         "[--timeout SECONDS]",
                .details =
                        "The project is the folder above this one that has a .aiwg, or --project. submit\n"
                        "serves it from then on when nobody does, as muster project add.\n"
                        "\n"
                        "An ID is task-0007, or for short 7, or a beginning that only one has: task-00.\n"
                        "\n"
                        "  submit WORDS…    the words are the prompt; a single - reads it from stdin\n"
                        "  ls               newest first, with how long they ran and why they failed\n"
                        "  get ID           all that is known of one, as JSON\n"
                        "  cancel ID…       TERM for its agent, KILL five seconds later\n"
                        "  wait ID…         until it has ended; prints its result, fails unless completed\n"
                        "  tail ID          its output as it comes, then as wait\n"
                        "  stats            how many there are, by state\n"
                        "\n"
                        "  --project DIR      another project than the one here\n"
                        "  --agent NAME       submit: a persona of the agent program\n"
                        "  --priority N       submit: higher ones run first (default 0)\n"
                        "  --env NAME[=VALUE]  submit: a variable for its agent, as of muster new\n"
                        "  --wait             submit: then as wait\n"
                        "  -f, --follow       submit: then as tail\n"
                        "  --state STATE      ls: queued, running, completed, failed or cancelled\n"
                        "  --limit N          ls: at most so many (default 20)\n"
                        "  --json             answers as the daemon gives them\n"
                        "  --timeout SECONDS  how long to wait for an answer (default 30); wait, tail: for "
                        "the end\n"
                        "                     (default: for ever)\n",
                .examples = "  muster task submit Fix the failing tests\n"
                            "  muster task submit --priority 5 - < prompt.txt\n"
                            "  muster task submit --wait Explain this\n"
                            "  muster task ls --state running\n",
                .takes = "project agent state limit priority await follow json timeout env",
                .n_min = 1,
                .n_max = -1,
                .run = cmd_task,
        },
        {
                .name = "chat",
                .summary = "talk to the agent of a project, line by line",
                .usage = "[WORDS…] [--project DIR] [--priority N] [--env NAME[=VALUE]]",
                .details = "Each line is a task of its own; its answer is shown as it comes. Ctrl+C cancels "
                           "the\n"
                           "answer under way, Ctrl+D leaves. With WORDS it is one line and its answer.\n"
                           "\n"
                           "  /tasks /status /history /cancel ID /run WORDS /help /quit\n"
                           "\n"
                           "  --project DIR    another project than the one here\n"
                           "  --priority N     of what is sent (default 5)\n"
                           "  --env NAME[=VALUE]  a variable for its agent, as of muster new\n",
                .examples = "  muster chat\n"
                            "  muster chat What does this project do?\n"
                            "  echo 'List the TODOs' | muster chat\n",
                .takes = "project priority env",
                .n_max = -1,
                .run = cmd_chat,
        },
        {
                .name = "project",
                .summary = "which AIWG projects the daemon serves",
                .usage = "add|set|ls|rm|trust [DIR] [--sandbox MODE] [--network MODE] [--force] [--json] "
                         "[--timeout SECONDS]",
                .details =
                        "  add [DIR]        serve this folder (default: here) now and after every restart\n"
                        "  set [DIR]        the sandbox of its tasks, from their next start on\n"
                        "  ls               all of them, with what runs there\n"
                        "  rm [DIR]         serve it no longer; its tasks are ended\n"
                        "  trust [DIR]      shows its .aiwg/daemon.json, asks, and takes it: one that was\n"
                        "                   changed where an agent in a sandbox can write is not in use\n"
                        "                   until then; so do waiting tasks that were written there\n"
                        "\n"
                        "  --sandbox MODE     add, set: bwrap or none (default: as before, at first none)\n"
                        "  --network MODE     add, set: in a sandbox: host, none or veth (at first host)\n"
                        "  --force            rm: do not give running tasks time to end; trust: do not ask\n"
                        "  --json             answers as the daemon gives them\n"
                        "  --timeout SECONDS  how long to wait for the answer (default 10)\n",
                .examples = "  muster project add --sandbox bwrap ~/src/app\n"
                            "  muster project ls\n",
                .takes = "force json timeout sandbox network",
                .n_min = 1,
                .n_max = 2,
                .run = cmd_project,
        },
};

const size_t n_task_commands = ARRAY_SIZE(task_commands);
