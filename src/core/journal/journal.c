/* SPDX-License-Identifier: MIT */
#include "core/journal/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "base/macro.h"
#include "base/siphash.h"

enum { INODES_PER_BLOCK = 16 }; /* ext4: 256 bytes each */

static const SipKey journal_key = {0x6d7573746572206a,
                                   0x6f75726e616c206b}; /* against accidents, not against people */

uint64_t journal_head_sum(const JournalHead *head) {
        return siphash(journal_key, (Str){(const char *)head, offsetof(JournalHead, sum)});
}

static uint64_t journal_mark_sum(const JournalMark *mark, Str bytes) {
        SipKey own = {siphash(journal_key, (Str){(const char *)mark, offsetof(JournalMark, sum)}),
                      journal_key.k1};

        return siphash(own, bytes);
}

size_t journal_padded(uint64_t n) {
        return (size_t)((n + 7) & ~UINT64_C(7));
}

/* As long as it will ever be, and all of it written: then a write in place changes nothing but bytes. */
static int journal_fill(int fd, int dir, size_t n_size) {
        _cleanup_(freep) char *zeros = calloc(1, n_size);
        int r;

        if (!zeros)
                return error_origin(-ENOMEM);
        r = file_write_at(fd, (Str){zeros, n_size}, 0);
        if (r == 0 && (ftruncate(fd, (off_t)n_size) < 0 || fsync(fd) < 0))
                r = error_origin(-errno);
        if (r == 0 && fsync(dir) < 0 && errno != EINVAL) /* EINVAL: a file system that has no such thing */
                r = error_origin(-errno);
        return error_trace(r);
}

static bool are_neighbours(uint64_t a, uint64_t b) {
        return b && (a - 1) / INODES_PER_BLOCK == (b - 1) / INODES_PER_BLOCK;
}

static bool is_apart(uint64_t ino, const uint64_t *others, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (are_neighbours(ino, others[i]))
                        return false;
        return true;
}

/*
 * A new file. Where the file system keeps no journal of its own, syncing a file writes the block that its
 * inode lies in, if that is dirty; and that of a file which grows all the time is. So ours shall lie in
 * another one, and a journal at the end of its block, since the files and folders that are made next come
 * behind it. Those that do not are kept until one does, else we would get the same number again; from the
 * middle on its end is not insisted on.
 */
static int create_apart(int dir, const char *name, const uint64_t *others, size_t n_others, bool is_last) {
        int crowd[4 * INODES_PER_BLOCK], fd;
        size_t n = 0;
        struct stat st;

        for (;;) {
                (void)unlinkat(dir, name, 0);
                fd = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
                if (fd < 0 || n == ARRAY_SIZE(crowd) || fstat(fd, &st) < 0 ||
                    (is_apart(st.st_ino, others, n_others) &&
                     (!is_last || st.st_ino % INODES_PER_BLOCK == 0 || n >= ARRAY_SIZE(crowd) / 2)))
                        break;
                crowd[n++] = fd;
        }
        while (n > 0)
                close_fd(crowd[--n]);
        return fd < 0 ? error_origin(-errno) : fd;
}

int journal_create_apart(int dir, const char *name, uint64_t ino) {
        return create_apart(dir, name, &ino, 1, false);
}

/* Those that it has met stay known. */
static int journal_make(Journal *journal, int dir, const char *name, size_t n_size) {
        _cleanup_(closep) int fd = create_apart(dir, name, journal->busy, JOURNAL_BUSY, true);
        int r = fd < 0 ? fd : journal_fill(fd, dir, n_size);
        struct stat st;

        if (r == 0 && fstat(fd, &st) < 0)
                r = error_origin(-errno);
        if (r)
                return error_trace(r);
        journal->fd = fd;
        journal->ino = st.st_ino;
        journal->n_size = n_size;
        fd = -1;
        return 0;
}

int journal_create(Journal *journal, int dir, const char *name, size_t n_size, uint64_t busy) {
        *journal = (Journal){.fd = -1, .epoch = journal->epoch, .busy = {busy}};
        return error_trace(journal_make(journal, dir, name, n_size));
}

void journal_meet(Journal *journal, uint64_t ino) {
        if (journal->fd < 0 || !are_neighbours(journal->ino, ino))
                return;
        journal->is_crowded = true;
        journal->busy[journal->n_busy++ % JOURNAL_BUSY] = ino;
}

