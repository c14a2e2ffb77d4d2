/* SPDX-License-Identifier: MIT */
#include "core/sandbox/sandbox-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"

bool sandbox_path_is_within(const char *path, const char *folder) {
        return path_is_within(path, folder);
}

char *sandbox_path_expand(const char *path, const char *home) {
        if (home && path[0] == '~' && (path[1] == '/' || !path[1]))
                return path_join(home, path + 1 + strspn(path + 1, "/"));
        return strdup(path);
}

int sandbox_path_normal(const char *path, char **ret) {
        _cleanup_(freep) char *normal = malloc(strlen(path) + 2);
        char *end = normal;

        if (!normal)
                return error_origin(-ENOMEM);
        if (path[0] != '/')
                return -EINVAL;
        while (*(path += strspn(path, "/"))) {
                size_t n = strcspn(path, "/");

                if ((n == 1 && path[0] == '.') || (n == 2 && path[0] == '.' && path[1] == '.'))
                        return -EINVAL;
                *end++ = '/';
                memcpy(end, path, n);
                end += n;
                path += n;
        }
        if (end == normal)
                *end++ = '/';
        *end = 0;
        *ret = steal(&normal);
        return 0;
}

int sandbox_path_flat(const char *path, char **ret) {
        char *flat = malloc(strlen(path) + 2), *end = flat;

        if (!flat)
                return error_origin(-ENOMEM);
        if (path[0] != '/') {
                free(flat);
                return -EINVAL;
        }
        while (*(path += strspn(path, "/"))) {
                size_t n = strcspn(path, "/");

                if (n == 2 && path[0] == '.' && path[1] == '.')
                        while (end > flat && *--end != '/')
                                ;
                else if (n != 1 || path[0] != '.') {
                        *end++ = '/';
                        memcpy(end, path, n);
                        end += n;
                }
                path += n;
        }
        if (end == flat)
                *end++ = '/';
        *end = 0;
        *ret = flat;
        return 0;
}

/* The name that the kernel has for an open file. One that was removed meanwhile, or lies outside our root,
 * has none. */
static int sandbox_path_name_of(int fd, char **ret) {
        char link[32], name[PATH_MAX + 1];
        ssize_t n;

        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
        n = readlink(link, name, sizeof(name));
        if (n < 0)
                return error_origin(-errno);
        if (n >= (ssize_t)sizeof(name) || name[0] != '/')
                return -ENOENT;
        *ret = strndup(name, (size_t)n);
        return *ret ? 0 : error_origin(-ENOMEM);
}

static int path_of(int fd, SandboxPath *ret) {
        struct stat st;
        char *name;
        int r;

        if (fstat(fd, &st))
                return -errno;
        if (S_ISLNK(st.st_mode))
                return -ELOOP;
        r = sandbox_path_name_of(fd, &name);
        if (r)
                return r;
        *ret = (SandboxPath){
                .path = name, .dev = st.st_dev, .ino = st.st_ino, .is_dir = S_ISDIR(st.st_mode)};
        return 0;
}

int sandbox_path_open(const char *path, SandboxPath *ret) {
        _cleanup_(closep) int fd = open(path, O_PATH | O_CLOEXEC);

        return fd < 0 ? -errno : path_of(fd, ret);
}

/* One step down. A link is opened as itself, and is nothing that a further step could go into. */
static int step_down(int *fd, const char *name, bool make) {
        int next = openat(*fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;

        if (next < 0 && errno == ENOENT && make) {
                if (mkdirat(*fd, name, 0700) && errno != EEXIST)
                        return -errno;
                next = openat(*fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        }
        if (next < 0)
                return -errno;
        close_fd(*fd);
        *fd = next;
        if (fstat(next, &st))
                return -errno;
        return S_ISLNK(st.st_mode) ? -ELOOP : 0;
}

int sandbox_path_below(const char *folder, const char *rest, bool make, SandboxPath *ret) {
        _cleanup_(closep) int fd = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        char name[NAME_MAX + 1];

        if (fd < 0)
                return -errno;
        while (*(rest += strspn(rest, "/"))) {
                size_t n = strcspn(rest, "/");
                int r;

                if (n > NAME_MAX)
                        return -ENAMETOOLONG;
                memcpy(name, rest, n);
                name[n] = 0;
                r = step_down(&fd, name, make);
                if (r)
                        return r;
                rest += n;
        }
        return path_of(fd, ret);
}

void sandbox_path_deinit(SandboxPath *path) {
        free(path->path);
        *path = SANDBOX_PATH_NULL;
}

/* The longest part of path that exists, in *n bytes. A link to nowhere is no place to put anything: -ELOOP.
 */
static int open_existing(const char *path, size_t *n, SandboxPath *ret) {
        _cleanup_(freep) char *prefix = strdup(path);
        struct stat st;
        int r;

        if (!prefix)
                return error_origin(-ENOMEM);
        while ((r = sandbox_path_open(*n ? prefix : "/", ret)) == -ENOENT && *n) {
                if (!lstat(prefix, &st))
                        return -ELOOP;
                while (*n && prefix[*n] != '/')
                        --*n;
                prefix[*n] = 0;
        }
        return r;
}

int sandbox_path_resolve(const char *path, char **ret) {
        _cleanup_(sandbox_path_deinit) SandboxPath found = SANDBOX_PATH_NULL;
        size_t n = strlen(path);
        int r = open_existing(path, &n, &found);

        if (r || !found.path)
                return r ? r : error_origin(-ENOENT);
        *ret = path[n] ? path_join(found.path, path + n + strspn(path + n, "/")) : strdup(found.path);
        return *ret ? 0 : error_origin(-ENOMEM);
}
