/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/macro.h"

/* Takes "." and ".." out of an absolute path, by text only. In place. */
static void squeeze(char *path) {
        char *to = path, *at = path;

        while (*at) {
                size_t n;
                while (*at == '/')
                        at++;
                n = strcspn(at, "/");
                if (n == 2 && at[0] == '.' && at[1] == '.')
                        while (to > path && *--to != '/')
                                ;
                else if (n && !(n == 1 && at[0] == '.')) {
                        *to++ = '/';
                        memmove(to, at, n);
                        to += n;
                }
                at += n;
        }
        if (to == path)
                *to++ = '/';
        *to = 0;
}

char *path_resolve(const char *path) {
        _cleanup_(freep) char *head = path_expand(path), *rest = NULL;
        char *real, *joined;

        if (!head)
                return NULL;
        real = realpath(head, NULL);
        if (real)
                return real;
        for (char *slash = strrchr(head, '/'); slash && strcmp(head, "/") != 0; slash = strrchr(head, '/')) {
                char *longer = rest ? path_join(slash + 1, rest) : strdup(slash + 1);
                free(rest);
                rest = longer;
                slash[slash == head] = 0; /* the root keeps its slash */
                real = realpath(head, NULL);
                if (real || !rest)
                        break;
        }
        joined = rest ? path_join(real ? real : head, rest) : NULL;
        free(real);
        if (joined)
                squeeze(joined);
        return joined;
}

/* Kernels without openat2(): step by step. */
static int path_open_steps(int dir, const char *path, int flags, mode_t mode) {
        _cleanup_(closep) int at = -1;
        char part[NAME_MAX + 1];

        if (*path == '/')
                return error_origin(-EXDEV);
        for (;;) {
                size_t n = strcspn(path, "/");
                bool is_last = !path[n + strspn(path + n, "/")];
                int next;

                if (n > NAME_MAX || (n == 2 && path[0] == '.' && path[1] == '.'))
                        return error_origin(n > NAME_MAX ? -ENAMETOOLONG : -EXDEV);
                memcpy(part, path, n);
                part[n] = 0;
                next = openat(at < 0 ? dir : at, n ? part : ".",
                              is_last ? flags | O_NOFOLLOW : O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
                              mode);
                if (next < 0 || is_last)
                        return next < 0 ? error_origin(-errno) : next;
                close_fd(at);
                at = next;
                path += n + strspn(path + n, "/");
        }
}

int path_open_beneath(int dir, const char *path, int flags, mode_t mode) {
        struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY)),
                               .mode = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? mode : 0,
                               .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
        int fd = (int)syscall(SYS_openat2, dir, *path ? path : ".", &how, sizeof(how));

        if (fd < 0 && errno == ENOSYS)
                return error_trace(path_open_steps(dir, path, (int)how.flags, mode));
        return fd < 0 ? error_origin(-errno) : fd;
}

char *path_search(const char *folders, const char *name) {
        for (; *folders; folders += strspn(folders, ":")) {
                size_t n = strcspn(folders, ":");
                _cleanup_(freep) char *folder = strndup(folders, n),
                                      *path = folder ? path_join(folder, name) : NULL;
                struct stat st;

                if (path && folder[0] == '/' && !access(path, X_OK) && !stat(path, &st) &&
                    S_ISREG(st.st_mode))
                        return steal(&path);
                folders += n;
        }
        return NULL;
}

/* 0, ENOENT or EACCES. */
static int path_try_command(const char *dir, Str folder, const char *name, char *ret, size_t n_ret) {
        bool is_absolute = folder.n ? folder.data[0] == '/' : name[0] == '/';
        struct stat st;
        int n = snprintf(ret, n_ret, "%s%s" STR_FMT "%s%s", is_absolute ? "" : dir, is_absolute ? "" : "/",
                         STR_ARG(folder), folder.n ? "/" : "", name);

        if (n < 0 || (size_t)n >= n_ret || stat(ret, &st))
                return ENOENT;
        return S_ISREG(st.st_mode) && access(ret, X_OK) == 0 ? 0 : EACCES;
}

static int path_keep(const char *found, char **ret) {
        if (ret)
                *ret = strdup(found);
        return ret && !*ret ? ENOMEM : 0;
}

int path_find_command(const char *dir, const char *folders, const char *name, char **ret) {
        char found[PATH_MAX];
        int error = ENOENT;

        if (strchr(name, '/')) {
                error = path_try_command(dir, STR(""), name, found, sizeof(found));
                return error ? error : path_keep(found, ret);
        }
        for (; *name; folders++) {
                size_t n = strcspn(folders, ":");
                int tried = path_try_command(dir, (Str){folders, n}, name, found, sizeof(found));

                if (!tried)
                        return path_keep(found, ret);
                if (tried == EACCES)
                        error = EACCES;
                folders += n;
                if (!*folders)
                        break;
        }
        return error;
}

bool path_is_found(const char *dir, const char *name) {
        _cleanup_(freep) char *path = path_join(dir, name);
        struct stat outer, inner, root;

        if (!path || stat(dir, &outer) || stat(path, &inner) || !S_ISDIR(inner.st_mode) || stat("/", &root))
                return false;
        if ((outer.st_ino == root.st_ino && outer.st_dev == root.st_dev) || outer.st_mode & S_ISVTX)
                return false;
        return !(outer.st_mode & S_IWOTH) || inner.st_uid == geteuid();
}
