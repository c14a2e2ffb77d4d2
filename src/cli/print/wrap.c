/* SPDX-License-Identifier: MIT */
#include "cli/print/wrap.h"

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

void text_wrap(FILE *out, Str text, size_t n_indent, size_t n_cols) {
        size_t n = n_cols > n_indent + 1 ? n_cols - n_indent : SIZE_MAX;

        for (;;) {
                Str line = wrap_line(text, n);

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
