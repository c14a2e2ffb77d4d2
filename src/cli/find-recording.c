/* SPDX-License-Identifier: MIT */
#include "cli/find-recording.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cast.h"
#include "base/file.h"
#include "base/macro.h"
#include "base/place.h"

enum { ID_DIGITS = 16 };

/* <name>-<id>.cast */
static bool is_of(const char *file, const char *name) {
        size_t n = strlen(name);

        return !strncmp(file, name, n) && file[n] == '-' &&
               strspn(file + n + 1, "0123456789abcdef") == ID_DIGITS &&
               !strcmp(file + n + 1 + ID_DIGITS, ".cast");
}

static char *newest(const char *folder, const char *name) {
        DIR *dir = opendir(folder);
        struct timespec best = {0};
        struct dirent *entry;
        char *found = NULL;
        struct stat st;

        while (dir && (entry = readdir(dir))) {
                if (!is_of(entry->d_name, name) || fstatat(dirfd(dir), entry->d_name, &st, 0) ||
                    (found && (st.st_mtim.tv_sec < best.tv_sec ||
                               (st.st_mtim.tv_sec == best.tv_sec && st.st_mtim.tv_nsec < best.tv_nsec))))
                        continue;
                best = st.st_mtim;
                free(found);
                found = path_join(folder, entry->d_name);
        }
        if (dir)
                closedir(dir);
        return found;
}

char *recording_find(const char *session) {
        _cleanup_(freep) char *home = place_home();
        _cleanup_(freep) char *folder = home ? path_join(home, "recordings") : NULL;
        char name[CAST_NAME_MAX + 1];

        cast_file_name(session, name);
        return folder ? newest(folder, name) : NULL;
}
