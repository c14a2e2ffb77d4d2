#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Whole files and folders: read with a bound, replaced atomically, made with parents. Everything here may
 * block; on the loop it is for start-up and shutdown only, otherwise call it from a worker.
 */
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

enum { _FILE_E_SUCCESS, FILE_E_MISSING, FILE_E_TOO_LARGE, FILE_E_LOCKED };

typedef enum FileSync {
        FILE_RUNTIME, /* rename only: fine for what a crash makes stale anyway (pid, descriptor, heartbeat)
                       */
        FILE_DURABLE, /* temp, fsync, rename, fsync of the folder: survives power loss once it returns */
} FileSync;

/* Conditions: FILE_E_MISSING, FILE_E_TOO_LARGE (more than n_max bytes). */
int file_read(const char *path, size_t n_max, Buf *out);
int file_read_fd(int fd, size_t n_max, Buf *out); /* from where it stands to its end; FILE_E_TOO_LARGE */
/* The same of a file in a folder that others write: a link in place of it that leads out of the folder
 * counts as missing. */
int file_read_beneath(const char *path, size_t n_max, Buf *out);
/* Readers see the old content or the new one. The temp file is a dot file beside it, removed on failure. */
int file_replace(const char *path, Str content, mode_t mode, FileSync sync);
/* The two halves of file_replace(), for whoever has to replace several files at one moment: the new content
 * lies ready in a temp file (malloc'd name), later it takes the place or is unlinked by the caller. */
int file_stage(const char *path, Str content, mode_t mode, FileSync sync, char **ret_temp);
int file_publish(const char *temp, const char *path, FileSync sync);
/* mkdir -p; an existing folder keeps its mode, one that it makes survives power loss. */
int dir_make(const char *path, mode_t mode);
/* What was made, renamed or removed in this folder survives power loss once it returns … */
int dir_sync(const char *path);
int file_sync_name(const char *path); /* … in the folder that path is in */
/* Where the next bytes stand that a file really has, from `from` up to `end`: a hole of a sparse one is zeros that need not be
 * read. `from` itself when that cannot be told, `end` when there are none. Moves the descriptor's offset. */
uint64_t file_next_data(int fd, uint64_t from, uint64_t end);
/* Whole, in as many pieces as the system takes; the offset of the descriptor is not used. */
int file_write_at(int fd, Str bytes, uint64_t offset);
int file_read_at(int fd, char *to, size_t n, uint64_t offset,
                 size_t *ret_n); /* short only at the end of the file */
/* Opens (and creates, 0600) a lock file and takes an exclusive flock without waiting. Condition:
 * FILE_E_LOCKED. The lock is held while *ret is open and dies with the process: what the process's children
 * still hold of it on their way to exec is waited for, two seconds at most. */
int file_lock(const char *path, int *ret);
/* The same, but one that is taken is waited for, limit_ms at most; on workers. */
int file_lock_within(const char *path, int64_t limit_ms, int *ret);
pid_t file_lock_taker(const char *path); /* who took it; 0: nobody, or it cannot be told */

/* What tells one state of a file from another without reading it; all zero: there is none. stat(2) only, so
 * it may be asked on the loop. */
typedef struct FileIdentity {
        uint64_t dev, ino;
        int64_t n_bytes, mtime_ns, ctime_ns;
} FileIdentity;
int file_identify(const char *path, FileIdentity *ret); /* a missing file is no error */
int file_identify_fd(int fd, FileIdentity *ret);
bool file_identity_eq(const FileIdentity *a, const FileIdentity *b);

/* What a file is, and how long, without a look at its times: Linux gives a file that was asked for them a finer one with
 * the next change, and everything that changes after it in that tick, too. A sync then has inodes to write that it
 * would not have had. */
typedef struct FileStand {
        uint64_t dev, ino, size;
        uint32_t mode;
} FileStand;
/* name "": the descriptor itself. flags: AT_SYMLINK_NOFOLLOW or 0. */
int file_stand_at(int dir, const char *name, int flags, FileStand *ret);

/* Opens what lies below a folder: never outside of it, and through no link. An empty path is the folder itself.
 * Descriptor or negative: -ELOOP or -EXDEV for what leads away. Close-on-exec, and it never becomes a terminal. */
int path_open_beneath(int dir, const char *path, int flags, mode_t mode);
/* Joins with exactly one slash; the result is malloc'd, NULL without memory. */
char *path_join(const char *a, const char *b);
bool path_is_within(const char *path, const char *folder); /* or is that folder; by the text alone */
/* `~` and `~/x` by $HOME (else the password database); then absolute against the working directory.
 * Malloc'd. */
char *path_expand(const char *path);
/* The same with symbolic links resolved as far as it exists, and the rest without "." and "..". */
char *path_resolve(const char *path);
/* Whether the folder `name` in `dir` counts when nobody named `dir`: not in the root and not in a folder
 * like /tmp, where it is left over or planted, and in one that everybody may write only when it is ours. */
bool path_is_found(const char *dir, const char *name);
/* The first file of that name in `folders` (as in $PATH; only absolute ones count) that we may execute.
 * Malloc'd; NULL: there is none. */
char *path_search(const char *folders, const char *name);
/* The same as exec in `dir` would find it, where relative folders count and a name with a slash is a path:
 * 0, ENOENT, EACCES (or ENOMEM). ret may be NULL; malloc'd. */
int path_find_command(const char *dir, const char *folders, const char *name, char **ret);
