/* SPDX-License-Identifier: MIT */
#include "collab/transcript.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/macro.h"
#include "base/utf8.h"
#include "collab/transcript-lines.h"
#include "core/host/vt.h"

enum { COLS_MAX = 1000 }; /* a position further right counts as this one */

typedef struct Page {
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

static void put(Page *page, uint32_t c) {
        Line *line = line_at(page, page->row);

        if (!line || line_put(line, page->col, c))
                page->failed = true;
        if (page->col < COLS_MAX)
                page->col++;
}

/* The first line of the window. */
static size_t window(const Page *page) {
        size_t bottom = page->n > page->row + 1 ? page->n : page->row + 1;

        return bottom > page->n_rows ? bottom - page->n_rows : 0;
}

static void move(Page *page, size_t row, size_t col) {
        size_t top = window(page), last = top + page->n_rows - 1;

        page->row = row < top ? top : row > last ? last : row;
        page->col = col > COLS_MAX ? COLS_MAX : col;
}

/* ---- erasing --------------------------------------------------------------------------------- */

static void erase_line(Page *page, unsigned how) {
        Line *line = page->row < page->n ? &page->lines[page->row] : NULL;

        if (!line)
                return;
        if (how == 1)
                line_blank(line, page->col + 1);
        else
                line_cut(line, how == 0 ? page->col : 0);
}

static void erase_page(Page *page, unsigned how) {
        size_t begin = how == 0 ? page->row + 1 : window(page), end = how == 1 ? page->row : page->n;

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
        case 'A': return move(page, page->row > top + n ? page->row - n : top, page->col);
        case 'B': return move(page, page->row + n, page->col);
        case 'C': return move(page, page->row, page->col + n);
        case 'D': return move(page, page->row, page->col > n ? page->col - n : 0);
        case 'G': return move(page, page->row, n - 1);
        case 'H':
        case 'f': return move(page, top + n - 1, MAX(vt_param(vt, 1, 1), 1u) - 1);
        case 'd': return move(page, top + n - 1, page->col);
        case 'J': return erase_page(page, vt_param(vt, 0, 0));
        case 'K': return erase_line(page, vt_param(vt, 0, 0));
        case 's': page->saved_row = page->row, page->saved_col = page->col; return;
        case 'u': return move(page, page->saved_row, page->saved_col);
        default: return;
        }
}

static void obey_escape(Page *page, const VtParser *vt) {
        if (vt->intermediate)
                return;
        if (vt->final == '7')
                page->saved_row = page->row, page->saved_col = page->col;
        else if (vt->final == '8')
                move(page, page->saved_row, page->saved_col);
}

static void obey_control(Page *page, char c) {
        if (c == '\n') {
                page->row++;
                page->col = 0;
                (void)line_at(page, page->row);
        } else if (c == '\r')
                page->col = 0;
        else if (c == '\b' && page->col)
                page->col--;
        else if (c == '\t')
                page->col = MIN((page->col / 8 + 1) * 8, (size_t)COLS_MAX);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* One character of valid UTF-8; returns its length. */
static size_t decode(const char *p, uint32_t *ret) {
        const unsigned char *u = (const unsigned char *)p;

        if (u[0] < 0x80)
                return *ret = u[0], 1;
        if (u[0] < 0xe0)
                return *ret = (u[0] & 0x1fu) << 6 | (u[1] & 0x3fu), 2;
        if (u[0] < 0xf0)
                return *ret = (u[0] & 0xfu) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu), 3;
        return *ret = (u[0] & 7u) << 18 | (u[1] & 0x3fu) << 12 | (u[2] & 0x3fu) << 6 | (u[3] & 0x3fu), 4;
}

static void feed(Page *page, Str text) {
        VtParser vt = VT_NULL;

        for (size_t at = 0; at < text.n && !page->failed;) {
                uint32_t c;
                size_t n = decode(text.data + at, &c);

                if (n > 1 && vt.state == VT_GROUND) {
                        if (c >= 0xa0)
                                put(page, c);
                        at += n;
                        continue;
                }
                switch (vt_next(&vt, text.data[at])) {
                case VT_EVENT_PRINT:
                        if (n == 1 && c >= ' ' && c != 0x7f)
                                put(page, c);
                        break;
                case VT_EVENT_CONTROL: obey_control(page, text.data[at]); break;
                case VT_EVENT_CSI: obey_csi(page, &vt); break;
                case VT_EVENT_ESCAPE: obey_escape(page, &vt); break;
                default: break;
                }
                at += n > 1 && vt.state == VT_GROUND ? n : 1;
        }
}

/* ---- the text -------------------------------------------------------------------------------- */

static Str last_chars(Str text, size_t max_chars) {
        size_t at = text.n, n = 0;

        while (at && n < max_chars) {
                at--;
                n += ((unsigned char)text.data[at] & 0xc0) != 0x80;
        }
        while (at && ((unsigned char)text.data[at] & 0xc0) == 0x80)
                at--;
        return (Str){text.data + at, text.n - at};
}

int transcript_raw(Str bytes, size_t max_chars, Buf *out) {
        _cleanup_(buf_deinit) Buf text = BUF_NULL;
        int r = utf8_append_replaced(&text, bytes.data, bytes.n);

        return error_trace(r ? r : buf_append_str(out, last_chars(buf_str(&text), max_chars)));
}

int transcript_render(Str bytes, const TranscriptOptions *options, Buf *out) {
        _cleanup_(buf_deinit) Buf valid = BUF_NULL, text = BUF_NULL;
        Page page = {.n_rows = options->n_rows ? options->n_rows : 40};
        Str shown;
        int r = utf8_append_replaced(&valid, bytes.data, bytes.n);

        if (!r)
                feed(&page, buf_str(&valid));
        for (size_t i = 0; i < page.n; i++)
                line_trim(&page.lines[i]);
        while (page.n && !page.lines[page.n - 1].n)
                line_free(&page.lines[--page.n]);
        if (options->is_compact)
                page.n = lines_compact(page.lines, page.n);
        r = r ? r : page.failed ? error_origin(-ENOMEM) : lines_write(page.lines, page.n, &text);
        shown = buf_str(&text);
        if (!r)
                r = buf_append_str(out, options->max_chars ? last_chars(shown, options->max_chars) : shown);
        for (size_t i = 0; i < page.n; i++)
                line_free(&page.lines[i]);
        free(page.lines);
        return error_trace(r);
}
