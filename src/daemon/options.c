/* SPDX-License-Identifier: MIT */
#include "daemon/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log/log.h"
#include "core/version.h"
#include "daemon/options-table.h"
#include "wire/http-host.h"

#define AT(member) offsetof(Config, member)

static const char *const endpoint_words[] = {"cccc", "coop", "aiwg", "native", NULL};
static const char *const sandbox_words[] = {"none", "bwrap", NULL};
static const char *const heartbeat_words[] = {"observed", "always", NULL};
static const char *const watch_words[] = {"on", "off", NULL};
static const char *const resume_words[] = {"tasks", "all", "never", NULL};
static const char *const durability_words[] = {"commit", "interval", "none", NULL};
static const char *const by_words[] = {"said", "checked", NULL};
static const char *const host_words[] = {NULL}; /* no list: whatever is the name of a host */
static const char *const right_words[] = {"read",    "look",  "message", "ask",  "task",
                                          "report",  "type",  "start",   "stop", "write",
                                          "approve", "admin", "all",     "none", NULL};
static const char *const level_words[] = {"err", "error", "warning", "notice", "info", "debug", NULL};

const Option option_table[] = {
        {"only", "MUSTER_ONLY", "daemon.only", OPTION_LIST, ',', AT(only), "NAMES",
         "serve only these of cccc,coop,aiwg,native", endpoint_words},
        {"muster-home", "MUSTER_HOME", "daemon.muster_home", OPTION_STRING, 0, AT(muster_home), "DIR",
         "state folder (default $XDG_STATE_HOME/muster)", NULL},
        {"config", "MUSTER_CONFIG", NULL, OPTION_STRING, 0, AT(config_file), "FILE",
         "configuration (default $XDG_CONFIG_HOME/muster/muster.toml)", NULL},
        {"log-level", "MUSTER_LOG_LEVEL", "daemon.log_level", OPTION_STRING, 0, AT(log_level), "LEVEL",
         "err, warning, notice, info or debug (default notice)", level_words},
        {"log-max-kb", "MUSTER_LOG_MAX_KB", "daemon.log_max_kb", OPTION_INT, 0, AT(log_max_kb), "KB",
         "musterd.log, and the logs of CCCC and coop, are changed for a new one at this size; 0: never "
         "(default 10240)",
         NULL},
        {"log-keep", "MUSTER_LOG_KEEP", "daemon.log_keep", OPTION_INT, 0, AT(log_keep), "N",
         "so many old ones are kept, as musterd.log.1 and so on (default 3)", NULL},
        {"cccc-home", "CCCC_HOME", "cccc.home", OPTION_STRING, 0, AT(cccc_home), "DIR",
         "CCCC home (default ~/.cccc)", NULL},
        {"cccc-version", "MUSTER_CCCC_VERSION", "cccc.version", OPTION_STRING, 0, AT(cccc_version), "TEXT",
         "version that CCCC clients are told (default: what suits them)", NULL},
        {"cccc-transport", "CCCC_DAEMON_TRANSPORT", "cccc.transport", OPTION_STRING, 0, AT(cccc_transport),
         "KIND", "unix or tcp (default unix)", NULL},
        {"cccc-host", "CCCC_DAEMON_HOST", "cccc.host", OPTION_STRING, 0, AT(cccc_host), "HOST",
         "TCP: address to bind (default 127.0.0.1)", NULL},
        {"cccc-port", "CCCC_DAEMON_PORT", "cccc.port", OPTION_STRING, 0, AT(cccc_port), "PORT",
         "TCP: port (default: a free one)", NULL},
        {"cccc-allow-remote", "CCCC_DAEMON_ALLOW_REMOTE", "cccc.allow_remote", OPTION_STRING, 0,
         AT(cccc_allow_remote), "YES",
         "TCP: bind a host that is not loopback; make a token (muster token new), or everybody may do "
         "everything",
         NULL},
        {"secret-names", "MUSTER_SECRET_NAMES", "cccc.secret_names", OPTION_LIST, ',', AT(secret_names),
         "WORDS", "more words that make a variable of an actor a secret: its value is not shown", NULL},
        {"sandbox", "MUSTER_SANDBOX", "sandbox.mode", OPTION_STRING, 0, AT(sandbox), "MODE",
         "none or bwrap, for coop sessions that do not say their own (default bwrap)", sandbox_words},
        {"cgroup", "MUSTER_CGROUP", "sandbox.cgroup", OPTION_STRING, 0, AT(cgroup), "DIR",
         "cgroup2 folder for hosted processes; none; auto: the one that was delegated (default auto)", NULL},
        {"memory-max-mb", "MUSTER_MEMORY_MAX_MB", "sandbox.memory_max_mb", OPTION_INT, 0, AT(memory_max_mb),
         "MB", "memory of each process of a coop session, at most; 0: no limit (default 0)", NULL},
        {"pids-max", "MUSTER_PIDS_MAX", "sandbox.pids_max", OPTION_INT, 0, AT(pids_max), "N",
         "processes that each one of a coop session may have, at most; 0: no limit (default 0)", NULL},
        {"web-hosts", "MUSTER_WEB_HOSTS", "web.hosts", OPTION_LIST, ',', AT(web_hosts), "NAMES",
         "names of hosts, without ports, that pages may call the web servers by, besides their own",
         host_words},
        {"security-by", "MUSTER_SECURITY_BY", "security.by", OPTION_STRING, 0, AT(security_by), "HOW",
         "who a caller at a contract's own socket says it is: said (believed) or checked (default said)",
         by_words},
        {"rights-foreman", "MUSTER_RIGHTS_FOREMAN", "rights.foreman", OPTION_LIST, ',', AT(rights_foreman),
         "WORDS", "what a foreman may do by muster (default all but approve and admin)", right_words},
        {"rights-peer", "MUSTER_RIGHTS_PEER", "rights.peer", OPTION_LIST, ',', AT(rights_peer), "WORDS",
         "what another actor may do by muster (default read, look, message, ask, task, report, stop)",
         right_words},
        {"rights-session", "MUSTER_RIGHTS_SESSION", "rights.session", OPTION_LIST, ',', AT(rights_session),
         "WORDS", "what a session without a sandbox may do by muster (default all but approve)",
         right_words},
        {"rights-task", "MUSTER_RIGHTS_TASK", "rights.task", OPTION_LIST, ',', AT(rights_task), "WORDS",
         "what the agent of a task may do by muster (default read, look, message, ask, task, report)",
         right_words},
        {"rights-run", "MUSTER_RIGHTS_RUN", "rights.run", OPTION_LIST, ',', AT(rights_run), "WORDS",
         "what a run of AgentCompany may do by muster (default as task)", right_words},
        {"durability", "MUSTER_DURABILITY", "ledger.durability", OPTION_STRING, 0, AT(durability), "POLICY",
         "when a write is answered: commit (synced), interval or none (default commit)", durability_words},
        {"sync-interval-ms", "MUSTER_SYNC_INTERVAL_MS", "ledger.sync_interval_ms", OPTION_INT, 0,
         AT(sync_interval_ms), "MS", "with durability interval: time between syncs (default 1000)", NULL},
        {"ledger-chain", "MUSTER_LEDGER_CHAIN", "ledger.chain", OPTION_BOOL, 0, AT(ledger_chain), NULL,
         "keep a SHA-256 chain beside each ledger", NULL},
        {"feed-items", "MUSTER_FEED_ITEMS", "feed.items", OPTION_INT, 0, AT(feed_items), "N",
         "events that a reader of the feed may be behind before it misses some (default 8192)", NULL},
        {"approvals-hold", "MUSTER_APPROVALS_HOLD", "approvals.hold_s", OPTION_INT, 0, AT(hold_s), "SECONDS",
         "how long an agent that asks for a permission waits for an answer from elsewhere than its "
         "terminal; "
         "0: not at all, 540 at most (default 540)",
         NULL},
        {"limits-watch", "MUSTER_LIMITS_WATCH", "limits.watch", OPTION_STRING, 0, AT(limits_watch), "HOW",
         "on or off: whether limits of agents' accounts hold messages and tasks back (default on)",
         watch_words},
        {"limits-resume", "MUSTER_LIMITS_RESUME", "limits.resume", OPTION_STRING, 0, AT(limits_resume),
         "WHO",
         "who goes on when such a limit is over: tasks, and people are asked for terminals; all; never "
         "(default tasks)",
         resume_words},
        {"limits-per-day", "MUSTER_LIMITS_PER_DAY", "limits.resumes_per_day", OPTION_INT, 0,
         AT(limits_per_day), "N", "resumes of one agent in a day, then a person is asked (default 4)", NULL},
        {"limits-quiet", "MUSTER_LIMITS_QUIET", "limits.quiet_hours", OPTION_STRING, 0, AT(limits_quiet),
         "HH:MM-HH:MM", "hours of the day in which no agent is resumed (default: none)", NULL},
        {"company-heartbeat", "MUSTER_COMPANY_HEARTBEAT", "company.heartbeat", OPTION_STRING, 0,
         AT(company_heartbeat), "WHEN",
         "AgentCompany: observed, while a connection that named the workspace is open; always, from then on "
         "(default observed)",
         heartbeat_words},
        {"coop-socket", "MUSTER_COOP_SOCKET", "coop.socket", OPTION_STRING, 0, AT(coop_socket), "PATH",
         "coop socket (default ~/.coop/sock)", NULL},
        {"coop-idle-ms", "MUSTER_COOP_IDLE_MS", "coop.idle_ms", OPTION_INT, 0, AT(coop_idle_ms), "MS",
         "coop alone: end after so long without sessions and connections; 0: never (default 30000)", NULL},
        {"aiwg-project", "MUSTER_AIWG_PROJECT", "aiwg.projects", OPTION_LIST, ':', AT(aiwg_projects), "DIR",
         "serve this project; may be repeated (default: the working directory if it has .aiwg/)", NULL},
        {"aiwg-debug", "AIWG_IPC_DEBUG", "aiwg.debug", OPTION_BOOL, 0, AT(aiwg_debug), NULL,
         "write every AIWG message to stderr", NULL},
        {"tunnel-page", "MUSTER_TUNNEL_PAGE", "tunnel.page", OPTION_STRING, 0, AT(tunnel_page), "URL",
         "page that the QR code of a tunnel leads to (default: /connect of a web server of this daemon)",
         NULL},
        {"tunnel-stun", "MUSTER_TUNNEL_STUN", "tunnel.stun", OPTION_STRING, 0, AT(tunnel_stun), "HOST:PORT",
         "STUN server that tunnels ask for our address; it learns it (default: none)", NULL},
        {"tunnel-addresses", "MUSTER_TUNNEL_ADDRESSES", "tunnel.addresses", OPTION_LIST, ',',
         AT(tunnel_addresses), "LIST",
         "addresses of this machine that tunnels can be reached at (default: all but loopback)", NULL},
        {"tunnel-ports", "MUSTER_TUNNEL_PORTS", "tunnel.ports", OPTION_STRING, 0, AT(tunnel_ports), "A-B",
         "UDP ports of tunnels (default: any)", NULL},
        {"tunnel-program", "MUSTER_TUNNEL_PROGRAM", "tunnel.program", OPTION_STRING, 0, AT(tunnel_program),
         "FILE", "the program muster-tunnel (default: the one beside musterd)", NULL},
        {"record", "MUSTER_RECORD", NULL, OPTION_STRING, 0, AT(record), "FILE",
         "append every call and its answer to FILE (for tests and bug reports)", NULL},
        {"handshake-ms", "MUSTER_HANDSHAKE_MS", "limits.handshake_ms", OPTION_INT, 0, AT(handshake_ms), "MS",
         "time until the first whole message (default: 10 s coop, 60 s CCCC and native)", NULL},
        {"max-connections", "MUSTER_MAX_CONNECTIONS", "limits.connections_per_peer", OPTION_INT, 0,
         AT(max_connections), "N", "connections of one user or TCP host; 0: no limit (default 16384)", NULL},
        {"max-queued-mb", "MUSTER_MAX_QUEUED_MB", "limits.queued_mb_per_peer", OPTION_INT, 0,
         AT(max_queued_mb), "MB", "bytes queued for one user or TCP host; 0: no limit (default 512)", NULL},
};
const size_t n_option_table = ARRAY_SIZE(option_table);
_Static_assert(ARRAY_SIZE(option_table) <= CONFIG_SETTINGS_MAX, "a source for each");

