/* SPDX-License-Identifier: MIT */
#include "cli/setup/setup-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/print/report.h"

enum { SETUP_FILE_MAX = 16 << 20 };

void setup_file_deinit(SetupFile *file) {
        free(file->path);
        buf_deinit(&file->text);
}

int setup_refuse(const SetupFile *file, const char *why) {
        return complain(CLI_FAILED, "%s is left alone: %s", file->path, why);
}

static int setup_file_look(SetupFile *file, int fd) {
        struct stat st;
        int r;

        if (fstat(fd, &st))
                return setup_refuse(file, strerror(errno));
        if (!S_ISREG(st.st_mode))
                return setup_refuse(file, "it is no file");
        if (st.st_uid != geteuid())
                return setup_refuse(file, "it belongs to somebody else");
        if (st.st_nlink > 1)
                return setup_refuse(file, "it has other names as well");
        file->is_there = true;
        file->mode = st.st_mode & 07777;
        r = file_read_fd(fd, SETUP_FILE_MAX, &file->text);
        if (r)
                return setup_refuse(file, r == FILE_E_TOO_LARGE ? "it is too large" : strerror(-r));
        return file_identify_fd(fd, &file->identity) ? setup_refuse(file, "it cannot be looked at") : 0;
}

int setup_read(SetupFile *file) {
        int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), r;

        if (fd < 0 && errno == ENOENT)
                return 0;
        if (fd < 0)
                return setup_refuse(file, errno == ELOOP ? "it is a link; change what it leads to yourself"
                                                         : strerror(errno));
        r = setup_file_look(file, fd);
        close_fd(fd);
        return r;
}

/* Not over what somebody else has written meanwhile. */
int setup_write(const SetupFile *file, Str text) {
        _cleanup_(freep) char *temp = NULL;
        FileIdentity now;
        int r = file_stage(file->path, text, file->is_there ? file->mode : 0600, FILE_DURABLE, &temp);

        if (r == -ENOENT)
                return setup_refuse(file, "its folder is not there: has this program ever been run?");
        if (!r)
                r = file_identify(file->path, &now);
        if (!r && !file_identity_eq(&now, &file->identity)) {
                (void)unlink(temp);
                return setup_refuse(file, "it has been changed just now; try again");
        }
        if (!r)
                r = file_publish(temp, file->path, FILE_DURABLE);
        return r ? setup_refuse(file, strerror(-r)) : CLI_OK;
}

Str setup_text(const SetupFile *file) {
        return !file->is_there ? STR_NULL : file->text.n ? buf_str(&file->text) : STR("");
}
