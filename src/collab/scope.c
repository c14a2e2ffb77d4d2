/* SPDX-License-Identifier: MIT */
#include "collab/scope.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/loop.h"
#include "base/sha256.h"
#include "collab/scope-git.h"
#include "core/daemon.h"

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

typedef struct ScopeJob {
        Call *call;
        Str path;
        ScopeFn fn;
        const void *args;
        Scope *scope; /* in the arena until done(), then what it points to is the call's */
        Arena arena;
        int r;
} ScopeJob;

static void scope_run(void *user) {
        ScopeJob *job = user;

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

static void scope_done(void *user) {
        ScopeJob *job = user;
        Call *call = job->call;
        int r = job->r ? job->r : scope_take(call, job->scope);

        if (!r)
                r = job->fn(call, job->scope, job->args);
        arena_deinit(&job->arena);
        free(job);
        if (r != CALL_LATER)
                call_finish(call, r);
}

int scope_call(Call *call, Str path, ScopeFn fn, const void *args) {
        ScopeJob *job = calloc(1, sizeof(*job));
        Scope *scope = arena_alloc(&call->arena, sizeof(*scope));

        if (job && scope) {
                *job = (ScopeJob){.call = call, .path = path, .fn = fn, .args = args, .scope = scope};
                if (!loop_work(call->daemon->loop, scope_run, scope_done, job))
                        return CALL_LATER;
        }
        free(job);
        return error_origin(-ENOMEM);
}
