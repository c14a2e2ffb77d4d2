#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * What the commands of `muster` share: exit statuses, options, the record of a command.
 *
 * A command gets its options and operands, writes its result to stdout and everything else to stderr, and
 * returns an exit status. It may block, but each wait has a deadline (streams and `stdio` end with their
 * connection).
 */
#include <stdbool.h>
#include <stdint.h>

#include "base/macro.h"

/* Exit statuses of muster; documented in --help and muster(1). */
enum {
        CLI_OK = 0,
        CLI_FAILED = 1,    /* the daemon answered with an error, or the command itself failed */
        CLI_USAGE = 2,     /* wrong command line */
        CLI_NO_DAEMON = 3, /* none is running, or it could not be started */
        CLI_TIMEOUT = 4,
        CLI_TUNNEL = 6, /* a tunnel could not be opened, or ended; as coop's command line has it */
};

enum { CLI_LIST_MAX = 64 };

typedef struct OptionList { /* of an option that may be repeated */
        const char *items[CLI_LIST_MAX];
        int n;
} OptionList;

typedef struct Options {
        bool json, help, detach, once, read_only, watch, follow, await, strip, raw, enter, literal, all,
                force, stop_agents, no_wait, no_reconnect;
        bool attention, read, daemon, timestamps, reveal, verbose, remove;
        bool view, stop, no_qr, ascii, code, no_stun, page_hash;
        int64_t wait_ms, timeout_ms, max_idle_ms;                 /* -1: not given */
        int64_t pty, tail, limit, port, ttl;                      /* -1: not given */
        double speed;                                             /* 0: not given */
        const char *project, *name, *sandbox, *network, *program; /* NULL: not given */
        const char *detach_keys, *socket;
        const char *group, *as, *key, *kind, *since, *older_than;
        OptionList to, env;
        const char *agent, *priority, *state, *note; /* the same */
        const char *host, *token, *token_file, *tls, *scope, *object, *page, *stun;
        char **operands;
        int n_operands;
        char **command; /* runs_command: what stands behind -- */
        int n_command;
} Options;

typedef struct Command {
        const char *name;
        const char *summary;
        const char *usage; /* what stands behind `muster NAME` */
        const char *details;
        const char *examples;
        const char *takes; /* the long names of its options, one blank between them; NULL: only --help */
        bool passes_rest;  /* what stands behind -- is for musterd */
        bool runs_command; /* what stands behind -- is a command to run */
        int n_min, n_max;  /* operands; n_max -1: any number */
        int (*run)(const Options *options);
} Command;

/* Which commands there are, in the order of the help. */
extern const Command daemon_commands[], group_commands[], session_commands[], task_commands[];
extern const size_t n_daemon_commands, n_group_commands, n_session_commands, n_task_commands;

int cmd_up(const Options *options);
int cmd_down(const Options *options);
int cmd_status(const Options *options);
int cmd_upgrade_daemon(const Options *options);
int cmd_call(const Options *options);
int cmd_schema(const Options *options);
int cmd_ledger(const Options *options);
int cmd_stdio(const Options *options);
int cmd_mcp(const Options *options);
int cmd_setup(const Options *options);
int cmd_hook(const Options *options);
int cmd_hooks(const Options *options);
int cmd_answer(const Options *options);
int cmd_approvals(const Options *options);
int cmd_explain(const Options *options);
int cmd_usage(const Options *options);
int cmd_budget(const Options *options);
int cmd_limit(const Options *options);
int cmd_new(const Options *options);
int cmd_attach(const Options *options);
int cmd_shell(const Options *options);
int cmd_ps(const Options *options);
int cmd_top(const Options *options);
int cmd_ls(const Options *options);
int cmd_logs(const Options *options);
int cmd_send_keys(const Options *options);
int cmd_kill(const Options *options);
int cmd_restart(const Options *options);
int cmd_record(const Options *options);
int cmd_replay(const Options *options);
int cmd_rules(const Options *options);
int cmd_group(const Options *options);
int cmd_actor(const Options *options);
int cmd_template(const Options *options);
int cmd_context(const Options *options);
int cmd_send(const Options *options);
int cmd_reply(const Options *options);
int cmd_inbox(const Options *options);
int cmd_doctor(const Options *options);
int cmd_mail(const Options *options);
int cmd_prune(const Options *options);
int cmd_ack(const Options *options);
int cmd_tail(const Options *options);
int cmd_events(const Options *options);
int cmd_task(const Options *options);
int cmd_env(const Options *options);
int cmd_token(const Options *options);
int cmd_serve(const Options *options);
int cmd_tunnel(const Options *options);
int cmd_open(const Options *options);
int cmd_chat(const Options *options);
int cmd_project(const Options *options);
