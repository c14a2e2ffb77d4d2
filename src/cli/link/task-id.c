/* SPDX-License-Identifier: MIT */
/*
 * Which task a person means. The daemon knows (fleet.find, docs/names.md); a project that is served by one without a
 * native socket has the contract's ids only, and a number.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "cli/link/asking.h"
#include "cli/link/find.h"
#include "cli/link/native.h"
#include "cli/link/task-link.h"
#include "cli/print/report.h"
#include "gen/errors.h"

enum { TASK_ID_MS = 30000 };

/* 7 and task-7 are task-0007; anything else as it is. Malloc'd. */
static char *task_id_of(const char *word) {
        const char *digits = word;
        char *id = NULL;
        size_t n;

        if (str_starts(str_from(word), STR("task-")))
                digits += strlen("task-");
        n = strspn(digits, "0123456789");
        if (!n || digits[n])
                return strdup(word);
        digits += MIN(strspn(digits, "0"), n - 1);
        return asprintf(&id, "task-%.*s%s", (int)(4 - MIN(strlen(digits), (size_t)4)), "000", digits) < 0
                       ? NULL
                       : id;
}

/* The answer is in the arena and in what native has received. False: none came, which is not said: whoever is asked next
 * says what is wrong. */
static bool task_id_ask(const TaskLink *link, const char *word, Link *native, Arena *arena, Reply *ret) {
        _cleanup_(freep) char *socket = find_socket();
        Json *args = json_new(arena, JSON_OBJECT);
        Str name = arena_printf(arena, "task:%s/%s", link->dir, word);
        const Request request = {.dialect = "native", .op = "fleet.find", .args = args};
        Json *text = name.data ? json_new_str(arena, name) : NULL;

        return socket && args && text && !json_set(arena, args, STR("name"), text) &&
               !link_open(native, socket, clock_ms() + TASK_ID_MS) &&
               !exchange(native, &request, arena, ret);
}

int task_id_find(const TaskLink *link, const char *what, const char *word, char **ret) {
        _cleanup_(link_deinit) Link native = LINK_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Reply reply = {0};
        int64_t code;

        if (!task_id_ask(link, word, &native, &arena, &reply))
                reply.is_error = true;
        else if (reply.is_error && json_int64(reply.code, &code) &&
                 code == native_error_code(CALL_E_AMBIGUOUS_NAME)) {
                reply_complain(what, &reply, link->is_json);
                return CLI_FAILED;
        }
        *ret = reply.is_error ? task_id_of(word) : str_dup(json_str(json_get(reply.result, "object")));
        return *ret ? CLI_OK : complain(CLI_FAILED, "out of memory");
}
