#pragma once
/* SPDX-License-Identifier: MIT */
/* What the operations about approvals and policies share. */
#include "core/call.h"

Str approval_caller(Call *call);        /* who it is, in the call's arena; data NULL: no memory */
int approval_refuse(Call *call, int r); /* fails the call with what approval_ask() has returned */
