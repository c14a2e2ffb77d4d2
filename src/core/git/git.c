/* SPDX-License-Identifier: MIT */
#include "core/git/git.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/macro.h"
#include "core/environment.h"
#include "core/exec.h"

enum { GIT_WORDS_MAX = 16, GIT_ANSWER_MAX = 4096 /* kept of an answer of which little is needed */ };

/* ---- opening --------------------------------------------------------------------------------- */

static int git_fail(Git *git, int condition, const char *format, ...) _printf_(3, 4);
static int git_fail(Git *git, int condition, const char *format, ...) {
        va_list ap;

        va_start(ap, format);
        (void)vsnprintf(git->why, sizeof(git->why), format, ap);
        va_end(ap);
        return condition;
}

static int git_take_env(Git *git, const StrVec *env) {
        int r = 0;

        if (env)
                return strvec_append(&git->env, env);
        for (char **item = environ; !r && *item; item++)
                r = strvec_push(&git->env, *item);
        return r;
}

/* Without what leads it elsewhere, and with what keeps it from asking and from writing on its own. */
static int git_mend_env(Git *git) {
        static const char *const elsewhere[] = {
                "GIT_DIR",        "GIT_WORK_TREE",        "GIT_INDEX_FILE",
                "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_ALTERNATE_OBJECT_DIRECTORIES",
                "GIT_NAMESPACE",  "GIT_PREFIX",           "GIT_EXTERNAL_DIFF",
                "GIT_DIFF_OPTS"};
        static const char *const ours[][2] = {
                {"GIT_TERMINAL_PROMPT", "0"}, {"GIT_OPTIONAL_LOCKS", "0"}, {"LC_ALL", "C.UTF-8"}};
        int r = 0;

        for (size_t i = 0; i < ARRAY_SIZE(elsewhere); i++)
                (void)environment_remove(&git->env, elsewhere[i]);
        for (size_t i = 0; !r && i < ARRAY_SIZE(ours); i++)
                r = environment_put(&git->env, ours[i][0], ours[i][1]);
        return r;
}

int git_open(Git *git, const char *folder, const StrVec *env) {
        const char *folders;
        int r;

        *git = (Git){.folder = strdup(folder), .limit_ms = GIT_LIMIT_MS, .n_diff_max = GIT_DIFF_MAX};
        r = git->folder ? git_take_env(git, env) : error_origin(-ENOMEM);
        if (!r)
                r = git_mend_env(git);
        if (r)
                return error_trace(r);
        folders = environment_get(&git->env, "PATH");
        git->program = path_search(folders ? folders : "/usr/bin:/bin", "git");
        if (!git->program)
                return git_fail(git, GIT_E_MISSING, "git was not found on PATH");
        git->list = strvec_list(&git->env);
        return git->list ? 0 : error_origin(-ENOMEM);
}

void git_close(Git *git) {
        free(git->folder);
        free(git->program);
        free(git->list);
        strvec_deinit(&git->env);
        *git = (Git){0};
}

/* ---- running --------------------------------------------------------------------------------- */

/* What git said: its own complaint rather than what it told before, on one line. */
static Str git_complaint(const ExecResult *result) {
        Str rest = buf_str(&result->err);

        while (rest.n) {
                const char *end = memchr(rest.data, '\n', rest.n);
                Str line = {rest.data, end ? (size_t)(end - rest.data) : rest.n};

                if (str_starts(line, STR("fatal: ")) || str_starts(line, STR("error: ")))
                        return str_trim(line);
                line.n += end != NULL;
                rest = (Str){rest.data + line.n, rest.n - line.n};
        }
        return exec_first_line(result);
}

static int git_refused(Git *git, const char *verb, const ExecResult *result) {
        Str complaint = git_complaint(result);

        if (complaint.n)
                return git_fail(git, GIT_E_REFUSED, STR_FMT, STR_ARG(complaint));
        if (WIFSIGNALED(result->status))
                return git_fail(git, GIT_E_REFUSED, "git %s was ended by signal %d", verb,
                                WTERMSIG(result->status));
        return git_fail(git, GIT_E_REFUSED, "git %s ended with status %d", verb,
                        WEXITSTATUS(result->status));
}

/* words: the verb and its arguments, ends with NULL. The result needs a deinit in any case. */
static int git_run(Git *git, const char *const *words, size_t n_max, ExecResult *ret) {
        char *argv[GIT_WORDS_MAX] = {git->program, (char *)"-c", (char *)"core.fsmonitor=false"};
        size_t n = 3;
        int r;

        for (size_t i = 0; words[i]; i++) {
                assert(n < GIT_WORDS_MAX - 1);
                argv[n++] = (char *)words[i];
        }
        r = exec_run(&(ExecSpec){.argv = argv,
                                 .env = git->list,
                                 .folder = git->folder,
                                 .limit_ms = git->limit_ms,
                                 .n_max = n_max},
                     ret);
        switch (r) {
        case 0: return ret->status ? git_refused(git, words[0], ret) : 0;
        case -ETIMEDOUT:
                return git_fail(git, GIT_E_SLOW, "git %s did not end within %d s", words[0],
                                (git->limit_ms + 999) / 1000);
        case -ENOENT:
        case -ENOTDIR:
        case -EACCES: /* of the folder: the program was there */
                return git_fail(git, GIT_E_REFUSED, "%s: %s", git->folder, strerror(-r));
        default: return error_trace(r);
        }
}

