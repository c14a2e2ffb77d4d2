/* SPDX-License-Identifier: MIT */
#include "company/books/transfer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/macro.h"
#include "company/place.h"
#include "core/store/store.h"

enum {
        TRANSFER_DEPTH_MAX = 64,  /* folders inside folders; deeper ones are a failure */
        TRANSFER_BYTES = 1 << 20, /* copied at a time */
        TRANSFER_FOLDER_MODE = 0755,
};

static const char *const transfer_entries[] = {"company", "org", "work", "inbox", ".local", NULL};

int transfer_refuse(Transfer *transfer, const char *format, ...) {
        char text[512];
        va_list ap;

        va_start(ap, format);
        vsnprintf(text, sizeof(text), format, ap);
        va_end(ap);
        transfer->why = arena_str(transfer->arena, str_from(text));
        return transfer->why.data ? TRANSFER_E_REFUSED : error_origin(-ENOMEM);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int transfer_copy_bytes(int from, int to) {
        for (;;) {
                ssize_t n = copy_file_range(from, NULL, to, NULL, TRANSFER_BYTES, 0);

                if (n == 0)
                        return 0;
                if (n < 0 && errno != EINTR)
                        return error_origin(-errno);
        }
}

static int transfer_copy_slowly(int from, int to) {
        _cleanup_(freep) char *bytes = malloc(TRANSFER_BYTES);
        ssize_t n;

        if (!bytes)
                return error_origin(-ENOMEM);
        while ((n = read(from, bytes, TRANSFER_BYTES)) > 0)
                for (ssize_t done = 0, m; done < n; done += m) {
                        m = write(to, bytes + done, (size_t)(n - done));
                        if (m < 0)
                                return error_origin(-errno);
                }
        return n < 0 ? error_origin(-errno) : 0;
}

static int transfer_copy_file(int from_dir, int to_dir, const char *name, mode_t mode) {
        _cleanup_(closep) int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        _cleanup_(closep) int to =
                from < 0 ? -1 : openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 0777);
        int r;

        if (from < 0 || to < 0)
                return from < 0 && errno == ENOENT ? 0 : error_origin(-errno);
        r = transfer_copy_bytes(from, to);
        if (r == -EXDEV || r == -EINVAL || r == -ENOSYS || r == -EOPNOTSUPP) {
                if (lseek(from, 0, SEEK_SET) < 0 || ftruncate(to, 0) || lseek(to, 0, SEEK_SET) < 0)
                        return error_origin(-errno);
                r = transfer_copy_slowly(from, to);
        }
        return error_trace(r);
}

/* ---- trees ----------------------------------------------------------------------------------- */

static int transfer_copy_tree(const Transfer *transfer, int from_dir, int to_dir, const char *name,
                              unsigned depth);

static bool transfer_is_ours(const char *parent, const char *name) {
        return !strcmp(parent, ".local") && !strcmp(name, "muster");
}

/* Special files and links are left behind, and so is what is there for a moment only or gone by now: others go on
 * working in the workspace. */
static int transfer_copy_entry(const Transfer *transfer, int from_dir, int to_dir, const char *name,
                               unsigned depth) {
        struct stat st;

        if (transfer->is_off && *transfer->is_off)
                return -ECANCELED;
        if (fstatat(from_dir, name, &st, AT_SYMLINK_NOFOLLOW))
                return errno == ENOENT ? 0 : error_origin(-errno);
        if (S_ISDIR(st.st_mode))
                return transfer_copy_tree(transfer, from_dir, to_dir, name, depth);
        return S_ISREG(st.st_mode) ? transfer_copy_file(from_dir, to_dir, name, st.st_mode) : 0;
}

static int transfer_open_dir(int dir, const char *name, DIR **ret) {
        int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        if (fd < 0)
                return error_origin(-errno);
        *ret = fdopendir(fd);
        if (*ret)
                return 0;
        close(fd);
        return error_origin(-ENOMEM);
}

static bool transfer_is_dots(const char *name) {
        return !strcmp(name, ".") || !strcmp(name, "..");
}

static int transfer_copy_tree(const Transfer *transfer, int from_dir, int to_dir, const char *name,
                              unsigned depth) {
        _cleanup_(closep) int to = -1;
        const struct dirent *entry;
        DIR *from = NULL;
        int r = depth > TRANSFER_DEPTH_MAX ? error_origin(-ELOOP) : transfer_open_dir(from_dir, name, &from);

        if (r)
                return depth && r == -ENOENT ? 0 : error_trace(r);
        if (mkdirat(to_dir, name, TRANSFER_FOLDER_MODE) && errno != EEXIST)
                r = error_origin(-errno);
        to = r ? -1 : openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (!r && to < 0)
                r = error_origin(-errno);
        while (!r && (entry = readdir(from)))
                if (!transfer_is_dots(entry->d_name) && !transfer_is_ours(name, entry->d_name) &&
                    !store_is_passing(entry->d_name))
                        r = transfer_copy_entry(transfer, dirfd(from), to, entry->d_name, depth + 1);
        closedir(from);
        return error_trace(r);
}

