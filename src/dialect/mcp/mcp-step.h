#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Which of the steps of a tool that chooses is meant, by the arguments alone: for the daemon, which takes it, and for
 * the bridge, which has to know whether that one may be repeated.
 */
#include "base/json/json.h"
#include "base/macro.h"
#include "gen/mcp-tools.h"

/* Whether it is the whole name of something hosted (docs/names.md). */
static inline bool mcp_step_is_name(Str text) {
        static const char *const kinds[] = {"actor:", "session:", "task:", "run:"};

        for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
                if (str_starts(text, str_from(kinds[i])))
                        return true;
        return false;
}

/* Of a list its first item counts. */
static inline bool mcp_step_is_given(const McpStep *step, const Json *args) {
        const Json *value = step->when ? json_get(args, step->when) : NULL;

        if (!step->when)
                return true;
        json_each (item, json_is(value, JSON_ARRAY) ? value : NULL) {
                value = item;
                break;
        }
        return step->is_name ? mcp_step_is_name(json_str(value)) : str_trim(json_str(value)).n > 0;
}
