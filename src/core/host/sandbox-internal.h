#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Between the files of the sandbox: paths that were looked at, and the binds that come of a spec. Not for
 * anybody else.
 */
#include <sys/types.h>

#include "base/macro.h"
#include "core/host/sandbox.h"

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
/* Of a normal path that need not exist: as much as exists without links, the rest as it is. */
int sandbox_path_resolve(const char *path, char **ret);
void sandbox_path_deinit(SandboxPath *path);
bool sandbox_path_is_within(const char *path, const char *folder); /* or is that folder */

typedef struct SandboxBind {
        SandboxPath host;
        char *inside; /* without links */
        bool is_writable;
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

/* sandbox.c: `helper enter bwrap` and all that does not depend on the workspace. */
int sandbox_base(StrVec *argv, const char *helper, const char *bwrap, const char *name,
                 SandboxNetwork network);
/* Pushes all, up to NULL. */
int sandbox_push(StrVec *argv, ...) __attribute__((sentinel));
/* A NULL after the last item. */
int sandbox_terminate(StrVec *argv);
/* Puts the text into report->problem and gives the condition back. */
int sandbox_refuse(SandboxReport *report, int condition, const char *format, ...) _printf_(3, 4);
int sandbox_warn(SandboxReport *report, const char *format, ...) _printf_(2, 3);
