/* SPDX-License-Identifier: MIT */
#include "core/ledger/ledger-output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/id.h"
#include "base/macro.h"

enum { FLUSH = 256 * 1024 };

static int ledger_output_flush(LedgerOutput *output) {
        int r = file_write_at(output->fd, buf_str(&output->bytes), output->at);

        output->at += output->bytes.n;
        output->bytes.n = 0;
        return error_trace(r);
}

int ledger_output_put(LedgerOutput *output, Str piece) {
        int r = buf_append_str(&output->bytes, piece);

        return error_trace(r == 0 && output->bytes.n >= FLUSH ? ledger_output_flush(output) : r);
}

int ledger_output_finish(LedgerOutput *output) {
        int r = ledger_output_flush(output);

        if (r == 0 && fsync(output->fd) < 0)
                r = error_origin(-errno);
        return error_trace(r);
}

void ledger_output_deinit(LedgerOutput *output) {
        output->fd = close_fd(output->fd);
        buf_deinit(&output->bytes);
}

int ledger_output_temp(LedgerOutput *output, const char *path, int like, char **ret_path) {
        const char *slash = strrchr(path, '/');
        int n_dir = slash ? (int)(slash - path) + 1 : 0;
        _cleanup_(freep) char *temp = NULL;
        char random[13];
        struct stat st;
        int r;

        r = id_hex(random, sizeof(random) - 1);
        if (r)
                return error_trace(r);
        if (asprintf(&temp, "%.*s.%s.%s", n_dir, path, path + n_dir, random) < 0) {
                temp = NULL;
                return error_origin(-ENOMEM);
        }
        output->fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (output->fd < 0)
                return error_origin(-errno);
        if (fstat(like, &st) == 0)
                (void)fchmod(output->fd, st.st_mode & 07777);
        *ret_path = steal(&temp);
        return 0;
}
