/* SPDX-License-Identifier: MIT */
#include "collab/group/bridge.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/macro.h"
#include "base/process.h"

enum { BRIDGE_WORDS_MAX = 4096 };

/* python3 -m cccc.ports.im.bridge GROUP PLATFORM */
static bool bridge_is(pid_t pid, const char *group_id) {
        char words[BRIDGE_WORDS_MAX];
        ssize_t n = process_read(pid, "cmdline", words, sizeof(words));
        bool is_bridge = false, is_ours = false;

        for (const char *word = words; n > 0 && word < words + n; word += strlen(word) + 1) {
                is_bridge |= !strcmp(word, "cccc.ports.im.bridge");
                is_ours |= !strcmp(word, group_id);
        }
        return is_bridge && is_ours;
}

void bridge_end(const char *group_dir, const char *group_id) {
        _cleanup_(freep) char *path = path_join(group_dir, "state/im_bridge.pid");
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        pid_t pid;

        if (!path || file_read(path, 64, &text) || !buf_cstr(&text))
                return;
        pid = (pid_t)strtol(text.data, NULL, 10);
        if (pid > 1 && bridge_is(pid, group_id) && kill(-pid, SIGTERM))
                (void)kill(pid, SIGTERM); /* it leads no group of its own */
}
