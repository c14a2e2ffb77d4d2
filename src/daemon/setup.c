/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "daemon/setup"

#include "daemon/setup.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/error.h"
#include "base/file.h"
#include "base/place.h"
#include "collab/actor/runner.h"
#include "company/company.h"
#include "company/run/runs.h"
#include "core/agents/agents.h"
#include "core/approval/approval.h"
#include "core/attention/attention.h"
#include "core/host/load.h"
#include "core/limits/limits.h"
#include "core/principal/audit.h"
#include "core/trust.h"
#include "core/usage/budget.h"
#include "core/usage/usage-book.h"
#include "core/web/servers.h"
#include "core/web/tokens.h"
#include "daemon/agents/agent-hold.h"
#include "daemon/attention-kinds.h"
#include "daemon/beside.h"
#include "daemon/fleet-owners.h"
#include "daemon/options.h"
#include "daemon/projects.h"
#include "daemon/web-servers.h"
#include "dialect/aiwg/aiwg.h"
#include "dialect/cccc/cccc.h"
#include "dialect/coop/coop.h"
#include "dialect/native/native.h"
#include "sessions/sessions.h"
#include "tasks/project.h"

/* ---- which endpoints ------------------------------------------------------------------------- */

static bool setup_is_wanted(const Config *config, const char *name) {
        for (size_t i = 0; i < config->only.n; i++)
                if (!strcmp(config->only.items[i], name))
                        return true;
        return config->only.n == 0;
}

static bool is_only(const Config *config, const char *name) {
        return config->only.n == 1 && !strcmp(config->only.items[0], name);
}

static int setup_add(Daemon *daemon, const EndpointType *type, char *where) {
        Endpoint **end = &daemon->endpoints, *endpoint;
        int r = where ? endpoint_new(&endpoint, daemon, type, where) : -ENOMEM;

        free(where);
        if (r)
                return error_trace(r);
        while (*end) {
                if ((*end)->type == type && !strcmp((*end)->where, endpoint->where)) {
                        endpoint_free(endpoint); /* named twice */
                        return 0;
                }
                end = &(*end)->next;
        }
        *end = endpoint;
        return 0;
}

static int add_projects(Daemon *daemon) {
        const Config *config = &daemon->config;

        for (size_t i = 0; i < config->aiwg_projects.n; i++) {
                int r = setup_add(daemon, &aiwg_endpoint, path_resolve(config->aiwg_projects.items[i]));
                if (r)
                        return error_trace(r);
        }
        if (config->aiwg_projects.n)
                return 0;
        if (is_only(config, "aiwg") || path_is_found(".", ".aiwg"))
                return error_trace(setup_add(daemon, &aiwg_endpoint, path_resolve(".")));
        return 0;
}

/* Those that people added, if the daemon is one that has such a list; and for all what is said of their
 * sandbox, which holds whoever serves them. */
static int add_kept_projects(Daemon *daemon, const char *home, bool has_list) {
        _cleanup_(strvec_deinit) StrVec dirs = {0};
        int r = projects_load(daemon, home, &dirs);

        for (size_t i = 0; has_list && i < dirs.n && !r; i++) {
                Endpoint *endpoint;
                r = projects_endpoint(daemon, dirs.items[i], &endpoint);
                if (!r)
                        endpoint->is_kept = true;
        }
        return error_trace(r ? r : projects_spread(daemon));
}

static char *setup_cccc_home(const Config *config) {
        Str named = str_trim(str_from(config->cccc_home));
        _cleanup_(freep) char *copy = named.n ? str_dup(named) : strdup("~/.cccc");

        return copy ? path_resolve(copy) : NULL;
}

/* Not resolved: a symbolic link at the socket's own path must be seen, and refused. */
static char *coop_socket(const Config *config) {
        return path_expand(config->coop_socket ? config->coop_socket : "~/.coop/sock");
}

