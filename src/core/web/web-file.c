/* SPDX-License-Identifier: MIT */
#define LOG_MODULE "core/web"

#include "core/web/web-file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

char *web_file_path(const char *home, const char *name) {
        char *path = NULL;

        return asprintf(&path, "%s/web/%s", home, name) < 0 ? NULL : path;
}

static int web_file_put_aside(const char *path, Log *log) {
        _cleanup_(freep) char *aside = NULL;

        if (asprintf(&aside, "%s.broken", path) < 0) {
                aside = NULL;
                return error_origin(-ENOMEM);
        }
        log_err(log, path, "cannot be understood; put aside as %s, nobody is let in by it", aside);
        return rename(path, aside) ? error_origin(-errno) : 0;
}

int web_file_load(const char *path, const char *key, Log *log, Arena *arena, Buf *text, const Json **ret) {
        Json *json = NULL, *list;
        int r = file_read(path, WEB_FILE_MAX, text);

        *ret = NULL;
        if (r == FILE_E_MISSING)
                return 0;
        if (r < 0)
                return error_trace(r);
        list = !r && !json_parse(arena, text->data, text->n, NULL, &json, NULL) ? json_get(json, key) : NULL;
        if (!json_is(list, JSON_ARRAY))
                return error_trace(web_file_put_aside(path, log));
        *ret = list;
        return 0;
}

int web_file_store(const char *path, Str text) {
        _cleanup_(freep) char *folder = strndup(path, (size_t)(strrchr(path, '/') - path));
        int r = folder ? dir_make(folder, 0700) : -ENOMEM;

        return error_trace(r ? r : file_replace(path, text, 0600, FILE_DURABLE));
}

int web_file_remove(const char *path) {
        if (unlink(path))
                return errno == ENOENT ? 0 : error_origin(-errno);
        return error_trace(file_sync_name(path));
}
