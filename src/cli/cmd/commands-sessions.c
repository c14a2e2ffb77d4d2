/* SPDX-License-Identifier: MIT */
/*
 * The commands that are about hosted processes, and what their help says.
 */
#include "cli/cli.h"

const Command session_commands[] = {
        {
                .name = "new",
                .summary = "start a program in a session of its own and attach to it",
                .usage = "[-d [--json]] [--name N] [--sandbox MODE] [--once] [DIR] [-- COMMAND…]",
                .details =
                        "Makes a session for a folder (default: this one) and attaches to it. What runs "
                        "in it runs on\n"
                        "when you leave with Ctrl+], when this terminal closes, and when the daemon ends. "
                        "Where\n"
                        "nothing runs any more, a new one takes its place; a session that runs is shown if "
                        "nothing\n"
                        "else was asked for, and is an error otherwise. COMMAND's end with status 0 is the "
                        "end of\n"
                        "its session; else it is started again, unless --once, or the coopfile, says "
                        "otherwise.\n"
                        "Without COMMAND the folder's coop.toml says what runs. Starts the daemon if none "
                        "runs.\n"
                        "\n"
                        "  -d, --detach     do not attach\n"
                        "  --json           with -d: the daemon's answer as it is\n"
                        "  -n, --name N     name of the session (default: the last part of the folder); "
                        "with it, a "
                        "folder\n"
                        "                   may have several\n"
                        "  --env NAME[=VALUE]  a variable for it; without VALUE as it is here. PATH, "
                        "language,\n"
                        "                   proxies and the keys of known agents are passed anyway: "
                        "muster(1)\n"
                        "  --sandbox MODE   bwrap, or none (default: the coopfile's, else the daemon's)\n"
                        "  --detach-keys K  what leaves it (default C-], or cli.detach_keys of "
                        "muster.toml)\n"
                        "  --once           do not start it again when it ends; what it printed stays until "
                        "it is killed\n"
                        "  --no-reconnect   end with status 3 when the daemon goes\n",
                .examples = "  muster new -- bash\n"
                            "  muster new --name api ~/src/api -- claude\n"
                            "  muster new -d --once -- make -j8\n",
                .takes = "json detach detach-keys name sandbox once env no-reconnect",
                .runs_command = true,
                .n_max = 1,
                .run = cmd_new,
        },
        {
                .name = "attach",
                .summary = "show a session on this terminal; Ctrl+] leaves it",
                .usage = "[-r] [SESSION] [--pty N] [--raw] [--detach-keys KEYS]",
                .details =
                        "SESSION is the path of a workspace, or anything that ps shows: a name, a short "
                        "name, "
                        "an id\n"
                        "or its first digits (docs/names.md). Without it, the session of this folder, or "
                        "of the\n"
                        "closest one above. Ends with the status of the process when it ends, with 0 when "
                        "you\n"
                        "leave. At an actor who comes first types. What has no terminal, a task or a run, "
                        "is\n"
                        "only shown, as by logs -f.\n"
                        "Ctrl+] pressed twice is sent once; inside a paste it is text.\n"
                        "\n"
                        "  -r, --read-only  only look: nothing is typed, and its size stays as it is\n"
                        "  --pty N          which of its terminals (default 0: the agent)\n"
                        "  --raw            it may also use the clipboard, and ask for the title\n"
                        "  --detach-keys K  what leaves it instead of Ctrl+]: C-q, or several: C-a,d; "
                        "none:\n"
                        "                   nothing does (default: cli.detach_keys of muster.toml)\n"
                        "  --no-reconnect   end with status 3 when the daemon goes, instead of waiting "
                        "for the "
                        "next\n",
                .examples = "  muster attach\n"
                            "  muster attach -r api\n"
                            "  muster attach session:api.1\n"
                            "  muster attach actor:g_1a2b3c4d5e6f/dev\n",
                .takes = "read-only pty raw detach-keys no-reconnect",
                .n_max = 1,
                .run = cmd_attach,
        },
        {
                .name = "shell",
                .summary = "open a shell inside a session",
                .usage = "[SESSION] [-c PROGRAM]",
                .details = "On a terminal of its own beside the agent; without SESSION, in that of this "
                           "folder. Ctrl+]\n"
                           "leaves it running; muster attach --pty N comes back to it.\n"
                           "\n"
                           "  -c, --command PROGRAM  instead of the coopfile's shell, else $SHELL; with "
                           "blanks: a "
                           "line for /bin/sh\n"
                           "  --detach-keys K        what leaves it instead of Ctrl+], as of muster attach\n"
                           "  --no-reconnect         end with status 3 when the daemon goes\n",
                .examples = "  muster shell\n"
                            "  muster shell api -c /usr/bin/python3\n",
                .takes = "command detach-keys no-reconnect",
                .n_max = 1,
                .run = cmd_shell,
        },
        {
                .name = "ls",
                .summary = "list the sessions",
                .usage = "[--json]",
                .details = "  --json           the answer of coop.ls as it is\n",
                .examples = "  muster ls\n"
                            "  muster ls --json | jq -r '.sessions[].name'\n",
                .takes = "json",
                .run = cmd_ls,
        },
        {
                .name = "ps",
                .summary = "list every hosted process with its state and since when",
                .usage = "[--json] [--watch]",
                .details =
                        "NAME is what every command about hosted processes takes (docs/names.md). "
                        "AGE is the age of\nthe STATE, OUTPUT that of the last output (- when this daemon "
                        "has\n"
                        "seen none). CPU and MEM are of the process itself. On a terminal, columns that do\n"
                        "not fit are left out.\n"
                        "\n"
                        "  --json           the answer of native.ps as it is; with --watch one line each\n"
                        "  -w, --watch      again every second, as muster top\n",
                .examples = "  muster ps\n"
                            "  muster ps --json | jq -r '.processes[].name'\n",
                .takes = "json watch",
                .run = cmd_ps,
        },
        {
                .name = "top",
                .summary = "muster ps, again every second",
                .usage = "[--json]",
                .details = "On a screen of its own; q or Ctrl+C leaves. A daemon that goes away is waited "
                           "for.\n"
                           "\n"
                           "  --json           the answer of native.ps every second, one line each\n",
                .examples = "  muster top\n",
                .takes = "json",
                .run = cmd_top,
        },
        {
                .name = "logs",
                .summary = "print what a session, or the daemon, has printed",
                .usage = "[-f] [--tail N] [--strip | --raw] [SESSION] [--pty N]\n"
                         "       muster logs --daemon [-f] [--tail N] [--since TIME]",
                .details =
                        "Recent output (up to 256 KiB), byte by byte. On a terminal, questions to it, its\n"
                        "title and the clipboard are left out.\n"
                        "SESSION is anything that ps shows, by name, short name or id; without it, the "
                        "session\n"
                        "of this folder or of the closest one above. Of a task and of a run of "
                        "AgentCompany\n"
                        "all that is kept, also when it has ended, its stderr to stderr.\n"
                        "\n"
                        "  -f, --follow     go on with what comes, until Ctrl+C or the end\n"
                        "  -n, --tail N     only the last N lines of what was printed before\n"
                        "  --strip          plain text: without colours and other control sequences\n"
                        "  --raw            every byte, also on a terminal\n"
                        "  --pty N          which of its terminals (default 0: the agent)\n"
                        "  -t, --timestamps  with -f: plain text with the time before each line; a dash\n"
                        "                   where it is not known, since it was printed before\n"
                        "  --daemon         the daemon's own log, musterd.log in the state folder with\n"
                        "                   the older ones; its lines begin with their time\n"
                        "  --since TIME     --daemon: from then on; 2026-01-02T03:04:05Z, or 30s, 10m,\n"
                        "                   2h, 1d ago\n"
                        "  --no-reconnect   end with status 3 when the daemon goes, instead of waiting "
                        "for the "
                        "next\n",
                .examples = "  muster logs\n"
                            "  muster logs --daemon --since 10m\n"
                            "  muster logs -f --tail 20 api\n"
                            "  muster logs -f my-project/run_01M7N3AMDHCP7G9BTMW11K6K1C\n"
                            "  muster logs task:api/task-0007\n"
                            "  muster logs --strip api | grep -i error\n",
                .takes = "follow tail strip raw pty daemon timestamps since no-reconnect",
                .n_max = 1,
                .run = cmd_logs,
        },
        {
                .name = "send-keys",
                .summary = "type into a session or an actor from outside",
                .usage = "SESSION [--pty N] [--enter] [-l] TEXT…",
                .details = "SESSION is anything that ps shows and that has a terminal. "
                           "Each TEXT that is the name\n"
                           "of a key is that key, the others are typed as they "
                           "are, without\n"
                           "anything between them. Names as in tmux: Enter Tab BTab Escape Space BSpace Up "
                           "Down Left\n"
                           "Right Home End PageUp PageDown Insert Delete F1 to F12, C-c (or ^c), M-x, S-Up, "
                           "C-M-Left.\n"
                           "\n"
                           "  --enter          Enter at the end\n"
                           "  -l, --literal    no names of keys: all of it is text\n"
                           "  --pty N          which of its terminals (default 0: the agent)\n",
                .examples = "  muster send-keys api 'make test' Enter\n"
                            "  muster send-keys api C-c\n"
                            "  muster send-keys . --enter -- -v\n",
                .takes = "pty enter literal",
                .n_min = 1,
                .n_max = -1,
                .run = cmd_send_keys,
        },
        {
                .name = "kill",
                .summary = "end a session, or anything else that ps shows",
                .usage = "[SESSION] [--all] [-f] [--pty N] [--no-wait] [--json]",
                .details = "SIGTERM, and SIGKILL after 5 seconds; waits until it is gone. Without SESSION, "
                           "that of\n"
                           "this folder or of the closest one above. SESSION is anything that ps shows, by "
                           "name,\n"
                           "short name or id: an actor is stopped, a task cancelled, as their contracts "
                           "have it.\n"
                           "\n"
                           "  -a, --all        every session\n"
                           "  -f, --force      SIGKILL at once\n"
                           "  --pty N          only this terminal\n"
                           "  --no-wait        do not wait; ps shows it as ending until it is gone\n"
                           "  --json           the daemon's answer as it is\n",
                .examples = "  muster kill api\n"
                            "  muster kill api --pty 1\n"
                            "  muster kill actor:g_1a2b3c4d5e6f/worker\n"
                            "  muster kill 3f2a9c01\n"
                            "  muster kill --all -f\n",
                .takes = "json all force pty no-wait",
                .n_max = 1,
                .run = cmd_kill,
        },
        {
                .name = "restart",
                .summary = "end what runs in a session and start it again",
                .usage = "[SESSION] [--pty N] [--json]",
                .details =
                        "The coopfile is read again. Who is attached stays attached. Without SESSION, that "
                        "of this\n"
                        "folder or of the closest one above. SESSION is anything that ps shows: an actor "
                        "is\n"
                        "started again as by muster actor restart, a task is submitted again.\n"
                        "\n"
                        "  --pty N          which of its terminals (default 0: the agent)\n"
                        "  --json           the daemon's answer as it is\n",
                .examples = "  muster restart api\n"
                            "  muster restart task-0007\n",
                .takes = "json pty",
                .n_max = 1,
                .run = cmd_restart,
        },
        {
                .name = "record",
                .summary = "record a session into a file (asciicast v2)",
                .usage = "[SESSION] FILE [--pty N]",
                .details = "Only looks: nothing is typed or resized. Begins with the recent output; sizes "
                           "that others give\n"
                           "the terminal are recorded too. Ends with Ctrl+C or with the process. Without "
                           "SESSION, that of\n"
                           "this folder; it is anything that ps shows. FILE must not exist; - is stdout.\n"
                           "\n"
                           "  --pty N          which of its terminals (default 0: the agent)\n"
                           "  --no-reconnect   end with status 3 when the daemon goes, instead of waiting "
                           "for the "
                           "next\n",
                .examples = "  muster record demo.cast\n"
                            "  muster record api api.cast\n",
                .takes = "pty no-reconnect",
                .n_min = 1,
                .n_max = 2,
                .run = cmd_record,
        },
        {
                .name = "replay",
                .summary = "play a recording on this terminal",
                .usage = "FILE|SESSION [--pty N] [--speed X] [--max-idle SECONDS] [--raw]",
                .details = "SESSION: of what the daemon recorded of it (record = true in its coopfile) the "
                           "one\n"
                           "that was begun last, also when it is gone. Needs no daemon. Ctrl+C ends it.\n"
                           "\n"
                           "  --pty N             which of its terminals (default 0: the agent)\n"
                           "  --speed X           so many times as fast (default 1)\n"
                           "  --max-idle SECONDS  no pause is longer (default: as the file says)\n"
                           "  --raw               every byte, as in muster logs\n",
                .examples = "  muster replay demo.cast\n"
                            "  muster replay api\n"
                            "  muster replay demo.cast --speed 4 --max-idle 0.5\n",
                .takes = "pty speed max-idle raw",
                .n_min = 1,
                .n_max = 1,
                .run = cmd_replay,
        },
};

const size_t n_session_commands = ARRAY_SIZE(session_commands);