bool journal_wants_to_move(const Journal *journal) {
        return journal->is_crowded && !journal->at && journal->n_moved < JOURNAL_MOVES_MAX;
}

int journal_move(Journal *journal, int dir, const char *name) {
        const size_t n_size = journal->n_size;

        journal->n_moved++;
        journal->is_crowded = journal->is_plain = false;
        free(steal(&journal->block));
        journal->fd = close_fd(journal->fd);
        return error_trace(journal_make(journal, dir, name, n_size));
}

/* Records of epochs that nobody remembers still lie in it: the next one gets a number by chance. */
int journal_reuse(Journal *journal, int dir, const char *name, size_t n_size) {
        _cleanup_(closep) int fd = openat(dir, name, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW);
        uint64_t epoch;
        struct stat st;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return error_origin(-errno);
        if (!S_ISREG(st.st_mode) || st.st_size < 0 || (size_t)st.st_size != n_size)
                return error_origin(-EINVAL);
        r = random_bytes(&epoch, sizeof(epoch));
        if (r)
                return error_trace(r);
        *journal = (Journal){.fd = fd, .ino = st.st_ino, .n_size = n_size, .epoch = epoch >> 1};
        fd = -1;
        return 0;
}

bool journal_has_room(const Journal *journal, size_t n) {
        return journal->at + sizeof(JournalHead) + sizeof(JournalMark) + journal_padded(n) <=
               journal->n_size;
}

static void journal_put_head(Journal *journal, const uint64_t words[JOURNAL_WORDS], char *to) {
        JournalHead head = {.epoch = journal->epoch + 1};

        memcpy(head.magic, JOURNAL_MAGIC, sizeof(JOURNAL_MAGIC));
        memcpy(head.words, words, sizeof(head.words));
        head.sum = journal_head_sum(&head);
        journal->epoch = head.epoch;
        memcpy(to, &head, sizeof(head));
}

static void journal_put_record(const Journal *journal, uint64_t tag, Str bytes, char *to) {
        JournalMark mark = {.epoch = journal->epoch, .tag = tag, .n = bytes.n};

        mark.sum = journal_mark_sum(&mark, bytes);
        to = mempcpy(to, &mark, sizeof(mark));
        to = mempcpy(to, bytes.data, bytes.n);
        memset(to, 0, journal_padded(bytes.n) - bytes.n);
}

static size_t journal_blocks(size_t n) {
        return (n + JOURNAL_BLOCK - 1) / JOURNAL_BLOCK * JOURNAL_BLOCK;
}

static int journal_set_direct(const Journal *journal, bool is_direct) {
        int flags = fcntl(journal->fd, F_GETFL);

        if (flags < 0 || fcntl(journal->fd, F_SETFL, is_direct ? flags | O_DIRECT : flags & ~O_DIRECT) < 0)
                return error_origin(-errno);
        return 0;
}

/*
 * What is synced goes past the page cache: the kernel then has no page to mark, to collect and to wait for, which is a
 * quarter of such a sync. It has to be whole blocks, so the begun one is remembered. Where a file system cannot do
 * it, or nobody waits for the disk, it is written as any other file.
 */
static void journal_go_direct(Journal *journal) {
        if (journal->block || journal->is_plain)
                return;
        journal->block = aligned_alloc(JOURNAL_BLOCK, JOURNAL_BLOCK);
        if (journal->block && journal_set_direct(journal, true))
                free(steal(&journal->block));
        journal->is_plain = !journal->block;
}

static void journal_go_plain(Journal *journal) {
        if (journal->block)
                (void)journal_set_direct(journal, false);
        free(steal(&journal->block));
        journal->is_plain = true;
}

/* blocks: n_begun bytes of the begun one, then what is new, then room up to the end of the last. */
static int journal_write_blocks(Journal *journal, char *blocks, size_t n_begun, size_t n_new) {
        const size_t n_all = n_begun + n_new, n = journal_blocks(n_all);
        int r;

        memcpy(blocks, journal->block, n_begun);
        memset(blocks + n_all, 0, n - n_all);
        r = file_write_at(journal->fd, (Str){blocks, n}, journal->at - n_begun);
        if (r == 0)
                memcpy(journal->block, blocks + n_all / JOURNAL_BLOCK * JOURNAL_BLOCK,
                       n_all % JOURNAL_BLOCK);
        return error_trace(r);
}

