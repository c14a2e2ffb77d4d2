#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * WebScope: how far a token reaches that lets somebody in over the web. Each has all of those before it. An operation
 * has the scope that it needs (schema/README.md); most have it by their right:
 *
 *   view     reads what is kept and looks at terminals (the rights read and look)
 *   control  acts on agents: messages, keys, starts, stops, tasks, decisions
 *   admin    acts on the daemon itself, or shows its secrets (the right admin)
 *
 * Rights are about who calls, scopes about what his token was made for; both have to allow a call.
 */
#include <stdbool.h>

#include "base/str.h"

typedef enum WebScope { WEB_SCOPE_VIEW, WEB_SCOPE_CONTROL, WEB_SCOPE_ADMIN, _WEB_SCOPES } WebScope;

const char *web_scope_name(WebScope scope);
bool web_scope_from_name(Str name, WebScope *ret); /* false: there is none of that name */