int setup_endpoints(Daemon *daemon) {
        const Config *config = &daemon->config;
        int r;

        daemon->state_home = config->muster_home ? path_expand(config->muster_home) : place_home();
        r = daemon->state_home ? 0 : -ENOMEM;
        if (!r && setup_is_wanted(config, "cccc"))
                r = setup_add(daemon, &cccc_endpoint, setup_cccc_home(config));
        if (!r && setup_is_wanted(config, "coop"))
                r = setup_add(daemon, &coop_endpoint, coop_socket(config));
        if (!r && setup_is_wanted(config, "aiwg"))
                r = add_projects(daemon);
        if (!r && setup_is_wanted(config, "aiwg"))
                r = add_kept_projects(daemon, daemon->state_home, setup_is_wanted(config, "native"));
        if (!r && setup_is_wanted(config, "native"))
                r = setup_add(daemon, &native_endpoint, place_socket(daemon->state_home));
        return error_trace(r);
}

/* ---- state folder ---------------------------------------------------------------------------- */

/* A stable name for what is served: a hash of the endpoints' types and places. */
static uint64_t identity(const Daemon *daemon) {
        uint64_t hash = HASH_START;

        for (const Endpoint *e = daemon->endpoints; e; e = e->next) {
                const char *parts[] = {e->type->name, e->where};
                for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                        hash = hash_bytes(hash, parts[i], strlen(parts[i]) + 1);
        }
        return hash;
}

static char *state_folder(const Daemon *daemon) {
        const Config *config = &daemon->config;
        char *folder = NULL;

        if (setup_is_wanted(config, "native"))
                return strdup(daemon->state_home);
        if (asprintf(&folder, "%s/only/%s-%016llx", daemon->state_home, config->only.items[0],
                     (unsigned long long)identity(daemon)) < 0)
                return NULL;
        return folder;
}

/* Another daemon has the lock: what that means for the exit status, by contract. */
static int already_running(Daemon *daemon) {
        if (daemon->config.only.n == 1 && daemon->endpoints &&
            daemon->endpoints->type->served_exit == EXIT_STATUS_OK)
                return -1;
        fprintf(stderr, "musterd: already running: another daemon holds %s/musterd.lock, for", daemon->home);
        for (const Endpoint *e = daemon->endpoints; e; e = e->next)
                fprintf(stderr, " %s", e->type->name);
        fprintf(stderr, "\n");
        return EXIT_STATUS_RUNNING;
}

int setup_home(Daemon *daemon) {
        _cleanup_(freep) char *lock = NULL;
        int r;

        daemon->home = state_folder(daemon);
        r = daemon->home ? dir_make(daemon->home, 0700) : -ENOMEM;
        if (r) {
                fprintf(stderr, "musterd: cannot make %s: %s\n",
                        daemon->home ? daemon->home : "the state folder", strerror(-r));
                return EXIT_STATUS_BIND;
        }
        lock = path_join(daemon->home, "musterd.lock");
        r = lock ? file_lock(lock, &daemon->lock_fd) : -ENOMEM;
        if (r == FILE_E_LOCKED)
                return already_running(daemon);
        if (r) {
                fprintf(stderr, "musterd: cannot lock %s: %s\n", lock ? lock : "-", strerror(-r));
                return EXIT_STATUS_INTERNAL;
        }
        if (environment_load(&daemon->env, daemon->home)) {
                fprintf(stderr,
                        "musterd: %s/environment.json cannot be read: mend it, or remove it and use "
                        "muster env set\n",
                        daemon->home);
                return EXIT_STATUS_USAGE;
        }
        return standstill_load(&daemon->standstill, daemon->home) ? EXIT_STATUS_INTERNAL : 0;
}

/* ---- hosted processes ------------------------------------------------------------------------ */

static void found(Hosted *hosted, void *user) {
        Daemon *daemon = user;

        agents_adopt(daemon->agents, hosted);
        if (!strcmp(hosted->owner, "sessions"))
                sessions_adopt(daemon->sessions, hosted);
        else if (!strcmp(hosted->owner, "company"))
                runs_adopt(daemon->company, hosted);
        else if (strcmp(hosted->owner, "collab") != 0 && strcmp(hosted->owner, "tasks") != 0)
                /* those wait for their home or project to be opened */
                log_warning(&daemon->log, hosted->id, "belongs to nobody here owner=%s", hosted->owner);
}