static int journal_write(Journal *journal, char *blocks, size_t n_begun, size_t n_new, bool is_synced) {
        int r = -EINVAL;

        if (is_synced)
                journal_go_direct(journal);
        else
                journal_go_plain(journal);
        if (journal->block)
                r = journal_write_blocks(journal, blocks, n_begun, n_new);
        if (r == -EINVAL) { /* it was promised and is refused, or was written in part */
                journal_go_plain(journal);
                r = file_write_at(journal->fd, (Str){blocks + n_begun, n_new}, journal->at);
        }
        if (r == 0 && is_synced && fdatasync(journal->fd) < 0)
                r = error_origin(-errno);
        return error_trace(r);
}

/* For one record, in whole blocks. The next one has the same memory: fresh pages cost more than what is done with them. */
static char *journal_room(Journal *journal, size_t n) {
        if (journal->n_room < n) {
                free(journal->room);
                journal->room = aligned_alloc(JOURNAL_BLOCK, n);
                journal->n_room = journal->room ? n : 0;
        }
        return journal->room;
}

int journal_append(Journal *journal, const uint64_t words[JOURNAL_WORDS], uint64_t tag, Str bytes,
                   bool is_synced) {
        const size_t n_head = journal->at ? 0 : sizeof(JournalHead), n_begun = journal->at % JOURNAL_BLOCK;
        const size_t n = n_head + sizeof(JournalMark) + journal_padded(bytes.n);
        char *blocks = journal_room(journal, journal_blocks(n_begun + n));
        int r;

        if (!blocks)
                return error_origin(-ENOMEM);
        if (n_head)
                journal_put_head(journal, words, blocks + n_begun);
        journal_put_record(journal, tag, bytes, blocks + n_begun + n_head);
        r = journal_write(journal, blocks, n_begun, n, is_synced);
        if (r)
                return error_trace(r);
        journal->at += n;
        return 0;
}

void journal_give_back(Journal *journal) {
        free(steal(&journal->room));
        journal->n_room = 0;
}

void journal_restart(Journal *journal) {
        static const _Alignas(JOURNAL_BLOCK) char none[JOURNAL_BLOCK];

        if (journal->fd >= 0 && journal->at)
                (void)file_write_at(journal->fd,
                                    (Str){none, journal->block ? JOURNAL_BLOCK : sizeof(JournalHead)}, 0);
        journal->at = 0;
}

void journal_close(Journal *journal) {
        free(journal->block);
        journal_give_back(journal);
        close_fd(journal->fd);
        *journal = JOURNAL_NULL;
}

bool journal_head(Str file, JournalHead *ret) {
        if (file.n < sizeof(*ret))
                return false;
        memcpy(ret, file.data, sizeof(*ret));
        return memcmp(ret->magic, JOURNAL_MAGIC, sizeof(JOURNAL_MAGIC)) == 0 &&
               ret->sum == journal_head_sum(ret);
}

bool journal_next(Str file, const JournalHead *head, size_t n_max, size_t *at, uint64_t *ret_tag, Str *ret) {
        JournalMark mark;

        if (file.n < *at || file.n - *at < sizeof(mark))
                return false;
        memcpy(&mark, file.data + *at, sizeof(mark));
        if (mark.epoch != head->epoch || mark.n == 0 || mark.n > n_max ||
            mark.n > file.n - *at - sizeof(mark))
                return false;
        *ret = (Str){file.data + *at + sizeof(mark), (size_t)mark.n};
        *ret_tag = mark.tag;
        *at += MIN(sizeof(mark) + journal_padded(mark.n), file.n - *at);
        return mark.sum == journal_mark_sum(&mark, *ret);
}

int journal_replay(Str file, const JournalHead *head, size_t n_max,
                   int (*record)(void *user, uint64_t tag, Str bytes), void *user) {
        size_t at = sizeof(*head);
        uint64_t tag;
        Str bytes;
        int r = 0;

        while (r == 0 && journal_next(file, head, n_max, &at, &tag, &bytes))
                r = record(user, tag, bytes);
        return error_trace(r);
}
