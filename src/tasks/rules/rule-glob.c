/* SPDX-License-Identifier: MIT */
/*
 * Globs of rules, and what a watched folder leaves out.
 */
#include "base/error.h"
#include "base/macro.h"
#include "tasks/rules/rule.h"

/* ---- globs ----------------------------------------------------------------------------------- */

static int append_char(Buf *out, char c) {
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                        c == '/' || (unsigned char)c >= 0x80;
        int r = is_plain ? 0 : buf_append(out, "\\", 1);

        return r ? r : buf_append(out, &c, 1);
}

/* {a,b} is one of them; where the braces of a glob have no partners they stand for themselves. */
static bool glob_has_braces(Str glob) {
        size_t n_open = 0;

        for (size_t i = 0; i < glob.n; i++)
                if (glob.data[i] == '{')
                        n_open++;
                else if (glob.data[i] == '}' && !n_open--)
                        return false;
        return !n_open;
}

static int append_brace(Buf *out, char c, size_t *n_open) {
        if (c == '{') {
                (*n_open)++;
                return buf_append_str(out, STR("(?:"));
        }
        if (c == ',')
                return buf_append_str(out, STR("|"));
        (*n_open)--;
        return buf_append_str(out, STR(")"));
}

static int append_glob(Buf *out, Str glob) {
        bool has_braces = glob_has_braces(glob);
        size_t n_open = 0;
        int r = glob.n && memchr(glob.data, '/', glob.n) ? 0 : buf_append_str(out, STR("(?:.*/)?"));

        if (str_starts(glob, STR("./")))
                glob = (Str){glob.data + 2, glob.n - 2};
        for (size_t i = 0; !r && i < glob.n; i++) {
                Str rest = {glob.data + i, glob.n - i};
                if (str_starts(rest, STR("**/"))) {
                        r = buf_append_str(out, STR("(?:.*/)?"));
                        i += 2;
                } else if (str_starts(rest, STR("**"))) {
                        r = buf_append_str(out, STR(".*"));
                        i++;
                } else if (glob.data[i] == '*')
                        r = buf_append_str(out, STR("[^/]*"));
                else if (glob.data[i] == '?')
                        r = buf_append_str(out, STR("[^/]"));
                else if (has_braces &&
                         (glob.data[i] == '{' || (n_open && (glob.data[i] == ',' || glob.data[i] == '}'))))
                        r = append_brace(out, glob.data[i], &n_open);
                else
                        r = append_char(out, glob.data[i]);
        }
        return r;
}

int rule_glob_new(Regex **ret, const Str *globs, size_t n_globs, char reterr[REGEX_WHY_MAX]) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = buf_append_str(&text, STR("^(?s:"));

        for (size_t i = 0; !r && i < n_globs; i++) {
                if (i)
                        r = buf_append_str(&text, STR("|"));
                if (!r)
                        r = append_glob(&text, globs[i]);
        }
        if (!r)
                r = buf_append_str(&text, STR(")\\z"));
        if (r)
                return error_fold(r);
        return regex_new(ret, buf_str(&text), reterr);
}

/* ---- watched folders ------------------------------------------------------------------------- */

bool rule_ignore_fits(Str pattern, Str name) {
        while (pattern.n) {
                const char *star = memchr(pattern.data, '*', pattern.n);
                Str part = {pattern.data, star ? (size_t)(star - pattern.data) : pattern.n};
                const char *at = !part.n  ? name.data
                                 : name.n ? memmem(name.data, name.n, part.data, part.n)
                                          : NULL;

                if (part.n && !at)
                        return false;
                if (part.n)
                        name = (Str){at + part.n, name.n - (size_t)(at - name.data) - part.n};
                pattern = (Str){part.data + part.n + !!star, pattern.n - part.n - !!star};
        }
        return true;
}

static bool ends_with(Str text, Str end) {
        return text.n >= end.n && (!end.n || !memcmp(text.data + text.n - end.n, end.data, end.n));
}

/* What the original never tells, and what this daemon itself writes. */
static bool is_always_ignored(const RuleWatch *watch, Str path) {
        static const char *const words[] = {"node_modules", ".git", ".aiwg/working", ".aiwg/daemon"};
        Str folder = watch->path;

        for (size_t i = 0; i < ARRAY_SIZE(words); i++)
                if (path.n && memmem(path.data, path.n, words[i], strlen(words[i])))
                        return true;
        while (folder.n && folder.data[folder.n - 1] == '/')
                folder.n--;
        return ends_with(folder, STR(".aiwg")) &&
               (str_starts(path, STR("daemon/")) || str_starts(path, STR("working/")));
}

/* A pattern is looked for anywhere in the name, so one that fits `folder/` fits all that is in it. */
bool rule_watch_ignores(const RuleWatch *watch, Str path, bool is_dir) {
        char name[4096 + 2];

        if (path.n + 1 >= sizeof(name))
                return true;
        memcpy(name, path.data, path.n);
        name[path.n] = '/';
        path = (Str){name, path.n + is_dir};
        if (is_always_ignored(watch, path))
                return true;
        for (size_t i = 0; i < watch->n_ignore; i++)
                if (watch->ignore[i].n && rule_ignore_fits(watch->ignore[i], path))
                        return true;
        return false;
}

bool rule_watch_wants(const RuleWatch *watch, unsigned event, Str path) {
        if (!(watch->events & event))
                return false;
        for (size_t i = 0; i < watch->n_extensions; i++)
                if (ends_with(path, watch->extensions[i]))
                        return true;
        return !watch->n_extensions;
}
