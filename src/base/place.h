#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Places: where muster keeps its things, by one rule for the daemon and the command line.
 *
 *   home    $MUSTER_HOME, else $XDG_STATE_HOME/muster, else ~/.local/state/muster
 *   socket  $MUSTER_SOCKET, else $XDG_RUNTIME_DIR/muster/muster.sock, else <home>/run/muster.sock
 *   address <home>/musterd.address: where the daemon that has this home listens, left there while it does
 *   config  $XDG_CONFIG_HOME/muster/muster.toml, else ~/.config/muster/muster.toml
 *
 * An empty variable counts as not set, and so does an XDG one that is not absolute (as its specification
 * says); MUSTER_* are expanded (`~`, working directory). Each result is absolute and malloc'd; NULL means no
 * memory, or no home folder or working directory where one is needed. Nothing is created.
 */
#include <stdbool.h>

char *place_home(void);
char *place_socket(
        const char *home);        /* home: as place_home() or the daemon's own choice; NULL: place_home() */
bool place_socket_is_named(void); /* by MUSTER_SOCKET */
char *place_address(const char *home);
char *place_config(void);

#define PLACE_LOG   "musterd.log" /* in the home: what a daemon in the background says */
#define PLACE_TOKEN "cccc.token"  /* in the home: what clients on other machines say first */
