/* SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "base/sha256.h"
#include "collab/context/context-internal.h"

enum { DIGITS_MAX = 18 };

static const char TASK_SUFFIX[] = ".yaml";

/* An empty file has nothing in it that must be kept. */
static int load_doc(ContextDoc *doc, const char *path, ContextCache *cache) {
        FileIdentity identity = {0};
        int r;

        if (!path)
                return error_origin(-ENOMEM);
        doc->path = path;
        r = cache ? file_identify(path, &identity) : 0;
        if (cache && !r && context_cache_find(cache, doc, &identity))
                return 0;
        r = document_read_known(&doc->document, path, DOCUMENT_YAML, CONTEXT_FILE_MAX, &identity);
        if (r == -ENOMEM)
                return error_trace(r);
        doc->is_stored = !r;
        doc->is_broken = r == DOCUMENT_E_BROKEN;
        doc->fault = MIN(r, 0);
        if (!doc->document)
                doc->document = document_new();
        return doc->document ? 0 : error_origin(-ENOMEM);
}

static bool is_digits(Str s) {
        for (size_t i = 0; i < s.n; i++)
                if (s.data[i] < '0' || s.data[i] > '9')
                        return false;
        return s.n > 0;
}

bool context_is_task_id(Str id) {
        return id.n >= 2 && id.n <= 1 + DIGITS_MAX && id.data[0] == 'T' &&
               is_digits((Str){id.data + 1, id.n - 1});
}

/* The number in an id such as N001, if it has this letter and nothing but digits; else 0. */
int64_t context_number(Str id, char letter) {
        int64_t n = 0;

        if (id.n < 2 || id.n > 1 + DIGITS_MAX || id.data[0] != letter ||
            !is_digits((Str){id.data + 1, id.n - 1}))
                return 0;
        for (size_t i = 1; i < id.n; i++)
                n = n * 10 + (id.data[i] - '0');
        return n;
}

/* "T001.yaml": the id in front of the suffix, or empty. */
static Str task_of_name(const char *name) {
        Str s = str_from(name), id;

        if (s.n <= sizeof(TASK_SUFFIX) - 1)
                return STR_NULL;
        id = (Str){s.data, s.n - (sizeof(TASK_SUFFIX) - 1)};
        return str_is((Str){s.data + id.n, s.n - id.n}, TASK_SUFFIX) && context_is_task_id(id) ? id
                                                                                               : STR_NULL;
}

int context_add_task(Context *context, ContextDoc *doc) {
        const size_t n = context->n_tasks;
        ContextDoc **grown;

        if (n == context->cap_tasks) {
                context->cap_tasks = n ? n * 2 : 16;
                grown = arena_alloc(context->arena, context->cap_tasks * sizeof(ContextDoc *));
                if (!grown)
                        return error_origin(-ENOMEM);
                if (n)
                        memcpy(grown, context->tasks, n * sizeof(ContextDoc *));
                context->tasks = grown;
        }
        context->tasks[context->n_tasks++] = doc;
        return 0;
}

static int load_task(Context *context, const char *folder, const char *name, ContextCache *cache) {
        Str id = task_of_name(name);
        ContextDoc *doc;
        int r;

        if (!id.n)
                return 0;
        doc = arena_alloc(context->arena, sizeof(*doc));
        if (!doc)
                return error_origin(-ENOMEM);
        *doc = (ContextDoc){.id = arena_str(context->arena, id)};
        r = doc->id.data ? context_add_task(context, doc) : error_origin(-ENOMEM);
        if (!r)
                r = load_doc(doc, arena_printf(context->arena, "%s/%s", folder, name).data, cache);
        return error_trace(r);
}

static int context_load_by_id(const void *a, const void *b) {
        return strcmp((*(ContextDoc *const *)a)->id.data, (*(ContextDoc *const *)b)->id.data);
}

static int load_tasks(Context *context, ContextCache *cache) {
        Str folder = arena_printf(context->arena, "%s/tasks", context->dir);
        DIR *dir;
        int r = 0;

        if (!folder.data)
                return error_origin(-ENOMEM);
        dir = opendir(folder.data);
        for (struct dirent *entry; dir && !r && (entry = readdir(dir));)
                r = load_task(context, folder.data, entry->d_name, cache);
        if (dir)
                closedir(dir);
        if (!r && context->n_tasks)
                qsort(context->tasks, context->n_tasks, sizeof(ContextDoc *), context_load_by_id);
        return error_trace(r);
}

