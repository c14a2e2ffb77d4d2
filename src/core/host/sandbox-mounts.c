/* SPDX-License-Identifier: MIT */
/*
 * From what was asked for to binds that are safe to make: where a thing on the host really is, whether it
 * may be shown, where it goes inside and whether there is a place for it. Files that list mounts may be
 * written by the very agent that is to be held: nothing here trusts them. What is exchanged after these
 * checks is noticed inside, by identity (muster-sandbox confine).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "core/host/sandbox-internal.h"

typedef struct Collect {
        const SandboxSpec *spec;
        SandboxReport *report;
        SandboxBinds *binds;
} Collect;

/* No bind goes there: it would undo what the sandbox is. */
static bool is_forbidden(const char *path) {
        return strcmp(path, "/") == 0 || sandbox_path_is_within(path, "/proc") ||
               sandbox_path_is_within(path, "/dev") || sandbox_path_is_within(path, "/sys");
}

/* Lies in something that is to be hidden; or, with or_holds, holds such a thing. */
static bool is_hidden(const SandboxSpec *spec, const char *path, bool or_holds) {
        for (char *const *hidden = spec->hidden; hidden && *hidden; hidden++) {
                _cleanup_(freep) char *real = realpath(*hidden, NULL);

                if (real &&
                    (sandbox_path_is_within(path, real) || (or_holds && sandbox_path_is_within(real, path))))
                        return true;
        }
        return false;
}

static void bind_deinit(SandboxBind *bind) {
        sandbox_path_deinit(&bind->host);
        free(bind->inside);
        *bind = (SandboxBind){0};
}

/* Takes what bind holds, also on failure. A later bind for the same place wins. */
static int add_bind(SandboxBinds *binds, SandboxBind *bind) {
        SandboxBind *items;

        for (size_t i = 0; i < binds->n; i++)
                if (strcmp(binds->items[i].inside, bind->inside) == 0) {
                        bind_deinit(&binds->items[i]);
                        binds->items[i] = *bind;
                        return 0;
                }
        items = realloc(binds->items, (binds->n + 1) * sizeof(*items));
        if (!items) {
                bind_deinit(bind);
                return error_origin(-ENOMEM);
        }
        binds->items = items;
        items[binds->n++] = *bind;
        return 0;
}

/* ---- inside ---------------------------------------------------------------------------------- */

/* /tmp is new and empty inside: what links the host has there does not matter. */
static bool is_private(const Collect *collect, const char *path) {
        return sandbox_path_is_within(path, "/tmp") &&
               !sandbox_path_is_within(path, collect->spec->workspace) &&
               !sandbox_path_is_within(path, collect->binds->workspace.path);
}

static int inside_path(const Collect *collect, const char *text, char **ret) {
        _cleanup_(freep) char *expanded = sandbox_path_expand(text, collect->binds->home.path),
                              *normal = NULL;
        int r = expanded ? sandbox_path_normal(expanded, &normal) : -ENOMEM;

        if (r == -EINVAL)
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT,
                                      "%s: must be absolute, without . or ..", text);
        if (!r && is_private(collect, normal)) {
                *ret = steal(&normal);
                return 0;
        }
        if (!r)
                r = sandbox_path_resolve(normal, ret);
        if (r && r != -ENOMEM)
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT, "%s: %s", text, strerror(-r));
        return error_trace(r);
}

static int check_inside(const Collect *collect, const char *inside) {
        const SandboxBinds *binds = collect->binds;

        if (is_forbidden(inside) || sandbox_path_is_within(binds->workspace.path, inside) ||
            (binds->home.path && sandbox_path_is_within(binds->home.path, inside)))
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT, "%s: nothing can be mounted there",
                                      inside);
        return 0;
}

/* The root is read-only, so bubblewrap can make mount points in the workspace and in /tmp only. In the home
 * we do. NULL: there is a place now; else why not. */