/* ---- values ---------------------------------------------------------------------------------- */

static bool parse_bool(const char *text, bool *ret) {
        static const char *const words[] = {"0", "1", "false", "true", "no", "yes", "off", "on"};

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (!strcasecmp(text, words[i])) {
                        *ret = i & 1;
                        return true;
                }
        return false;
}

static bool parse_int(const char *text, int64_t *ret) {
        char *end;
        long long value;

        errno = 0;
        value = strtoll(text, &end, 10);
        if (errno || end == text || *end || value < 0)
                return false;
        *ret = value;
        return true;
}

static bool options_is_allowed(const Option *option, const char *text) {
        const char *const *word = option->words;
        HttpHost host;

        if (word == host_words)
                return http_host_split(str_from(text), &host) && !host.port;

        while (word && *word && strcmp(*word, text) != 0)
                word++;
        return !word || *word;
}

static int options_refuse(const char *source, const char *wanted, const char *text,
                          char reterr[OPTIONS_FAULT_MAX]) {
        snprintf(reterr, OPTIONS_FAULT_MAX, "%s: %s expected, not \"%s\"", source, wanted, text);
        return OPTIONS_E_USAGE;
}

static int options_push_list(StrVec *vec, const Option *option, const char *text, const char *source,
                             char reterr[OPTIONS_FAULT_MAX]) {
        _cleanup_(freep) char *copy = strdup(text);
        char *rest = copy, *item, by[] = {option->separator, 0};

        if (!copy)
                return error_origin(-ENOMEM);
        while ((item = strsep(&rest, by))) {
                if (*item && !options_is_allowed(option, item))
                        return options_refuse(source, option->help, item, reterr);
                if (*item && strvec_push(vec, item))
                        return error_origin(-ENOMEM);
        }
        return 0;
}

