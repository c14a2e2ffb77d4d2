#pragma once
/* SPDX-License-Identifier: MIT */
/*
 * Table: rows of text under titles, as wide as their widest. Cells are counted in characters and copied;
 * control characters in them are shown as `?`. The column with the title STATE is coloured where people look
 * (colour.h). Owned by the command.
 */
#include <stdio.h>

#include "base/arena.h"

#define TABLE_STATE "STATE"

typedef struct TableColumn {
        const char *title;
        size_t n_min; /* width at least */
        bool is_right;
} TableColumn;

typedef struct Table {
        const TableColumn *columns;
        size_t n_columns;
        Arena arena;
        Str *cells;
        size_t n_cells, n_room;
        bool is_out_of_memory;
} Table;

#define TABLE(c)                                                                                            \
        { .columns = (c), .n_columns = ARRAY_SIZE(c) }

void table_deinit(Table *table);
/* The next cell, row by row. */
void table_add(Table *table, Str text);
void table_addf(Table *table, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Characters of the longest line. */
size_t table_width(const Table *table);
/* Titles and rows, each followed by `line_end`; cut at n_width characters and n_height lines (0: never). */
void table_print(const Table *table, FILE *out, size_t n_width, size_t n_height, const char *line_end);
