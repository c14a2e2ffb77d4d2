/* SPDX-License-Identifier: MIT */
#include "cli/term/printer.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "cli/print/report.h"

void printer_init(Printer *printer, FILE *out, bool is_stripped) {
        *printer = (Printer){.out = out,
                             .is_stripped = is_stripped,
                             .is_terminal = isatty(fileno(out)),
                             .queries.use = QUERIES_PRINT};
        modes_init(&printer->modes);
}

void printer_deinit(Printer *printer) {
        queries_deinit(&printer->queries);
        buf_deinit(&printer->text);
}

/* As in the daemon's log. */
static void printer_put_stamp(const Printer *printer) {
        char stamp[TIME_TEXT_MAX] = "-";
        struct timespec now;

        clock_gettime(CLOCK_REALTIME, &now);
        if (!printer->is_past)
                time_format_ms((int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000, stamp);
        fprintf(printer->out, "%-24s ", stamp);
}

static void printer_put_stamped(Printer *printer) {
        Str text = buf_str(&printer->text);

        while (text.n) {
                const char *end = memchr(text.data, '\n', text.n);
                size_t n = end ? (size_t)(end - text.data) + 1 : text.n;

                if (!printer->is_inside_line)
                        printer_put_stamp(printer);
                output_put(printer->out, (Str){text.data, n});
                printer->is_inside_line = !end;
                text = (Str){text.data + n, text.n - n};
        }
}

static bool printer_flush(Printer *printer) {
        if (!printer->text.n)
                return true;
        if (printer->has_stamps)
                printer_put_stamped(printer);
        else if (printer->is_stripped)
                output_put(printer->out, buf_str(&printer->text));
        else
                fwrite(printer->text.data, 1, printer->text.n, printer->out);
        printer->is_inside_line = printer->text.data[printer->text.n - 1] != '\n';
        printer->text.n = 0;
        return !fflush(printer->out);
}

bool printer_put(Printer *printer, Str output) {
        int r;

        if (printer->is_stripped)
                r = ansi_strip(&printer->text, output, &printer->ansi);
        else if (printer->is_terminal && !printer->is_raw) {
                modes_feed(&printer->modes, output);
                r = queries_drop(&printer->queries, output, &printer->text);
        } else
                r = buf_append_str(&printer->text, output);
        return !r && printer_flush(printer);
}

bool printer_end(Printer *printer) {
        if (!printer->is_terminal)
                return true;
        if (!printer->is_stripped &&
            (queries_end(&printer->queries, &printer->text) || undo_append(&printer->text, &printer->modes)))
                return false;
        return !(printer->is_inside_line && buf_append_str(&printer->text, STR("\n"))) &&
               printer_flush(printer);
}
