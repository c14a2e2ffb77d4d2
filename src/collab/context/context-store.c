/* SPDX-License-Identifier: MIT */
/*
 * Storing: the changed documents are put beside their places first, all of them, and then moved there. What
 * can fail for want of space fails before anything is visible. A crash between two moves leaves the first
 * ones done: each file is whole, and the batch was not answered.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/context/context-internal.h"

static const char *const main_keys[] = {"vision", "sketch",     "meta", "milestones",
                                        "notes",  "references", NULL};
static const char *const milestone_keys[] = {
        "id",      "name",      "description", "status",     "archived_from",
        "started", "completed", "outcomes",    "updated_at", NULL};
static const char *const task_keys[] = {"id",        "name",     "goal",       "status",     "archived_from",
                                        "milestone", "assignee", "created_at", "updated_at", "steps",
                                        NULL};
static const char *const presence_keys[] = {"agents", "heartbeat_timeout_seconds", NULL};
static const char *const agent_keys[] = {"id", "status", "updated_at", NULL};

static const char CONTRACT[] =
        "Shared by the agents of this group and changed through context_sync. Tasks are in "
        "tasks/, one file each; who is doing what is in presence.yaml.";

/* ---- the form of the files ------------------------------------------------------------------- */

static int order_list(ContextDoc *doc, const char *key, const char *const keys[]) {
        int r = 0;

        json_each (item, json_get(doc->document->json, key)) {
                r = json_is(item, JSON_OBJECT) ? document_order(doc->document, item, keys) : 0;
                if (r)
                        break;
        }
        return error_trace(r);
}

static int add_contract(Context *context) {
        Json *meta = json_new(context->arena, JSON_OBJECT),
             *contract = json_new(context->arena, JSON_OBJECT);
        int r;

        if (!meta || !contract)
                return error_origin(-ENOMEM);
        r = context_set(context, contract, "about", str_from(CONTRACT));
        if (!r)
                r = json_set(context->arena, meta, STR("contract"), contract);
        if (!r)
                r = json_set(context->arena, context->main.document->json, STR("meta"), meta);
        return error_trace(r);
}

static int form_main(Context *context) {
        ContextDoc *doc = &context->main;
        int r;

        r = json_get(doc->document->json, "meta") ? 0 : add_contract(context);
        if (r)
                return error_trace(r);
        if (!context_list(context, doc, "milestones", true) || !context_list(context, doc, "notes", true) ||
            !context_list(context, doc, "references", true))
                return error_origin(-ENOMEM);
        r = document_order(doc->document, doc->document->json, main_keys);
        return r ? error_trace(r) : order_list(doc, "milestones", milestone_keys);
}

static int form_presence(Context *context) {
        ContextDoc *doc = &context->presence;
        int r = 0;

        if (!json_get(doc->document->json, "heartbeat_timeout_seconds"))
                r = json_set(context->arena, doc->document->json, STR("heartbeat_timeout_seconds"),
                             json_new_int(context->arena, CONTEXT_HEARTBEAT_S_DEFAULT));
        if (!r)
                r = document_order(doc->document, doc->document->json, presence_keys);
        return r ? error_trace(r) : order_list(doc, "agents", agent_keys);
}

