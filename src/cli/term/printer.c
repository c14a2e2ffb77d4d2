/* SPDX-License-Identifier: MIT */
#include "cli/term/printer.h"

#include <stdio.h>
#include <unistd.h>

void printer_init(Printer *printer, bool is_stripped) {
        *printer = (Printer){.is_stripped = is_stripped, .is_terminal = isatty(STDOUT_FILENO)};
        modes_init(&printer->modes);
}

void printer_deinit(Printer *printer) {
        queries_deinit(&printer->queries);
        buf_deinit(&printer->text);
}

static bool flush(Printer *printer) {
        if (!printer->text.n)
                return true;
        printer->is_inside_line = printer->text.data[printer->text.n - 1] != '\n';
        fwrite(printer->text.data, 1, printer->text.n, stdout);
        printer->text.n = 0;
        return !fflush(stdout);
}

bool printer_put(Printer *printer, Str output) {
        int r;

        if (printer->is_stripped)
                r = ansi_strip(&printer->text, output, &printer->ansi);
        else if (printer->is_terminal) {
                modes_feed(&printer->modes, output);
                r = queries_drop(&printer->queries, output, &printer->text);
        } else
                r = buf_append_str(&printer->text, output);
        return !r && flush(printer);
}

bool printer_end(Printer *printer) {
        if (!printer->is_terminal)
                return true;
        if (!printer->is_stripped &&
            (queries_end(&printer->queries, &printer->text) || undo_append(&printer->text, &printer->modes)))
                return false;
        return !(printer->is_inside_line && buf_append_str(&printer->text, STR("\n"))) && flush(printer);
}
