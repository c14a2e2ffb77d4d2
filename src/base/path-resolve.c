/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

bool path_is_found(const char *dir, const char *name) {
        _cleanup_(freep) char *path = path_join(dir, name);
        struct stat outer, inner, root;

        if (!path || stat(dir, &outer) || stat(path, &inner) || !S_ISDIR(inner.st_mode) || stat("/", &root))
                return false;
        if ((outer.st_ino == root.st_ino && outer.st_dev == root.st_dev) || outer.st_mode & S_ISVTX)
                return false;
        return !(outer.st_mode & S_IWOTH) || inner.st_uid == geteuid();
}
