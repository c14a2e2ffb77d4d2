/* SPDX-License-Identifier: MIT */
#include "cli/cmd/find-recording.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/macro.h"
#include "base/place.h"
#include "cli/term/cast.h"

enum { ID_DIGITS = 16 };

/* <name>-<id>.cast */
static bool find_recording_is_of(const char *file, const char *name) {
        size_t n = strlen(name);

        return !strncmp(file, name, n) && file[n] == '-' &&
               strspn(file + n + 1, "0123456789abcdef") == ID_DIGITS &&
               !strcmp(file + n + 1 + ID_DIGITS, ".cast");
}

/* What speaks for a recording, the most important first. */
typedef struct Merit {
        bool is_named; /* for exactly this title: other titles may have the same file name */
        int64_t began_s;
        struct timespec written;
} Merit;

static bool is_better(const Merit *a, const Merit *b) {
        if (a->is_named != b->is_named)
                return a->is_named;
        if (a->began_s != b->began_s)
                return a->began_s > b->began_s;
        return a->written.tv_sec != b->written.tv_sec ? a->written.tv_sec > b->written.tv_sec
                                                      : a->written.tv_nsec >= b->written.tv_nsec;
}

/* A file that is none has no merit, but is found when there is no other, so that replay can say what it is.
 */
static Merit find_recording_judge(const char *path, const char *title) {
        CastReader cast = {.in = fopen(path, "re")};
        CastHeader header = {0};
        Merit merit = {0};
        double max_idle_s;
        struct stat st;

        if (!cast.in)
                return merit;
        if (!cast_read_header(&cast, &header, &max_idle_s)) {
                merit.is_named = header.title && !strcmp(header.title, title);
                merit.began_s = header.time_s;
        }
        if (!fstat(fileno(cast.in), &st))
                merit.written = st.st_mtim;
        fclose(cast.in);
        cast_deinit(&cast);
        return merit;
}

static char *newest(const char *folder, const char *name, const char *title) {
        DIR *dir = opendir(folder);
        struct dirent *entry;
        char *found = NULL;
        Merit best = {0};

        while (dir && (entry = readdir(dir))) {
                char *path =
                        find_recording_is_of(entry->d_name, name) ? path_join(folder, entry->d_name) : NULL;
                Merit merit = path ? find_recording_judge(path, title) : (Merit){0};

                if (path && (!found || is_better(&merit, &best))) {
                        best = merit;
                        free(found);
                        found = steal(&path);
                }
                free(path);
        }
        if (dir)
                closedir(dir);
        return found;
}

char *recording_find(const char *session, int64_t pty) {
        _cleanup_(freep) char *home = place_home();
        _cleanup_(freep) char *folder = home ? path_join(home, "recordings") : NULL;
        _cleanup_(freep) char *title = NULL;
        char name[CAST_NAME_MAX + 1], suffix[32] = "";

        if (pty > 0)
                snprintf(suffix, sizeof(suffix), ".pty%lld", (long long)pty);
        if (!folder || asprintf(&title, "%s%s", session, suffix) < 0)
                return NULL;
        cast_file_name(title, name);
        return newest(folder, name, title);
}
