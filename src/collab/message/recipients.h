#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Recipients: whom a message is for. Tokens as clients write them become the canonical list that is stored
 * (`@all`, `@peers`, `@foreman`, `user`, ids of actors), and the list answers who sees the message.
 *
 * Pure: it looks at the group's document and nothing else. Lists live in the arena and borrow their items
 * from the document or the tokens.
 */
#include "collab/group/group-doc.h"
#include "core/op.h"

enum { _RECIPIENTS_E_SUCCESS, RECIPIENTS_E_UNKNOWN, RECIPIENTS_E_AMBIGUOUS };

/*
 * Tokens: the words above, `@user`, ids, titles (any case, of one actor only), each also with an @ in front.
 * Blank ones and a lone @ are dropped, each recipient is kept once. Conditions: both, *reterr is the token.
 */
int recipients_resolve(Arena *arena, const GroupDoc *doc, const StrList *tokens, StrList *ret, Str *reterr);
/* Every @word of a text that is an id, all, peers or foreman; what follows an @ goes as far as it is a word.
 */
int recipients_mentioned(Arena *arena, const GroupDoc *doc, Str text, StrList *ret);
/* What the group's policy says when nobody is named: @foreman, or the empty list, which is everybody. */
int recipients_default(Arena *arena, const GroupDoc *doc, StrList *ret);

/* Whether a message with this list is seen by that name, as roles are now. Names that are no actor (also
 * `user`) count as peers. */
bool recipients_include(const GroupDoc *doc, const StrList *to, Str name);
/* Whether somebody is left to read it: it is for the user only, or an enabled actor other than `by` sees it.
 */
bool recipients_have_reader(const GroupDoc *doc, const StrList *to, Str by);
/* Whether an event is for an actor, by its own words alone, for who has no document at hand: named, or as one of several
 * (@all and the like, whoever they are); not what it did itself. */
bool recipients_may_include(const Json *event, Str actor);
