/* SPDX-License-Identifier: MIT */
#include "base/error.h"
#include "base/macro.h"
#include "core/term/screen-internal.h"

/* Appends one row; *ret_end is behind the last character that is no blank. */
static int screen_plain_row(Screen *screen, int row, Buf *out, size_t *ret_end) {
        int r = 0;

        *ret_end = out->n;
        screen_row(screen, row, screen->cells);
        for (int col = 0; col < screen->cols && !r; col++) {
                const VTermScreenCell *cell = &screen->cells[col];
                char bytes[4 * VTERM_MAX_CHARS_PER_CELL];
                size_t n = 0;

                if (!cell->width)
                        continue; /* the right half of the one before */
                for (size_t i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell->chars[i]; i++)
                        n += utf8_put(bytes + n, cell->chars[i]);
                r = n ? buf_append(out, bytes, n) : buf_append_str(out, STR(" "));
                if (n && !(n == 1 && bytes[0] == ' '))
                        *ret_end = out->n;
        }
        return error_trace(r);
}

int screen_plain(Screen *screen, Buf *out, unsigned *ret_row, unsigned *ret_col) {
        VTermPos cursor;
        size_t end = out->n;
        int r = 0;

        screen_flush(screen);
        cursor = screen_cursor(screen);
        *ret_row = (unsigned)cursor.row;
        *ret_col = (unsigned)cursor.col;
        for (int row = 0; row < screen->rows && !r; row++) {
                size_t begin = out->n, last;

                r = screen_plain_row(screen, row, out, &last);
                out->n = last;
                if (last > begin)
                        end = last;
                r = r ? r : buf_append_str(out, STR("\n"));
        }
        out->n = end;
        return error_trace(r);
}
