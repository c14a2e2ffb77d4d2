/* SPDX-License-Identifier: MIT */
#include "collab/scope-git.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "collab/scope.h"

enum { CONFIG_MAX = 4 << 20, LINK_MAX_BYTES = 64 << 10 };

/* ---- the remote's URL ------------------------------------------------------------------------ */

static bool cut_prefix(Str *s, Str prefix) {
        if (!str_starts(*s, prefix))
                return false;
        *s = (Str){s->data + prefix.n, s->n - prefix.n};
        return true;
}

static Str without_git(Str s) {
        if (s.n > 4 && !memcmp(s.data + s.n - 4, ".git", 4))
                s.n -= 4;
        return s;
}

static const char *scope_git_find(Str s, char c) {
        return s.n ? memchr(s.data, c, s.n) : NULL;
}

/* user@host:path, whatever the user is: also the scheme of a URL with a port, which then begins the path.
 * Not a path of this machine. */
static bool split_scp(Str url, Str *host, Str *path) {
        const char *at = scope_git_find(url, '@'), *colon, *end = url.data + url.n;

        if (!at || at == url.data || url.data[0] == '/')
                return false;
        colon = scope_git_find((Str){at + 1, (size_t)(end - at - 1)}, ':');
        if (!colon || colon == at + 1 || colon + 1 == end)
                return false;
        *host = (Str){at + 1, (size_t)(colon - at - 1)};
        *path = (Str){colon + 1, (size_t)(end - colon - 1)};
        return true;
}

Str scope_normalize_remote(Arena *arena, Str url) {
        Str rest = url = str_trim(url), host, path;

        if (split_scp(url, &host, &path))
                return arena_printf(arena, "https://" STR_FMT "/" STR_FMT, STR_ARG(host),
                                    STR_ARG(without_git(path)));
        if (cut_prefix(&rest, STR("ssh://"))) {
                (void)cut_prefix(&rest, STR("git@"));
                if (scope_git_find(rest, '/'))
                        return arena_printf(arena, "https://" STR_FMT, STR_ARG(without_git(rest)));
        }
        if (str_starts(url, STR("http://")) || str_starts(url, STR("https://")))
                url = without_git(url);
        return arena_str(arena, url);
}

/* ---- git's config ---------------------------------------------------------------------------- */

static Str scope_git_next_line(Str *text) {
        const char *end = scope_git_find(*text, '\n');
        Str line = {text->data, end ? (size_t)(end - text->data) : text->n};
        size_t n = line.n + (end ? 1 : 0);

        *text = (Str){text->data + n, text->n - n};
        return str_trim(line);
}

static Str unquote(Str value) {
        if (value.n >= 2 && value.data[0] == '"' && value.data[value.n - 1] == '"')
                return (Str){value.data + 1, value.n - 2};
        return value;
}

/* The last url of the section [remote "origin"], as git has it. */
static Str find_url(Str config) {
        bool is_origin = false;
        Str url = STR_NULL;

        while (config.n) {
                Str line = scope_git_next_line(&config), key;
                const char *equals = scope_git_find(line, '=');
                if (line.n && line.data[0] == '[')
                        is_origin = str_starts(line, STR("[remote \"origin\"]"));
                if (!is_origin || !equals)
                        continue;
                key = str_trim((Str){line.data, (size_t)(equals - line.data)});
                if (str_is(key, "url"))
                        url = unquote(
                                str_trim((Str){equals + 1, line.n - (size_t)(equals + 1 - line.data)}));
        }
        return url;
}

/* ---- the repository -------------------------------------------------------------------------- */

/* A path that a file of git names, against the folder it stands in. Malloc'd; NULL: there is none. */
static char *read_link(const char *dir, const char *name, Str prefix) {
        _cleanup_(freep) char *path = path_join(dir, name);
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str value;

        if (!path || file_read(path, LINK_MAX_BYTES, &text))
                return NULL;
        value = str_trim(buf_str(&text));
        if (!cut_prefix(&value, prefix))
                return NULL;
        value = str_trim(value);
        if (!value.n || memchr(value.data, 0, value.n))
                return NULL;
        free(steal(&path));
        path = strndup(value.data, value.n);
        return path && path[0] != '/' ? path_join(dir, path) : steal(&path);
}

static bool has(const char *dir, const char *name) {
        _cleanup_(freep) char *path = path_join(dir, name);

        return path && access(path, F_OK) == 0;
}

/* The folder of the repository whose work tree has its top here. Malloc'd; NULL: none. */
static char *find_repository(const char *top) {
        char *path = path_join(top, ".git");
        struct stat st;

        if (!path || stat(path, &st) < 0) {
                free(path);
                return NULL;
        }
        if (S_ISREG(st.st_mode)) {
                free(path);
                path = read_link(top, ".git", STR("gitdir:"));
        }
        if (path && has(path, "HEAD"))
                return path;
        free(path);
        return NULL;
}

static int read_url(Arena *arena, const char *repository, Str *ret_url) {
        _cleanup_(freep) char *common = read_link(repository, "commondir", STR(""));
        _cleanup_(freep) char *path = path_join(common ? common : repository, "config");
        _cleanup_(buf_deinit) Buf text = BUF_NULL;

        if (!path)
                return error_origin(-ENOMEM);
        if (file_read(path, CONFIG_MAX, &text))
                return 0;
        *ret_url = arena_str(arena, find_url(buf_str(&text)));
        return ret_url->data ? 0 : error_origin(-ENOMEM);
}

int scope_git(Arena *arena, char *root, Str *ret_url) {
        _cleanup_(freep) char *top = strdup(root);

        *ret_url = STR("");
        if (!top)
                return error_origin(-ENOMEM);
        for (;;) {
                _cleanup_(freep) char *repository = find_repository(top);
                char *slash = strrchr(top, '/');
                if (repository) {
                        memcpy(root, top, strlen(top) + 1);
                        return error_trace(read_url(arena, repository, ret_url));
                }
                if (!slash || !top[1])
                        return 0;
                slash[slash == top] = 0; /* the folder above; "/" keeps its slash */
        }
}
