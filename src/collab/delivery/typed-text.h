#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Typed texts: what somebody else wrote, made fit to be typed into an agent's terminal. What we write ourselves
 * (heads, labels, the reminder) does not come through here. Pure functions.
 *
 * What comes out holds no control character but tab and line feed, so it can neither end its own paste nor
 * press keys; nothing that turns the text around or that nobody sees; and no line that looks like one of ours:
 * such a line gets "> " before it, so that the words "[cccc] user → bob:" at the beginning of a line are the
 * daemon's. Everything else stays as it is, byte for byte. Joiners stay between two characters beyond ASCII,
 * where letters and emoji need them.
 *
 * All append to out; 0 or -ENOMEM.
 */
#include "base/buf.h"

int typed_body(Str text, Buf *out); /* lines; CR and CRLF become LF; line ends behind it are dropped */
int typed_word(Str text, Buf *out); /* a name or a title: line ends become blanks */