static ConfigSource options_source(const Option *option, const char *source) {
        if (!strncmp(source, "--", 2))
                return CONFIG_FLAG;
        return strcmp(source, option->env) ? CONFIG_FILE : CONFIG_ENVIRONMENT;
}

int option_set(Config *config, const Option *option, const char *text, bool *is_first, const char *source,
               char reterr[OPTIONS_FAULT_MAX]) {
        void *value = (char *)config + option->offset;
        const char *wanted = NULL;

        config->sources[option - option_table] = (uint8_t)options_source(option, source);
        switch (option->type) {
        case OPTION_STRING:
                if (!options_is_allowed(option, text))
                        return options_refuse(source, option->help, text, reterr);
                free(*(char **)value);
                *(char **)value = strdup(text);
                return *(char **)value ? 0 : error_origin(-ENOMEM);
        case OPTION_LIST:
                if (*is_first) /* a later layer replaces what an earlier one said */
                        strvec_deinit(value);
                *is_first = false;
                return options_push_list(value, option, text, source, reterr);
        case OPTION_INT: wanted = parse_int(text, value) ? NULL : "a number from 0 on"; break;
        case OPTION_BOOL: wanted = parse_bool(text, value) ? NULL : "yes or no"; break;
        }
        return wanted ? options_refuse(source, wanted, text, reterr) : 0;
}