static void setup_on_changed(Hosted *hosted, void *user) {
        Daemon *daemon = user;

        agents_changed(daemon->agents, hosted);
        if (hosted->state != HOSTED_STARTING && hosted->state != HOSTED_RUNNING)
                usage_ended(daemon->usage, hosted);
        attention_process_changed(hosted, daemon);
        if (hosted->state == HOSTED_RUNNING)
                load_wake(daemon->load);
        else if (hosted->state != HOSTED_STARTING)
                agent_hold_ended(hosted, daemon);
}

static void setup_on_gone(Hosted *hosted, void *user) {
        Daemon *daemon = user;

        limits_gone(daemon->limits, hosted);
        agents_gone(daemon->agents, hosted);
}

static void setup_on_seated(Hosted *hosted, void *user) {
        Daemon *daemon = user;

        agent_hold_seated(hosted, daemon);
        limits_seated(daemon->limits, hosted);
}

static void setup_on_printed(Hosted *hosted, void *user) {
        Daemon *daemon = user;

        agents_printed(daemon->agents, hosted);
}

static void setup_on_tail(Daemon *daemon, Str process, Str runtime, Str tail) {
        agents_read(daemon->agents, process, runtime, tail);
}

/* Tasks that a budget or a limit kept waiting may begin. */
static void setup_on_released(Daemon *daemon) {
        for (Endpoint *e = daemon->endpoints; e; e = e->next)
                if (e->type == &aiwg_endpoint && e->context)
                        supervisor_pump(e->context);
}

static const HostWatch setup_watch = {setup_on_changed, setup_on_gone, setup_on_seated, setup_on_printed};

int setup_host(Daemon *daemon) {
        int r;

        daemon->shim_path = beside_find("muster-shim");
        daemon->project_path = beside_find("muster-project");
        daemon->tunnel_path = daemon->config.tunnel_program ? strdup(daemon->config.tunnel_program)
                                                            : beside_find("muster-tunnel");
        daemon->fleet = fleet_owners;
        daemon->attention_kinds = attention_kinds;
        r = daemon->shim_path && daemon->project_path && daemon->tunnel_path
                    ? host_new(&daemon->host, daemon)
                    : -ENOMEM;
        if (!r)
                r = attention_new(&daemon->attention, daemon);
        if (!r)
                r = approvals_new(&daemon->approvals, daemon);
        if (!r)
                r = load_new(&daemon->load, daemon);
        if (!r)
                r = agents_new(&daemon->agents, daemon);
        if (!r)
                r = usage_book_new(&daemon->usage, daemon);
        if (!r)
                usage_book_on_tail(daemon->usage, setup_on_tail);
        if (!r)
                r = limits_new(&daemon->limits, daemon);
        if (!r) {
                budgets_on_release(usage_book_budgets(daemon->usage), setup_on_released);
                limits_on_release(daemon->limits, setup_on_released);
                usage_book_on_limits(daemon->usage, limits_on_transcript);
                agents_on_fact(daemon->agents, limits_on_fact);
                agents_on_still(daemon->agents, limits_on_still);
        }
        if (!r)
                host_watch(daemon->host, &setup_watch, daemon);
        if (!r)
                r = trust_open(&daemon->trust, daemon);
        if (!r)
                r = tokens_open(&daemon->tokens, daemon->loop, &daemon->log, daemon->feed, daemon->home);
        if (!r)
                r = servers_open(&daemon->servers, daemon->loop, &daemon->log, daemon->home);
        if (!r)
                r = sessions_new(&daemon->sessions, daemon);
        if (!r)
                r = company_new(&daemon->company, daemon);
        if (!r)
                r = host_adopt(daemon->host, found, daemon);
        if (!r) {
                agents_adopted_all(daemon->agents);
                limits_adopted_all(daemon->limits);
        }
        if (r)
                fprintf(stderr, "musterd: cannot look for hosted processes in %s: %s\n", daemon->home,
                        strerror(-r));
        return r ? EXIT_STATUS_INTERNAL : 0;
}

