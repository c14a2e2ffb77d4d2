/* SPDX-License-Identifier: MIT */
#include "core/store/store-tool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/id.h"
#include "core/store/store-internal.h"

static int store_tool_open(StoreDisk *disk, const char *path) {
        struct stat st;

        disk->root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (disk->root < 0 || fstat(disk->root, &st) < 0)
                return error_origin(-errno);
        disk->dev = st.st_dev;
        disk->ino = st.st_ino;
        return error_trace(random_bytes(&disk->stamp, sizeof(disk->stamp)));
}

/* Whether it holds changes of this folder. */
static bool store_tool_has_journal(const StoreDisk *disk) {
        _cleanup_(closep) int fd =
                path_open_beneath(disk->root, STORE_STATE "/journal", O_RDONLY | O_NONBLOCK, 0);
        JournalHead head;

        return fd >= 0 && pread(fd, &head, sizeof(head), 0) == sizeof(head) &&
               journal_head((Str){(const char *)&head, sizeof(head)}, &head) && head.words[0] == disk->dev &&
               head.words[1] == disk->ino;
}

int store_repair(const char *path, int64_t wall_us, StoreRepair *ret) {
        StoreDisk disk = {.root = -1,
                          .state = -1,
                          .lock = -1,
                          .spare = -1,
                          .journal = JOURNAL_NULL,
                          .policy = LEDGER_COMMIT};
        int r = store_tool_open(&disk, path);

        *ret = (StoreRepair){.has_journal = r == 0 && store_tool_has_journal(&disk)};
        r = r ? r : store_disk_own(&disk, true, wall_us);
        ret->other = r == -EWOULDBLOCK ? disk.other : 0;
        ret->n_restored = disk.n_restored;
        ret->n_aside = disk.n_aside;
        snprintf(ret->cut, sizeof(ret->cut), "%s", disk.cut);
        store_disk_close(&disk);
        return error_trace(r);
}
