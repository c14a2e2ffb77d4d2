/* SPDX-License-Identifier: MIT */
/*
 * What makes lines and files of one change one: before the lines are written, state/ledger/intent says which
 * temp files will be renamed once they are there. If we die in between, the next load looks whether the
 * lines are there, as a whole, and then does the renames; if they are not, it removes the temp files.
 * Changes that are done need no intent any more, and doing one twice changes nothing.
 *
 * An intent is believed: whoever can write it puts his file in the place of any other. So a ledger in a folder
 * where agents write has none (is_lines_only).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "core/ledger/ledger-internal.h"

enum { INTENT_MAX = 16 * 1024 * 1024 };

static const SipKey intent_key = {0x6d75737465722069,
                                  0x6e74656e74206b79}; /* against accidents, not against people */

/* Fields end with NUL. A change: where its lines begin, their length and hash, the number of files; two
 * paths each. */
static int add_field(Buf *out, const char *text) {
        return error_trace(buf_append(out, text, strlen(text) + 1));
}

static int add_number(Buf *out, uint64_t number) {
        char text[24];

        snprintf(text, sizeof(text), "%llu", (unsigned long long)number);
        return error_trace(add_field(out, text));
}

static int add_change(Buf *out, const LedgerJob *job, const LedgerChange *change) {
        uint64_t n_files = 0;
        int r;

        for (const LedgerReplacement *file = change->files; file; file = file->next)
                n_files++;
        r = add_number(out, job->own_start + change->start);
        r = r ? r : add_number(out, change->n_bytes);
        r = r ? r
              : add_number(out, siphash(intent_key,
                                        (Str){job->group->bytes.data + change->start, change->n_bytes}));
        r = r ? r : add_number(out, n_files);
        for (const LedgerReplacement *file = change->files; r == 0 && file; file = file->next) {
                r = add_field(out, file->temp);
                r = r ? r : add_field(out, file->path);
        }
        return error_trace(r);
}

static int intent_path(const LedgerPlace *place, char **ret) {
        *ret = path_join(place->state_path, "intent");
        return *ret ? 0 : error_origin(-ENOMEM);
}

static int ledger_intent_store(const LedgerPlace *place, const Buf *text) {
        _cleanup_(freep) char *path = NULL;
        _cleanup_(closep) int fd = -1;
        int r;

        r = intent_path(place, &path);
        if (r)
                return error_trace(r);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return error_origin(-errno);
        r = file_write_at(fd, buf_str(text), 0);
        if (r == 0 && ftruncate(fd, (off_t)text->n) < 0)
                r = error_origin(-errno);
        if (r == 0 && place->policy == LEDGER_COMMIT && fdatasync(fd) < 0)
                r = error_origin(-errno);
        return error_trace(r);
}

int ledger_intent_write(const LedgerJob *job, uint64_t ino, bool *ret_is_written) {
        _cleanup_(buf_deinit) Buf body = BUF_NULL, text = BUF_NULL;
        int r = add_number(&body, ino);
        bool is_needed = false;

        for (const LedgerChange *change = job->group->first; r == 0 && change; change = change->next) {
                if (change->r || !change->files || (!change->n_bytes && !change->files->next))
                        continue; /* one step only */
                is_needed = true;
                r = add_change(&body, job, change);
        }
        if (r || !is_needed)
                return error_trace(r);
        r = add_number(&text, siphash(intent_key, buf_str(&body)));
        r = r ? r : buf_append_str(&text, buf_str(&body));
        r = r ? r : ledger_intent_store(job->place, &text);
        *ret_is_written = r == 0;
        return error_trace(r);
}

void ledger_intent_clear(const LedgerPlace *place) {
        _cleanup_(freep) char *path = NULL;

        if (intent_path(place, &path) == 0)
                (void)truncate(path, 0);
}

static const char *next_field(Str *rest) {
        const char *field = rest->data, *end = rest->n ? memchr(rest->data, 0, rest->n) : NULL;

        if (!end)
                return NULL;
        rest->n -= (size_t)(end + 1 - field);
        rest->data = end + 1;
        return field;
}