static int form(Context *context, ContextDoc *doc) {
        if (doc == &context->main)
                return form_main(context);
        if (doc == &context->presence)
                return form_presence(context);
        return document_order(doc->document, doc->document->json, task_keys);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Where a document waits until all are written: a dot file, which no reader looks at. */
static char *staged_path(const Context *context, const ContextDoc *doc) {
        char *path;

        return asprintf(&path, "%s/.new-%s", context->dir, strrchr(doc->path, '/') + 1) < 0 ? NULL : path;
}

static int make_text(Context *context, ContextDoc *doc, Buf *text) {
        int r;

        if (doc->fault)
                return error_trace(doc->fault);
        r = form(context, doc);
        if (!r)
                r = document_write(doc->document, DOCUMENT_YAML, text);
        if (r)
                return error_fold(r);
        return text->n <= CONTEXT_FILE_MAX
                       ? 0
                       : context_refuse(context, "%s would become too large", strrchr(doc->path, '/') + 1);
}

static int context_store_stage(Context *context, ContextDoc *doc) {
        _cleanup_(freep) char *path = staged_path(context, doc);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r;

        r = path ? make_text(context, doc, &text) : error_origin(-ENOMEM);
        return r ? r : error_fold(file_replace(path, buf_str(&text), 0600, FILE_DURABLE));
}

static void context_store_unstage(const Context *context, const ContextDoc *doc) {
        _cleanup_(freep) char *path = staged_path(context, doc);

        if (path)
                (void)unlink(path);
}

/* A file that could not be understood may still mean something to whoever wrote it. */
static void context_store_keep_aside(const ContextDoc *doc) {
        _cleanup_(freep) char *path = NULL;

        if (doc->is_broken && asprintf(&path, "%s.unreadable", doc->path) >= 0)
                (void)rename(doc->path, path);
}

static void is_stored_now(ContextDoc *doc) {
        doc->is_stored = true;
        doc->is_broken = doc->is_changed = false;
}

static int context_store_move(Context *context, ContextDoc *doc) {
        _cleanup_(freep) char *path = staged_path(context, doc);

        if (!path)
                return error_origin(-ENOMEM);
        context_store_keep_aside(doc);
        if (rename(path, doc->path) < 0)
                return error_origin(-errno);
        is_stored_now(doc);
        return 0;
}

/* For a batch that changes one document only, which is the rule. */
static int context_store_replace(Context *context, ContextDoc *doc) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r;

        r = make_text(context, doc, &text);
        if (r)
                return r;
        context_store_keep_aside(doc);
        r = file_replace(doc->path, buf_str(&text), 0600, FILE_DURABLE);
        if (!r)
                is_stored_now(doc);
        return error_fold(r);
}

/* ---- all of them ----------------------------------------------------------------------------- */

typedef int (*DocFn)(Context *context, ContextDoc *doc);

static int each_changed(Context *context, DocFn fn) {
        int r = 0;

        for (size_t i = 0; !r && i < context->n_tasks; i++)
                r = context->tasks[i]->is_changed ? fn(context, context->tasks[i]) : 0;
        if (!r && context->main.is_changed)
                r = fn(context, &context->main);
        if (!r && context->presence.is_changed)
                r = fn(context, &context->presence);
        return r;
}

static int unstage_one(Context *context, ContextDoc *doc) {
        context_store_unstage(context, doc);
        return 0;
}

static int count_one(Context *context, _unused_ ContextDoc *doc) {
        context->n_changed++;
        return 0;
}

/* One level only: when the group's own folder is gone, it must not come back. */
static int context_store_make_folder(const char *path) {
        if (mkdir(path, 0700) < 0)
                return errno == EEXIST ? 0 : error_origin(-errno);
        return error_trace(file_sync_name(path));
}

static int store_many(Context *context, const char *tasks) {
        int r;

        r = each_changed(context, context_store_stage);
        if (r) {
                each_changed(context, unstage_one);
                return r;
        }
        r = each_changed(context, context_store_move);
        if (!r)
                r = dir_sync(context->dir);
        return error_trace(r ? r : dir_sync(tasks));
}

int context_store(Context *context) {
        _cleanup_(freep) char *tasks = path_join(context->dir, "tasks");
        int r;

        context->n_changed = 0;
        each_changed(context, count_one);
        r = tasks ? context_store_make_folder(context->dir) : error_origin(-ENOMEM);
        if (!r)
                r = context_store_make_folder(tasks);
        if (r)
                return error_trace(r);
        return context->n_changed > 1 ? store_many(context, tasks)
                                      : each_changed(context, context_store_replace);
}
