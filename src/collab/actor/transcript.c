/* SPDX-License-Identifier: MIT */
#include "collab/actor/transcript.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/utf8.h"
#include "collab/actor/transcript-lines.h"
#include "core/term/vt.h"

enum {
        COLS_MAX = 1000,     /* a position further right counts as this one */
        LINE_MAX = 64 << 10, /* printing goes on in the next line after so many characters */
        SCROLL_LINES = 4096, /* so many may have left the window before they are put away */
};

typedef struct Page {
        Lines past; /* lines that have left the window, to which no movement leads back */
        const TranscriptOptions *options;
        Line *lines;
        size_t n, n_allocated;
        size_t row, col, saved_row, saved_col;
        size_t n_rows;
        bool failed; /* no memory */
} Page;

/* ---- cells ----------------------------------------------------------------------------------- */

static Line *line_at(Page *page, size_t row) {
        while (page->n <= row && !page->failed) {
                if (page->n == page->n_allocated) {
                        size_t n = page->n_allocated ? page->n_allocated * 2 : 256;
                        Line *lines = realloc(page->lines, n * sizeof(*lines));
                        page->failed = !lines;
                        if (!lines)
                                break;
                        page->lines = lines;
                        page->n_allocated = n;
                }
                page->lines[page->n++] = (Line){0};
        }
        return page->failed ? NULL : &page->lines[row];
}

/* The first line of the window. */
static size_t window(const Page *page) {
        size_t bottom = page->n > page->row + 1 ? page->n : page->row + 1;

        return bottom > page->n_rows ? bottom - page->n_rows : 0;
}

static void transcript_move(Page *page, size_t row, size_t col) {
        size_t top = window(page), last = top + page->n_rows - 1, right = MAX(page->col, (size_t)COLS_MAX);

        page->row = row < top ? top : row > last ? last : row;
        page->col = col > right ? right : col;
}

/* Puts the first k lines away, so that the longest backlog takes little more memory than its end. */
static void put_away(Page *page, size_t k) {
        if (!k)
                return;
        for (size_t i = 0; i < k; i++) {
                line_trim(&page->lines[i]);
                page->failed |= lines_add(&page->past, &page->lines[i], page->options->is_compact) != 0;
        }
        page->n -= k;
        memmove(page->lines, page->lines + k, page->n * sizeof(*page->lines));
        page->row -= MIN(page->row, k);
        page->saved_row -= MIN(page->saved_row, k);
        if (page->options->max_chars)
                lines_keep_last(&page->past, page->options->max_chars);
}

static void events_file_line(Page *page) {
        page->row++;
        page->col = 0;
        (void)line_at(page, page->row);
        if (window(page) >= SCROLL_LINES && !page->failed)
                put_away(page, window(page));
}

static void transcript_put(Page *page, uint32_t c) {
        Line *line;

        if (page->col >= LINE_MAX)
                events_file_line(page);
        line = line_at(page, page->row);
        if (!line || line_put(line, page->col, c))
                page->failed = true;
        page->col++;
}

/* ---- erasing --------------------------------------------------------------------------------- */

static void erase_line(Page *page, unsigned how) {
        Line *line = page->row < page->n ? &page->lines[page->row] : NULL;

        if (!line)
                return;
        if (how == 1)
                line_blank(line, page->col);
        else
                line_cut(line, how == 0 ? page->col : 0);
}

/* Also what has left the window: what came before is over. */
static void erase_all(Page *page) {
        for (size_t i = 0; i < page->n; i++)
                line_free(&page->lines[i]);
        page->n = page->row = 0;
        lines_deinit(&page->past);
}

static void erase_page(Page *page, unsigned how) {
        size_t begin = how == 0 ? page->row + 1 : window(page), end = how == 1 ? page->row : page->n;

        if (how == 2) {
                erase_all(page);
                return;
        }
        if (how < 2)
                erase_line(page, how);
        for (size_t row = begin; row < end && row < page->n; row++)
                line_cut(&page->lines[row], 0);
}

/* ---- sequences ------------------------------------------------------------------------------- */

