/* SPDX-License-Identifier: MIT */
/*
 * What a coopfile asks for and does not get, in words: it was written for a daemon that builds root file
 * systems from images, and nothing of it is passed over in silence.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "sessions/coopfile-internal.h"

static int notes_push(StrVec *notes, const char *format, ...) _printf_(2, 3);

static int notes_push(StrVec *notes, const char *format, ...) {
        char line[512];
        va_list args;

        va_start(args, format);
        vsnprintf(line, sizeof(line), format, args);
        va_end(args);
        return error_trace(strvec_push(notes, line));
}

static int note_packages(const Coopfile *file, StrVec *notes) {
        _cleanup_(buf_deinit) Buf names = BUF_NULL;
        int r = 0;

        for (size_t i = 0; !r && i < file->n_packages; i++)
                r = buf_printf(&names, "%s%s", i ? ", " : "", file->packages[i].manager);
        if (r || !names.n)
                return error_trace(r);
        return error_trace(notes_push(notes, "packages: nothing is installed (%s)", buf_cstr(&names)));
}

/* There is no image: the root is the host's. */
static int note_image(const Coopfile *file, StrVec *notes) {
        int r = 0;

        if (file->image)
                r = notes_push(notes,
                               "image: %s is not used; what is installed on the host is what there is",
                               file->image);
        if (!r)
                r = note_packages(file, notes);
        if (!r && file->setup.n)
                r = notes_push(notes, "setup: %zu command%s not run", file->setup.n,
                               file->setup.n > 1 ? "s are" : " is");
        if (!r && file->user)
                r = notes_push(notes, "user: it runs as yourself, not as %s", file->user);
        return error_trace(r);
}

static int note_workspace(const Coopfile *file, const char *workspace, StrVec *notes) {
        int r = 0;

        if (strcmp(file->workspace_mount, workspace) != 0 && strcmp(file->workspace_mount, "/") != 0) {
                size_t n = strlen(workspace);

                /* "." is the workspace with a slash behind it */
                if (strncmp(file->workspace_mount, workspace, n) != 0 ||
                    file->workspace_mount[n + strspn(file->workspace_mount + n, "/")])
                        r = notes_push(notes, "workspace.mount: the workspace is %s, not %s", workspace,
                                       file->workspace_mount);
        }
        if (!r && file->workspace_path && strcmp(file->workspace_path, workspace) != 0)
                r = notes_push(notes, "workspace.path: the workspace is at its own path inside, not at %s",
                               file->workspace_path);
        return error_trace(r);
}

static int note_env(const Coopfile *file, StrVec *notes) {
        int r = 0;

        for (size_t i = 0; !r && i < file->env_unset.n; i++)
                r = notes_push(notes, "env.%s: the daemon's environment has no such variable: empty",
                               file->env_unset.items[i]);
        return error_trace(r);
}

/* What only a sandbox can do. */
static int note_bare(const Coopfile *file, StrVec *notes) {
        int r = 0;

        if (file->n_mounts)
                r = notes_push(notes, "mounts: nothing is mounted, for there is no sandbox");
        if (!r && file->hide.n)
                r = notes_push(notes, "hide: nothing is hidden, for there is no sandbox");
        if (!r && strcmp(file->network, "host") != 0)
                r = notes_push(notes,
                               "network.mode: it has the host's network and not %s, for there is no sandbox",
                               file->network);
        return error_trace(r);
}

int coopfile_notes(const Coopfile *file, const char *workspace, const char *mode, StrVec *ret) {
        int r = note_image(file, ret);

        if (!r)
                r = note_workspace(file, workspace, ret);
        if (!r)
                r = note_env(file, ret);
        if (!r && !strcmp(mode, "none"))
                r = note_bare(file, ret);
        if (!r && file->none_is_ignored && strcmp(mode, "none") != 0)
                r = notes_push(ret,
                               "sandbox.mode: none is not taken from coop.toml, which the agent can write");
        return error_trace(r);
}
