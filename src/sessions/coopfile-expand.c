/* SPDX-License-Identifier: MIT */
/*
 * The last step, once all layers are there: what depends on the host (its home, its variables) is worked out
 * for the values that are left. A sandbox shows the home at the same path, so `~` means one thing on both
 * sides.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/file.h"
#include "sessions/coopfile-internal.h"

/* `~` of the host, absolute, or below the workspace; NULL without memory. */
static char *coopfile_expand_host_path(const char *path, const char *workspace) {
        if (path[0] == '~' || path[0] == '/')
                return path_expand(path);
        while (path[0] == '.' && (path[1] == '/' || !path[1]))
                path += 1 + strspn(path + 1, "/");
        return path_join(workspace, path);
}

/* Takes value, which is NULL without memory. */
static int coopfile_expand_replace(char **field, char *value) {
        if (!value)
                return error_origin(-ENOMEM);
        free(*field);
        *field = value;
        return 0;
}

static char *volume_path(const char *name) {
        _cleanup_(freep) char *folder = path_expand("~/.coop/volumes");

        return folder ? path_join(folder, name) : NULL;
}

static int expand_mounts(Coopfile *file, const char *workspace) {
        for (size_t i = 0; i < file->n_mounts; i++) {
                Mount *mount = &file->mounts[i];
                int r = coopfile_expand_replace(
                        &mount->host, mount->is_volume ? volume_path(mount->host)
                                                       : coopfile_expand_host_path(mount->host, workspace));

                if (!r)
                        r = coopfile_expand_replace(&mount->inside, path_expand(mount->inside));
                if (r)
                        return error_trace(r);
        }
        return 0;
}

/* A value that begins with $ is a host variable as a whole, so what follows is its name whatever it holds. A
 * name that is not known may be a secret that happens to begin with $: only the key is told. */
static int expand_variable(Coopfile *file, char **entry) {
        char *equals = strchr(*entry, '='), *expanded = NULL;
        const char *value;
        int r = 0;

        if (equals[1] != '$')
                return 0;
        *equals = 0;
        value = getenv(equals + 2);
        if (!value)
                r = strvec_push(&file->env_unset, *entry);
        if (!r && asprintf(&expanded, "%s=%s", *entry, value ? value : "") < 0)
                expanded = NULL;
        return error_trace(r ? r : coopfile_expand_replace(entry, expanded));
}

static int expand_env(Coopfile *file) {
        for (size_t i = 0; i < file->env.n; i++) {
                int r = expand_variable(file, &file->env.items[i]);
                if (r)
                        return error_trace(r);
        }
        return 0;
}

int coopfile_expand(Coopfile *file, const char *workspace) {
        int r;

        r = coopfile_expand_replace(&file->workspace_mount,
                                    coopfile_expand_host_path(file->workspace_mount, workspace));
        if (!r && file->workspace_path)
                r = coopfile_expand_replace(&file->workspace_path, path_expand(file->workspace_path));
        if (!r)
                r = expand_mounts(file, workspace);
        return error_trace(r ? r : expand_env(file));
}
