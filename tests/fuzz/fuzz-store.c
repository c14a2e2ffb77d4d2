/* SPDX-License-Identifier: MIT */
/*
 * Any bytes as a trail, and as a record of a store's journal: a tail that is read in pieces is the one that is read at
 * once, an event sealed behind anything is linked to it, and a recovery touches nothing outside of its folder and
 * changes nothing when it is done again.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/store/store-internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void fuzz_trail(Str bytes) {
        int fd = memfd_create("trail", MFD_CLOEXEC);
        TrailTail whole = {0}, parts = {0};
        TrailReport report;

        if (fd < 0 || write(fd, bytes.data, bytes.n) != (ssize_t)bytes.n || trail_tail(fd, bytes.n, &whole))
                abort();
        for (size_t at = 0; at <= bytes.n; at += bytes.n / 3 + 1)
                if (trail_tail(fd, at, &parts))
                        abort();
        if (trail_tail(fd, bytes.n, &parts) || parts.n_lines != whole.n_lines || parts.end != whole.end)
                abort();
        if (trail_verify(fd, bytes.n, &report) || report.n_lines != whole.n_lines)
                abort();
        close(fd);
}

static void fuzz_record(Str bytes) {
        char dir[] = "/tmp/fuzz-store-XXXXXX", command[64];
        StoreDisk disk = {
                .state = -1, .lock = -1, .spare = -1, .journal = JOURNAL_NULL, .policy = LEDGER_NONE};
        const uint64_t words[JOURNAL_WORDS] = {0, 0, 1};
        Buf file = BUF_NULL;
        char path[64];

        if (!mkdtemp(dir))
                abort();
        disk.root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (mkdirat(disk.root, ".local", 0700) < 0 || mkdirat(disk.root, STORE_STATE, 0700) < 0)
                abort();
        disk.state = openat(disk.root, STORE_STATE, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (journal_create(&disk.journal, disk.state, "journal", 65536, 0) ||
            (bytes.n && journal_has_room(&disk.journal, bytes.n) &&
             journal_append(&disk.journal, words, RECORD_INLINE, bytes, false)))
                abort();
        snprintf(path, sizeof(path), "%s/" STORE_STATE "/journal", dir);
        if (file_read(path, 65536, &file))
                abort();
        (void)store_recover(&disk, buf_str(&file), 1767323045000000);
        buf_deinit(&file);
        store_disk_close(&disk);
        snprintf(command, sizeof(command), "rm -rf %s", dir);
        if (system(command)) // NOLINT(cert-env33-c)
                abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Str bytes = {(const char *)data, n};

        if (n < 2)
                return 0;
        bytes = (Str){bytes.data + 1, n - 1};
        if (data[0] % 2)
                fuzz_trail(bytes);
        else
                fuzz_record(bytes);
        return 0;
}