/* What is ours stays, since it may be in use. */
static int transfer_empty(int dir, const char *name, unsigned depth) {
        const struct dirent *entry;
        DIR *folder = NULL;
        int r = depth > TRANSFER_DEPTH_MAX ? error_origin(-ELOOP) : transfer_open_dir(dir, name, &folder);

        while (!r && (entry = readdir(folder))) {
                if (transfer_is_dots(entry->d_name) || transfer_is_ours(name, entry->d_name))
                        continue;
                if (!unlinkat(dirfd(folder), entry->d_name, 0))
                        continue;
                if (errno != EISDIR && errno != EPERM) {
                        r = error_origin(-errno);
                        break;
                }
                r = transfer_empty(dirfd(folder), entry->d_name, depth + 1);
                if (!r && unlinkat(dirfd(folder), entry->d_name, AT_REMOVEDIR) && errno != ENOTEMPTY)
                        r = error_origin(-errno);
        }
        if (folder)
                closedir(folder);
        return error_trace(r);
}

/* ---- the target ------------------------------------------------------------------------------ */

static bool transfer_has_entries(int dir) {
        const struct dirent *entry;
        DIR *folder = NULL;
        bool found = false;

        if (transfer_open_dir(dir, ".", &folder))
                return true;
        while (!found && (entry = readdir(folder)))
                found = !transfer_is_dots(entry->d_name);
        closedir(folder);
        return found;
}

/* As the caller has it, or as the system does: a client may have been given another one. */
static bool transfer_is_home(const Transfer *transfer, const char *to) {
        _cleanup_(freep) char *home = transfer->home ? path_resolve(transfer->home) : NULL, *own = NULL;
        struct passwd user, *found = NULL;
        char text[4096];

        if (!getpwuid_r(geteuid(), &user, text, sizeof(text), &found) && found)
                own = path_resolve(found->pw_dir);
        return (home && path_is_within(home, to)) || (own && path_is_within(own, to));
}

static int transfer_check_place(Transfer *transfer) {
        _cleanup_(freep) char *from = path_resolve(transfer->from.data),
                              *to = path_resolve(transfer->to.data);
        struct stat st;

        if (!from || !to)
                return error_origin(-ENOMEM);
        if (!strcmp(to, "/") || transfer_is_home(transfer, to))
                return transfer_refuse(transfer, "Refusing to write a workspace into %s", to);
        if (path_is_within(to, from) || path_is_within(from, to))
                return transfer_refuse(transfer, "%s and %s lie inside each other", from, to);
        if (!lstat(transfer->to.data, &st) && !S_ISDIR(st.st_mode))
                return transfer_refuse(transfer, "%s is no folder", transfer->to.data);
        return 0;
}

static int transfer_open_target(Transfer *transfer, int *ret) {
        int r = transfer_check_place(transfer);

        if (!r)
                r = dir_make(transfer->to.data, TRANSFER_FOLDER_MODE);
        if (r)
                return error_trace(r);
        *ret = open(transfer->to.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (*ret < 0)
                return error_origin(-errno);
        if (!transfer_has_entries(*ret))
                return 0;
        if (!transfer->is_forced)
                return transfer_refuse(transfer, "Refusing to write into a folder that is not empty (%s)",
                                       transfer->to.data);
        if (faccessat(*ret, PLACE_COMPANY, F_OK, AT_SYMLINK_NOFOLLOW))
                return transfer_refuse(transfer,
                                       "Refusing to empty %s: it is no workspace, nor an export of one",
                                       transfer->to.data);
        return transfer_empty(*ret, ".", 0);
}

int transfer_clear(Transfer *transfer) {
        _cleanup_(freep) char *to = path_resolve(transfer->to.data);
        _cleanup_(closep) int root =
                open(transfer->to.data, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        int r = 0;

        if (!to)
                return error_origin(-ENOMEM);
        if (root < 0 && errno == ENOENT)
                return 0;
        if (root < 0)
                return transfer_refuse(transfer, "%s is no folder", transfer->to.data);
        if (!transfer_has_entries(root))
                return 0;
        if (!strcmp(to, "/") || transfer_is_home(transfer, to) ||
            faccessat(root, PLACE_COMPANY, F_OK, AT_SYMLINK_NOFOLLOW))
                return transfer_refuse(transfer, "Refusing to empty %s: it is no workspace", to);
        for (const char *const *entry = transfer_entries; !r && *entry; entry++)
                if (!faccessat(root, *entry, F_OK, AT_SYMLINK_NOFOLLOW))
                        r = transfer_empty(root, *entry, 0);
        return error_trace(r);
}

int transfer(Transfer *transfer) {
        _cleanup_(closep) int from = open(transfer->from.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC), to = -1;
        int r = from < 0 ? error_origin(-errno) : transfer_open_target(transfer, &to);

        transfer->entries.items = arena_alloc(transfer->arena, ARRAY_SIZE(transfer_entries) * sizeof(Str));
        if (!r && !transfer->entries.items)
                r = error_origin(-ENOMEM);
        for (const char *const *entry = transfer_entries; !r && *entry; entry++) {
                bool is_local = !strcmp(*entry, ".local");

                if (is_local && (!transfer->has_local || faccessat(from, *entry, F_OK, AT_SYMLINK_NOFOLLOW)))
                        continue;
                r = transfer_copy_tree(transfer, from, to, *entry, 0);
                transfer->entries.items[transfer->entries.n++] = str_from(*entry);
        }
        if (!r && syncfs(to))
                r = error_origin(-errno);
        return error_trace(r);
}
