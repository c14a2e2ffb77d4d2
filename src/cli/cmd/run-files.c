/* SPDX-License-Identifier: MIT */
#include "cli/cmd/run-files.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/link/asking.h"
#include "cli/print/report.h"

enum { RUN_FILES_CHUNK = 64 << 10 };

/* ---- where they are -------------------------------------------------------------------------- */

bool run_files_is_name(const char *operand) {
        const char *slash = strchr(operand, '/');

        return slash && slash != operand && slash[1] && !strchr(slash + 1, '/') && operand[0] != '.' &&
               operand[0] != '~' && slash[1] != '.';
}

/* The run in this workspace, if it has it: nothing that a link in the workspace leads to. */
static int run_files_open(const char *workspace, const char *name, char **ret_path) {
        int root = open(workspace, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;
        int n_project = (int)(strchr(name, '/') - name);
        _cleanup_(freep) char *path = NULL;

        if (root < 0)
                return -1;
        if (asprintf(&path, "work/projects/%.*s/runs/%s", n_project, name, name + n_project + 1) < 0) {
                path = NULL;
                close_fd(root);
                return -1;
        }
        fd = path_open_beneath(root, path, O_RDONLY | O_DIRECTORY, 0);
        close_fd(root);
        *ret_path = fd < 0 ? NULL : path_join(workspace, path);
        return fd;
}

/* Whether it is there. */
static bool run_files_take(RunFiles *files, const char *workspace, const char *name) {
        _cleanup_(freep) char *path = NULL;
        int fd = run_files_open(workspace, name, &path);

        if (fd < 0)
                return false;
        close_fd(files->root);
        free(files->folder);
        files->root = fd;
        files->folder = path ? path_join(path, "outputs") : NULL;
        return true;
}

/* The working directory and what it is in. */
static bool run_files_find_here(RunFiles *files, const char *name) {
        _cleanup_(freep) char *folder = getcwd(NULL, 0);
        char *slash;

        while (folder && (slash = strrchr(folder, '/')) && slash[1]) {
                if (run_files_take(files, folder, name))
                        return true;
                *slash = 0;
        }
        return false;
}

/* A copy of a workspace has the same runs: which is meant only the person knows. */
static int run_files_complain(const char *name, const char *first, const char *second) {
        complain(CLI_FAILED, "logs: %s is in more than one workspace", name);
        advise("  %s", first);
        advise("  %s", second);
        advise("in the folder of the workspace, this command takes the one there");
        return CLI_FAILED;
}

static int run_files_find_open(RunFiles *files, const char *name) {
        _cleanup_(freep) char *socket = NULL;
        _cleanup_(link_deinit) Link link = LINK_NULL;
        _cleanup_(arena_deinit) Arena arena = ARENA_NULL;
        Arguments none = {0};
        const char *found = NULL;
        Reply reply = {0};
        int r = asking_find(&socket);

        if (!r)
                r = asking(&(Asking){socket, "native", "company.workspaces", &link, &arena}, &none, &reply);
        if (r)
                return r;
        json_each (row, json_get(reply.result, "workspaces")) {
                const char *path = arena_str(&arena, json_str(json_get(row, "workspace_dir"))).data;

                if (!path || !run_files_take(files, path, name))
                        continue;
                if (found)
                        return run_files_complain(name, found, path);
                found = path;
        }
        return CLI_OK;
}

int run_files_find(RunFiles *files, const char *name) {
        int r = run_files_find_here(files, name) ? CLI_OK : run_files_find_open(files, name);

        if (!r && files->root >= 0 && !files->folder)
                return complain(CLI_FAILED, "out of memory");
        return r;
}

/* ---- one of them ----------------------------------------------------------------------------- */

/* They are made when the program is started. */
static bool run_file_open(const RunFiles *files, RunFile *file) {
        char path[64];
        struct stat st;

        if (file->fd >= 0)
                return true;
        snprintf(path, sizeof(path), "outputs/%s", file->name);
        file->fd = path_open_beneath(files->root, path, O_RDONLY | O_NONBLOCK, 0);
        if (file->fd >= 0 && (fstat(file->fd, &st) || !S_ISREG(st.st_mode))) {
                close_fd(file->fd);
                file->fd = -1;
        }
        return file->fd >= 0;
}

/* Where its last lines begin; a line break at the very end is of the last one. */
static uint64_t run_file_tail(int fd, uint64_t n_file, int64_t n_lines) {
        static const size_t n_block = 4096;
        char block[4096];
        uint64_t end = n_file;

        if (!n_lines)
                return n_file;
        while (end) {
                size_t n = (size_t)MIN(end, (uint64_t)n_block), n_read = 0;

                if (file_read_at(fd, block, n, end - n, &n_read) || n_read < n)
                        return end;
                for (size_t i = n; i; i--)
                        if (block[i - 1] == '\n' && end - n + i != n_file && --n_lines == 0)
                                return end - n + i;
                end -= n;
        }
        return 0;
}

/* Up to `end` and not more than a piece. A file that a crash has cut comes back with the same bytes: it is
 * waited for. *ret_n: how much. */
static bool run_file_print(RunFile *file, uint64_t end, size_t *ret_n) {
        char chunk[RUN_FILES_CHUNK];
        size_t n = (size_t)MIN(end - MIN(end, file->at), (uint64_t)sizeof(chunk));

        *ret_n = 0;
        if (!n || file_read_at(file->fd, chunk, n, file->at, ret_n) || !*ret_n)
                return true;
        file->at += *ret_n;
        return printer_put(&file->printer, (Str){chunk, *ret_n});
}

static bool run_file_print_past(const RunFiles *files, RunFile *file, int64_t tail) {
        struct stat st;
        bool is_written;
        size_t n;

        if (!run_file_open(files, file) || fstat(file->fd, &st))
                return true;
        if (tail >= 0)
                file->at = run_file_tail(file->fd, (uint64_t)st.st_size, tail);
        file->printer.is_past = true;
        do
                is_written = run_file_print(file, (uint64_t)st.st_size, &n);
        while (is_written && n);
        file->printer.is_past = false;
        return is_written;
}

/* ---- both ------------------------------------------------------------------------------------ */

void run_files_init(RunFiles *files, const Options *options) {
        static const char *const names[RUN_FILES_STREAMS] = {"stdout.txt", "stderr.txt"};

        for (size_t i = 0; i < RUN_FILES_STREAMS; i++) {
                RunFile *file = &files->files[i];

                file->name = names[i];
                printer_init(&file->printer, i ? stderr : stdout, options->strip || options->timestamps);
                file->printer.is_raw = options->raw;
                file->printer.has_stamps = options->timestamps;
        }
}

void run_files_deinit(RunFiles *files) {
        for (size_t i = 0; i < RUN_FILES_STREAMS; i++) {
                close_fd(files->files[i].fd);
                printer_deinit(&files->files[i].printer);
        }
        close_fd(files->root);
        free(files->folder);
}

bool run_files_print_past(RunFiles *files, int64_t tail) {
        bool is_written = true;

        for (size_t i = 0; is_written && i < RUN_FILES_STREAMS; i++)
                is_written = run_file_print_past(files, &files->files[i], tail);
        return is_written;
}

bool run_files_print_new(RunFiles *files, bool *ret_more) {
        *ret_more = false;
        for (size_t i = 0; i < RUN_FILES_STREAMS; i++) {
                size_t n = 0;

                if (run_file_open(files, &files->files[i]) &&
                    !run_file_print(&files->files[i], UINT64_MAX, &n))
                        return false;
                *ret_more |= n > 0;
        }
        return true;
}

bool run_files_end(RunFiles *files) {
        bool is_written = true;

        for (size_t i = 0; i < RUN_FILES_STREAMS; i++)
                is_written &= printer_end(&files->files[i].printer);
        return is_written;
}
