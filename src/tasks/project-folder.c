/* SPDX-License-Identifier: MIT */
#include "tasks/project-folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file.h"
#include "tasks/project.h"

static bool project_folder_is_link(const char *path) {
        struct stat st;

        return !lstat(path, &st) && S_ISLNK(st.st_mode);
}

/* A person may keep .aiwg elsewhere; where a sandbox could write, the link may be its agent's. */
int project_folder_check(const Project *project) {
        static const char *const folders[] = {"", "actions", "events", "history", "history/state"};
        const char *wrong = NULL;
        _cleanup_(freep) char *path = NULL;

        if (project_folder_is_link(project->aiwg_dir) &&
            trust_was_open(project->daemon->trust, project->config_path, NULL))
                wrong = project->aiwg_dir;
        for (size_t i = 0; i < ARRAY_SIZE(folders) && !wrong; i++) {
                free(path);
                path = *folders[i] ? path_join(project->daemon_dir, folders[i])
                                   : strdup(project->daemon_dir);
                if (!path)
                        return error_origin(-ENOMEM);
                wrong = project_folder_is_link(path) ? path : NULL;
        }
        if (!wrong)
                return 0;
        return endpoint_refuse(project->endpoint, ENDPOINT_E_REFUSED,
                               "%s is a symbolic link: files would be written where it leads", wrong);
}

int project_folder_see(ProjectFolder *folder, const char *path) {
        struct stat st;

        if (lstat(path, &st))
                return error_origin(-errno);
        if (!S_ISDIR(st.st_mode))
                return error_origin(S_ISLNK(st.st_mode) ? -ELOOP : -ENOTDIR);
        *folder = (ProjectFolder){.path = path, .dev = st.st_dev, .ino = st.st_ino};
        return 0;
}

int project_folder_pin(const ProjectFolder *folder, const char *name, char ret[PROJECT_FOLDER_MAX]) {
        _cleanup_(closep) int fd = open(folder->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        struct stat st;
        int r;

        if (fd < 0)
                return error_origin(errno == ENOTDIR && project_folder_is_link(folder->path) ? -ELOOP
                                                                                             : -errno);
        if (fstat(fd, &st))
                return error_origin(-errno);
        if (st.st_dev != folder->dev || st.st_ino != folder->ino)
                return error_origin(-ENOENT);
        snprintf(ret, PROJECT_FOLDER_MAX, "/proc/self/fd/%d/%s", fd, name);
        r = fd;
        fd = -1;
        return r;
}
