#pragma once
/* SPDX-License-Identifier: MIT */
/* The inbox: what others show of a decision that was made through it. */
#include "base/json/json-writer.h"
#include "company/govern/govern.h"

void inbox_write_resolved(JsonWriter *w, const Decision *decision); /* the result of inbox.resolve */
