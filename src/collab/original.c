/* SPDX-License-Identifier: MIT */
#include "collab/original.h"

#include <string.h>

#include "base/macro.h"
#include "base/process.h"
#include "collab/collab.h"

enum { ORIGINAL_WORDS_MAX = 1024, ORIGINAL_BELIEVED_MS = 1000 };

/* cccc and ccccd as scripts and programs, cccc.cli as a module. */
static bool original_is_name(const char *word) {
        const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

        return !strcmp(name, "cccc") || !strcmp(name, "ccccd") || !strncmp(word, "cccc.", 5);
}

/* Files of the package, named outright. */
static bool original_is_file(const char *word) {
        static const char *const known[] = {"/cccc/cli.py", "/cccc/cli/__main__.py", "/cccc/__main__.py",
                                            "/cccc/daemon_main.py"};

        for (size_t i = 0; i < ARRAY_SIZE(known); i++) {
                size_t n = strlen(known[i]), n_word = strlen(word);
                if (n_word >= n && !strcmp(word + n_word - n, known[i]))
                        return true;
        }
        return false;
}

/* The program, then what an interpreter was told to run: a script, `-m MODULE` or `-c TEXT`. What is behind
 * that are the script's own arguments. */
bool original_is_started_by(const char *words, size_t n) {
        const char *end = words + n, *next;
        bool is_text = false, is_module = false;

        if (!n)
                return false;
        if (original_is_name(words))
                return true;
        for (const char *word = words + strlen(words) + 1; word < end; word = next) {
                next = word + strlen(word) + 1;
                if (is_text)
                        return strstr(word, "cccc.") || strstr(word, "import cccc");
                if (!is_module && *word == '-') {
                        is_text = !strcmp(word, "-c");
                        is_module = !strcmp(word, "-m");
                        continue;
                }
                return original_is_name(word) || original_is_file(word);
        }
        return false;
}

static bool original_look(pid_t pid) {
        char words[ORIGINAL_WORDS_MAX];
        ssize_t n = pid > 0 ? process_read(pid, "cmdline", words, sizeof(words)) : 0;

        return n <= 0 || original_is_started_by(words, (size_t)n);
}

static bool original_is_asking(Collab *collab, pid_t pid) {
        Original *last = &collab->original;
        int64_t now = loop_now_ms(collab->daemon->loop);

        if (pid != last->pid || now >= last->until_ms)
                *last = (Original){
                        .pid = pid, .until_ms = now + ORIGINAL_BELIEVED_MS, .is_it = original_look(pid)};
        return last->is_it;
}

const char *original_version_for(Collab *collab, const Client *client) {
        if (!collab->daemon->config.cccc_version && original_is_asking(collab, client_pid(client)))
                return "";
        return collab_version(collab);
}
