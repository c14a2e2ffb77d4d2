#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Config: what the daemon was told, after defaults, file, environment and flags were laid over each other
 * (in this order; src/daemon/options.c). Plain values, malloc'd strings; NULL means "not said" and its user
 * knows the default.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strvec.h"

enum { CONFIG_SETTINGS_MAX = 64 };

typedef enum ConfigSource { CONFIG_DEFAULT, CONFIG_FILE, CONFIG_ENVIRONMENT, CONFIG_FLAG } ConfigSource;

typedef struct Config {
        StrVec only; /* endpoint names; empty: all */
        char *muster_home;
        char *config_file;
        char *log_level;
        int64_t log_max_kb,
                log_keep; /* of a log file of our own: its size (0: no limit), how many old ones */

        char *cccc_home, *cccc_version;
        StrVec secret_names; /* more words that make the name of a variable look secret */
        char *cccc_transport, *cccc_host, *cccc_port, *cccc_allow_remote;
        char *cgroup;                    /* folder for the cgroups of hosted processes, "none" or "auto" */
        int64_t memory_max_mb, pids_max; /* of each process of a coop session; 0: no limit */
        char *sandbox;                   /* mode for what does not say its own */
        char *durability;                /* of ledgers: commit, interval or none; NULL: commit */
        int64_t sync_interval_ms;        /* for "interval"; 0: the ledger's default */
        bool ledger_chain;
        int64_t feed_items; /* that the feed remembers; 0: its default */
        char *coop_socket;
        int64_t coop_idle_ms; /* coop alone: ends after so long without sessions and connections; 0: never */
        StrVec aiwg_projects;
        bool aiwg_debug;

        StrVec web_hosts;  /* further names that a Host of the web may have */
        char *security_by; /* "said" or "checked"; NULL: said */
        /* Words of core/principal/right.h, "all" or "none"; empty: as that says. */
        StrVec rights_foreman, rights_peer, rights_session, rights_task, rights_run;

        char *tunnel_page, *tunnel_stun; /* address of the loader's page; STUN server; NULL: none */
        char *tunnel_ports;              /* "40000-40100"; NULL: any */
        char *tunnel_program;            /* instead of muster-tunnel beside musterd; NULL: that one */
        StrVec tunnel_addresses;         /* to be reached at; empty: those of this machine */

        int64_t hold_s; /* that a hook which asks for a permission is held; 0: never */

        char *limits_watch;     /* "on" or "off": whether limits of accounts are followed; NULL: on */
        char *limits_resume;    /* "tasks", "all" or "never"; NULL: tasks */
        int64_t limits_per_day; /* resumes of one agent; 0: the default */
        char *limits_quiet;     /* "22:00-07:00": nobody is resumed then; NULL: always */

        char *company_heartbeat; /* "observed" or "always"; NULL: observed */

        char *record;
        int64_t handshake_ms;    /* for every endpoint; 0: each its own */
        int64_t max_connections; /* per peer; 0: no limit */
        int64_t max_queued_mb;   /* per peer; 0: no limit */
        uint8_t sources
                [CONFIG_SETTINGS_MAX]; /* ConfigSource of each setting, in the order of the daemon's table */
} Config;

void config_deinit(Config *config);
void config_take_rights(Config *config, Config *fresh); /* which has the old ones then */
