#pragma once
/* SPDX-License-Identifier: MIT */
/* The metric `tokens` of usage.series: what the transcripts of processes told, put into the same steps as the rest. */
#include "core/host/load.h"
#include "core/usage/usage-table.h"

/* Appends one series for each process that the question asks for; false: there were too many points, some are left out. */
bool series_tokens_write(const UsageTable *table, const LoadQuestion *question, JsonWriter *w);
