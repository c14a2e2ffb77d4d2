/* SPDX-License-Identifier: MIT */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/macro.h"

enum {
        PROCESS_WORDS_MAX = 1024,  /* of a command line; what is behind them is not looked at */
        PROCESS_STATUS_MAX = 8192, /* up to the line NSpid: room for the numbers of a thousand groups */
};

ssize_t process_read(pid_t pid, const char *name, char *out, size_t n) {
        char path[96];
        ssize_t k;
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        k = fd < 0 ? -1 : read(fd, out, n - 1);
        close_fd(fd);
        out[k > 0 ? k : 0] = 0;
        return k;
}

/* What stands behind the name of a line; NULL: there is no such line. */
static const char *process_line(const char *text, const char *name) {
        size_t n = strlen(name);

        for (; text; text = strchr(text, '\n')) {
                text += *text == '\n';
                if (!strncmp(text, name, n))
                        return text + n;
        }
        return NULL;
}

int process_status(pid_t pid, ProcessStatus *ret) {
        char text[PROCESS_STATUS_MAX];
        const char *name, *parent, *numbers;
        char *end;

        if (pid <= 0 || process_read(pid, "status", text, sizeof(text)) <= 0)
                return error_origin(-ESRCH);
        name = process_line(text, "Name:\t");
        parent = process_line(text, "PPid:\t");
        numbers = process_line(text, "NSpid:\t");
        if (!name || !parent || !numbers)
                return error_origin(-ESRCH);
        *ret = (ProcessStatus){.parent = (pid_t)strtol(parent, NULL, 10)};
        snprintf(ret->name, sizeof(ret->name), "%.*s", (int)strcspn(name, "\n"), name);
        for (; *numbers && *numbers != '\n'; numbers = end) {
                (void)strtol(numbers, &end, 10);
                if (end == numbers)
                        return error_origin(-ESRCH);
                ret->n_namespaces++;
        }
        return ret->n_namespaces ? 0 : error_origin(-ESRCH);
}

static bool process_is_interpreter(const char *name) {
        static const char *const known[] = {"node", "bun", "deno", "ruby", "perl", "sh", "bash", "dash"};

        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
                if (!strcmp(name, known[i]))
                        return true;
        return !strncmp(name, "python", 6);
}

static const char *process_basename(const char *path) {
        const char *slash = strrchr(path, '/');

        return slash && slash[1] ? slash + 1 : path;
}

/* The script or module among an interpreter's words; NULL: there is none (-c TEXT, or people type into it).
 */
static const char *process_script(const char *words, size_t n) {
        const char *end = words + n;

        for (const char *word = words + strlen(words) + 1; word < end; word += strlen(word) + 1) {
                const char *next = word + strlen(word) + 1;

                if (!strcmp(word, "-c") || !strcmp(word, "-e"))
                        return NULL;
                if (!strcmp(word, "-m"))
                        return next < end && *next ? next : NULL;
                if (*word && *word != '-')
                        return process_basename(word);
        }
        return NULL;
}

void process_name(pid_t pid, char out[PROCESS_NAME_MAX]) {
        char words[PROCESS_WORDS_MAX];
        const char *script = NULL;
        ssize_t n;

        out[0] = 0;
        if (pid <= 0 || process_read(pid, "comm", out, PROCESS_NAME_MAX) <= 0)
                return;
        out[strcspn(out, "\n")] = 0;
        n = process_is_interpreter(out) ? process_read(pid, "cmdline", words, sizeof(words)) : 0;
        if (n > 0)
                script = process_script(words, (size_t)n);
        if (script)
                snprintf(out, PROCESS_NAME_MAX, "%s", script);
}
