#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * The first line of a connection that speaks AgentCompany: the dialect, and this program's folder and
 * environment, which count there as those of the server that it stands for (core/hello.h).
 */
#include "base/buf.h"

/* observe: that a workspace is named counts as being there. An exit status; what does not fit is told. */
int greeting_write(Buf *out, bool observe);
