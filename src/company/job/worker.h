#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Workers: which agent does an attempt of a job, and what is known of it. Pure functions of the agents and settings of a
 * workspace; strings point into them.
 */
#include "core/driver.h"

typedef struct Worker {
        Str agent_id, provider, team_id, model_hint;
        Str kind;             /* codex, claude, gemini */
        const Driver *driver; /* NULL: its provider is none that can be driven */
        const Json *launcher; /* NULL: none */
        Str program;          /* as the settings name it */
} Worker;

/* By the agent that the job names, or the first one by name that fits. False: there is none. */
bool worker_choose(const Json *agents, const Json *machine, const Json *job, Worker *ret);
/* Who writes an answer anew: codex, else claude. False: neither is there. */
bool worker_choose_other(const Json *agents, const Json *machine, Worker *ret);
/* A certain one. False: it is gone. */
bool worker_get(const Json *agents, const Json *machine, Str agent_id, Worker *ret);
bool worker_is_app_server(const Worker *worker);

/* How long a provider gets no launches after a failure that says so in its text: 0, it does not. level: how often in a row
 * that has happened before. Without the chance that spreads it. */
int64_t worker_cool_down_ms(Str text, unsigned level);