/* ---- layers ---------------------------------------------------------------------------------- */

static int load_environment(Config *config, char reterr[OPTIONS_FAULT_MAX]) {
        for (size_t i = 0; i < n_option_table; i++) {
                const char *text = getenv(option_table[i].env);
                bool is_first = true;
                int r;

                if (!text || !*text)
                        continue;
                r = option_set(config, &option_table[i], text, &is_first, option_table[i].env, reterr);
                if (r)
                        return r;
        }
        return 0;
}

static const Option *find_flag(const char *name, size_t n) {
        for (size_t i = 0; i < n_option_table; i++)
                if (strlen(option_table[i].flag) == n && !strncmp(option_table[i].flag, name, n))
                        return &option_table[i];
        return NULL;
}

enum { HELP_COLUMN = 29, HELP_COLS = 80 };

/* What a setting is for, broken between words below its own beginning. */
static void print_help_text(const char *text) {
        size_t width = HELP_COLS - HELP_COLUMN;

        while (strlen(text) > width) {
                size_t n = width;

                while (n > 1 && text[n] != ' ')
                        n--;
                printf("%.*s\n%*s", (int)n, text, HELP_COLUMN, "");
                text += n + 1;
        }
        printf("%s\n", text);
}

static void options_print_help(void) {
        printf("Usage: musterd [OPTION]...\n\n"
               "Hosts AI coding agents and serves CCCC, coop, AIWG and AgentCompany clients.\n"
               "Runs in the foreground; see musterd(8).\n\n");
        for (size_t i = 0; i < n_option_table; i++) {
                const Option *o = &option_table[i];
                char head[64], place[128];

                snprintf(head, sizeof(head), "--%s%s%s", o->flag, o->arg ? " " : "", o->arg ? o->arg : "");
                printf("  %-*s", HELP_COLUMN - 2, head);
                print_help_text(o->help);
                snprintf(place, sizeof(place), "[$%s%s%s]", o->env, o->key ? ", " : "",
                         o->key ? o->key : "");
                printf("%*s", HELP_COLUMN, "");
                print_help_text(place);
        }
        printf("  %-26s %s\n  %-26s %s\n\n", "--help", "this text", "--version", "the version");
        printf("In brackets: the environment variable and the key in muster.toml. Flags win over\n"
               "the environment, the environment over the file.\n\n"
               "Exit status: 0 clean stop, 1 internal failure, 2 wrong flags or configuration,\n"
               "3 already running, 4 no endpoint could be opened, 5 inside a process that muster\n"
               "hosts.\n");
}

