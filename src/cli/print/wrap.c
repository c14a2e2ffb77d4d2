/* SPDX-License-Identifier: MIT */
#include "cli/print/wrap.h"

#include <string.h>

#include "base/buf.h"
#include "base/macro.h"
#include "base/utf8.h"
#include "cli/print/report.h"

/* So much of text as goes into a line of n characters: to the last blank in it, or all of a word's part. */
static Str wrap_line(Str text, size_t n) {
        Str line = utf8_first(text, n);
        size_t at = line.n;

        if (line.n == text.n)
                return text;
        while (at > 0 && text.data[at] != ' ')
                at--;
        return at ? (Str){text.data, at} : line;
}

/* The first line has n_first characters, the others stand at n_indent. */
static void wrap_put(FILE *out, Str text, size_t n_first, size_t n_indent, size_t n_cols) {
        size_t n = n_cols > n_indent + 1 ? n_cols - n_indent : SIZE_MAX;
        bool is_first = true;

        for (;; is_first = false) {
                Str line = wrap_line(text, is_first ? n_first : n);

                text_put(out, line);
                putc('\n', out);
                text = (Str){text.data + line.n, text.n - line.n};
                while (text.n && *text.data == ' ')
                        text.data++, text.n--;
                if (!text.n)
                        return;
                fprintf(out, "%*s", (int)n_indent, "");
        }
}

void text_wrap(FILE *out, Str text, size_t n_indent, size_t n_cols) {
        wrap_put(out, text, n_cols > n_indent + 1 ? n_cols - n_indent : SIZE_MAX, n_indent, n_cols);
}

/* ---- help ------------------------------------------------------------------------------------ */

enum { HELP_COLS = 80, HELP_DEEP = 8 };

static Str help_line(const char **at) {
        Str line = {*at, strcspn(*at, "\n")};

        *at += line.n + (line.data[line.n] == '\n');
        return line;
}

static size_t help_indent(Str line) {
        size_t n = 0;

        while (n < line.n && line.data[n] == ' ')
                n++;
        return n;
}

/* So much of a usage as goes into n characters: to the last blank outside of brackets, or else inside. */
static Str usage_line(Str text, size_t n) {
        Str line = utf8_first(text, n);
        size_t outside = 0, any = 0;
        int depth = 0;

        if (line.n == text.n)
                return text;
        for (size_t i = 0; i <= line.n; i++) {
                depth += text.data[i] == '[' ? 1 : text.data[i] == ']' ? -1 : 0;
                any = text.data[i] == ' ' ? i : any;
                outside = text.data[i] == ' ' && !depth ? i : outside;
        }
        return (Str){text.data, outside ? outside : any ? any : line.n};
}

void usage_put(FILE *out, const char *name, const char *usage) {
        size_t column = strlen("Usage: muster ") + strlen(name) + 1;

        print("Usage: muster %s ", name);
        while (*usage) {
                Str rest = help_line(&usage);
                size_t before = help_indent(rest) ? 0 : column; /* a second form has its own beginning */

                while (rest.n) {
                        Str line = usage_line(rest, HELP_COLS - before);

                        text_put(out, line);
                        putc('\n', out);
                        rest = (Str){rest.data + line.n, rest.n - line.n};
                        while (rest.n && *rest.data == ' ')
                                rest.data++, rest.n--;
                        if (rest.n)
                                fprintf(out, "%*s", (int)column, "");
                        before = column;
                }
        }
}

/* Where the text of `  --option WORD  text` begins: what does not fit goes on below it. */
static size_t help_column(Str line, size_t n_indent) {
        const char *gap = n_indent ? memmem(line.data + n_indent, line.n - n_indent, "  ", 2) : NULL;
        size_t at = gap ? (size_t)(gap - line.data) : 0;

        if (!gap)
                return n_indent ? n_indent + 4 : 0;
        while (at < line.n && line.data[at] == ' ')
                at++;
        return utf8_count((Str){line.data, at});
}

/* Whether a line goes on with what the one before it began. */
static bool help_goes_on(Str line, size_t n_indent, Str before) {
        size_t n = help_indent(line);

        if (!line.n || before.data[before.n - 1] == ':')
                return false;
        return n_indent ? n >= HELP_DEEP : n == 0;
}

void help_put(FILE *out, const char *text) {
        while (*text) {
                Str line = help_line(&text);
                size_t n_indent = help_indent(line), column = help_column(line, n_indent);
                _cleanup_(buf_deinit) Buf all = BUF_NULL;
                int r = buf_append_str(&all, line);

                while (!r && line.n && *text) {
                        const char *next = text;
                        Str more = help_line(&next);
                        size_t n = help_indent(more);

                        if (!help_goes_on(more, n_indent, line))
                                break;
                        r = buf_printf(&all, " %.*s", (int)(more.n - n), more.data + n);
                        line = more;
                        text = next;
                }
                if (!r)
                        wrap_put(out, buf_str(&all), HELP_COLS, column, HELP_COLS);
        }
}