static void obey_csi(Page *page, const VtParser *vt) {
        unsigned n = vt_param(vt, 0, 1);
        size_t top = window(page);

        if (vt->leader || vt->intermediate)
                return;
        n = n ? n : 1;
        switch (vt->final) {
        case 'A': return transcript_move(page, page->row > top + n ? page->row - n : top, page->col);
        case 'B': return transcript_move(page, page->row + n, page->col);
        case 'C': return transcript_move(page, page->row, page->col + n);
        case 'D': return transcript_move(page, page->row, page->col > n ? page->col - n : 0);
        case 'G': return transcript_move(page, page->row, n - 1);
        case 'H':
        case 'f': return transcript_move(page, top + n - 1, MAX(vt_param(vt, 1, 1), 1u) - 1);
        case 'd': return transcript_move(page, top + n - 1, page->col);
        case 'J': return erase_page(page, vt_param(vt, 0, 0));
        case 'K': return erase_line(page, vt_param(vt, 0, 0));
        case 's': page->saved_row = page->row, page->saved_col = page->col; return;
        case 'u': return transcript_move(page, page->saved_row, page->saved_col);
        default: return;
        }
}

static void obey_escape(Page *page, const VtParser *vt) {
        if (vt->intermediate)
                return;
        if (vt->final == '7')
                page->saved_row = page->row, page->saved_col = page->col;
        else if (vt->final == '8')
                transcript_move(page, page->saved_row, page->saved_col);
}

static void obey_control(Page *page, char c) {
        if (c == '\n')
                events_file_line(page);
        else if (c == '\r')
                page->col = 0;
        else if (c == '\b' && page->col)
                page->col--;
        else if (c == '\t')
                transcript_put(page, '\t');
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Inside a sequence; text that ends one early is not shown when it is not ASCII. */
static void transcript_obey(Page *page, VtParser *vt, char c) {
        switch (vt_next(vt, c)) {
        case VT_EVENT_PRINT:
                if (c >= ' ' && c < 0x7f)
                        transcript_put(page, (uint32_t)c);
                return;
        case VT_EVENT_CONTROL: obey_control(page, c); return;
        case VT_EVENT_CSI: obey_csi(page, vt); return;
        case VT_EVENT_ESCAPE: obey_escape(page, vt); return;
        default: return;
        }
}

/* Valid UTF-8. */
static void feed(Page *page, Str text) {
        VtParser vt = VT_NULL;

        for (size_t at = 0, n; at < text.n && !page->failed; at += n) {
                unsigned char c = (unsigned char)text.data[at];
                int32_t character;

                n = 1;
                if (vt.state != VT_GROUND || c < 0x80)
                        transcript_obey(page, &vt, text.data[at]);
                else if (c >= 0xc0) { /* else: of one whose beginning was part of a sequence */
                        n = utf8_next((Str){text.data + at, text.n - at}, &character);
                        if (character >= 0xa0)
                                transcript_put(page, (uint32_t)character);
                }
        }
}

/* ---- the text -------------------------------------------------------------------------------- */

static Str last_chars(Str text, size_t max_chars) {
        size_t at = text.n, n = 0;

        if (!text.n)
                return text;
        while (at && n < max_chars) {
                at--;
                n += !utf8_is_tail(text.data[at]);
        }
        while (at && utf8_is_tail(text.data[at]))
                at--;
        return (Str){text.data + at, text.n - at};
}

size_t transcript_raw_bytes(size_t max_chars) {
        return (max_chars + 1) * 4; /* one more: the first may be cut */
}

int transcript_raw(Str bytes, size_t max_chars, Buf *out) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        size_t n = MIN(bytes.n, transcript_raw_bytes(max_chars));
        int r = utf8_append_replaced(&text, bytes.data + bytes.n - n, n);

        return error_trace(r ? r : buf_append_str(out, last_chars(buf_str(&text), max_chars)));
}

/* All lines are put away but the blank ones at the end. */
static void end_page(Page *page) {
        Lines *past = &page->past;

        for (size_t i = 0; i < page->n; i++)
                line_trim(&page->lines[i]);
        while (page->n && !page->lines[page->n - 1].n)
                line_free(&page->lines[--page->n]);
        put_away(page, page->n);
        while (past->n && !past->items[past->n - 1].n)
                past->n--;
}

int transcript_render(Str bytes, const TranscriptOptions *options, Buf *out) {
        _cleanup_(buf_deinit) Buf valid = BUF_NULL, text = BUF_NULL;
        Page page = {.n_rows = options->n_rows ? options->n_rows : 40, .options = options};
        Str shown;
        int r = utf8_append_replaced(&valid, bytes.data, bytes.n);

        if (!r)
                feed(&page, buf_str(&valid));
        end_page(&page);
        r = r ? r : page.failed ? error_origin(-ENOMEM) : lines_write(&page.past, &text);
        shown = buf_str(&text);
        if (!r)
                r = buf_append_str(out, options->max_chars ? last_chars(shown, options->max_chars) : shown);
        lines_deinit(&page.past);
        free(page.lines);
        return error_trace(r);
}
