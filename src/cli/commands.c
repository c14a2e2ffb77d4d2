/* SPDX-License-Identifier: MIT */
#include "cli/commands.h"

#include <string.h>

const Command *command_at(size_t i) {
        if (i < n_session_commands)
                return &session_commands[i];
        i -= n_session_commands;
        if (i < n_group_commands)
                return &group_commands[i];
        i -= n_group_commands;
        return i < n_task_commands ? &task_commands[i] : &daemon_commands[i - n_task_commands];
}

size_t n_commands(void) {
        return n_session_commands + n_group_commands + n_task_commands + n_daemon_commands;
}

const Command *command_find(const char *name) {
        for (size_t i = 0; i < n_commands(); i++)
                if (!strcmp(name, command_at(i)->name))
                        return command_at(i);
        return NULL;
}
