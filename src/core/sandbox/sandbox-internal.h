#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Between the files of the sandbox: paths that were looked at, and the binds that come of a spec. Not for
 * anybody else.
 */
#include <sys/types.h>

#include "base/macro.h"
#include "core/sandbox/sandbox.h"

/* In the place of a descriptor, for `muster-sandbox enter` (sandbox/network.h knows it, too). */
#define SANDBOX_RESOLVER_WORD "@resolver"

/* A thing on the disk: the name without links and the identity belong together, both were taken from one
 * open file. */
typedef struct SandboxPath {
        char *path;
        dev_t dev;
        ino_t ino;
        bool is_dir;
} SandboxPath;

#define SANDBOX_PATH_NULL ((SandboxPath){0})

/* `~` stands for home, which may be NULL; anything else stays. Malloc'd, NULL without memory. */
char *sandbox_path_expand(const char *path, const char *home);
/* Absolute, without doubled or last slashes. -EINVAL: not absolute, or has `.` or `..`. */
int sandbox_path_normal(const char *path, char **ret);
/* Follows links. -ENOENT and other errnos of open. */
int sandbox_path_open(const char *path, SandboxPath *ret);
/* Absolute, without doubled slashes, `.` and `..`, worked out by the text alone. -EINVAL: not absolute. */
int sandbox_path_flat(const char *path, char **ret);
/* What stands below folder (SandboxPath.path) by this name, step by step and without following a link: what
 * an agent exchanges meanwhile leads nowhere else. rest: "a/b", flat; "" is the folder itself. With make,
 * folders that are missing are made, 0700. -ELOOP: there is a link on the way. */
int sandbox_path_below(const char *folder, const char *rest, bool make, SandboxPath *ret);
/* Of a normal path that need not exist: as much as exists without links, the rest as it is. */
int sandbox_path_resolve(const char *path, char **ret);
void sandbox_path_deinit(SandboxPath *path);
bool sandbox_path_is_within(const char *path, const char *folder); /* or is that folder */

typedef struct SandboxBind {
        SandboxPath host; /* path is NULL: a cover, nothing is to be seen at this place */
        char *inside;     /* without links */
        bool is_writable, is_login;
} SandboxBind;

/* Sorted by inside: a folder stands before what is bound below it. At most one for each inside: the last
 * that was asked for. */
typedef struct SandboxBinds {
        SandboxBind *items;
        size_t n;
        SandboxPath workspace, home; /* home.path is NULL when there is none */
} SandboxBinds;

#define SANDBOX_BINDS_NULL ((SandboxBinds){0})

/* Conditions: SANDBOX_E_WORKSPACE, SANDBOX_E_MOUNT. Makes mount points and persistent folders that are
 * missing. */
int sandbox_binds_collect(SandboxBinds *ret, const SandboxSpec *spec, SandboxReport *report);
void sandbox_binds_deinit(SandboxBinds *binds);
/* Takes what bind holds, also on failure. A later bind for the same place wins; what a runtime needs to be
 * logged in goes with the place that it was at. */
int sandbox_binds_add(SandboxBinds *binds, SandboxBind *bind);
/* sandbox-hide.c: covers what spec->conceal names, wherever the binds show it. */
int sandbox_binds_conceal(SandboxBinds *binds, const SandboxSpec *spec);

/* sandbox-volume.c: makes the named volume when it is missing, with a copy of what stands at `from`, links
 * and all, up to a bound; a warning says when it had to begin empty. Both lie in the home. */
int sandbox_volume_make(const char *home, const char *rest, const char *from, SandboxReport *report);

/* sandbox.c: `helper enter bwrap` and all that does not depend on the workspace. slirp: the program that
 * gives a network of its own, for SANDBOX_NETWORK_OWN. */
int sandbox_base(StrVec *argv, const char *helper, const char *bwrap, const char *slirp, const char *name,
                 SandboxNetwork network);
/* Pushes all, up to NULL. */
int sandbox_push(StrVec *argv, ...) __attribute__((sentinel));
/* A NULL after the last item. */
int sandbox_terminate(StrVec *argv);
/* Puts the text into report->problem and gives the condition back. */
int sandbox_refuse(SandboxReport *report, int condition, const char *format, ...) _printf_(3, 4);
int sandbox_warn(SandboxReport *report, const char *format, ...) _printf_(2, 3);
