#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Access: what a client from the web may do, by the token that it has shown (principal_be_web()). It is asked for every
 * call of such a client, in whatever dialect, before the arguments are looked at and again with them:
 *
 *   scope    the operation needs not more than the token has (op_scope_allows())
 *   object   a token for one hosted thing: the operation names exactly that one (Op.object)
 *
 * A client that has shown none is refused everything, so that a route that forgot to ask lets nobody in. What is no call
 * (keys typed into a stream) asks web_access_allows() and web_access_reaches() itself. For clients that do not come from
 * the web both say yes. Nothing is kept here.
 */
#include "core/op.h"

typedef struct Client Client;

bool op_scope_allows(WebScope scope, const Op *op);

/* Whether it may do what needs this scope; whether it may with what the word names in the fleet. */
bool web_access_allows(Client *client, WebScope scope);
bool web_access_reaches(Client *client, Str word);

/* For principal_check() and principal_check_args(): 0, or what call_fail() has said. */
int web_access_check(Call *call);
int web_access_check_args(Call *call, void *args);
