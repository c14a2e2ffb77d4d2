#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The rights of a group's actors, as group.yaml says it: the members `rights_foreman` and `rights_peer`, lists of the
 * words of core/principal/right.h, or one text with commas between them. They narrow what the daemon's configuration
 * gives, and never widen it. They are ours, not the contract's; the original keeps members that it does not know. Pure
 * functions over documents; who asks for rights is core/principal/principal.h.
 */
#include "base/json/json-writer.h"
#include "core/document.h"
#include "core/principal/right.h"

/* What the group leaves to its foreman, or to another actor: all of it, where it says nothing. A word that nobody
 * knows is no right. It cannot take away read, which is asked of nobody: whoever only reads is not looked at. */
RightSet group_rights_of(const Json *group, bool is_foreman);
void group_rights_write(const Json *group, JsonWriter *w); /* the members that are there, for clients */
bool group_rights_is_key(Str key);                         /* one of the two */
/* NULL, or why what a patch has under these keys cannot be. null is fine. */
const char *group_rights_fault(const Json *patch);
/* Takes them over into the document: null removes. After group_rights_fault(). */
int group_rights_apply(Document *document, Json *to, const Json *patch);
