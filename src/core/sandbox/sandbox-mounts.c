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
#include "core/sandbox/sandbox-internal.h"

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

static void drop_bind(SandboxBinds *binds, size_t i) {
        bind_deinit(&binds->items[i]);
        memmove(&binds->items[i], &binds->items[i + 1], (--binds->n - i) * sizeof(*binds->items));
}

/* What a runtime needs is there or not there as a whole. */
static void drop_login_below(SandboxBinds *binds, const char *place) {
        for (size_t i = binds->n; i-- > 0;)
                if (binds->items[i].is_login && sandbox_path_is_within(binds->items[i].inside, place))
                        drop_bind(binds, i);
}

/* The same thing once more: it can be written if either says so. Something else takes the place. */
static void take_place(SandboxBinds *binds, size_t i, SandboxBind *bind) {
        SandboxBind *old = &binds->items[i];
        bool is_same = old->host.dev == bind->host.dev && old->host.ino == bind->host.ino;

        if (is_same && old->is_login) {
                bind_deinit(bind);
                return;
        }
        bind->is_writable = bind->is_writable || (is_same && old->is_writable);
        if (old->is_login)
                drop_login_below(binds, bind->inside);
        else
                drop_bind(binds, i);
}

int sandbox_binds_add(SandboxBinds *binds, SandboxBind *bind) {
        SandboxBind *items;

        for (size_t i = 0; i < binds->n; i++)
                if (strcmp(binds->items[i].inside, bind->inside) == 0) {
                        take_place(binds, i, bind);
                        break;
                }
        if (!bind->inside)
                return 0;
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

/* /tmp is new and empty inside, but for the workspace and the home: what links the host has there does not
 * matter. */
static bool is_private(const Collect *collect, const char *path) {
        const char *home = collect->binds->home.path;

        if (home && strcmp(home, "/tmp") != 0 && sandbox_path_is_within(path, home))
                return false;
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

static int make_in_home(const SandboxBinds *binds, const char *inside) {
        _cleanup_(sandbox_path_deinit) SandboxPath made = SANDBOX_PATH_NULL;

        return sandbox_path_below(binds->home.path, inside + strlen(binds->home.path), true, &made);
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
                return make_in_home(binds, inside) ? "the place in the home cannot be made" : NULL;
        return "there is no such place inside, and the root is read-only";
}

/* ---- mounts ---------------------------------------------------------------------------------- */

/* A folder that sources may lie in: as it is named, and where it is. */
typedef struct Anchor {
        const char *named, *real;
} Anchor;

/* What stands behind the folder's name; NULL: the path is not in it. */
static const char *rest_of(const Anchor *anchor, const char *path) {
        const char *folder = anchor->named;
        size_t n;

        if (!anchor->named || !anchor->real)
                return NULL;
        if (!sandbox_path_is_within(path, folder))
                folder = anchor->real;
        if (!sandbox_path_is_within(path, folder))
                return NULL;
        for (n = strlen(folder); n && folder[n - 1] == '/';)
                n--;
        return path + n;
}

/* Step by step from the workspace or the home, without links. -EXDEV: it lies in neither. */
static int sandbox_mounts_open_source(const Collect *collect, const char *text, bool make,
                                      SandboxPath *ret) {
        const Anchor anchors[] = {{collect->spec->workspace, collect->binds->workspace.path},
                                  {collect->spec->home, collect->binds->home.path}};
        _cleanup_(freep) char *expanded = sandbox_path_expand(text, collect->spec->home), *flat = NULL;
        int r = expanded ? sandbox_path_flat(expanded, &flat) : error_origin(-ENOMEM);

        for (size_t i = make ? 1 : 0; !r && i < ARRAY_SIZE(anchors); i++) {
                const char *rest = rest_of(&anchors[i], flat);

                if (rest)
                        return sandbox_path_below(anchors[i].real, rest, make, ret);
        }
        return r ? r : -EXDEV;
}

/* Success with an empty ret: it is not shown, and a warning was written unless nobody asked for it. */
static int skip_source(const Collect *collect, const SandboxMount *mount, const char *why) {
        return mount->is_login ? 0
                               : error_trace(sandbox_warn(collect->report, "mount %s: %s, skipped",
                                                          mount->host, why));
}

static bool is_concealed(const Collect *collect, const char *path) {
        bool is_in = false;

        for (char *const *text = collect->spec->conceal; !is_in && text && *text; text++) {
                _cleanup_(freep) char *expanded = sandbox_path_expand(*text, collect->binds->home.path);
                _cleanup_(freep) char *real = expanded ? realpath(expanded, NULL) : NULL;

                is_in = real && sandbox_path_is_within(path, real);
        }
        return is_in;
}

/* Condition SANDBOX_E_MOUNT. */
static int sandbox_mounts_host_path(const Collect *collect, const SandboxMount *mount, SandboxPath *ret) {
        int r = sandbox_mounts_open_source(collect, mount->host, false, ret);

        if (r == -ENOENT || r == -ENOTDIR)
                return skip_source(collect, mount, "does not exist");
        if (r == -ELOOP)
                return error_trace(sandbox_warn(collect->report,
                                                "mount %s: is a link, or behind one, skipped; name where it "
                                                "leads",
                                                mount->host));
        if (r == -EINVAL)
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT, "mount %s: must be absolute",
                                      mount->host);
        if (r == -EXDEV)
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT,
                                      "mount %s: lies outside the home and the workspace", mount->host);
        if (r)
                return r == -ENOMEM ? r
                                    : sandbox_refuse(collect->report, SANDBOX_E_MOUNT, "mount %s: %s",
                                                     mount->host, strerror(-r));
        if (is_hidden(collect->spec, ret->path, true)) {
                sandbox_path_deinit(ret);
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT,
                                      "mount %s: would show what is hidden", mount->host);
        }
        if (mount->shows_hidden || mount->is_login || !is_concealed(collect, ret->path))
                return 0;
        sandbox_path_deinit(ret);
        return skip_source(collect, mount, "is hidden (sandbox.hide)");
}