int64_t context_highest(const Json *list, char letter) {
        int64_t n = 0;

        json_each (item, list) {
                int64_t number = context_number(json_str(json_get(item, "id")), letter);
                n = MAX(n, number);
        }
        return n;
}

static void count(Context *context) {
        context->last_milestone = context_highest(json_get(context->main.document->json, "milestones"), 'M');
        context->last_note = context_highest(json_get(context->main.document->json, "notes"), 'N');
        context->last_reference = context_highest(json_get(context->main.document->json, "references"), 'R');
        for (size_t i = 0; i < context->n_tasks; i++)
                context->last_task = MAX(context->last_task, context_number(context->tasks[i]->id, 'T'));
}

int context_load(Context *context, Arena *arena, const char *dir, int64_t now_us, ContextCache *cache) {
        int r;

        *context = (Context){.arena = arena, .dir = dir, .now_us = now_us};
        context->changes = json_new(arena, JSON_ARRAY);
        if (!context->changes)
                return error_origin(-ENOMEM);
        r = load_doc(&context->main, arena_printf(arena, "%s/context.yaml", dir).data, cache);
        if (!r)
                r = load_doc(&context->presence, arena_printf(arena, "%s/presence.yaml", dir).data, cache);
        if (!r)
                r = load_tasks(context, cache);
        if (!r)
                count(context);
        if (!r && cache)
                context_cache_keep(cache, context);
        return error_trace(r);
}

void context_deinit(Context *context) {
        document_unref(context->main.document);
        document_unref(context->presence.document);
        for (size_t i = 0; i < context->n_tasks; i++)
                document_unref(context->tasks[i]->document);
        *context = (Context){0};
}

bool context_task_is_there(const ContextDoc *task) {
        return task->is_stored || task->is_changed;
}

ContextDoc *context_find_task(const Context *context, Str id) {
        for (size_t i = 0; i < context->n_tasks; i++)
                if (str_eq(context->tasks[i]->id, id) && context_task_is_there(context->tasks[i]))
                        return context->tasks[i];
        return NULL;
}

/*
 * The version of a context: a hash over the content, whatever order the members stand in.
 */
static int by_key(const void *a, const void *b) {
        Str x = json_key(*(Json *const *)a), y = json_key(*(Json *const *)b);
        int order = memcmp(x.data, y.data, MIN(x.n, y.n));

        return order ? order : (x.n > y.n) - (x.n < y.n);
}

static void write_sorted(JsonWriter *w, const Json *json);

static void write_members(JsonWriter *w, const Json *object) {
        _cleanup_(freep) Json **members = calloc(json_count(object) + 1, sizeof(Json *));
        size_t n = 0;

        if (!members) {
                w->failed = true;
                return;
        }
        json_each (member, object)
                members[n++] = member;
        qsort(members, n, sizeof(Json *), by_key);
        jw_begin_object(w);
        for (size_t i = 0; i < n; i++) {
                jw_key_str(w, json_key(members[i]));
                write_sorted(w, members[i]);
        }
        jw_end_object(w);
}

/* As deep as YAML may be: YAML_DEPTH. */
static void write_sorted(JsonWriter *w, const Json *json) { // NOLINT(misc-no-recursion)
        if (json_is(json, JSON_OBJECT)) {
                write_members(w, json);
        } else if (json_is(json, JSON_ARRAY)) {
                jw_begin_array(w);
                json_each (item, json)
                        write_sorted(w, item);
                jw_end_array(w);
        } else {
                jw_value(w, json);
        }
}

static int append_doc(Buf *text, const ContextDoc *doc) {
        JsonWriter w = JSON_WRITER(text);
        int r;

        r = doc->id.n ? buf_printf(text, "\n" STR_FMT ".yaml\n", STR_ARG(doc->id)) : 0;
        if (!r)
                write_sorted(&w, doc->document->json);
        return r || w.failed ? error_origin(-ENOMEM) : 0;
}

int context_version(const Context *context, char out[CONTEXT_VERSION_MAX]) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        char hex[SHA256_HEX_MAX];
        int r;

        r = context->main.is_stored ? append_doc(&text, &context->main) : 0;
        for (size_t i = 0; !r && i < context->n_tasks; i++)
                r = context->tasks[i]->is_stored ? append_doc(&text, context->tasks[i]) : 0;
        if (!r)
                r = sha256_hex(buf_str(&text), hex);
        if (r)
                return error_trace(r);
        memcpy(out, hex, CONTEXT_VERSION_MAX - 1);
        out[CONTEXT_VERSION_MAX - 1] = 0;
        return 0;
}
