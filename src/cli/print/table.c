/* SPDX-License-Identifier: MIT */
#include "cli/print/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/macro.h"
#include "cli/print/colour.h"
#include "cli/print/columns.h"
#include "cli/print/report.h"

enum { GAP = 2, FIRST_ROOM = 64 };

void table_deinit(Table *table) {
        arena_deinit(&table->arena);
        free(table->cells);
}

static bool table_make_room(Table *table) {
        size_t n_room = MAX(table->n_room * 2, (size_t)FIRST_ROOM);
        Str *cells;

        if (table->n_cells < table->n_room)
                return true;
        cells = reallocarray(table->cells, n_room, sizeof(*cells));
        if (!cells)
                return false;
        table->cells = cells;
        table->n_room = n_room;
        return true;
}

void table_add(Table *table, Str text) {
        Str copy = arena_str(&table->arena, text);

        if (copy.data && table_make_room(table))
                table->cells[table->n_cells++] = copy;
        else
                table->is_out_of_memory = true;
}

void table_addf(Table *table, const char *format, ...) {
        char text[512];
        va_list args;
        int n;

        va_start(args, format);
        n = vsnprintf(text, sizeof(text), format, args); // NOLINT(clang-analyzer-valist.Uninitialized)
        va_end(args);
        table_add(table, (Str){text, (size_t)MIN(MAX(n, 0), (int)sizeof(text) - 1)});
}

/* ---- widths ---------------------------------------------------------------------------------- */

static Str cell(const Table *table, size_t row, size_t column) {
        return row == 0 ? str_from(table->columns[column].title)
                        : table->cells[(row - 1) * table->n_columns + column];
}

static size_t width_of(const Table *table, size_t n_rows, size_t column) {
        size_t width = table->columns[column].n_min;

        for (size_t row = 0; row < n_rows; row++)
                width = MAX(width, columns_of_text(cell(table, row, column)));
        return width;
}

size_t table_width(const Table *table) {
        size_t n_rows = 1 + table->n_cells / table->n_columns, width = GAP * (table->n_columns - 1);

        for (size_t i = 0; i < table->n_columns; i++)
                width += width_of(table, n_rows, i);
        return width;
}

/* ---- printing -------------------------------------------------------------------------------- */

static size_t table_put_blanks(FILE *out, size_t n) {
        for (size_t i = 0; i < n; i++)
                putc(' ', out);
        return n;
}

/* Of the colour only the beginning of a state may be left to see: it is chosen by the whole. */
static void table_put_text(FILE *out, Str text, size_t n_left, bool is_coloured) {
        const char *sequence = is_coloured ? colour_of_state(text) : "";

        fputs(sequence, out);
        text_put_cell(out, columns_first(text, n_left));
        if (*sequence)
                fputs(colour_end, out);
}

/* Puts what fits into n_left columns; how many are left. */
static size_t table_put_cell(FILE *out, Str text, size_t width, bool is_right, bool is_last,
                             bool is_coloured, size_t n_left) {
        size_t n = columns_of_text(text), n_pad = width > n ? width - n : 0;

        if (is_right)
                n_left -= table_put_blanks(out, MIN(n_pad, n_left));
        table_put_text(out, text, n_left, is_coloured);
        n_left -= MIN(n, n_left);
        if (is_last)
                return n_left;
        return n_left - table_put_blanks(out, MIN((is_right ? 0 : n_pad) + GAP, n_left));
}

void table_print(const Table *table, FILE *out, size_t n_width, size_t n_height, const char *line_end) {
        size_t n_rows = 1 + table->n_cells / table->n_columns, widths[32];
        bool is_coloured = colour_is_wanted(out);

        for (size_t i = 0; i < table->n_columns && i < ARRAY_SIZE(widths); i++)
                widths[i] = width_of(table, n_rows, i);
        for (size_t row = 0; row < n_rows && (!n_height || row < n_height); row++) {
                size_t n_left = n_width ? n_width : SIZE_MAX;

                for (size_t i = 0; i < table->n_columns && i < ARRAY_SIZE(widths); i++)
                        n_left = table_put_cell(
                                out, cell(table, row, i), widths[i], table->columns[i].is_right,
                                i + 1 == table->n_columns,
                                row && is_coloured && !strcmp(table->columns[i].title, TABLE_STATE), n_left);
                fputs(line_end, out);
        }
}