static int sandbox_mounts_add_mount(const Collect *collect, const SandboxMount *mount) {
        SandboxBind bind = {.is_writable = mount->is_writable, .is_login = mount->is_login};
        const char *obstacle;
        int r = sandbox_mounts_host_path(collect, mount, &bind.host);

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
                return error_trace(sandbox_binds_add(collect->binds, &bind));
        bind_deinit(&bind);
        return r;
}

/* ---- persistent folders and volumes ---------------------------------------------------------- */

static int persist_inside(const Collect *collect, const SandboxMount *persist, char **ret) {
        const char *home = collect->binds->home.path, *obstacle;
        int r = inside_path(collect, persist->inside, ret);

        if (r)
                return r;
        if (!persist->is_volume && (!home || !sandbox_path_is_within(*ret, home)))
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT,
                                      "persist %s: must lie below the home", persist->inside);
        r = check_inside(collect, *ret);
        obstacle = r ? NULL : make_mount_point(collect, *ret, true);
        return obstacle ? sandbox_refuse(collect->report, SANDBOX_E_MOUNT, "persist %s: %s", persist->inside,
                                         obstacle)
                        : r;
}

/* A copy of what the host has at that place, once. */
static int make_volume(const Collect *collect, const SandboxMount *volume) {
        const char *home = collect->binds->home.path;
        const Anchor anchor = {collect->spec->home, home};
        _cleanup_(freep) char *from = home ? sandbox_path_expand(volume->inside, home) : NULL;
        const char *rest = home ? rest_of(&anchor, volume->host) : NULL;

        if (!rest || !from)
                return home && !from ? error_origin(-ENOMEM) : -EXDEV;
        return sandbox_volume_make(home, rest + strspn(rest, "/"), rest_of(&anchor, from), collect->report);
}

static int add_persist(const Collect *collect, const SandboxMount *persist) {
        SandboxBind bind = {.is_writable = true};
        int r = persist->is_volume ? make_volume(collect, persist) : 0;

        if (!r)
                r = sandbox_mounts_open_source(collect, persist->host, true, &bind.host);
        if (r < 0 && r != -ENOMEM)
                return sandbox_refuse(collect->report, SANDBOX_E_MOUNT, "persist %s: %s", persist->host,
                                      r == -ELOOP   ? "a link is on the way to it"
                                      : r == -EXDEV ? "lies outside the home"
                                                    : strerror(-r));
        if (!r)
                r = persist_inside(collect, persist, &bind.inside);
        if (!r)
                return error_trace(sandbox_binds_add(collect->binds, &bind));
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
static int sandbox_mounts_open_home(const Collect *collect) {
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
                return error_trace(sandbox_binds_add(binds, &bind));
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
                r = sandbox_mounts_open_home(&collect);
        if (!r)
                r = add_workspace(ret);
        for (size_t i = 0; !r && i < spec->n_defaults; i++)
                r = add_persist(&collect, &spec->defaults[i]);
        for (size_t i = 0; !r && i < spec->n_mounts; i++)
                r = sandbox_mounts_add_mount(&collect, &spec->mounts[i]);
        for (size_t i = 0; !r && i < spec->n_persist; i++)
                r = add_persist(&collect, &spec->persist[i]);
        if (!r)
                r = sandbox_binds_conceal(ret, spec);
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
