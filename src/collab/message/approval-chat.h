#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Approvals in the chat: what an actor asks a person (core/approval/approval.h) is told in its group, once, by a message of `system`
 * to `user`; a reply of the user to that with the name of an option answers it. Which message belongs to which approval stands in
 * the ledger of the approvals, which no agent writes. The evidence is shown whole or, beyond APPROVAL_CHAT_MAX, not at all; then a
 * reply can only deny. Owned by the Collab.
 */
#include "collab/message/post.h"
#include "collab/parts.h"

enum { APPROVAL_CHAT_MAX = 8 << 10 /* bytes of evidence that a message shows */ };

extern const CollabPart approval_chat_part;

/* Whether a message of the group is one of ours, by what it says of itself. */
bool approval_chat_is_ours(const Json *event);
/* A person answers the message reply_to: if that is one of ours and the text names an option, the approval is answered once the
 * reply is kept. */
void approval_chat_prepare(const Call *call, Post *post);
