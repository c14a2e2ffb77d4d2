#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Hooks as agent programs have them in their settings: for each event of hook_events() a command that runs muster-hook. Pure, for the
 * daemon (core/tools.c: for one start) and for the command line (muster hooks: in a file).
 */
#include "base/json/json-writer.h"

/* After which the agent program ends a hook; the hook gives up long before. One that asks for a permission may be held for 540 s. */
enum {
        HOOK_TIMEOUT_S = 5,
        HOOK_HELD_S = 570, /* of a question */
        HOOK_LAST_S = 3,   /* of the end of a session: Codex warns of more */
};

typedef struct HookConfig {
        const char *runtime;
        const char *program; /* muster-hook, whole path */
        const char *socket;
} HookConfig;

/* What a shell is to run; every word is quoted. */
int hook_config_command(const HookConfig *config, const char *event, Buf *out);
/* JSON, of one event: [{"matcher", "hooks": [{"type", "command", "timeout"}]}]; Gemini counts in milliseconds. */
int hook_config_event(const HookConfig *config, const char *event, Buf *out);
/* The same of all events, as an object. */
int hook_config_events(const HookConfig *config, Buf *out);
/* The same as hook_config_event(), as a value of TOML. */
int hook_config_toml(const HookConfig *config, const char *event, Buf *out);
/* A plugin for OpenCode, which has no hooks that are commands. */
int hook_config_plugin(const HookConfig *config, Buf *out);
