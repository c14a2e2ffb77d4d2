/* SPDX-License-Identifier: MIT */
/*
 * Files without a name and without a byte, made before anybody needs them (O_TMPFILE): where files are created one
 * after the other in one folder, as comments are, nobody who waits for an answer waits for an inode. That can take
 * longer than the sync: ext4 without a journal goes past all inodes of the group that were removed in the last
 * minutes. A crash leaves none. Not needed: who finds none here makes one.
 *
 * They are taken by whoever puts a change together, in any thread, and made by a worker that the loop starts behind
 * the answers. They are of one folder, since a new file gets its group and rights from the folder it is made in.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
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
        free(steal(&spares->folder));
        pthread_mutex_destroy(&spares->lock);
}

/* The folder in which files are created now; another one only becomes it when it is asked for again and again. */
static bool spares_are_of(StoreSpares *spares, const char *folder) {
        char *copy;

        if (spares->folder && strcmp(spares->folder, folder) == 0) {
                spares->n_strange = 0;
                return true;
        }
        if (++spares->n_strange < STORE_SPARES_WORTH || !(copy = strdup(folder)))
                return false;
        spares_empty(spares);
        free(spares->folder);
        spares->folder = copy;
        spares->n_strange = 0;
        return true;
}

/* One that was put in its place since would give files other rights. */
static bool spares_is_same(const StoreSpares *spares, int root) {
        FileStand st;

        return file_stand_at(root, spares->folder, AT_SYMLINK_NOFOLLOW, &st) == 0 && st.dev == spares->dev &&
               st.ino == spares->ino;
}

int spares_take(StoreSpares *spares, int root, const char *folder) {
        int fd = -1;

        pthread_mutex_lock(&spares->lock);
        if (spares_are_of(spares, folder)) {
                spares->n_taken++;
                if (spares->n > 0 && !spares_is_same(spares, root))
                        spares_empty(spares);
                if (spares->n > 0)
                        fd = spares->fds[--spares->n];
        }
        pthread_mutex_unlock(&spares->lock);
        return fd;
}

bool spares_want_more(StoreSpares *spares) {
        bool want;

        pthread_mutex_lock(&spares->lock);
        want = spares->n_taken > 0 && spares->n + STORE_SPARES_STEP <= STORE_SPARES;
        pthread_mutex_unlock(&spares->lock);
        return want;
}

/* False: there are enough, or they are for another folder by now. */
static bool spares_add(StoreSpares *spares, const char *folder, const FileStand *st, int fd) {
        bool is_added = false;

        pthread_mutex_lock(&spares->lock);
        if (strcmp(spares->folder, folder) == 0 && spares->n < STORE_SPARES) {
                if (spares->dev != st->dev || spares->ino != st->ino)
                        spares_empty(spares);
                spares->dev = st->dev;
                spares->ino = st->ino;
                spares->fds[spares->n++] = fd;
                is_added = true;
        }
        pthread_mutex_unlock(&spares->lock);
        return is_added;
}

void spares_fill(StoreSpares *spares, int root) {
        _cleanup_(freep) char *folder = NULL;
        _cleanup_(closep) int dir = -1;
        FileStand st;

        pthread_mutex_lock(&spares->lock);
        folder = spares->folder ? strdup(spares->folder) : NULL;
        pthread_mutex_unlock(&spares->lock);
        dir = folder ? path_open_beneath(root, folder, O_RDONLY | O_DIRECTORY, 0) : -1;
        if (dir < 0 || file_stand_at(dir, "", 0, &st))
                return;
        for (int i = 0; i < STORE_SPARES; i++) {
                int fd = openat(dir, ".", O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);

                if (fd < 0)
                        return;
                if (!spares_add(spares, folder, &st, fd)) {
                        close_fd(fd);
                        return;
                }
        }
}

bool spares_drop_unused(StoreSpares *spares) {
        bool is_used;

        pthread_mutex_lock(&spares->lock);
        is_used = spares->n_taken > 0;
        spares->n_taken = 0;
        if (!is_used)
                spares_empty(spares);
        pthread_mutex_unlock(&spares->lock);
        return !is_used;
}
