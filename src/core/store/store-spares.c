/* SPDX-License-Identifier: MIT */
/*
 * Files without a name and without a byte, made before anybody needs them (O_TMPFILE): where documents are written one
 * after the other, as comments and sessions are, nobody who waits for an answer waits for an inode. That can take
 * longer than the sync: ext4 without a journal goes past all inodes of the group that were removed in the last
 * minutes, and each document that replaces another one removes one. A crash leaves none. Not needed: who finds none
 * here makes one.
 *
 * They are taken by whoever puts a change together, in any thread, and made by a worker that the loop starts behind
 * the answers. A new file gets things from the folder that it is made in; these are made in that of the store, and
 * serve the folders below it that give the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/siphash.h"
#include "core/store/store-internal.h"

void spares_init(StoreSpares *spares) {
        *spares = (StoreSpares){0};
        pthread_mutex_init(&spares->lock, NULL);
}

static void spares_empty(StoreSpares *spares) {
        while (spares->n > 0)
                close_fd(spares->fds[--spares->n]);
}

void spares_deinit(StoreSpares *spares) {
        spares_empty(spares);
        pthread_mutex_destroy(&spares->lock);
}

enum { SPARES_GIVEN_MAX = 512 }; /* bytes of an attribute; folders with more get no spares */

/* What a new file gets from its folder: file system, group, rights, label, how its bytes are stored. 0: it cannot be told. */
static uint64_t spares_mark(int dir) {
        static const char *const names[] = {"system.posix_acl_default", "security.selinux"};
        static const SipKey key = {0x6d75737465722073, 0x7370617265732e2e}; /* against accidents */
        const uint64_t attributes = STATX_ATTR_COMPRESSED | STATX_ATTR_NODUMP | STATX_ATTR_ENCRYPTED;
        struct {
                uint64_t dev, attributes, group;
                ssize_t n[ARRAY_SIZE(names)];
                char given[ARRAY_SIZE(names)][SPARES_GIVEN_MAX];
        } folder = {0};
        struct statx st; /* not its times: FileStand says why */

        if (statx(dir, "", AT_EMPTY_PATH, STATX_MODE | STATX_GID, &st) < 0)
                return 0;
        folder.dev = ((uint64_t)st.stx_dev_major << 32) | st.stx_dev_minor;
        folder.attributes = st.stx_attributes & attributes;
        folder.group = st.stx_mode & S_ISGID ? (uint64_t)st.stx_gid + 1 : 0;
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                folder.n[i] = fgetxattr(dir, names[i], folder.given[i], SPARES_GIVEN_MAX);
                if (folder.n[i] < 0 && errno != ENODATA && errno != EOPNOTSUPP)
                        return 0;
        }
        return siphash(key, (Str){(const char *)&folder, sizeof(folder)}) | 1;
}

int spares_take(StoreSpares *spares, int dir) {
        uint64_t mark = spares_mark(dir);
        int fd = -1;

        pthread_mutex_lock(&spares->lock);
        spares->is_worth |= ++spares->n_wanted >= STORE_SPARES_WORTH;
        if (mark && mark == spares->mark && spares->n > 0)
                fd = spares->fds[--spares->n];
        pthread_mutex_unlock(&spares->lock);
        return fd;
}

bool spares_want_more(StoreSpares *spares) {
        bool want;

        pthread_mutex_lock(&spares->lock);
        want = spares->is_worth && spares->n + STORE_SPARES_STEP <= STORE_SPARES;
        pthread_mutex_unlock(&spares->lock);
        return want;
}

/* False: there are enough. */
static bool spares_add(StoreSpares *spares, uint64_t mark, int fd) {
        bool has_room;

        pthread_mutex_lock(&spares->lock);
        if (spares->mark != mark)
                spares_empty(spares);
        spares->mark = mark;
        has_room = spares->n < STORE_SPARES;
        if (has_room)
                spares->fds[spares->n++] = fd;
        pthread_mutex_unlock(&spares->lock);
        return has_room;
}

void spares_fill(StoreSpares *spares, int root) {
        uint64_t mark = spares_mark(root);

        for (bool has_room = mark != 0; has_room;) {
                int fd = openat(root, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);

                has_room = fd >= 0 && spares_add(spares, mark, fd);
                if (!has_room)
                        close_fd(fd);
        }
}

bool spares_drop_unused(StoreSpares *spares) {
        bool is_used;

        pthread_mutex_lock(&spares->lock);
        is_used = spares->n_wanted > 0;
        spares->n_wanted = 0;
        if (!is_used) {
                spares->is_worth = false;
                spares_empty(spares);
        }
        pthread_mutex_unlock(&spares->lock);
        return !is_used;
}
