/* SPDX-License-Identifier: MIT */
/*
 * The folder of a hosted process: record, meta.json and rings. A folder whose process has ended and was
 * forgotten is not removed but kept as a spare for the next one: six files made and removed for each short
 * agent cost more than the agent. A spare is called spare-<id>, so nobody takes it for a process. It is
 * filled anew under that name, and the rename to the id of the new process is what makes it one; so a crash
 * leaves a spare, which the next daemon removes, and never a folder with the word of two processes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "core/host/host-internal.h"

#define SPARE "spare-"

typedef union RecordFile {
        ShimRecord record;
        char bytes[SHIM_RECORD_BYTES];
} RecordFile;

static RecordFile new_record(const FolderSpec *spec) {
        RecordFile file = {
                .record = {.version = SHIM_VERSION, .kind = spec->kind, .is_lossless = spec->is_lossless}};

        memcpy(file.record.magic, "musshim1", sizeof(file.record.magic));
        return file;
}

/* The record is made last and in one piece: a folder without it is one that never got as far as a shim. */
static int host_folder_create(const FolderSpec *spec) {
        _cleanup_(freep) char *record = path_join(spec->dir, SHIM_RECORD),
                              *meta = path_join(spec->dir, SHIM_META), *out = path_join(spec->dir, SHIM_OUT),
                              *err = path_join(spec->dir, SHIM_ERR);
        RecordFile file = new_record(spec);
        int r = record && meta && out && err ? 0 : -ENOMEM;

        if (!r && mkdir(spec->dir, 0700))
                r = -errno;
        if (!r)
                r = ring_create(out, spec->n_ring);
        if (!r && spec->kind == SHIM_PIPES)
                r = ring_create(err, spec->n_ring_err);
        if (!r)
                r = file_replace(meta, spec->meta, 0600, FILE_RUNTIME);
        if (!r)
                r = file_replace(record, (Str){file.bytes, sizeof(file.bytes)}, 0600, FILE_RUNTIME);
        return error_trace(r);
}

/* In place: nobody looks at a spare. */
static int overwrite(const char *dir, const char *name, Str bytes) {
        _cleanup_(freep) char *path = path_join(dir, name);
        _cleanup_(closep) int fd = path ? open(path, O_WRONLY | O_TRUNC | O_CLOEXEC | O_NOFOLLOW) : -1;

        if (fd < 0)
                return path ? -errno : -ENOMEM;
        return pwrite(fd, bytes.data, bytes.n, 0) == (ssize_t)bytes.n ? 0 : -EIO;
}

static int renew_ring(const char *dir, const char *name, size_t n_bytes) {
        _cleanup_(freep) char *path = path_join(dir, name);

        return path ? ring_renew(path, n_bytes) : -ENOMEM;
}

static int host_folder_reuse(const FolderSpec *spec) {
        _cleanup_(freep) char *sock = path_join(spec->spare, SHIM_SOCKET);
        RecordFile file = new_record(spec);
        int r = sock && spec->kind == SHIM_PIPES ? 0 : -EINVAL;

        if (!r && unlink(sock) && errno != ENOENT)
                r = -errno;
        if (!r)
                r = renew_ring(spec->spare, SHIM_OUT, spec->n_ring);
        if (!r)
                r = renew_ring(spec->spare, SHIM_ERR, spec->n_ring_err);
        if (!r)
                r = overwrite(spec->spare, SHIM_META, spec->meta);
        if (!r)
                r = overwrite(spec->spare, SHIM_RECORD, (Str){file.bytes, sizeof(file.bytes)});
        if (!r && rename(spec->spare, spec->dir))
                r = -errno;
        return r;
}

int host_make_folder(const FolderSpec *spec) {
        if (spec->spare) {
                if (host_folder_reuse(spec) == 0)
                        return 0;
                host_remove_folder(spec->spare);
        }
        return error_trace(host_folder_create(spec));
}

/* With all that is in it: a daemon that was killed may have left a temporary file. There are no folders
 * inside. */
void host_remove_folder(const char *path) {
        DIR *dir = opendir(path);
        struct dirent *entry;

        while (dir && (entry = readdir(dir)))
                (void)unlinkat(dirfd(dir), entry->d_name, 0);
        if (dir)
                closedir(dir);
        (void)rmdir(path);
}

/* Only when no shim can write into it any more. */
static bool may_keep(const Hosted *hosted) {
        return hosted->is_shim_reaped && hosted->state == HOSTED_ENDED && hosted->kind == SHIM_PIPES &&
               hosted->host->n_spares < HOST_SPARES_MAX;
}

void host_retire_folder(Hosted *hosted) {
        Host *host = hosted->host;
        char *spare = NULL;

        if (may_keep(hosted) && asprintf(&spare, "%s/" SPARE "%s", host->dir, hosted->id) >= 0) {
                if (rename(hosted->dir, spare) == 0) {
                        host->spares[host->n_spares++] = spare;
                        return;
                }
                free(spare);
        }
        host_remove_folder(hosted->dir);
}

char *host_take_spare(Host *host, ShimKind kind) {
        return kind == SHIM_PIPES && host->n_spares ? host->spares[--host->n_spares] : NULL;
}

bool host_is_spare(const char *name) {
        return !strncmp(name, SPARE, sizeof(SPARE) - 1);
}

void host_remove_spares(Host *host) {
        while (host->n_spares) {
                char *spare = host->spares[--host->n_spares];

                host_remove_folder(spare);
                free(spare);
        }
}
