/* SPDX-License-Identifier: MIT */
/*
 * Secrets of the user that are not to be seen inside: keys, tokens, logins of other programs. A thing can be
 * seen at its own place and at every place where a bind shows a folder that it is in; each of them is
 * covered, unless the bind is one that may show it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "core/sandbox/sandbox-internal.h"

/* The bind that is to be seen at this place: the one nearest above it; NULL: the host's own root is. */
static const SandboxBind *shown_at(const SandboxBinds *binds, const char *place) {
        const SandboxBind *nearest = NULL;

        for (size_t i = 0; i < binds->n; i++)
                if (sandbox_path_is_within(place, binds->items[i].inside) &&
                    (!nearest || strlen(binds->items[i].inside) > strlen(nearest->inside)))
                        nearest = &binds->items[i];
        return nearest;
}

static int add_cover(SandboxBinds *binds, const char *place, bool is_dir) {
        SandboxBind cover = {.host = {.is_dir = is_dir}, .inside = strdup(place)};

        return cover.inside ? error_trace(sandbox_binds_add(binds, &cover)) : error_origin(-ENOMEM);
}

/* Where this bind shows the secret, when nothing nearer stands before it. */
static int cover_in_bind(SandboxBinds *binds, size_t i, const SandboxPath *secret) {
        const SandboxBind *bind = &binds->items[i];
        _cleanup_(freep) char *place = NULL;
        const char *rest;

        if (!bind->host.path || bind->is_login || !sandbox_path_is_within(secret->path, bind->host.path))
                return 0;
        rest = secret->path + strlen(bind->host.path);
        if (!*rest)
                return 0; /* mounted by name: sandbox-mounts.c has asked whether it may be */
        place = path_join(bind->inside, rest + 1);
        if (!place)
                return error_origin(-ENOMEM);
        return shown_at(binds, place) == bind ? error_trace(add_cover(binds, place, secret->is_dir)) : 0;
}

static int conceal_one(SandboxBinds *binds, const SandboxPath *secret) {
        size_t n = binds->n; /* what is added here are covers */
        int r = 0;

        if (!shown_at(binds, secret->path))
                r = add_cover(binds, secret->path, secret->is_dir);
        for (size_t i = 0; !r && i < n; i++)
                r = cover_in_bind(binds, i, secret);
        return error_trace(r);
}

int sandbox_binds_conceal(SandboxBinds *binds, const SandboxSpec *spec) {
        for (char *const *text = spec->conceal; text && *text; text++) {
                _cleanup_(freep) char *path = sandbox_path_expand(*text, binds->home.path);
                _cleanup_(sandbox_path_deinit) SandboxPath secret = SANDBOX_PATH_NULL;
                int r;

                if (!path)
                        return error_origin(-ENOMEM);
                if (path[0] != '/' || sandbox_path_open(path, &secret))
                        continue; /* there is nothing to hide */
                if (sandbox_path_is_within(binds->workspace.path, secret.path))
                        continue; /* who works in it sees it */
                r = conceal_one(binds, &secret);
                if (r)
                        return error_trace(r);
        }
        return 0;
}
