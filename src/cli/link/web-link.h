#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * WebLink: the daemon, asked about its web servers and tokens (web.*, token.*) by native methods, each on a connection of
 * its own. What it answers lives in its arena. Owned by the command.
 */
#include "cli/link/asking.h"

typedef struct WebLink {
        char *socket; /* NULL: not found yet */
        Link link;
        Arena arena;
        Arguments arguments; /* of the next question */
        bool is_json;        /* what is refused is told as JSON */
} WebLink;

#define WEB_LINK_NULL ((WebLink){.link = LINK_NULL})

void web_link_deinit(WebLink *self);
void web_link_set(WebLink *self, const char *key, const char *value); /* NULL: not given */
void web_link_set_int(WebLink *self, const char *key, int64_t value);
void web_link_set_bool(WebLink *self, const char *key, bool value);
/* An exit status; unless it is CLI_OK, stderr says why. Uses the arguments up. */
int web_link_ask(WebLink *self, const char *method, const Json **ret);
/* A one-time code of this scope, for what is called object (NULL: everything), in *ret. */
int web_link_code(WebLink *self, const char *scope, const char *object, Str *ret);
