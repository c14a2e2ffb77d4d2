/* SPDX-License-Identifier: MIT */
#include "company/learn/guide.h"

#include <string.h>

#include "base/error.h"
#include "base/macro.h"

const char guide_mistakes_heading[] = "## Recurring Mistakes To Avoid";
static const char index_heading[] = "## Relevant Context Index";
static const char index_marker[] = "<!-- managed: context-index -->";

int guide_begin(Buf *out, Str agent_id) {
        return error_trace(buf_printf(
                out,
                "# AGENTS.md - " STR_FMT "\n\n"
                "## Operating Rules\n"
                "- Follow the assigned task contract and milestone acceptance criteria.\n"
                "- Produce required evidence artifacts for coding milestones (patch/commit + tests).\n"
                "- Report blockers early with concrete evidence.\n\n"
                "%s\n<!-- managed: recurring-mistakes -->\n",
                STR_ARG(agent_id), guide_mistakes_heading));
}

/* Where a text stands in another, or its length. */
static size_t guide_find(Str text, Str word) {
        const char *at = word.n ? memmem(text.data, text.n, word.data, word.n) : NULL;

        return at ? (size_t)(at - text.data) : text.n;
}

static size_t guide_line_end(Str text, size_t at) {
        const char *end = memchr(text.data + at, '\n', text.n - at);

        return end ? (size_t)(end - text.data) + 1 : text.n;
}

/* Where a line begins that is this one, but for blanks at its end; the text's length when there is none. */
static size_t guide_find_line(Str text, const char *wanted) {
        for (size_t at = 0; at < text.n; at = guide_line_end(text, at)) {
                Str line = {text.data + at, guide_line_end(text, at) - at};

                while (line.n && (line.data[line.n - 1] == ' ' ||
                                  (line.data[line.n - 1] >= '\t' && line.data[line.n - 1] <= '\r')))
                        line.n--;
                if (str_is(line, wanted))
                        return at;
        }
        return text.n;
}

static Str guide_trim_end(Str text) {
        while (text.n && (text.data[text.n - 1] == ' ' ||
                          (text.data[text.n - 1] >= '\t' && text.data[text.n - 1] <= '\r')))
                text.n--;
        return text;
}

bool guide_has_rule(Str text, Str key) {
        _cleanup_(buf_deinit) Buf word = BUF_NULL;

        return !buf_printf(&word, "mistake:" STR_FMT, STR_ARG(key)) &&
               guide_find(text, buf_str(&word)) < text.n;
}

/* Begins a section at the end of a text: what came before, a blank line, the heading. */
static int guide_append_heading(Buf *out, Str text, const char *heading) {
        int r = buf_append_str(out, guide_trim_end(text));

        return r ? error_trace(r) : error_trace(buf_printf(out, "%s%s\n", out->n ? "\n\n" : "", heading));
}

int guide_add_rule(Buf *out, Str text, Str key, Str rule, int64_t n_repeats) {
        size_t at = guide_find_line(text, guide_mistakes_heading),
               below = at < text.n ? guide_line_end(text, at) : text.n;
        int r = at < text.n ? buf_append(out, text.data, below)
                            : guide_append_heading(out, text, guide_mistakes_heading);

        if (!r && out->n && out->data[out->n - 1] != '\n')
                r = buf_append(out, "\n", 1);
        if (!r)
                r = buf_printf(out,
                               "- <!-- mistake:" STR_FMT " --> [" STR_FMT "] " STR_FMT
                               " (promoted after %lld repeats)\n",
                               STR_ARG(key), STR_ARG(key), STR_ARG(rule), (long long)n_repeats);
        return r ? error_trace(r) : error_trace(buf_append(out, text.data + below, text.n - below));
}

int guide_add_heading(Buf *out, Str text) {
        return guide_find_line(text, guide_mistakes_heading) < text.n
                       ? error_trace(buf_append_str(out, text))
                       : guide_append_heading(out, text, guide_mistakes_heading);
}

int guide_propose_rule(Buf *out, Str key, Str rule, int64_t n_repeats, Str by) {
        return error_trace(buf_printf(out,
                                      "- <!-- mistake:" STR_FMT " --> [" STR_FMT "] " STR_FMT
                                      " (observed %lld repeats; proposed by " STR_FMT ")",
                                      STR_ARG(key), STR_ARG(key), STR_ARG(rule), (long long)n_repeats,
                                      STR_ARG(by)));
}

/* The next heading of the same depth behind an offset, or the end. */
static size_t guide_next_heading(Str text, size_t at) {
        while (at < text.n) {
                at = guide_line_end(text, at);
                if (str_starts((Str){text.data + at, text.n - at}, STR("## ")))
                        return at;
        }
        return text.n;
}

int guide_set_index(Buf *out, Str text, Str lines) {
        size_t marker = guide_find(text, str_from(index_marker)),
               heading = guide_find_line(text, index_heading);
        size_t at = marker < text.n ? marker : heading,
               end = at < text.n ? guide_next_heading(text, at) : text.n;
        int r;

        if (at == text.n)
                r = guide_append_heading(out, text, index_heading);
        else if (at == marker)
                r = buf_append(out, text.data, at);
        else {
                r = buf_append(out, text.data, at);
                if (!r)
                        r = buf_printf(out, "%s\n", index_heading);
        }
        if (!r)
                r = buf_printf(out, "%s\n" STR_FMT, index_marker, STR_ARG(lines));
        if (!r && end < text.n)
                r = buf_append(out, "\n", 1);
        return r ? error_trace(r) : error_trace(buf_append(out, text.data + end, text.n - end));
}