static bool next_number(Str *rest, uint64_t *ret) {
        const char *field = next_field(rest);
        char *end;

        if (!field || !*field)
                return false;
        *ret = strtoull(field, &end, 10);
        return *end == 0;
}

/* Whether these bytes are in the ledger. */
static bool are_lines_there(int fd, uint64_t at, uint64_t n, uint64_t hash) {
        _cleanup_(freep) char *bytes = n <= LEDGER_GROUP_MAX ? malloc(n + 1) : NULL;
        size_t n_read = 0;

        return bytes && !file_read_at(fd, bytes, (size_t)n, at, &n_read) && n_read == n &&
               siphash(intent_key, (Str){bytes, (size_t)n}) == hash;
}

/* Only what we staged ourselves, whatever an intent says. */
static bool is_staged(const LedgerPlace *place, const char *temp) {
        Str prefix = str_from(place->state_path), rest = str_from(temp);

        if (!str_starts(rest, prefix))
                return false;
        rest.data += prefix.n;
        rest.n -= prefix.n;
        while (str_starts(rest, STR("/")))
                rest.data++, rest.n--;
        return str_starts(rest, STR("." LEDGER_STAGE ".")) && !memchr(rest.data, '/', rest.n);
}

static bool finish_change(const LedgerPlace *place, int fd, Str *rest) {
        uint64_t at, n, hash, n_files;
        bool is_there;

        if (!next_number(rest, &at) || !next_number(rest, &n) || !next_number(rest, &hash) ||
            !next_number(rest, &n_files))
                return false;
        is_there = are_lines_there(fd, at, n, hash);
        for (uint64_t i = 0; i < n_files; i++) {
                const char *temp = next_field(rest), *path = next_field(rest);

                if (!temp || !path || !is_staged(place, temp))
                        return false;
                if (is_there)
                        (void)ledger_publish(temp, path, FILE_DURABLE); /* ENOENT: it was done before */
                else
                        (void)unlink(temp);
        }
        return true;
}

int ledger_publish(const char *temp, const char *path, FileSync sync) {
        _cleanup_(buf_deinit) Buf bytes = BUF_NULL;
        struct stat st;
        int r = file_publish(temp, path, sync);

        if (r != -EXDEV)
                return error_trace(r);
        if (stat(temp, &st) < 0)
                return error_origin(-errno);
        r = file_read(temp, LEDGER_GROUP_MAX, &bytes);
        if (r)
                return error_fold(r);
        r = file_replace(path, buf_str(&bytes), st.st_mode & 07777, sync);
        if (r == 0)
                (void)unlink(temp);
        return error_trace(r);
}

/* Temp files that no intent mentions: we died before it was written. */
static void remove_staged(const LedgerPlace *place) {
        DIR *dir = opendir(place->state_path);
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                if (strncmp(entry->d_name, "." LEDGER_STAGE ".", strlen(LEDGER_STAGE) + 2) == 0)
                        (void)unlinkat(dirfd(dir), entry->d_name, 0);
        if (dir)
                closedir(dir);
}

static void finish_intent(const LedgerPlace *place, const LedgerFile *file) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        _cleanup_(freep) char *path = NULL;
        uint64_t sum, ino;
        Str rest;

        if (intent_path(place, &path) || file_read(path, INTENT_MAX, &text) || text.n == 0)
                return;
        rest = buf_str(&text);
        if (!next_number(&rest, &sum) || siphash(intent_key, rest) != sum || !next_number(&rest, &ino) ||
            ino != file->ino)
                return; /* not finished itself: nothing was written after it */
        while (rest.n && finish_change(place, file->fd, &rest))
                ;
        ledger_intent_clear(place);
}

void ledger_intent_recover(const LedgerPlace *place, const LedgerFile *file) {
        finish_intent(place, file);
        remove_staged(place);
}
