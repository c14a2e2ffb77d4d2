/* SPDX-License-Identifier: MIT */
#include "cli/complete/helptext.h"

#include <string.h>

#define ELLIPSIS "…"

static bool help_is_lower(char c) {
        return (c >= 'a' && c <= 'z') || c == '-';
}

static Str help_trim(Str s) {
        while (s.n && *s.data == ' ')
                s = (Str){s.data + 1, s.n - 1};
        while (s.n && s.data[s.n - 1] == ' ')
                s.n--;
        return s;
}

/* ---- rows ------------------------------------------------------------------------------------ */

bool help_next_row(const char **at, HelpRow *ret) {
        while (**at) {
                size_t n = strcspn(*at, "\n");
                Str line = {*at, n};
                const char *gap;

                *at += n + ((*at)[n] == '\n');
                if (line.n < 3 || memcmp(line.data, "  ", 2) != 0 || line.data[2] == ' ')
                        continue;
                line = (Str){line.data + 2, line.n - 2};
                gap = memmem(line.data, line.n, "  ", 2);
                ret->typed = gap ? (Str){line.data, (size_t)(gap - line.data)} : line;
                ret->summary = help_trim((Str){line.data + ret->typed.n, line.n - ret->typed.n});
                return true;
        }
        return false;
}

/* Length of the verb that begins here; 0: none does. */
static size_t help_word(Str s) {
        size_t n = 0;

        while (n < s.n && help_is_lower(s.data[n]))
                n++;
        return n && *s.data != '-' && (n == s.n || s.data[n] == ' ' || s.data[n] == ',') ? n : 0;
}

Str help_verb(const HelpRow *row, size_t i) {
        Str rest = row->typed;

        for (;; i--) {
                size_t n = help_word(rest);

                if (!n || !i)
                        return (Str){rest.data, n};
                if (n == rest.n || rest.data[n] != ',')
                        return (Str){rest.data, 0};
                rest = help_trim((Str){rest.data + n + 1, rest.n - n - 1});
        }
}

Str help_operands(const HelpRow *row) {
        Str last = STR_NULL, verb;

        for (size_t i = 0; (verb = help_verb(row, i)).n; i++)
                last = verb;
        if (!last.n)
                return STR_NULL;
        return help_trim(
                (Str){last.data + last.n, row->typed.n - (size_t)(last.data + last.n - row->typed.data)});
}

bool help_has_option(const HelpRow *row, const char *name) {
        const char *at = row->typed.data, *end = at + row->typed.n;
        size_t n = strlen(name);

        if (*at != '-')
                return false;
        while ((at = memmem(at, (size_t)(end - at), "--", 2)) != NULL) {
                at += 2;
                if ((size_t)(end - at) >= n && !memcmp(at, name, n) &&
                    ((size_t)(end - at) == n || !help_is_lower(at[n])))
                        return true;
        }
        return false;
}

/* ---- operands -------------------------------------------------------------------------------- */

/* Up to the blank outside of brackets. */
static Str help_item(Str s) {
        size_t n = 0;
        int depth = 0;

        for (; n < s.n && (depth || s.data[n] != ' '); n++)
                depth += s.data[n] == '[' ? 1 : s.data[n] == ']' ? -1 : 0;
        return (Str){s.data, n};
}

/* Takes brackets and dots off: `[FOLDER]`, `[TITLE…]`, `ID…`. */
static Str help_bare(Str item, bool *ret_repeats) {
        static const size_t n_dots = sizeof(ELLIPSIS) - 1;

        *ret_repeats = false;
        for (bool again = true; again;) {
                again = false;
                if (item.n > 1 && *item.data == '[' && item.data[item.n - 1] == ']') {
                        item = (Str){item.data + 1, item.n - 2};
                        again = true;
                }
                if (item.n > n_dots && !memcmp(item.data + item.n - n_dots, ELLIPSIS, n_dots)) {
                        item.n -= n_dots;
                        again = *ret_repeats = true;
                }
        }
        return item;
}

Str help_operand(Str usage, size_t i) {
        for (usage = help_trim(usage); usage.n;) {
                Str item = help_item(usage);
                bool repeats;
                Str bare = help_bare(item, &repeats);

                usage = help_trim((Str){usage.data + item.n, usage.n - item.n});
                if (!bare.n || *bare.data == '-')
                        continue;
                if (!i || repeats)
                        return bare;
                i--;
        }
        return STR_NULL;
}
