/* SPDX-License-Identifier: MIT */
/*
 * The commands that are about the daemon itself and its operations, and what their help says.
 */
#include "cli/cli.h"

const Command daemon_commands[] = {
        {
                .name = "up",
                .summary = "start the daemon in the background",
                .usage = "[--wait SECONDS] [--json] [-- MUSTERD-FLAGS…]",
                .details = "Starts musterd unless one answers already, waits until it is ready and says "
                           "where it\n"
                           "listens. Its output goes to musterd.log in the state folder. What stands behind "
                           "-- is\n"
                           "passed to musterd. Actors that were ended with `down --stop-agents` are started "
                           "again,\n"
                           "and endpoints that a client stopped are opened again.\n"
                           "\n"
                           "  --wait SECONDS   how long to wait for it (default 10)\n"
                           "  --json           the outcome as one JSON object\n",
                .examples = "  muster up\n"
                            "  muster up -- --only cccc,native --log-level info\n"
                            "  MUSTER_HOME=~/scratch muster up --wait 2\n",
                .takes = "wait json",
                .passes_rest = true,
                .n_max = -1,
                .run = cmd_up,
        },
        {
                .name = "down",
                .summary = "stop the daemon and wait until it has gone",
                .usage = "[--stop-agents] [--wait SECONDS] [--json]",
                .details =
                        "It is fine if none is running. Hosted processes run on and are found again by the\n"
                        "next daemon; tasks that run or wait are left for it, too.\n"
                        "\n"
                        "  --stop-agents    end them as well, tasks included; actors stay down until\n"
                        "                   `muster up` or `muster group start`\n"
                        "  --wait SECONDS   how long to wait for its end (default 15)\n"
                        "  --json           the outcome as one JSON object\n",
                .examples = "  muster down\n"
                            "  muster down --wait 60 && echo gone\n",
                .takes = "wait json stop-agents",
                .run = cmd_down,
        },
        {
                .name = "upgrade-daemon",
                .summary = "this version's daemon in the place of the one that runs",
                .usage = "[--wait SECONDS] [--json] [-- MUSTERD-FLAGS…]",
                .details =
                        "Stops the daemon in order, starts the one that belongs to this program, and says\n"
                        "how many processes run on below it. The new one has the flags and the working\n"
                        "folder of the old one (unless flags are given) and the environment of this\n"
                        "shell. Also good for a new PATH or API key with the same version.\n"
                        "\n"
                        "  --wait SECONDS   how long to wait for the end (15) and for the start (20)\n"
                        "  --json           from, to, pid, adopted\n",
                .examples = "  muster upgrade-daemon\n",
                .takes = "wait json",
                .passes_rest = true,
                .n_max = -1,
                .run = cmd_upgrade_daemon,
        },
        {
                .name = "status",
                .summary = "one look: what runs, what waits, what failed, since when",
                .usage = "[--json] [--timeout SECONDS]",
                .details =
                        "The daemon, every hosted process with its state, the age of it and of its last\n"
                        "output; actors of groups that are in use, with the mail that waits for them;\n"
                        "projects with tasks that run, wait and have failed within a day. muster without\n"
                        "a command does the same.\n"
                        "\n"
                        "  --json             the answer of native.overview as it is\n"
                        "  --timeout SECONDS  how long to wait for it (default 10)\n",
                .examples = "  muster status\n"
                            "  muster status --json | jq -r '.endpoints[] | .name + \" \" + .address'\n"
                            "  muster status >/dev/null 2>&1 || muster up\n",
                .takes = "json timeout",
                .run = cmd_status,
        },
        {
                .name = "env",
                .summary = "what the daemon gives to every process that it hosts",
                .usage = "[VERB [NAME[=VALUE]…]] [--reveal] [--json]",
                .details =
                        "Variables for sessions, actors and tasks that begin from now on. What is started "
                        "from a\n"
                        "command line also gets that caller's PATH and more, see muster(1), which is "
                        "above it.\n"
                        "NAME alone takes the value that it has here. Kept in environment.json in the "
                        "state\n"
                        "folder, which only you can read.\n"
                        "\n"
                        "Verbs:\n"
                        "  show              what is given (without a verb, this)\n"
                        "  set NAME[=VALUE]…\n"
                        "  unset NAME…\n"
                        "\n"
                        "  --reveal   show the values of secrets, too (names with KEY, TOKEN, SECRET, …)\n"
                        "  --json     the answer as one JSON object; hidden values are null\n",
                .examples = "  muster env set ANTHROPIC_API_KEY\n"
                            "  muster env set PATH LANG=de_DE.UTF-8\n"
                            "  muster env unset HTTP_PROXY\n",
                .takes = "reveal json",
                .n_max = -1,
                .run = cmd_env,
        },
        {
                .name = "serve",
                .summary = "show all of it in a browser, also to other devices",
                .usage = "[-p PORT] [-H ADDRESS] [--view] [--token-file FILE] [--tls auto|CERT:KEY] "
                         "[--stop] [--detach] [--no-qr] "
                         "[--ascii] "
                         "[--json]",
                .details =
                        "Opens a web server of the daemon, prints where it is, and closes it at Ctrl+C. "
                        "For other\n"
                        "devices the address, also as a QR code, holds a code that is good once, for 10 "
                        "minutes.\n"
                        "\n"
                        "  -p, --port PORT      default 8888; 0: one that is free\n"
                        "  -H, --host ADDRESS   address to listen at (default 127.0.0.1: this "
                        "machine only;\n"
                        "                       0.0.0.0: all)\n"
                        "  --view               who comes in may only look\n"
                        "  --token-file FILE    the server's token is what this file holds; else a "
                        "random one.\n"
                        "                       Where other machines can connect it has at least 22 "
                        "characters\n"
                        "  --token TOKEN        the same on the command line, where everybody here can "
                        "read it\n"
                        "  --tls auto|CERT:KEY  https, by a certificate of our own or by these files (PEM)\n"
                        "  --stop               close the server at -p and -H, by default all\n"
                        "  -d, --detach         leave it open; the next daemon opens it again after a "
                        "crash or an\n"
                        "                       upgrade, not after `muster down`\n"
                        "  --no-qr              no QR code\n"
                        "  --ascii              the QR code without half blocks\n"
                        "  --json               host, port, token, local, network as one JSON object\n",
                .examples = "  muster serve\n"
                            "  muster serve -H 0.0.0.0 --view\n"
                            "  muster serve --detach && muster serve --stop\n",
                .takes = "port host view token-file token tls stop detach no-qr ascii json",
                .run = cmd_serve,
        },
        {
                .name = "tunnel",
                .summary = "show a session to a phone that scans a QR code",
                .usage =
                        "[SESSION] [--page URL] [--stun HOST:PORT] [--no-stun] [--view] [--no-qr] [--ascii] "
                        "[--page-hash] [--json]",
                .details =
                        "Opens a tunnel of WebRTC to this daemon, prints the address of a page with a code "
                        "that is\n"
                        "good once, also as a QR code, says who comes and goes, and closes it at Ctrl+C.\n"
                        "\n"
                        "  SESSION            where the page opens (default: the session of this folder)\n"
                        "  --page URL         page that the address leads to; default tunnel.page of "
                        "muster.toml,\n"
                        "                     else /connect of a running `muster serve`\n"
                        "  --stun HOST:PORT   ask this server for the address that we have on the Internet; "
                        "it\n"
                        "                     learns it. Default tunnel.stun, else none\n"
                        "  --no-stun          ask none\n"
                        "  --view             who comes in may only look\n"
                        "  --no-qr            no QR code\n"
                        "  --ascii            the QR code without half blocks\n"
                        "  --page-hash        print what the SHA-256 of the page on another host must be, "
                        "and end\n"
                        "  --json             what was opened as one JSON object\n"
                        "\n"
                        "Exit status 6: it could not be opened, or ended by itself.\n",
                .examples = "  muster serve -H 0.0.0.0 --detach && muster tunnel\n"
                            "  muster tunnel web --page https://example.org/connect --view\n",
                .takes = "page stun no-stun view no-qr ascii page-hash json",
                .n_max = 1,
                .run = cmd_tunnel,
        },
        {
                .name = "open",
                .summary = "the console in a browser of this machine",
                .usage = "[SESSION] [--json]",
                .details = "Uses a server that this machine can reach, or opens one at 127.0.0.1 and leaves "
                           "it, and\n"
                           "gives the browser ($BROWSER, else xdg-open) an address with a code that is good "
                           "once.\n"
                           "Without a browser the address is printed.\n"
                           "\n"
                           "  SESSION   begin at the terminal of this one: any name that `muster ps` shows\n"
                           "  --json    the address as one JSON object; no browser is started\n",
                .examples = "  muster open\n"
                            "  muster open api/reviewer\n",
                .takes = "json",
                .n_max = 1,
                .run = cmd_open,
        },
        {
                .name = "token",
                .summary = "who may come in over the web, and the word for CCCC over TCP",
                .usage = "VERB [LABEL | ID] [--scope SCOPE] [--object NAME] [--ttl HOURS] [--code] [--json]",
                .details = "Tokens of the web: a browser or program that has one comes in at every server "
                           "of this\n"
                           "daemon (`muster serve`). It is shown once; what is kept is its digest.\n"
                           "\n"
                           "  ls               all of them, with codes that nobody has used yet\n"
                           "  create [LABEL]   make one\n"
                           "  revoke ID        take one back, and close what is open by it\n"
                           "\n"
                           "  --scope SCOPE    view (looks; the default), control (acts on agents) or admin "
                           "(acts on\n"
                           "                   the daemon)\n"
                           "  --object NAME    for this one hosted thing only\n"
                           "  --ttl HOURS      how long it holds; else until it was not used for 30 days\n"
                           "  --code           a code for a link instead: good once, for 10 minutes, and "
                           "becomes\n"
                           "                   such a token\n"
                           "  --json           the outcome as one JSON object\n"
                           "\n"
                           "The word for CCCC over TCP with cccc.allow_remote: while there is one, a "
                           "connection of\n"
                           "another machine begins with the line {\"token\":\"…\"}, or is closed. Kept in "
                           "cccc.token\n"
                           "in the state folder, which only you can read. Without a verb: whether there is "
                           "one. Needs\n"
                           "no daemon; one that runs takes it at once, and ends connections of other "
                           "machines.\n"
                           "\n"
                           "  new    make it; an older one does not hold any more\n"
                           "  show   print it\n"
                           "  rm     remove it\n",
                .examples = "  muster token create phone --scope control\n"
                            "  muster token create --object nlst --ttl 1 --code\n"
                            "  muster token show | ssh build1 'umask 77; cat > .cccc-token'\n",
                .takes = "json scope object ttl code",
                .n_max = 2,
                .run = cmd_token,
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
                .takes = "json timeout project",
                .n_min = 1,
                .n_max = -1,
                .run = cmd_call,
        },
        {
                .name = "schema",
                .summary = "which operations there are, and what each takes and gives",
                .usage = "[DIALECT[.OP]] [--json]",
                .details = "Needs no daemon. mcp is no dialect, but the tools for agents (muster mcp).\n"
                           "\n"
                           "  --json           the OpenRPC document, or the entries asked for\n",
                .examples = "  muster schema\n"
                            "  muster schema coop\n"
                            "  muster schema cccc.observability_update\n"
                            "  muster schema --json > openrpc.json\n",
                .takes = "json",
                .n_max = 1,
                .run = cmd_schema,
        },
        {
                .name = "doctor",
                .summary = "look for what is wrong here, and name what is fine",
                .usage = "[--json]",
                .details =
                        "One line for each thing it looks at: the state folder, its disk and socket, the\n"
                        "daemon and its version, endpoints, projects, the log, agent programs on the PATH\n"
                        "that agents get, bwrap and user namespaces (by making a sandbox), linger, the\n"
                        "CCCC home ($CCCC_HOME, else ~/.cccc), the documents and ledgers of all groups,\n"
                        "daemons of others in our place, IM bridges that do not run.\n"
                        "\n"
                        "  ok       fine             note     good to know\n"
                        "  warning  in the way       error    broken: the exit status is 1\n"
                        "\n"
                        "Starts no daemon and changes nothing.\n"
                        "\n"
                        "  --json   one JSON object per line: check, level, path, message\n",
                .examples = "  muster doctor\n",
                .takes = "json",
                .run = cmd_doctor,
        },
        {
                .name = "rules",
                .summary = "the automation rules of an AIWG project",
                .usage = "[ls | check [FILE] | enable [RULE] | disable [RULE] | events] [--json] [--project "
                         "DIR] "
                         "[--timeout SECONDS]",
                .details =
                        "  ls               what each rule waits for and does, when it fired last, when it "
                        "is due\n"
                        "                   next, and its last error (also without a word)\n"
                        "  check [FILE]     reads a daemon.json (default: that of the project) as the "
                        "daemon "
                        "would, and\n"
                        "                   says what is wrong; needs no daemon\n"
                        "  enable [RULE]    switches a rule, or the whole engine, on until the daemon ends\n"
                        "  disable [RULE]   the same, off\n"
                        "  events           what happened lately, one JSON object a line\n"
                        "\n"
                        "  --json             the daemon's answer as it is\n"
                        "  --project DIR      another project than the one here\n"
                        "  --timeout SECONDS  how long to wait for the answer (default 10)\n",
                .examples = "  muster rules\n"
                            "  muster rules check && git add .aiwg/daemon.json\n"
                            "  muster rules disable nightly\n",
                .takes = "json project timeout",
                .n_max = 2,
                .run = cmd_rules,
        },
        {
                .name = "ledger",
                .summary = "check, mend and describe ledger files, without the daemon",
                .usage = "verify|repair|stat [GROUP|FILE|FOLDER…] [--json]",
                .details = "Without a name: every group in the CCCC home ($CCCC_HOME, else ~/.cccc). A word "
                           "with a "
                           "slash,\n"
                           "or of a file that is there, is a file. A folder is a workspace of AgentCompany. "
                           "audit: what the\n"
                           "daemon has refused (audit/ledger.jsonl in its state folder).\n"
                           "\n"
                           "  verify   reads every line and names what is no event, by its offset; a torn "
                           "tail; "
                           "the\n"
                           "           SHA-256 chain, where there is one. Status 1 when something is wrong\n"
                           "  repair   cuts a torn tail and takes damaged lines out; both are kept in "
                           "state/ledger/cut.*.\n"
                           "           The daemon may run meanwhile. Of a workspace: puts what a power loss "
                           "left in\n"
                           "           its journal into the files; refused while a daemon has it open\n"
                           "  stat     lines, events by kind, times, index, chain\n"
                           "  --json   one JSON object per ledger\n",
                .examples = "  muster ledger verify\n"
                            "  muster ledger verify g_0123456789ab --json\n"
                            "  muster ledger repair ~/.cccc/groups/g_0123456789ab/ledger.jsonl\n"
                            "  muster ledger repair ~/company\n",
                .takes = "json",
                .n_min = 1,
                .n_max = -1,
                .run = cmd_ledger,
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
                .takes = "wait",
                .run = cmd_stdio,
        },
        {
                .name = "mcp",
                .summary = "tools for agents: MCP on stdin and stdout",
                .usage = "[--socket PATH] [--wait SECONDS] [--verbose]",
                .details =
                        "What an agent starts as an MCP server, and speaks with in any revision of the\n"
                        "protocol. Messages, groups, shared context, tasks and what runs are its tools\n"
                        "(docs/mcp.md; `muster schema mcp` lists them). Requests wait up to 10 seconds for "
                        "a\n"
                        "daemon and outlive its restart. Ends with its stdin.\n"
                        "\n"
                        "Who the agent is: the one in whose process it runs, else CCCC_GROUP_ID and\n"
                        "CCCC_ACTOR_ID, else what it says in each call. Without --socket, and outside of\n"
                        "what muster hosts, the first request starts a daemon if none runs.\n"
                        "\n"
                        "  --socket PATH    the daemon's socket\n"
                        "  --wait SECONDS   how long a request waits for a daemon (default 10)\n"
                        "  --verbose        say on stderr what happens to connections\n",
                .examples = "  claude mcp add muster -- muster mcp\n"
                            "  codex mcp add muster -- muster mcp --socket \"$MUSTER_SOCKET\"\n"
                            "  muster schema mcp\n",
                .takes = "socket wait verbose",
                .run = cmd_mcp,
        },
        {
                .name = "approvals",
                .summary = "what agents ask a person",
                .usage = "[--all] [--json] [VERB [WORDS…]]",
                .details = "Verbs:\n"
                           "  list                      what waits for an answer (without a verb, this)\n"
                           "  policies                  answers that were given once and for all\n"
                           "  forget POLICY             people are asked again\n"
                           "\n"
                           "  -a, --all        list: also what is decided\n"
                           "  --json           the daemon's answer as it is\n",
                .examples = "  muster approvals\n"
                            "  muster approvals forget 1a2b3c4d5e6f\n",
                .takes = "all json",
                .n_max = 2,
                .run = cmd_approvals,
        },
        {
                .name = "answer",
                .summary = "show what an agent asks, and answer it",
                .usage = "ID [allow|deny|OPTION] [--note TEXT] [--json]",
                .details =
                        "Shows the question with all that is to be decided on, and answers it with one of "
                        "its\n"
                        "options. Without an option it only shows it, and the options. The first answer\n"
                        "counts, wherever it was given; who comes later is told who was first. ID may be\n"
                        "the first 4 digits and more (docs/approvals.md).\n"
                        "\n"
                        "  --note TEXT      for the agent, kept with the answer\n"
                        "  --json           the daemon's answer as it is\n",
                .examples = "  muster answer 3fa2\n"
                            "  muster answer 3fa2 deny --note 'not on main'\n",
                .takes = "note json",
                .n_min = 1,
                .n_max = 2,
                .run = cmd_answer,
        },
        {
                .name = "explain",
                .summary = "what an agent does, and why that is believed",
                .usage = "[NAME] [--json]",
                .details = "The state of anything that ps shows, who says so and how long ago, whether it "
                           "may be\n"
                           "wrong, and the last 50 facts that were heard of it with what was made of each\n"
                           "(docs/agents.md). Without NAME, and for `.`, the session of this folder.\n"
                           "\n"
                           "  --json           the daemon's answer as it is\n",
                .examples = "  muster explain api\n"
                            "  muster explain actor:g_1a2b3c4d5e6f/worker --json\n",
                .takes = "json",
                .n_max = 1,
                .run = cmd_explain,
        },
        {
                .name = "usage",
                .summary = "tokens and cost of agents, as their programs tell",
                .usage = "[BY] [--since TIME] [--json]",
                .details =
                        "A row for each agent, or by what is named: name, group, project, account, "
                        "runtime,\n"
                        "model, session, day, hour (UTC). What agent programs report as cost and what our\n"
                        "table of prices makes of tokens are never added to each other (docs/usage.md).\n"
                        "\n"
                        "  --since TIME     RFC 3339, or 30s, 10m, 2h, 1d ago (default: today, UTC)\n"
                        "  --json           the daemon's answer as it is\n",
                .examples = "  muster usage\n"
                            "  muster usage model --since 7d\n"
                            "  muster usage day --since 2026-07-01T00:00:00Z --json\n",
                .takes = "since json",
                .n_max = 1,
                .run = cmd_usage,
        },
        {
                .name = "budget",
                .summary = "what agents may use, and what happens then",
                .usage = "[VERB [ARGUMENT…]] [--json]",
                .details = "Budgets of tokens, usd, turns or minutes for all, one agent, a group, a project "
                           "or an\n"
                           "account, a day (UTC), a run (one process) or for ever (docs/usage.md).\n"
                           "\n"
                           "Verbs:\n"
                           "  ls                    what is set and used (without a verb, this)\n"
                           "  set SCOPE METRIC PER BOUND=N…\n"
                           "  rm ID\n"
                           "\n"
                           "SCOPE is all, name:NAME, group:ID, project:NAME or account:RUNTIME:FOLDER; "
                           "METRIC tokens,\n"
                           "usd, turns, minutes; PER day, run, ever; BOUND warn (people are told), soft "
                           "(nothing\n"
                           "new begins), hard (tools are refused; with on_hard=stop processes are ended).\n"
                           "\n"
                           "  --json           the daemon's answer as it is\n",
                .examples = "  muster budget set all usd day warn=5 soft=8 hard=10\n"
                            "  muster budget set name:session:api tokens run hard=2000000 on_hard=stop\n"
                            "  muster budget\n",
                .takes = "json",
                .n_max = -1,
                .run = cmd_budget,
        },
        {
                .name = "limit",
                .summary = "limits of agents' accounts, and who goes on when they are over",
                .usage = "[VERB [ARGUMENT…]] [--json]",
                .details = "A window of an account (a program and the folder of its settings) that is used "
                           "up stops\n"
                           "all who share it, until it resets (docs/account-limits.md).\n"
                           "\n"
                           "Verbs:\n"
                           "  ls               what is known, and who was stopped (without a verb, this)\n"
                           "  resume WHAT      takes it to be over: an account, or one agent by its name\n"
                           "  ignore ACCOUNT   holds nothing back until it resets, and resumes nobody\n"
                           "\n"
                           "  --json           the daemon's answer as it is\n",
                .examples = "  muster limit\n"
                            "  muster limit resume api\n"
                            "  muster limit ignore claude:/home/me/.claude\n",
                .takes = "json",
                .n_max = 2,
                .run = cmd_limit,
        },
        {
                .name = "hook",
                .summary = "tells the daemon what a hook of an agent program was told",
                .usage = "RUNTIME [EVENT] [--socket PATH]",
                .details =
                        "What the hooks of Claude Code, Codex and Gemini run: the JSON object on stdin\n"
                        "goes to the daemon, for the hosted agent in whose processes it runs. Prints only\n"
                        "what the daemon answers for that program. Whatever happens, it ends with 0 and\n"
                        "says nothing: without a daemon, without an answer in 200 ms, with a wrong or long\n"
                        "object.\n"
                        "\n"
                        "Agents that muster starts have these hooks; `muster hooks install` gives them to\n"
                        "those that are started elsewhere.\n"
                        "\n"
                        "  --socket PATH    the daemon's socket\n",
                .examples = "  echo '{\"hook_event_name\": \"Stop\"}' | muster hook claude\n",
                .takes = "socket",
                .n_min = 1,
                .n_max = 2,
                .run = cmd_hook,
        },
        {
                .name = "hooks",
                .summary = "our hooks in the settings of an agent program",
                .usage = "install|uninstall|status [RUNTIME] [--socket PATH] [--json]",
                .details = "RUNTIME is claude, codex or gemini. For agents that are started by hand in a "
                           "terminal\n"
                           "of muster: those that muster starts have hooks already. Everything else in the\n"
                           "settings file stays byte for byte, comments too; as it was before stands beside "
                           "it\n"
                           "(FILE.before-muster) until it is uninstalled. A file that is a link, broken or "
                           "not\n"
                           "yours is left alone.\n"
                           "\n"
                           "  install          add them, or bring them up to date\n"
                           "  uninstall        take exactly ours out again\n"
                           "  status           whether they are there; without RUNTIME of all\n"
                           "\n"
                           "  --socket PATH    the daemon's socket\n"
                           "  --json           runtime, path and state, an object for each\n",
                .examples = "  muster hooks install claude\n"
                            "  muster hooks status\n",
                .takes = "socket json",
                .n_min = 1,
                .n_max = 2,
                .run = cmd_hooks,
        },
        {
                .name = "setup",
                .summary = "our tools in the settings of an agent program",
                .usage = "[--remove] [--socket PATH] [--json] RUNTIME",
                .details = "RUNTIME is claude, codex, copilot, cursor, droid, gemini or opencode. Adds the "
                           "server\n"
                           "`muster mcp` to the settings of that program, for agents that are started "
                           "elsewhere;\n"
                           "what muster hosts has it without (docs/mcp.md). All else in the file stays as "
                           "it is.\n"
                           "A file that is a link, somebody else's or broken is left alone.\n"
                           "\n"
                           "  --remove         take it out again\n"
                           "  --socket PATH    the daemon's socket (default: where it is looked for from "
                           "here)\n"
                           "  --json           runtime, path, state\n",
                .examples = "  muster setup claude\n"
                            "  muster setup codex --remove\n",
                .takes = "remove socket json",
                .n_min = 1,
                .n_max = 1,
                .run = cmd_setup,
        },
};

const size_t n_daemon_commands = ARRAY_SIZE(daemon_commands);