static const char *make_mount_point(const Collect *collect, const char *inside, bool is_dir) {
        const SandboxBinds *binds = collect->binds;
        struct stat st;

        if (is_private(collect, inside))
                return NULL;
        if (!stat(inside, &st))
                return S_ISDIR(st.st_mode) == is_dir ? NULL
                                                     : "a file and a folder cannot stand for each other";
        if (sandbox_path_is_within(inside, binds->workspace.path))
                return NULL;
        if (is_dir && binds->home.path && sandbox_path_is_within(inside, binds->home.path))
                return dir_make(inside, 0700) ? "the place in the home cannot be made" : NULL;
        return "there is no such place inside, and the root is read-only";
}

/* ---- mounts ---------------------------------------------------------------------------------- */

/* A path of the workspace has to lead into the workspace, one of the home into the home. Either may itself
 * be named by a link. */
static bool leads_out(const char *asked, const char *found, const char *folder, const char *real_folder) {
        bool is_ours = sandbox_path_is_within(asked, folder) || sandbox_path_is_within(asked, real_folder);

        return !is_ours || !sandbox_path_is_within(found, real_folder);
}

static bool is_in_workspace(const Collect *collect, const char *asked) {
        return sandbox_path_is_within(asked, collect->spec->workspace) ||
               sandbox_path_is_within(asked, collect->binds->workspace.path);
}

static bool is_allowed(const Collect *collect, const char *asked, const char *found) {
        const SandboxBinds *binds = collect->binds;

        if (is_in_workspace(collect, asked))
                return !leads_out(asked, found, collect->spec->workspace, binds->workspace.path);
        return binds->home.path && !leads_out(asked, found, collect->spec->home, binds->home.path);
}

/* Condition SANDBOX_E_MOUNT. Success with an empty ret: not there, and a warning was written. */
static int host_path(const Collect *collect, const char *text, SandboxPath *ret) {
        _cleanup_(freep) char *asked = sandbox_path_expand(text, collect->spec->home);
        int r;

        if (!asked)
                return error_origin(-ENOMEM);
        if (asked[0] != '/')
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT, "mount %s: must be absolute", text);
        r = sandbox_path_open(asked, ret);
        if (r == -ENOENT || r == -ENOTDIR)
                return error_trace(sandbox_warn(collect->report, "mount %s: does not exist, skipped", text));
        if (r)
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT, "mount %s: %s", text, strerror(-r));
        if (!is_allowed(collect, asked, ret->path))
                r = sandbox_refuse(collect->report, SANDBOX_E_MOUNT,
                                   "mount %s: lies outside the home and the workspace", text);
        else if (is_hidden(collect->spec, ret->path, true))
                r = sandbox_refuse(collect->report, SANDBOX_E_MOUNT, "mount %s: would show what is hidden",
                                   text);
        if (r)
                sandbox_path_deinit(ret);
        return r;
}

static int add_mount(const Collect *collect, const SandboxMount *mount) {
        SandboxBind bind = {.is_writable = mount->is_writable};
        const char *obstacle;
        int r = host_path(collect, mount->host, &bind.host);

        if (r || !bind.host.path)
                return r;
        r = inside_path(collect, mount->inside, &bind.inside);
        if (!r)
                r = check_inside(collect, bind.inside);
        obstacle = r ? NULL : make_mount_point(collect, bind.inside, bind.host.is_dir);
        if (obstacle)
                r = sandbox_warn(collect->report, "mount %s: %s: %s, skipped", mount->host, mount->inside,
                                 obstacle);
        if (!r && !obstacle)
                return error_trace(add_bind(collect->binds, &bind));
        bind_deinit(&bind);
        return r;
}

/* ---- persistent folders ---------------------------------------------------------------------- */

