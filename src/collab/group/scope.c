/* SPDX-License-Identifier: MIT */
#include "collab/group/scope.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "base/loop/loop.h"
#include "base/sha256.h"
#include "base/time.h"
#include "core/daemon.h"

enum { CONFIG_MAX = 4 << 20, LINK_MAX_BYTES = 64 << 10 };

/* ---- the remote's URL ------------------------------------------------------------------------ */

static bool cut_prefix(Str *s, Str prefix) {
        if (!str_starts(*s, prefix))
                return false;
        *s = (Str){s->data + prefix.n, s->n - prefix.n};
        return true;
}

static Str without_git(Str s) {
        if (s.n > 4 && !memcmp(s.data + s.n - 4, ".git", 4))
                s.n -= 4;
        return s;
}

static const char *scope_git_find(Str s, char c) {
        return s.n ? memchr(s.data, c, s.n) : NULL;
}

/* user@host:path, whatever the user is: also the scheme of a URL with a port, which then begins the path.
 * Not a path of this machine. */
static bool split_scp(Str url, Str *host, Str *path) {
        const char *at = scope_git_find(url, '@'), *colon, *end = url.data + url.n;

        if (!at || at == url.data || url.data[0] == '/')
                return false;
        colon = scope_git_find((Str){at + 1, (size_t)(end - at - 1)}, ':');
        if (!colon || colon == at + 1 || colon + 1 == end)
                return false;
        *host = (Str){at + 1, (size_t)(colon - at - 1)};
        *path = (Str){colon + 1, (size_t)(end - colon - 1)};
        return true;
}

Str scope_normalize_remote(Arena *arena, Str url) {
        Str rest = url = str_trim(url), host, path;

        if (split_scp(url, &host, &path))
                return arena_printf(arena, "https://" STR_FMT "/" STR_FMT, STR_ARG(host),
                                    STR_ARG(without_git(path)));
        if (cut_prefix(&rest, STR("ssh://"))) {
                (void)cut_prefix(&rest, STR("git@"));
                if (scope_git_find(rest, '/'))
                        return arena_printf(arena, "https://" STR_FMT, STR_ARG(without_git(rest)));
        }
        if (str_starts(url, STR("http://")) || str_starts(url, STR("https://")))
                url = without_git(url);
        return arena_str(arena, url);
}

/* ---- git's config ---------------------------------------------------------------------------- */

static Str scope_git_next_line(Str *text) {
        const char *end = scope_git_find(*text, '\n');
        Str line = {text->data, end ? (size_t)(end - text->data) : text->n};
        size_t n = line.n + (end ? 1 : 0);

        *text = (Str){text->data + n, text->n - n};
        return str_trim(line);
}

static Str unquote(Str value) {
        if (value.n >= 2 && value.data[0] == '"' && value.data[value.n - 1] == '"')
                return (Str){value.data + 1, value.n - 2};
        return value;
}

/* The last url of the section [remote "origin"], as git has it. */
static Str find_url(Str config) {
        bool is_origin = false;
        Str url = STR_NULL;

        while (config.n) {
                Str line = scope_git_next_line(&config), key;
                const char *equals = scope_git_find(line, '=');
                if (line.n && line.data[0] == '[')
                        is_origin = str_starts(line, STR("[remote \"origin\"]"));
                if (!is_origin || !equals)
                        continue;
                key = str_trim((Str){line.data, (size_t)(equals - line.data)});
                if (str_is(key, "url"))
                        url = unquote(
                                str_trim((Str){equals + 1, line.n - (size_t)(equals + 1 - line.data)}));
        }
        return url;
}

/* ---- the repository -------------------------------------------------------------------------- */

/* A path that a file of git names, against the folder it stands in. Malloc'd; NULL: there is none. */
static char *read_link(const char *dir, const char *name, Str prefix) {
        _cleanup_(freep) char *path = path_join(dir, name);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str value;

        if (!path || file_read(path, LINK_MAX_BYTES, &text))
                return NULL;
        value = str_trim(buf_str(&text));
        if (!cut_prefix(&value, prefix))
                return NULL;
        value = str_trim(value);
        if (!value.n || memchr(value.data, 0, value.n))
                return NULL;
        free(steal(&path));
        path = str_dup(value);
        return path && path[0] != '/' ? path_join(dir, path) : steal(&path);
}

