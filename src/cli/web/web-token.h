#pragma once
/* SPDX-License-Identifier: MIT */
/* muster token ls, create, revoke: who may come in over the web, as token.ls and the others tell it. */
#include "cli/cli.h"

int web_token(const Options *options, const char *verb); /* one of the three; an exit status */