static int persist_inside(const Collect *collect, const char *text, char **ret) {
        const char *home = collect->binds->home.path, *obstacle;
        int r = inside_path(collect, text, ret);

        if (r)
                return r;
        if (!home || !sandbox_path_is_within(*ret, home))
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT,
                                      "persist %s: must lie below the home", text);
        r = check_inside(collect, *ret);
        obstacle = r ? NULL : make_mount_point(collect, *ret, true);
        return obstacle ? sandbox_refuse(collect->report, SANDBOX_E_MOUNT, "persist %s: %s", text, obstacle)
                        : r;
}

static int add_persist(const Collect *collect, const SandboxMount *persist) {
        SandboxBind bind = {.is_writable = true};
        int r = dir_make(persist->host, 0700);

        if (!r)
                r = sandbox_path_open(persist->host, &bind.host);
        if (r < 0 && r != -ENOMEM)
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT, "persist %s: %s", persist->host,
                                      strerror(-r));
        if (!r)
                r = persist_inside(collect, persist->inside, &bind.inside);
        if (!r)
                return error_trace(add_bind(collect->binds, &bind));
        bind_deinit(&bind);
        return error_trace(r);
}

/* ---- all ------------------------------------------------------------------------------------- */

static int open_workspace(const Collect *collect) {
        SandboxPath *workspace = &collect->binds->workspace;
        int r = sandbox_path_open(collect->spec->workspace, workspace);

        if (r == -ENOMEM)
                return error_trace(r);
        if (r || !workspace->is_dir)
                return sandbox_refuse(collect->report, SANDBOX_E_WORKSPACE, "%s: %s",
                                      collect->spec->workspace, strerror(r ? -r : ENOTDIR));
        if (is_forbidden(workspace->path) || is_hidden(collect->spec, workspace->path, false))
                return sandbox_refuse(collect->report, SANDBOX_E_WORKSPACE,
                                      "%s: cannot be the workspace of a sandbox", workspace->path);
        return 0;
}

/* A user without a home, or with the root for one, has nothing that could be mounted by that name. */
static int open_home(const Collect *collect) {
        SandboxPath *home = &collect->binds->home;
        int r = collect->spec->home ? sandbox_path_open(collect->spec->home, home) : -ENOENT;

        if (r == -ENOMEM)
                return error_trace(r);
        if (!r && (!home->is_dir || is_forbidden(home->path)))
                sandbox_path_deinit(home);
        return 0;
}

static int add_workspace(SandboxBinds *binds) {
        SandboxBind bind = {.host = binds->workspace, .is_writable = true};

        bind.host.path = strdup(binds->workspace.path);
        bind.inside = strdup(binds->workspace.path);
        if (bind.host.path && bind.inside)
                return error_trace(add_bind(binds, &bind));
        bind_deinit(&bind);
        return error_origin(-ENOMEM);
}

static int by_inside(const void *a, const void *b) {
        return strcmp(((const SandboxBind *)a)->inside, ((const SandboxBind *)b)->inside);
}

int sandbox_binds_collect(SandboxBinds *ret, const SandboxSpec *spec, SandboxReport *report) {
        Collect collect = {.spec = spec, .report = report, .binds = ret};
        int r = open_workspace(&collect);

        if (!r)
                r = open_home(&collect);
        if (!r)
                r = add_workspace(ret);
        for (size_t i = 0; !r && i < spec->n_mounts; i++)
                r = add_mount(&collect, &spec->mounts[i]);
        for (size_t i = 0; !r && i < spec->n_persist; i++)
                r = add_persist(&collect, &spec->persist[i]);
        if (r)
                return r;
        qsort(ret->items, ret->n, sizeof(*ret->items), by_inside);
        return 0;
}

void sandbox_binds_deinit(SandboxBinds *binds) {
        for (size_t i = 0; i < binds->n; i++)
                bind_deinit(&binds->items[i]);
        free(binds->items);
        sandbox_path_deinit(&binds->workspace);
        sandbox_path_deinit(&binds->home);
        *binds = SANDBOX_BINDS_NULL;
}
