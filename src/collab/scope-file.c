/* SPDX-License-Identifier: MIT */
#include "collab/scope-file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/id.h"
#include "base/time.h"

static const char *const key_order[] = {"v",          "scope_key",  "url",        "label",
                                        "git_remote", "created_at", "updated_at", NULL};

static int scope_file_fill(Document *document, const Scope *scope, Str now) {
        Json *json = document->json;
        int r = document_set_int(document, json, "v", 1);

        if (!r)
                r = document_set_str(document, json, "scope_key", scope->key);
        if (!r)
                r = document_set_str(document, json, "url", scope->root);
        if (!r)
                r = document_set_str(document, json, "label", scope->label);
        if (!r)
                r = document_set_str(document, json, "git_remote", scope->git_remote);
        if (!r && !json_str(json_get(json, "created_at")).n)
                r = document_set_str(document, json, "created_at", now);
        if (!r)
                r = document_set_str(document, json, "updated_at", now);
        return r ? error_trace(r) : error_trace(document_order(document, key_order));
}

static int scope_file_store(const char *path, Document *document, const Scope *scope, int64_t now_us) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char ts[TIME_TEXT_MAX];
        int r = scope_file_fill(document, scope, (Str){ts, time_format_us(now_us, ts)});

        if (!r)
                r = document_write(document, DOCUMENT_YAML, &text);
        if (!r)
                r = file_replace(path, buf_str(&text), 0600, FILE_DURABLE);
        return error_trace(r);
}

int scope_file_write(const Group *group, const Scope *scope, int64_t now_us) {
        _cleanup_(document_unrefp) Document *document = NULL;
        _cleanup_(freep) char *dir = NULL, *path = NULL;
        int r;

        if (asprintf(&dir, "%s/scopes/" STR_FMT, group->dir, STR_ARG(scope->key)) < 0)
                return error_origin(-ENOMEM);
        path = path_join(dir, "scope.yaml");
        r = path ? dir_make(dir, 0700) : error_origin(-ENOMEM);
        if (!r)
                r = document_read(&document, path, DOCUMENT_YAML);
        if (r < 0)
                return error_trace(r);
        if (r)
                document = document_new();
        return document ? error_trace(scope_file_store(path, document, scope, now_us))
                        : error_origin(-ENOMEM);
}

int scope_file_remove(const Group *group, Str key) {
        _cleanup_(freep) char *dir = NULL, *path = NULL;

        if (!id_is_path_safe(key))
                return 0; /* made by hand; nothing of ours has this name */
        if (asprintf(&dir, "%s/scopes/" STR_FMT, group->dir, STR_ARG(key)) < 0)
                return error_origin(-ENOMEM);
        path = path_join(dir, "scope.yaml");
        if (!path)
                return error_origin(-ENOMEM);
        if (unlink(path) < 0 && errno != ENOENT && errno != ENOTDIR)
                return error_origin(-errno);
        (void)rmdir(dir);
        return 0;
}