void setup_unhost(Daemon *daemon) {
        daemon->company = company_free(daemon->company);
        daemon->sessions = sessions_free(daemon->sessions);
        if (daemon->collab)
                runners_let_go(daemon->collab);
        daemon->host = host_free(daemon->host);
        daemon->agents = agents_free(daemon->agents);
        daemon->limits = limits_free(daemon->limits);
        daemon->usage = usage_book_free(daemon->usage);
        daemon->servers = servers_free(daemon->servers);
        daemon->tokens = tokens_free(daemon->tokens);
        daemon->trust = trust_free(daemon->trust);
        daemon->audit = audit_free(daemon->audit);
        daemon->approvals = approvals_free(daemon->approvals);
        daemon->attention = attention_free(daemon->attention);
        daemon->load = load_free(daemon->load);
        free(daemon->shim_path);
        daemon->shim_path = NULL;
        free(daemon->project_path);
        daemon->project_path = NULL;
        free(daemon->tunnel_path);
        daemon->tunnel_path = NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

static void setup_report(const Endpoint *endpoint) {
        if (endpoint->state == ENDPOINT_LISTENING)
                return;
        if (endpoint->state == ENDPOINT_SERVED && endpoint->type->served_exit == EXIT_STATUS_OK &&
            endpoint->daemon->config.only.n == 1)
                return; /* quietly, as its contract says */
        fprintf(stderr, "musterd: %s: %s: %s\n", endpoint->type->name, endpoint_state_name(endpoint->state),
                endpoint->reason);
}

static bool is_coop_alone(const Daemon *daemon) {
        return daemon->endpoints && !daemon->endpoints->next &&
               !strcmp(daemon->endpoints->type->name, "coop");
}

int setup_open(Daemon *daemon) {
        int status = daemon->endpoints ? 0 : EXIT_STATUS_BIND;
        bool has_listener = false;

        for (Endpoint *e = daemon->endpoints; e; e = e->next) {
                int r = endpoint_open(e);
                setup_report(e);
                has_listener |= e->state == ENDPOINT_LISTENING;
                status = r > status ? r : status;
        }
        if (has_listener) {
                if (is_coop_alone(daemon) && daemon->config.coop_idle_ms > 0)
                        sessions_watch_idle(daemon->sessions, daemon->config.coop_idle_ms);
                web_servers_open(daemon);
                return 0;
        }
        if (!daemon->endpoints)
                fprintf(stderr, "musterd: nothing to serve\n");
        return status ? status : -1;
}

LogLevel setup_log_level(const Config *config) {
        int level = config->log_level ? log_level_from_name(config->log_level) : LOG_NOTICE;

        return level < 0 ? LOG_NOTICE : (LogLevel)level;
}

bool setup_reopen(Endpoint *endpoint) {
        if (endpoint->is_removed || endpoint->daemon->is_stopping)
                return false;
        if (endpoint_is_cut_off(endpoint) && !daemon_is_stand_in(endpoint->daemon)) {
                endpoint_note(endpoint, 0, "somebody removed or replaced its socket");
                endpoint_close(endpoint);
        }
        if (endpoint->state == ENDPOINT_LISTENING)
                return false;
        (void)endpoint_open(endpoint);
        return true;
}

void setup_reload(Daemon *daemon) {
        char wrong[OPTIONS_FAULT_MAX] = "";
        FeedPlace place;
        Config fresh;

        if (daemon->is_stopping)
                return;
        log_notice(&daemon->log, "-", "reloading");
        if (options_load(&fresh, daemon->argc, daemon->argv, wrong))
                log_warning(&daemon->log, "-", "configuration kept as it was: %s", wrong);
        else {
                log_set_level(&daemon->log, 0, setup_log_level(&fresh));
                config_take_rights(&daemon->config, &fresh);
                feed_place(&place, "daemon", STR_NULL, STR("reloaded"), FEED_NOWHERE);
                (void)feed_push(daemon->feed, &place, NULL);
        }
        config_deinit(&fresh);
        for (Endpoint *e = daemon->endpoints; e; e = e->next)
                if (!setup_reopen(e) && !e->is_removed && e->type->reload)
                        e->type->reload(e);
}
