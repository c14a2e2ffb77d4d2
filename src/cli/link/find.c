/* SPDX-License-Identifier: MIT */
#include "cli/link/find.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/nest.h"
#include "base/place.h"
#include "cli/cli.h"
#include "cli/print/report.h"
#include "core/host/shim.h"
#include "wire/socket.h"

enum { ADDRESS_MAX = 4096 };

static bool find_answers(const char *path) {
        SocketState state;

        return !socket_probe(path, &state, NULL) && state == SOCKET_LIVE;
}

/* What the daemon left; malloc'd, NULL: nothing that is a path. */
static char *find_left_address(void) {
        _cleanup_(freep) char *home = place_home(), *path = home ? place_address(home) : NULL;
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        Str line;

        if (!path || file_read(path, ADDRESS_MAX, &text))
                return NULL;
        line = str_trim(buf_str(&text));
        return line.n && line.data[0] == '/' && !memchr(line.data, 0, line.n) ? str_dup(line) : NULL;
}

/* Who names a socket by hand may mean a daemon with another state folder. One that was hosted got the name
 * from a daemon whose successor may listen elsewhere. */
static bool find_may_look_further(void) {
        return !place_socket_is_named() || nest_is_marked();
}

char *find_socket(void) {
        char *usual = place_socket(NULL);
        _cleanup_(freep) char *left = find_may_look_further() ? find_left_address() : NULL;

        if (!usual || !left || !strcmp(usual, left) || find_answers(usual) || !find_answers(left))
                return usual;
        free(usual);
        return steal(&left);
}

/* ---- what runs on ---------------------------------------------------------------------------- */

static bool find_is_running(int hosts, const char *name, uint64_t boot) {
        char path[300];
        ShimRecord record;
        ssize_t n;
        int fd;

        if (name[0] == '.' || snprintf(path, sizeof(path), "%s/" SHIM_RECORD, name) >= (int)sizeof(path))
                return false;
        fd = openat(hosts, path, O_RDONLY | O_CLOEXEC);
        n = fd < 0 ? -1 : read(fd, &record, sizeof(record));
        close_fd(fd);
        return n == (ssize_t)sizeof(record) && !memcmp(record.magic, "musshim1", sizeof(record.magic)) &&
               record.state == SHIM_STATE_RUNNING && record.boot == boot && record.shim_start &&
               shim_start_time(record.shim_pid) == record.shim_start;
}

size_t find_running(void) {
        _cleanup_(freep) char *home = place_home(), *path = home ? path_join(home, "host") : NULL;
        uint64_t boot = shim_boot_hash();
        DIR *folder = path ? opendir(path) : NULL;
        const struct dirent *entry;
        size_t n = 0;

        if (!folder)
                return 0;
        while ((entry = readdir(folder)))
                n += find_is_running(dirfd(folder), entry->d_name, boot);
        closedir(folder);
        return n;
}

int find_complain_absent(const char *path) {
        size_t n;

        if (nest_sandbox()) {
                complain(CLI_NO_DAEMON, "musterd cannot be reached from inside this sandbox (%s)",
                         nest_sandbox());
                advise("its sockets are covered here, so that an agent cannot leave; run this outside");
                return CLI_NO_DAEMON;
        }
        complain(CLI_NO_DAEMON, "no daemon is listening at %s", path);
        n = find_running();
        if (n)
                advise("%zu %s that it hosted %s on without it", n, n == 1 ? "process" : "processes",
                       n == 1 ? "runs" : "run");
        advise("start one with: muster up");
        return CLI_NO_DAEMON;
}