/* ---- questions ------------------------------------------------------------------------------- */

int git_head(Git *git, char ret[GIT_HASH_SIZE]) {
        static const char *const words[] = {"rev-parse", "HEAD", "--", NULL};
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        int r = git_run(git, words, GIT_ANSWER_MAX, &result);
        Str text = buf_str(&result.out);
        size_t n = 0;

        if (r)
                return r;
        while (n < text.n && isxdigit((unsigned char)text.data[n]))
                n++;
        if (n < 40 || n >= GIT_HASH_SIZE)
                return git_fail(git, GIT_E_REFUSED, "git rev-parse did not name a commit");
        memcpy(ret, text.data, n);
        ret[n] = '\0';
        return 0;
}

int git_is_dirty(Git *git, bool *ret) {
        static const char *const words[] = {"status", "--porcelain", NULL};
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        int r = git_run(git, words, GIT_ANSWER_MAX, &result);

        if (!r)
                *ret = result.out.n > 0;
        return r;
}

int git_diff(Git *git, Buf *ret) {
        static const char *const words[] = {"diff",
                                            "--no-ext-diff",
                                            "--no-textconv",
                                            "--no-color",
                                            "--binary",
                                            "--src-prefix=a/",
                                            "--dst-prefix=b/",
                                            "HEAD",
                                            "--",
                                            NULL};
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        int r = git_run(git, words, git->n_diff_max + 1, &result);

        if (r)
                return r;
        if (result.out.n > git->n_diff_max)
                return git_fail(git, GIT_E_TOO_LARGE, "the diff has more than %zu bytes", git->n_diff_max);
        *ret = result.out;
        result.out = BUF_NULL;
        return 0;
}

/* ---- worktrees ------------------------------------------------------------------------------- */

int git_worktree_add(Git *git, const char *branch, const char *path) {
        const char *const words[] = {"worktree", "add", "--quiet", "-b", branch, "--", path, "HEAD", NULL};
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;

        if (branch[0] == '-') /* git would take it for an option of its next step */
                return git_fail(git, GIT_E_REFUSED, "'%s' is not a valid branch name", branch);
        return git_run(git, words, GIT_ANSWER_MAX, &result);
}

int git_worktree_remove(Git *git, const char *path) {
        const char *const words[] = {"worktree", "remove", "--force", "--", path, NULL};
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;

        return git_run(git, words, GIT_ANSWER_MAX, &result);
}

/* The lines of one worktree, each with a NUL behind it, up to an empty one. */
static GitWorktree git_worktree_of(Str *rest) {
        GitWorktree tree = {0};

        while (rest->n) {
                Str line = {rest->data, strnlen(rest->data, rest->n)};
                size_t n = MIN(line.n + 1, rest->n);

                *rest = (Str){rest->data + n, rest->n - n};
                if (!line.n)
                        break;
                if (str_starts(line, STR("worktree ")))
                        tree.path = (Str){line.data + 9, line.n - 9};
                else if (str_starts(line, STR("HEAD ")))
                        tree.head = (Str){line.data + 5, line.n - 5};
                else if (str_starts(line, STR("branch refs/heads/")))
                        tree.branch = (Str){line.data + 18, line.n - 18};
        }
        return tree;
}

static size_t git_count_worktrees(Str rest) {
        size_t n = 0;

        for (; rest.n; n++)
                (void)git_worktree_of(&rest);
        return n;
}

int git_worktree_list(Git *git, Arena *arena, GitWorktree **ret, size_t *ret_n) {
        static const char *const words[] = {"worktree", "list", "--porcelain", "-z", NULL};
        _cleanup_(exec_result_deinit) ExecResult result = EXEC_RESULT_NULL;
        int r = git_run(git, words, GIT_LIST_MAX + 1, &result);
        Str text;

        if (r)
                return r;
        if (result.out.n > GIT_LIST_MAX)
                return git_fail(git, GIT_E_TOO_LARGE, "the list of worktrees is too long");
        text = arena_str(arena, buf_str(&result.out));
        *ret_n = git_count_worktrees(text);
        *ret = arena_alloc(arena, *ret_n * sizeof(**ret));
        if (!text.data || !*ret)
                return error_origin(-ENOMEM);
        for (size_t i = 0; i < *ret_n; i++)
                (*ret)[i] = git_worktree_of(&text);
        return 0;
}