static bool has(const char *dir, const char *name) {
        _cleanup_(freep) char *path = path_join(dir, name);

        return path && access(path, F_OK) == 0;
}

/* The folder of the repository whose work tree has its top here. Malloc'd; NULL: none. */
static char *find_repository(const char *top) {
        char *path = path_join(top, ".git");
        struct stat st;

        if (!path || stat(path, &st) < 0) {
                free(path);
                return NULL;
        }
        if (S_ISREG(st.st_mode)) {
                free(path);
                path = read_link(top, ".git", STR("gitdir:"));
        }
        if (path && has(path, "HEAD"))
                return path;
        free(path);
        return NULL;
}

static int read_url(Arena *arena, const char *repository, Str *ret_url) {
        _cleanup_(freep) char *common = read_link(repository, "commondir", STR(""));
        _cleanup_(freep) char *path = path_join(common ? common : repository, "config");
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        if (!path)
                return error_origin(-ENOMEM);
        if (file_read(path, CONFIG_MAX, &text))
                return 0;
        *ret_url = arena_str(arena, find_url(buf_str(&text)));
        return ret_url->data ? 0 : error_origin(-ENOMEM);
}

/* Shortens root (absolute, resolved) to the top of its work tree, if it lies in one. url: in the arena,
 * empty when there is none. */
static int scope_git(Arena *arena, char *root, Str *ret_url) {
        _cleanup_(freep) char *top = strdup(root);

        *ret_url = STR("");
        if (!top)
                return error_origin(-ENOMEM);
        for (;;) {
                _cleanup_(freep) char *repository = find_repository(top);
                char *slash = strrchr(top, '/');
                if (repository) {
                        memcpy(root, top, strlen(top) + 1);
                        return error_trace(read_url(arena, repository, ret_url));
                }
                if (!slash || !top[1])
                        return 0;
                slash[slash == top] = 0; /* the folder above; "/" keeps its slash */
        }
}

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
        return r ? error_trace(r) : error_trace(document_order(document, document->json, key_order));
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

/* ---- the path -------------------------------------------------------------------------------- */

static Str last_part(Str path) {
        size_t i = path.n;

        while (i && path.data[i - 1] != '/')
                i--;
        return (Str){path.data + i, path.n - i};
}

/* ---- identity -------------------------------------------------------------------------------- */

static int identify(Arena *arena, Scope *scope) {
        char hex[SHA256_HEX_MAX];
        int r = sha256_hex(scope->git_remote.n ? scope->git_remote : scope->root, hex);

        if (r)
                return error_trace(r);
        scope->key = arena_printf(arena, "s_%.*s", SCOPE_KEY_DIGITS, hex);
        scope->group_id = arena_printf(arena, "g_%.*s", SCOPE_KEY_DIGITS, hex);
        scope->label = last_part(scope->root);
        scope->label = arena_str(arena, scope->label.n ? scope->label : STR("scope"));
        return scope->key.data && scope->group_id.data && scope->label.data ? 0 : error_origin(-ENOMEM);
}

static bool scope_is_folder(const char *path) {
        struct stat st;

        return !stat(path, &st) && S_ISDIR(st.st_mode);
}

int scope_detect(Arena *arena, Str path, Scope *ret) {
        Str copy = arena_str(arena, path.n ? path : STR("."));
        _cleanup_(freep) char *root = copy.data ? path_resolve(copy.data) : NULL;
        Str url = STR_NULL;
        int r;

        *ret = (Scope){0};
        if (!root)
                return error_origin(-ENOMEM);
        if (scope_is_folder(root)) { /* what is none is a scope of its own, also inside a work tree */
                r = scope_git(arena, root, &url); /* shortens root to the top of the work tree */
                if (r)
                        return error_trace(r);
        }
        ret->root = arena_str(arena, str_from(root));
        ret->git_remote = url.n ? scope_normalize_remote(arena, url) : STR("");
        if (!ret->root.data || !ret->git_remote.data)
                return error_origin(-ENOMEM);
        return error_trace(identify(arena, ret));
}

