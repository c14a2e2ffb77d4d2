/* SPDX-License-Identifier: MIT */
#include "core/standstill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

enum { STANDSTILL_MAX = 1 << 20 };

static char *standstill_path(const char *home) {
        return path_join(home, "agents-stopped");
}

static int standstill_take_line(Standstill *standstill, Str line) {
        _cleanup_(freep) char *id = line.n ? str_dup(line) : NULL;

        if (!line.n)
                return 0;
        return id ? error_trace(strvec_push(&standstill->released, id)) : error_origin(-ENOMEM);
}

/* A file that cannot be read holds all the same: nothing starts that somebody stopped. */
int standstill_load(Standstill *standstill, const char *home) {
        _cleanup_(freep) char *path = standstill_path(home);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = path ? file_read(path, STANDSTILL_MAX, &text) : -ENOMEM;

        if (!path)
                return error_origin(r);
        standstill->is_on = r != FILE_E_MISSING;
        for (size_t at = 0, n; !r && at < text.n; at += n + 1) {
                n = strcspn(text.data + at, "\n");
                n = MIN(n, text.n - at);
                r = standstill_take_line(standstill, (Str){text.data + at, n});
        }
        return r == -ENOMEM ? error_trace(r) : 0;
}

void standstill_deinit(Standstill *standstill) {
        strvec_deinit(&standstill->released);
        *standstill = (Standstill){0};
}

bool standstill_holds(const Standstill *standstill, const char *group_id) {
        for (size_t i = 0; i < standstill->released.n; i++)
                if (!strcmp(standstill->released.items[i], group_id))
                        return false;
        return standstill->is_on;
}

int standstill_release(Standstill *standstill, const char *group_id) {
        return standstill_holds(standstill, group_id)
                       ? error_trace(strvec_push(&standstill->released, group_id))
                       : 0;
}

int standstill_text(const Standstill *standstill, Buf *out) {
        int r = 0;

        for (size_t i = 0; !r && i < standstill->released.n; i++) {
                r = buf_append_str(out, str_from(standstill->released.items[i]));
                if (!r)
                        r = buf_append_str(out, STR("\n"));
        }
        return error_trace(r);
}

int standstill_write(const char *home, Str text) {
        _cleanup_(freep) char *path = standstill_path(home);

        return path ? error_trace(file_replace(path, text, 0600, FILE_DURABLE)) : error_origin(-ENOMEM);
}

int standstill_remove(const char *home) {
        _cleanup_(freep) char *path = standstill_path(home);

        if (!path)
                return error_origin(-ENOMEM);
        if (unlink(path))
                return errno == ENOENT ? 0 : error_origin(-errno);
        return error_trace(dir_sync(home));
}