/* One flag and its value; *at moves over what it used. */
static int load_flag(Config *config, int argc, char **argv, int *at, bool *first,
                     char reterr[OPTIONS_FAULT_MAX]) {
        const char *name = argv[*at] + 2, *equals = strchr(name, '='), *text = equals ? equals + 1 : NULL;
        const Option *option;
        char source[64];

        if (strncmp(argv[*at], "--", 2) != 0)
                goto unknown;
        option = find_flag(name, equals ? (size_t)(equals - name) : strlen(name));
        if (!option)
                goto unknown;
        if (!text)
                text = option->type == OPTION_BOOL ? "yes" : *at + 1 < argc ? argv[++*at] : NULL;
        if (!text) {
                snprintf(reterr, OPTIONS_FAULT_MAX, "--%s: %s expected", option->flag, option->arg);
                return OPTIONS_E_USAGE;
        }
        snprintf(source, sizeof(source), "--%s", option->flag);
        return option_set(config, option, text, &first[option - option_table], source, reterr);
unknown:
        snprintf(reterr, OPTIONS_FAULT_MAX, "%s: unknown option; see musterd --help", argv[*at]);
        return OPTIONS_E_USAGE;
}

static int load_flags(Config *config, int argc, char **argv, char reterr[OPTIONS_FAULT_MAX]) {
        bool first[ARRAY_SIZE(option_table)];

        memset(first, 1, sizeof(first));
        for (int at = 1; at < argc; at++) {
                int r = load_flag(config, argc, argv, &at, first, reterr);
                if (r)
                        return r;
        }
        return 0;
}

/* --config and MUSTER_CONFIG decide which file is read, so they are looked at first. */
static int find_config_file(Config *config, int argc, char **argv) {
        const char *named = getenv("MUSTER_CONFIG");

        for (int i = 1; i < argc; i++) {
                if (!strncmp(argv[i], "--config=", 9))
                        named = argv[i] + 9;
                else if (!strcmp(argv[i], "--config") && i + 1 < argc)
                        named = argv[i + 1];
        }
        if (!named || !*named)
                return 0;
        config->config_file = strdup(named);
        return config->config_file ? 0 : error_origin(-ENOMEM);
}

int options_load(Config *config, int argc, char **argv, char reterr[OPTIONS_FAULT_MAX]) {
        int r;

        *config = (Config){.max_connections = 16384,
                           .coop_idle_ms = 30000,
                           .hold_s = 540,
                           .max_queued_mb = 512,
                           .log_max_kb = 10240,
                           .log_keep = 3};
        for (int i = 1; i < argc; i++) {
                if (!strcmp(argv[i], "--help"))
                        return options_print_help(), OPTIONS_E_DONE;
                if (!strcmp(argv[i], "--version"))
                        return printf("musterd %s\n", MUSTER_VERSION), OPTIONS_E_DONE;
        }
        r = find_config_file(config, argc, argv);
        if (!r)
                r = options_load_file(config, reterr);
        if (!r)
                r = load_environment(config, reterr);
        if (!r)
                r = load_flags(config, argc, argv, reterr);
        return r;
}