/* ---- for a call ------------------------------------------------------------------------------ */

typedef struct ScopeJob { /* in the call's arena */
        Carry step;       /* of the step on a worker */
        Str path;
        ScopeFn fn;
        const Carry *carry;
        Scope *scope; /* in the arena until scope_done(), then what it points to is the call's */
        Arena arena;
        int r;
} ScopeJob;

static void scope_run(const Carry *carry) {
        ScopeJob *job = container_of(carry, ScopeJob, step);

        job->r = scope_detect(&job->arena, job->path, job->scope);
}

static int scope_take(Call *call, Scope *scope) {
        Str *texts[] = {&scope->key, &scope->root, &scope->label, &scope->git_remote, &scope->group_id};

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                *texts[i] = arena_str(&call->arena, *texts[i]);
                if (!texts[i]->data)
                        return error_origin(-ENOMEM);
        }
        return 0;
}

static int scope_done(Call *call, const Carry *carry) {
        ScopeJob *job = container_of(carry, ScopeJob, step);
        int r = job->r ? job->r : scope_take(call, job->scope);

        arena_deinit(&job->arena);
        return r ? r : job->fn(call, job->scope, job->carry);
}

int scope_call(Call *call, Str path, ScopeFn fn, const Carry *carry) {
        ScopeJob *job = arena_alloc(&call->arena, sizeof(*job));
        Scope *scope = arena_alloc(&call->arena, sizeof(*scope));

        if (!job || !scope)
                return error_origin(-ENOMEM);
        *job = (ScopeJob){.path = path, .fn = fn, .carry = carry, .scope = scope};
        return call_work(call, scope_run, scope_done, &job->step);
}

static int fill_scope(GroupDoc *doc, Json *entry, const Scope *scope) {
        Document *document = doc->document;
        int r = document_set_str(document, entry, "scope_key", scope->key);

        if (!r)
                r = document_set_str(document, entry, "url", scope->root);
        if (!r)
                r = document_set_str(document, entry, "label", scope->label);
        if (!r)
                r = document_set_str(document, entry, "git_remote", scope->git_remote);
        return error_trace(r);
}

static int put_scope(GroupDoc *doc, const Scope *scope) {
        const ScopeView *old = group_doc_scope(doc, scope->key);
        Json *list = group_doc_list(doc, "scopes"), *entry = old ? old->json : NULL;
        int r = 0;

        if (!entry) {
                entry = json_new(&doc->document->arena, JSON_OBJECT);
                r = list && entry ? json_push(list, entry) : error_origin(-ENOMEM);
        }
        if (!r)
                r = fill_scope(doc, entry, scope);
        if (!r)
                r = group_doc_set_str(doc, "active_scope_key", scope->key);
        return error_trace(r);
}

static void group_attach_write_event(GroupChange *change, const Scope *scope, Str by) {
        JsonWriter *w = group_change_event(change, "group.attach", by, scope->key);

        jw_begin_object(w);
        jw_field_str(w, "url", scope->root);
        jw_field_str(w, "label", scope->label);
        jw_field_str(w, "git_remote", scope->git_remote);
        jw_end_object(w);
}

/* The whole entry: the group may be one that the registry does not know yet. */
static void group_attach_tell_registry(GroupChange *change, const GroupDoc *doc, const Scope *scope) {
        RegistryEdit *edit = group_change_registry(change);

        edit->title = arena_str(&change->arena, doc->title);
        edit->topic = arena_str(&change->arena, doc->topic);
        edit->created_at = arena_str(&change->arena, doc->created_at);
        edit->path = str_from(change->group->dir);
        edit->default_scope_key = edit->scope_key = arena_str(&change->arena, scope->key);
}

void group_change_attach(GroupChange *change, const Scope *scope, Str by) {
        GroupDoc *doc = group_change_doc(change);

        change_try(change, put_scope(doc, scope));
        group_attach_write_event(change, scope, by);
        group_attach_tell_registry(change, doc, scope);
}
